//! Makes courses of looks, with bounded memory: when there is no more room, each two neighbouring points become one.
//!
//! ```text
//! look ─> each process ─┬─> its course ── full? each two points become one ── too many of all? the same for all
//!                       └─> sums ─> the course of all
//! report ─> a last point for each process, also for one that ended before the first look
//! ```
//!
//! Not here: when to look, and where the figures are from (`runner::looks`).

use std::collections::HashMap;

use underbar_ledger::Key;

use crate::model::{Process, Report, State, file_name};
use crate::over_time::{COURSES, Course, FIGURES, OfProcess, OverTime, POINTS, POINTS_OF_ALL, Values};

/// Courses with fewer points are not made shorter when there are too many of all.
const FEW: usize = 16;
/// The place of the heap among the values of a look.
const HEAP: usize = 0;

/// A process at one look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The path of its program.
    pub program: String,
    /// Its number.
    pub process: u32,
    /// When it began: nanoseconds after the run began. Number and start together name a process of a run.
    pub started_ns: u64,
    /// Its counters, or as many as were read.
    pub counters: Counted,
    /// Its resident memory; None if not known.
    pub resident: Option<u64>,
    /// The anonymous part of it; None if not known.
    pub anonymous: Option<u64>,
    /// When it ended; None while it lives.
    pub ended_ns: Option<u64>,
}

/// The counters of a process that a course needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    heap: u64,
    peak: u64,
    segments: u64,
    segment_bytes: u64,
    /// What is resident in the heap by the process's own last look; None before its first one.
    resident_in_heap: Option<u64>,
}

impl Counted {
    /// Takes them from wherever counters are.
    pub fn of(get: impl Fn(Key) -> u64) -> Counted {
        // Every process has anonymous memory: 0 means that it has not looked.
        let has_looked = get(Key::CoverageAnonymous) > 0;
        Counted {
            heap: get(Key::HeapUsed),
            peak: get(Key::HeapUsedPeak),
            segments: get(Key::HeapSegmentsAllocated).saturating_sub(get(Key::HeapSegmentsFreed)),
            segment_bytes: get(Key::HeapSegmentBytes),
            resident_in_heap: has_looked.then(|| get(Key::CoverageHeap)),
        }
    }

    fn values(&self, resident: Option<u64>, anonymous: Option<u64>) -> Values {
        // The process looks when its heap grows. What its segments and its memory no longer have has been given back since.
        let in_heap = |anonymous| Some(self.resident_in_heap?.min(self.segment_bytes).min(anonymous));
        [
            Some(self.heap),
            resident,
            Some(self.segments),
            Some(self.segment_bytes),
            anonymous,
            anonymous.and_then(in_heap),
        ]
    }
}

/// A course that grows.
#[derive(Default)]
struct Growing {
    course: Course,
    /// Looks in its last point.
    in_last: u64,
    /// The peak of the heap at the look before.
    peak: u64,
    is_ended: bool,
}

impl Growing {
    fn new() -> Growing {
        Growing { course: Course { looks_per_point: 1, ..Course::default() }, ..Growing::default() }
    }

    fn add(&mut self, at_ns: u64, values: &Values, highs: &Values) {
        let is_new = self.in_last >= self.course.looks_per_point || self.course.points() == 0;
        if is_new && self.course.points() >= POINTS {
            self.halve();
        }
        let is_new = self.in_last >= self.course.looks_per_point || self.course.points() == 0;
        self.course.add(is_new, at_ns, values, highs);
        self.in_last = if is_new { 1 } else { self.in_last + 1 };
    }

    fn halve(&mut self) {
        // The last two points become one if their number is even; else the last one stays alone.
        if self.course.points().is_multiple_of(2) {
            self.in_last += self.course.looks_per_point;
        }
        self.course.halve();
    }
}

/// Makes courses of looks.
pub struct Recorder {
    every_ns: u64,
    looks: u64,
    left_out: u64,
    all: Growing,
    processes: Vec<(Seen, Growing)>,
    /// The place of each process: its number, and when it began.
    places: HashMap<(u32, u64), usize>,
    /// When the last look was.
    last_ns: u64,
    /// The highest peak of processes that ended while no other one lived: for the next point of all.
    waiting: u64,
    /// What these processes left: the last point of all, if no other process comes.
    left: Values,
}

impl Recorder {
    /// For looks so many nanoseconds apart.
    #[must_use]
    pub fn new(every_ns: u64) -> Recorder {
        Recorder {
            every_ns,
            looks: 0,
            left_out: 0,
            all: Growing::new(),
            processes: Vec::new(),
            places: HashMap::new(),
            last_ns: 0,
            waiting: 0,
            left: [None; FIGURES],
        }
    }

