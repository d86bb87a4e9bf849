//! Samples added up: by whole stacks, got and in use, at the peak and at the end.
//!
//! ```text
//! Got    ── got[stack] +, now[stack] +, live[process, address]
//! Freed  ── live -, now[stack] -
//! end    ── live of a process ──> at_end[stack] +, now[stack] -
//! peak   = now before the request, and the request itself, whenever the heaps had more in use than before, by their own count
//!          now, if they had still more in use since the event before this one
//! ```
//!
//! The heap's own count chooses the time of the peak, not the samples: the largest of many estimates would be too large. A request at that
//! time is certain to be in use, so it counts as itself, without a weight. Most peaks are between two events; then the same samples are in
//! use as before the second one, with their weights. If the heap's count at the end is that of the request, then this was the peak whether
//! it was sampled or not, and the request has its weight like others: without it, less would be in use at the peak than at the end.
//!
//! Invariant: of each stack, `now` is the sum of its live samples, and `got` is at least `now` and `at_end` together. Memory is
//! bounded by the number of different stacks, at most [`MOST_STACKS`], and of live samples.
//! Not here: names, and what a site is ([`crate::report`]).

use std::collections::HashMap;
use std::rc::Rc;

use crate::walk::{End, Place, Walk};
use crate::weights::Sum;

/// A number of a peak: they follow each other.
type Peak = u64;

/// More different stacks than are kept apart: further ones are counted without their callers.
pub const MOST_STACKS: usize = 1 << 17;

/// A stack, by its place in the list.
type StackId = u32;

/// Samples of all processes.
#[derive(Default)]
pub struct Tally {
    ids: HashMap<Rc<Walk>, StackId>,
    rows: Vec<Row>,
    live: HashMap<(u32, u64), Live>,
    /// Bytes in use of each process, by its heap's own count at its last sample.
    in_use: HashMap<u32, u64>,
    /// The most bytes in use that each process ever had, as far as its events told.
    most: HashMap<u32, u64>,
    /// The number of the last peak; 0: there was none.
    peak: Peak,
    /// The bytes in use then, of all processes, by the heaps' own counts.
    peak_in_use: u64,
    /// The request at the last peak.
    at_peak: Option<AtPeak>,
    /// What the samples say of the run.
    pub counts: Counts,
}

/// A stack and its sums.
pub struct Row {
    /// The stack.
    pub walk: Rc<Walk>,
    /// All requests.
    pub got: Sum,
    /// In use when their process ended.
    pub at_end: Sum,
    now: Sum,
    /// What was in use at this peak. It still is, if there were later ones: `now` has not changed since.
    before: Sum,
    before_peak: Peak,
}

/// Counts of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Samples.
    pub samples: u64,
    /// Samples for which there was no room.
    pub lost: u64,
    /// Samples whose storage was freed.
    pub freed: u64,
    /// The least mean distance of samples, bytes.
    pub least_mean: u64,
    /// The largest, also if no sample came after it had grown.
    pub largest_mean: u64,
    /// The longest piece of stack that was too short, bytes.
    pub longest_copy: u64,
}

/// A sampled request.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The address that it got.
    pub address: u64,
    /// Bytes requested.
    pub size: u64,
    /// The mean distance of samples.
    pub mean: u64,
    /// Bytes in use in its process then, this request included, by the heap's own count.
    pub in_use: u64,
    /// The most until then, this request included.
    pub most: u64,
}

#[derive(Clone, Copy)]
struct Live {
    stack: StackId,
    size: u64,
    mean: u64,
}

/// The request at a peak.
#[derive(Clone, Copy)]
struct AtPeak {
    process: u32,
    /// What its process had in use then.
    in_use: u64,
    request: Live,
    /// What it adds to the peak.
    sum: Sum,
}

impl Tally {
    /// A sampled request of a process, with its callers.
    pub fn got(&mut self, process: u32, sample: Taken, walk: Walk) {
        let Taken { address, size, mean, in_use, most } = sample;
        if most > in_use {
            self.peaked(process, most);
        }
        let known = self.most.entry(process).or_default();
        *known = in_use.max(most).max(*known);
        // Its free was lost.
        self.forget(process, address);
        let stack = self.stack(walk);
        let counts = &mut self.counts;
        counts.least_mean = if counts.samples == 0 { mean } else { counts.least_mean.min(mean) };
        counts.largest_mean = counts.largest_mean.max(mean);
        counts.samples += 1;
        self.in_use.insert(process, in_use);
        let all = self.all_in_use();
        if all > self.peak_in_use || self.peak == 0 {
            self.peak += 1;
            self.peak_in_use = all;
            let request = Live { stack, size, mean };
            self.at_peak = Some(AtPeak { process, in_use, request, sum: Sum::itself(size, mean) });
        }
        let Some(row) = self.rows.get_mut(stack as usize) else { return };
        row.got.add(size, mean);
        row.change(self.peak).add(size, mean);
        self.live.insert((process, address), Live { stack, size, mean });
    }