    /// Adds a look at the processes that live, and at those that ended since the look before. `at_ns`: nanoseconds after the run began.
    pub fn look(&mut self, at_ns: u64, seen: Vec<Seen>) {
        self.looks += 1;
        self.add(at_ns, seen, false);
    }

    /// `is_last`: what ended counts in the point of all as what lives.
    fn add(&mut self, at_ns: u64, seen: Vec<Seen>, is_last: bool) {
        let before = std::mem::replace(&mut self.last_ns, at_ns);
        let mut sums: Values = [None; FIGURES];
        let mut left: Values = [None; FIGURES];
        for one in seen {
            // A process that the look before could see, and that has no course, was left out then.
            let is_known = self.places.contains_key(&(one.process, one.started_ns));
            if self.left_out > 0 && one.ended_ns.is_some() && !is_known && one.started_ns < before {
                continue;
            }
            let (counted, ended_ns) = (one.counters, one.ended_ns);
            let values = counted.values(one.resident, one.anonymous);
            let place = self.place(one);
            if place.is_some_and(|at| self.processes[at].1.is_ended) {
                continue;
            }
            let of = if is_last || ended_ns.is_none() { &mut sums } else { &mut left };
            for (sum, value) in of.iter_mut().zip(values) {
                *sum = sum.map_or(value, |sum| Some(sum.saturating_add(value.unwrap_or(0))));
            }
            let before = place.map_or(0, |at| self.processes[at].1.peak);
            let mut highs = values;
            if counted.peak > before {
                highs[HEAP] = Some(counted.peak.max(counted.heap));
            }
            self.waiting = self.waiting.max(highs[HEAP].unwrap_or(0));
            if let Some(at) = place {
                let growing = &mut self.processes[at].1;
                growing.peak = counted.peak.max(before);
                growing.is_ended = ended_ns.is_some();
                let last = growing.course.at_ns.last().copied().unwrap_or(0);
                growing.add(ended_ns.unwrap_or(at_ns).max(last), &values, &highs);
            }
        }
        if left[HEAP].is_some() {
            self.left = left;
        }
        if is_last && sums[HEAP].is_none() && self.waiting > 0 {
            sums = self.left;
        }
        if let Some(sum) = sums[HEAP] {
            let mut highs = sums;
            // At least so much: of several processes, their peaks may have been at different times.
            highs[HEAP] = Some(sum.max(std::mem::take(&mut self.waiting)));
            self.all.add(at_ns, &sums, &highs);
        }
        while self.points() > POINTS_OF_ALL {
            let long = self.processes.iter_mut().filter(|(_, growing)| growing.course.points() >= FEW);
            if long.map(|(_, growing)| growing.halve()).count() == 0 {
                break;
            }
        }
    }

    fn points(&self) -> usize {
        self.processes.iter().map(|(_, growing)| growing.course.points()).sum()
    }

    /// The place of a process's course. If there are too many, that of an ended process with the least storage is given up.
    fn place(&mut self, seen: Seen) -> Option<usize> {
        let name = (seen.process, seen.started_ns);
        if let Some(&at) = self.places.get(&name) {
            return Some(at);
        }
        let peak = seen.counters.peak;
        if self.processes.len() < COURSES {
            self.processes.push((seen, Growing::new()));
            self.places.insert(name, self.processes.len() - 1);
            return Some(self.processes.len() - 1);
        }
        self.left_out += 1;
        let ended = self.processes.iter().enumerate().filter(|(_, (_, growing))| growing.is_ended);
        let least = ended.map(|(at, (_, growing))| (growing.peak, at)).min();
        let (_, at) = least.filter(|(least, _)| *least <= peak)?;
        let (old, _) = std::mem::replace(&mut self.processes[at], (seen, Growing::new()));
        self.places.remove(&(old.process, old.started_ns));
        self.places.insert(name, at);
        Some(at)
    }

    /// Ends the courses with the figures of the report, so that each process has a last point.
    #[must_use]
    pub fn finish(mut self, report: &Report) -> OverTime {
        let elapsed = report.steps.as_ref().map_or(0, |steps| steps.elapsed_ns).max(self.last_ns);
        let whole = report.processes.iter().filter(|process| process.state != State::Folded);
        let ends: Vec<Seen> = whole
            .map(|process| Seen {
                program: process.program.clone(),
                process: process.process,
                started_ns: process.started_ns,
                counters: Counted::of(|key| process.counters.get(key)),
                resident: None,
                anonymous: None,
                ended_ns: Some(process.ended_ns.unwrap_or_else(|| self.unknown_end(process, elapsed))),
            })
            .filter(|seen| !self.has_ended(seen))
            .collect();
        self.add(elapsed, ends, true);
        let mut processes: Vec<OfProcess> = self
            .processes
            .into_iter()
            .map(|(seen, growing)| OfProcess {
                program: file_name(&seen.program).to_owned(),
                process: seen.process,
                started_ns: seen.started_ns,
                course: growing.course,
            })
            .collect();
        processes.sort_by_key(|one| (one.started_ns, one.process));
        OverTime {
            every_ns: self.every_ns,
            looks: self.looks,
            left_out: self.left_out,
            all: self.all.course,
            processes,
        }
    }

    /// The end of a process that did not tell it: it still runs, or it was killed or became another program, at the latest at the look that
    /// did not see it any more.
    fn unknown_end(&self, process: &Process, elapsed: u64) -> u64 {
        if process.state == State::Running {
            return elapsed;
        }
        let course = self.course(process.process, process.started_ns);
        let last = course.and_then(|growing| growing.course.at_ns.last().copied());
        last.unwrap_or(process.started_ns).saturating_add(self.every_ns).min(elapsed)
    }

    fn has_ended(&self, seen: &Seen) -> bool {
        self.course(seen.process, seen.started_ns).is_some_and(|growing| growing.is_ended)
    }

    fn course(&self, process: u32, started_ns: u64) -> Option<&Growing> {
        self.places.get(&(process, started_ns)).map(|&at| &self.processes[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    const MS: u64 = 1_000_000;

    fn seen(process: u32, heap: u64, peak: u64) -> Seen {
        let get = |key| match key {
            Key::HeapUsed => heap,
            Key::HeapUsedPeak => peak,
            Key::HeapSegmentsAllocated => 5,
            Key::HeapSegmentsFreed => 2,
            _ => 0,
        };
        Seen {
            program: format!("/bin/p{process}"),
            process,
            counters: Counted::of(get),
            resident: Some(2 * heap),
            ..Seen::default()
        }
    }

    fn ended(at_ms: u64, seen: Seen) -> Seen {
        Seen { ended_ns: Some(at_ms * MS), resident: None, ..seen }
    }

    fn report(processes: Vec<Process>) -> Report {
        let mut report = sample::report(processes);
        report.steps = None;
        report
    }

    #[test]
    fn an_hour_at_100_ms_keeps_its_extremes_its_first_and_its_last_look() {
        let mut recorder = Recorder::new(100 * MS);
        for look in 1..=36_000_u64 {
            let heap = match look {
                17_000 => 9_999,
                23_000 => 1,
                _ => 1_000 + look % 7,
            };
            recorder.look(look * 100 * MS, vec![seen(1, heap, heap.max(1_006))]);
        }
        let over = recorder.finish(&report(Vec::new()));
        for course in [&over.all, &over.processes[0].course] {
            assert!(course.points() <= POINTS && course.points() > POINTS / 4, "{}", course.points());
            assert!(course.is_even() && course.at_ns.is_sorted());
            assert_eq!(course.at_ns.last(), Some(&(3_600_000 * MS)));
            assert_eq!(course.heap.highest(), Some(9_999));
            assert_eq!(course.heap.low.iter().flatten().min(), Some(&1));
            assert_eq!(course.heap.last.last(), Some(&Some(1_000 + 36_000 % 7)));
            assert_eq!(course.segments.last[0], Some(3));
            assert_eq!(course.anonymous.highest(), None);
        }
        assert_eq!((over.looks, over.left_out), (36_000, 0));
        assert!(serde_json::to_string(&over).expect("plain data").len() < 100_000);
    }

    #[test]
    fn a_peak_between_two_looks_is_seen_once() {
        let mut recorder = Recorder::new(MS);
        recorder.look(MS, vec![seen(1, 10, 10)]);
        recorder.look(2 * MS, vec![seen(1, 20, 500)]);
        recorder.look(3 * MS, vec![seen(1, 30, 500)]);
        let course = recorder.finish(&report(Vec::new())).processes.remove(0).course;
        assert_eq!(course.heap.high, [Some(10), Some(500), Some(30)]);
        assert_eq!(course.heap.low, [Some(10), Some(20), Some(30)]);
    }

    #[test]
    fn a_process_that_ends_between_two_looks_has_its_last_point() {
        let mut recorder = Recorder::new(100 * MS);
        recorder.look(100 * MS, vec![seen(1, 10, 10)]);
        recorder.look(200 * MS, vec![seen(1, 10, 10), ended(150, seen(2, 7, 70))]);
        // An ended one is not seen again, whatever a look tells.
        recorder.look(300 * MS, vec![seen(1, 10, 10), ended(150, seen(2, 7, 70))]);
        let mut processes = Vec::new();
        for (number, used, end) in [(1, 3, 340), (2, 7, 150), (3, 5, 330)] {
            let mut process = sample::heap("/bin/x", 40, 1, 4096, (0, 0));
            process.counters.set(Key::HeapUsed, used);
            (process.process, process.started_ns, process.ended_ns) = (number, 0, Some(end * MS));
            processes.push(process);
        }
        let over = recorder.finish(&report(processes));
        let ends: Vec<_> = over
            .processes
            .iter()
            .map(|one| {
                (
                    one.process,
                    one.course.at_ns.last().map(|at| at / MS),
                    one.course.heap.last.last().copied().flatten(),
                )
            })
            .collect();
        assert_eq!(ends, [(1, Some(340), Some(3)), (2, Some(150), Some(7)), (3, Some(330), Some(5))]);
        assert_eq!(over.all.heap.high, [Some(10), Some(70), Some(10), Some(40)]);
        assert_eq!(over.all.heap.last.last(), Some(&Some(8)));
        assert_eq!(over.all.resident.last, [Some(20), Some(20), Some(20), None]);
    }

    #[test]
    fn the_peak_of_the_last_process_counts_if_a_look_saw_its_end() {
        let mut recorder = Recorder::new(10 * MS);
        recorder.look(10 * MS, vec![seen(1, 10, 10)]);
        recorder.look(20 * MS, vec![ended(15, seen(1, 3, 40))]);
        let mut process = sample::heap("/bin/x", 40, 1, 4096, (0, 0));
        process.counters.set(Key::HeapUsed, 3);
        (process.process, process.started_ns, process.ended_ns) = (1, 0, Some(15 * MS));
        let over = recorder.finish(&report(vec![process]));
        assert_eq!(over.all.heap.high, [Some(10), Some(40)]);
        assert_eq!(over.all.heap.last, [Some(10), Some(3)]);
    }

    #[test]
    fn what_was_given_back_since_the_last_look_is_not_in_the_heap() {
        let counted = |anonymous, heap, segments| {
            Counted::of(|key| match key {
                Key::CoverageAnonymous => anonymous,
                Key::CoverageHeap => heap,
                Key::HeapSegmentBytes => segments,
                _ => 0,
            })
        };
        let mut recorder = Recorder::new(MS);
        let looks = [
            (counted(0, 0, 64), Some(9)),
            (counted(50, 40, 64), Some(52)),
            (counted(50, 40, 64), Some(12)),
            (counted(50, 40, 8), Some(12)),
            (counted(50, 40, 8), None),
        ];
        for (at, (counters, anonymous)) in (1..).zip(looks) {
            recorder.look(at * MS, vec![Seen { counters, anonymous, ..seen(1, 0, 0) }]);
        }
        let course = recorder.finish(&report(Vec::new())).processes.remove(0).course;
        assert_eq!(course.anonymous.last, [Some(9), Some(52), Some(12), Some(12), None]);
        assert_eq!(course.anonymous_in_heap.last, [None, Some(40), Some(12), Some(8), None]);
    }

    #[test]
    fn thousands_of_short_processes_leave_the_largest() {
        let mut recorder = Recorder::new(MS);
        for number in 1..=2_000_u32 {
            let short = |number: u32| {
                let at = u64::from(number);
                let peak = if number == 5 { 1 << 30 } else { 100 + at };
                ended(at, Seen { started_ns: at * MS - 1, ..seen(number, 1, peak) })
            };
            // Those that could not tell when they ended are seen again.
            let again = number.checked_sub(1).filter(|before| *before > 0).map(short);
            let all = [seen(9_999, 50, 50), short(number)].into_iter().chain(again).collect();
            recorder.look(u64::from(number) * MS, all);
        }
        let over = recorder.finish(&report(Vec::new()));
        assert_eq!(over.processes.len(), COURSES);
        assert_eq!(over.left_out, 2_001 - COURSES as u64);
        assert!(
            over.processes.iter().any(|one| one.process == 5)
                && over.processes.iter().any(|one| one.process == 9_999)
        );
        let points: usize = over.processes.iter().map(|one| one.course.points()).sum();
        assert!(points <= POINTS_OF_ALL);
    }

    #[test]
    fn many_long_courses_together_are_bounded() {
        let mut recorder = Recorder::new(MS);
        for look in 1..=300 {
            recorder.look(look * MS, (1..=200).map(|process| seen(process, look, look)).collect());
        }
        let over = recorder.finish(&report(Vec::new()));
        let points: usize = over.processes.iter().map(|one| one.course.points()).sum();
        assert!(points <= POINTS_OF_ALL && over.processes.len() == 200, "{points}");
        assert!(
            over.processes.iter().all(|one| one.course.is_even() && one.course.heap.highest() == Some(300))
        );
    }
}