    /// The storage at an address was freed. Until then the process had at most so many bytes in use. Address 0 is the end of the process.
    pub fn freed(&mut self, process: u32, address: u64, most: u64) {
        self.peaked(process, most);
        // A free has counted what its thread did since, as a request does: it would confirm the peak of whatever was sampled.
        if address == 0
            && let Some(at_peak) = &mut self.at_peak
            && (at_peak.process, at_peak.in_use) == (process, most)
        {
            at_peak.sum = Sum::of(at_peak.request.size, at_peak.request.mean);
        }
        self.counts.freed += u64::from(self.forget(process, address));
    }

    /// Samples were lost.
    pub fn lost(&mut self, samples: u64) {
        self.counts.lost = self.counts.lost.saturating_add(samples);
    }

    /// A process has ended, or executes another program: what it still had in use is so at the end. This mean distance was in force then;
    /// it may have grown after the last sample.
    pub fn ended(&mut self, process: u32, mean: u64) {
        if self.counts.samples > 0 {
            self.counts.largest_mean = self.counts.largest_mean.max(mean);
        }
        self.in_use.remove(&process);
        self.most.remove(&process);
        let left: Vec<(u32, u64)> = self.live.keys().copied().filter(|(of, _)| *of == process).collect();
        for key in left {
            if let Some(live) = self.take(key)
                && let Some(row) = self.rows.get_mut(live.stack as usize)
            {
                row.at_end.add(live.size, live.mean);
            }
        }
    }

    /// All processes have ended.
    pub fn end(&mut self) {
        let mut processes: Vec<u32> = self.live.keys().map(|(process, _)| *process).collect();
        processes.sort_unstable();
        processes.dedup();
        processes.into_iter().for_each(|process| self.ended(process, 0));
    }

    /// The stacks, in the order in which they were first seen.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// What the stack at this place in the list had in use when all processes together had most in use, by their heaps' own counts.
    #[must_use]
    pub fn at_peak(&self, stack: usize) -> Sum {
        let Some(row) = self.rows.get(stack) else { return Sum::default() };
        let mut sum = if row.before_peak == self.peak { row.before } else { row.now };
        if let Some(at_peak) = self.at_peak.filter(|at_peak| at_peak.request.stack as usize == stack) {
            sum.join(&at_peak.sum);
        }
        sum
    }

    /// The most bytes in use of all processes, by their heaps' own counts.
    #[must_use]
    pub fn peak_in_use(&self) -> u64 {
        self.peak_in_use
    }

    /// A process had so many bytes in use at most, and not at an event. If that is more than at its last event, it was since then.
    fn peaked(&mut self, process: u32, most: u64) {
        let known = self.most.entry(process).or_default();
        if most <= *known {
            return;
        }
        *known = most;
        let others = self.all_in_use() - self.in_use.get(&process).copied().unwrap_or(0);
        let all = others.saturating_add(most);
        if all > self.peak_in_use {
            self.peak += 1;
            self.peak_in_use = all;
            self.at_peak = None;
        }
    }

    fn all_in_use(&self) -> u64 {
        self.in_use.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes))
    }

    fn forget(&mut self, process: u32, address: u64) -> bool {
        self.take((process, address)).is_some()
    }

    fn take(&mut self, key: (u32, u64)) -> Option<Live> {
        let live = self.live.remove(&key)?;
        if let Some(row) = self.rows.get_mut(live.stack as usize) {
            row.change(self.peak).remove(live.size, live.mean);
        }
        Some(live)
    }

    fn stack(&mut self, mut walk: Walk) -> StackId {
        if self.rows.len() >= MOST_STACKS && !self.ids.contains_key(&walk) {
            walk = Walk { places: Vec::<Place>::new(), end: End::Deep };
        }
        if let Some(known) = self.ids.get(&walk) {
            return *known;
        }
        let id = StackId::try_from(self.rows.len()).unwrap_or(StackId::MAX);
        let walk = Rc::new(walk);
        let none = Sum::default();
        self.rows.push(Row {
            walk: Rc::clone(&walk),
            got: none,
            at_end: none,
            now: none,
            before: none,
            before_peak: 0,
        });
        self.ids.insert(walk, id);
        id
    }
}

impl Row {
    /// The sum of live samples, to be changed: as it is, it is that of the last peak.
    fn change(&mut self, peak: Peak) -> &mut Sum {
        if self.before_peak != peak {
            self.before_peak = peak;
            self.before = self.now;
        }
        &mut self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(address: u64) -> Walk {
        Walk { places: vec![Place::Process(1, address)], end: End::Whole }
    }

    fn samples(tally: &Tally) -> Vec<[u64; 4]> {
        let rows = tally.rows().iter().enumerate();
        rows.map(|(at, row)| [row.got, tally.at_peak(at), row.at_end, row.now].map(|sum| sum.samples))
            .collect()
    }

    fn taken(address: u64, size: u64, in_use: u64) -> Taken {
        Taken { address, size, mean: 1 << 19, in_use, most: in_use }
    }

    #[test]
    fn storage_is_in_use_until_it_is_freed_or_its_process_ends() {
        let mut tally = Tally::default();
        for (process, address, stack, in_use) in [(1, 0x10, 5, 1), (1, 0x20, 5, 2), (2, 0x10, 6, 1)] {
            tally.got(process, taken(address, 1 << 30, in_use << 30), walk(stack));
        }
        tally.freed(1, 0x10, 0);
        tally.freed(1, 0x10, 0);
        tally.freed(3, 0x20, 0);
        assert_eq!((samples(&tally), tally.peak_in_use()), (vec![[2, 2, 0, 1], [1, 1, 0, 1]], 3 << 30));
        tally.ended(2, 1 << 19);
        tally.got(1, taken(0x30, 100, 1 << 30), walk(6));
        assert_eq!(samples(&tally), [[2, 2, 0, 1], [2, 1, 1, 1]], "no new peak");
        // The free of an address that is got again was lost.
        tally.got(1, Taken { mean: 1 << 20, ..taken(0x30, 100, 1 << 30) }, walk(5));
        tally.lost(3);
        tally.end();
        assert_eq!(samples(&tally), [[3, 2, 2, 0], [2, 1, 1, 0]]);
        let expected = Counts {
            samples: 5,
            lost: 3,
            freed: 1,
            least_mean: 1 << 19,
            largest_mean: 1 << 20,
            longest_copy: 0,
        };
        assert_eq!(tally.counts, expected);
    }

    /// The distance grew after the last sample, and what was requested then has none: intervals must allow for it.
    #[test]
    fn the_mean_distance_at_the_end_counts() {
        let mut tally = Tally::default();
        tally.ended(1, 1 << 24);
        assert_eq!(tally.counts.largest_mean, 0, "of no sample");
        tally.got(2, taken(0x10, 100, 100), walk(5));
        tally.ended(2, 1 << 22);
        tally.ended(3, 0);
        assert_eq!((tally.counts.least_mean, tally.counts.largest_mean), (1 << 19, 1 << 22));
    }

    /// One large block that comes and goes is the peak, although nothing else is in use before and after it.
    #[test]
    fn the_request_at_the_peak_is_part_of_it() {
        let mut tally = Tally::default();
        tally.got(1, taken(0x10, 100, 2000), walk(5));
        tally.got(1, taken(0x20, 1 << 33, (1 << 33) + 2000), walk(6));
        tally.freed(1, 0x20, 0);
        tally.got(1, taken(0x30, 100, 2100), walk(5));
        let [small, large] = [0, 1].map(|at| tally.at_peak(at));
        assert_eq!((small.samples, large.samples, large.bytes), (1, 1, (1_u64 << 33) as f64));
        assert_eq!(large.interval().low, large.bytes);
        // A small one counts as itself, and its interval allows for others that were not sampled.
        let mut tally = Tally::default();
        tally.got(1, taken(0x10, 100, 2000), walk(5));
        let only = tally.at_peak(0);
        assert!(
            only.bytes == 100.0 && only.interval().low == 100.0 && only.interval().high > (1 << 20) as f64
        );
    }

    /// The last growth before a peak holds no sample, as often when samples are far apart: the peak is the true one all the same.
    #[test]
    fn a_peak_between_two_samples_is_seen_at_the_next_event() {
        for is_free_next in [true, false] {
            let mut tally = Tally::default();
            tally.got(1, taken(0x10, 100, 1000), walk(5));
            tally.got(1, taken(0x20, 100, 2000), walk(5));
            // Grew to 9000 without a sample, and then shrank.
            match is_free_next {
                true => tally.freed(1, 0x10, 9000),
                false => tally.got(1, Taken { most: 9000, ..taken(0x30, 100, 3000) }, walk(6)),
            }
            assert_eq!(tally.peak_in_use(), 9000);
            let peak = tally.at_peak(0);
            assert!(peak.samples == 2 && peak.bytes > (1 << 19) as f64, "both have their weights: {peak:?}");
            assert_eq!(tally.rows().get(1).map(|_| tally.at_peak(1).samples), (!is_free_next).then_some(0));
            // Known already.
            tally.freed(1, 0x20, 9000);
            assert_eq!((tally.peak_in_use(), tally.at_peak(0).samples), (9000, 2));
        }
        // The other processes have what they had at their last events.
        let mut tally = Tally::default();
        tally.got(1, taken(0x10, 100, 5000), walk(5));
        tally.got(2, taken(0x10, 100, 1000), walk(5));
        tally.freed(2, 0, 2000);
        assert_eq!(tally.peak_in_use(), 7000);
    }

    /// A program that frees nothing has most in use at its end. If its last request was sampled, the estimate for the peak was less.
    #[test]
    fn what_grows_to_the_end_has_as_much_at_its_peak_as_at_its_end() {
        const SIZE: u64 = 64 << 10;
        const REQUESTS: u64 = 8;
        const RUNS: u64 = 4000;
        let chance = crate::weights::chance(SIZE, 4 * SIZE);
        let mut state = 88_172_645_463_325_252_u64;
        let (mut sum, mut last_ones) = (0.0, 0);
        for _ in 0..RUNS {
            let mut tally = Tally::default();
            for number in 1..=REQUESTS {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                if (state >> 11) as f64 / (1_u64 << 53) as f64 <= chance {
                    let sample = Taken { mean: 4 * SIZE, ..taken(number, SIZE, number * SIZE) };
                    tally.got(1, sample, walk(5));
                    last_ones += u64::from(number == REQUESTS);
                }
            }
            tally.freed(1, 0, REQUESTS * SIZE);
            tally.ended(1, 4 * SIZE);
            if let Some(row) = tally.rows().first() {
                assert_eq!(tally.at_peak(0).bytes, row.at_end.bytes);
                sum += row.at_end.bytes;
            }
        }
        let bias = sum / (RUNS * REQUESTS * SIZE) as f64 - 1.0;
        assert!(last_ones > RUNS / 8 && bias.abs() < 0.03, "{last_ones} {bias}");
    }

    /// A program whose storage comes and goes around the same level: of all its moments, the samples must not choose the one at which they
    /// are too many by chance.
    #[test]
    fn the_peak_of_a_churning_program_has_an_interval_that_holds_the_truth() {
        const RUNS: u64 = 400;
        const MEAN: u64 = 64 << 10;
        const SIZES: [u64; 5] = [48, 400, 3 << 10, 20 << 10, 200 << 10];
        let chances = SIZES.map(|size| crate::weights::chance(size, MEAN));
        let (mut inside, mut site_inside, mut sum, mut truths) = (0, 0, 0.0, 0.0);
        for run in 0..RUNS {
            let mut state = 88_172_645_463_325_252 ^ (run << 32);
            let mut random = move || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            };
            let mut tally = Tally::default();
            let mut live: Vec<usize> = vec![SIZES.len(); 256];
            let (mut in_use, mut of_site) = (0_u64, 0_u64);
            let mut peak = (0, 0);
            for _ in 0..4000 {
                let place = (random() >> 20) as usize % live.len();
                if let Some(size) = SIZES.get(live[place]) {
                    tally.freed(1, place as u64, peak.0);
                    in_use -= size;
                    of_site -= if live[place] < 3 { 0 } else { *size };
                }
                // The large ones are rare.
                let kind = ((random() >> 40) % 20) as usize;
                let kind = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4][kind];
                live[place] = kind;
                in_use += SIZES[kind];
                of_site += if kind < 3 { 0 } else { SIZES[kind] };
                peak = peak.max((in_use, of_site));
                if (random() >> 11) as f64 / (1_u64 << 53) as f64 <= chances[kind] {
                    let sample =
                        Taken { address: place as u64, size: SIZES[kind], mean: MEAN, in_use, most: peak.0 };
                    tally.got(1, sample, walk(if kind < 3 { 5 } else { 6 }));
                }
            }
            let mut total = Sum::default();
            let mut site = Sum::default();
            for (at, row) in tally.rows().iter().enumerate() {
                total.join(&tally.at_peak(at));
                if row.walk.places == walk(6).places {
                    site = tally.at_peak(at);
                }
            }
            tally.freed(1, 0, peak.0);
            assert_eq!(peak.0, tally.peak_in_use());
            let holds = |sum: &Sum, truth: u64| {
                let interval = sum.interval();
                (interval.low..=interval.high).contains(&(truth as f64))
            };
            inside += u64::from(holds(&total, tally.peak_in_use()));
            site_inside += u64::from(holds(&site, peak.1));
            (sum, truths) = (sum + total.bytes, truths + tally.peak_in_use() as f64);
        }
        let bias = sum / truths - 1.0;
        eprintln!(
            "{inside} and {site_inside} of {RUNS} intervals hold the truth; on average off by {bias:.4}"
        );
        assert!(inside >= RUNS * 93 / 100, "{inside} of {RUNS} hold it");
        assert!(site_inside >= RUNS * 90 / 100, "{site_inside} of {RUNS} hold that of a site");
        assert!(bias.abs() < 0.02, "{bias}");
    }
}
