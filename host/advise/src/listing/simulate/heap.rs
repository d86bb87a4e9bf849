//! What-if: a program's requests with other sizes of HEAP or HEAPPOOLS, before any change.
//!
//! ```text
//! requests  the report's ranges of 8 bytes, drawn by their counts; without them, requests of the report's mean size
//! heap      [initial][increment][increment]...   a request goes into the segment with the most room, or into a new one
//! ```
//!
//! Invariant: the same listing and the same values give the same answer. Requests are drawn until the use reaches the largest
//! use in the report. A request larger than the increment gets its own segment.
//! It is an estimate, and the output says so: a report does not show when storage was freed, nor in which order.
//! Not here: z/TPF's available lists.

use std::collections::BinaryHeap;
use std::fmt;

use serde::Serialize;
use underbar_listing::{Field, Item, Kind as Part, OptionRow};

use underbar_model::Figure;

use super::super::collect::Collected;
use super::super::program_case::ProgramCase;
use super::{NotTried, Tried};
use crate::sizes::{size, written};
use underbar_model::cells::{Range, waste};

/// The most requests that are drawn.
const MOST_REQUESTS: usize = 4_000_000;
/// Bytes before each element, which is rounded up to the next 8 bytes.
const HEADER: u64 = 8;
/// Addresses below the bar.
const BAR: u64 = 2 << 30;

/// The result for one heap, or for the pools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The option and its values.
    pub option: String,
    /// Segments; None for pools.
    pub segments: Option<u64>,
    /// Bytes taken.
    pub bytes: u64,
    /// The part of them beyond the requests.
    pub waste: u64,
}

/// One program under the present values and under the proposed ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WhatIf {
    /// The program.
    pub program: String,
    /// The source of the requests.
    pub requests: String,
    /// Segments that the report shows, for comparison with the first outcome.
    pub measured: Option<u64>,
    /// Present, then proposed.
    pub outcomes: Vec<Outcome>,
    /// Notes.
    pub notes: Vec<String>,
}

/// Replays the last sound run of each program; if that is impossible, says why.
///
/// # Errors
/// The error in the text.
pub(super) fn simulate(collected: &Collected, text: &str) -> Result<Vec<Tried>, String> {
    let rows = options(text)?;
    let programs = collected.programs.iter();
    Ok(programs
        .map(|program| match one(&ProgramCase { collected, program, risk: "" }, &rows) {
            Ok(what) => Tried::Heap(what),
            Err(why) => Tried::Not(NotTried { subject: program.name.clone(), why }),
        })
        .collect())
}

fn options(text: &str) -> Result<Vec<OptionRow>, String> {
    let mut flaw = None;
    underbar_options::check(text.as_bytes(), &mut |diagnostic| {
        if diagnostic.severity() == underbar_options::Severity::Warning {
            flaw.get_or_insert_with(|| diagnostic.to_string());
        }
    });
    if let Some(flaw) = flaw {
        return Err(flaw);
    }
    let line = format!("_CEE_RUNOPTS=\"{}\"\n", text.replace(['"', '\n', '\r'], " "));
    let mut rows = Vec::new();
    for item in underbar_listing::read(line.as_bytes()) {
        let Item::Text(text) = item else { continue };
        if let Some(doubt) = text.doubts.first() {
            return Err(doubt.words.clone());
        }
        rows.extend(text.rows);
    }
    if let Some(other) = rows.iter().find(|row| !matches!(row.name.as_str(), "HEAP" | "HEAPPOOLS")) {
        return Err(format!(
            "{} cannot be tried: only HEAP and HEAPPOOLS can, HEAP(64M,16M) for instance",
            other.name
        ));
    }
    for row in rows.iter().filter(|row| row.name == "HEAP") {
        if let Some(value) =
            row.sub_options().iter().take(2).find(|value| size(value).is_some_and(|bytes| bytes >= BAR))
        {
            return Err(format!("{value} of HEAP cannot be had: below the bar there are 2G"));
        }
    }
    for row in rows.iter().filter(|row| row.name == "HEAPPOOLS") {
        let values = row.sub_options();
        let sizes = values.iter().skip(1).step_by(2).filter_map(|value| size(value));
        if let Some(cell) = sizes.into_iter().find(|cell| !cell.is_multiple_of(8)) {
            return Err(format!("{cell} is no size of a cell of HEAPPOOLS: it must be a multiple of 8"));
        }
    }
    if rows.is_empty() {
        return Err("HEAP or HEAPPOOLS is needed, HEAP(64M,16M) for instance".to_owned());
    }
    Ok(rows)
}

/// The result for one program, or why there is none.
fn one(case: &ProgramCase<'_>, rows: &[OptionRow]) -> Result<WhatIf, String> {
    let run = case.sound().last().ok_or("no report of it can be used")?;
    if run.report.section(Part::Heap).is_none() {
        let why = match run.report.is_64bit() {
            true => "its report is of a 64-bit program, whose HEAP64 cannot be replayed",
            false => "its report has no section HEAP that can be read",
        };
        return Err(why.to_owned());
    }
    let (heap, pools) = (case.heap_of(run), case.pools(run));
    let known = |figure: &Figure, field: Field| {
        figure.certain().ok_or_else(|| format!("{} of HEAP is not read, or not certain", field.label()))
    };
    let by_size = case.requests(run).rows;
    let of_run = by_size.iter().filter_map(|row| Some(Range { to: row.limit, count: row.count.certain()? }));
    let ranges: Vec<Range> = of_run.filter(|range| range.to > 0).collect();
    let initial = known(&heap.initial, Field::Initial)?;
    let increment = known(&heap.increment, Field::Increment)?;
    let used = known(&heap.used, Field::Total)?;
    if used == 0 {
        return Err("its heap was not used".to_owned());
    }
    let mean = (used / heap.requests.certain().filter(|gets| *gets > 0).unwrap_or(1)).max(1);
    let total: u64 = ranges.iter().map(|range| range.count).sum();
    let requests = match total {
        0 => format!("drawn by chance around their mean of {mean} bytes, until {used} bytes are used"),
        _ => format!("drawn from {} ranges of sizes, until {used} bytes are used", ranges.len()),
    };
    let (mut outcomes, mut notes) = (Vec::new(), Vec::new());
    for row in rows {
        let values = row.sub_options();
        let value = |at: usize| values.get(at).and_then(|value| size(value));
        if row.name == "HEAP" {
            let all = requests_of(&ranges, mean, used);
            let proposed = (value(0).unwrap_or(initial), value(1).unwrap_or(increment));
            for (initial, increment) in [(initial, increment), proposed] {
                outcomes.push(replay(&all, initial, increment));
            }
            notes.extend(limits(case, proposed.0, outcomes.last().map_or(0, |outcome| outcome.bytes)));
            if !pools.is_empty() || is_pooled(case) {
                notes.push(
                    "HEAPPOOLS is on: what pools serve reaches the heap as extents, which the replay does not know."
                        .to_owned(),
                );
            }
        } else {
            if total == 0 {
                return Err(
                    "its report has no requests by ranges of sizes, by which pools could be tried".to_owned()
                );
            }
            let now: Vec<u64> = pools.iter().map(|pool| pool.cell.value).collect();
            let proposed: Vec<u64> =
                (0..12).filter_map(|at| value(1 + 2 * at)).take_while(|cell| *cell > 0).collect();
            for (which, cells) in [("now", now), ("then", proposed)] {
                if cells.is_empty() && which == "then" {
                    return Err("HEAPPOOLS without sizes of cells: there is nothing to try".to_owned());
                }
                let (waste, bytes) = waste(&ranges, &cells).unwrap_or((0, 0));
                let option = cells.iter().map(u64::to_string).collect::<Vec<_>>().join(",,");
                notes.extend(beyond(&ranges, &cells).map(|words| format!("{which}: {words}")));
                outcomes.push(Outcome {
                    option: format!("HEAPPOOLS(,{option})"),
                    segments: None,
                    bytes,
                    waste,
                });
            }
        }
    }
    let measured = heap.segments.certain();
    Ok(WhatIf { program: case.program.name.clone(), requests, measured, outcomes, notes })
}

/// Requests that no cell holds.
fn beyond(ranges: &[Range], cells: &[u64]) -> Option<String> {
    let largest = cells.iter().max().copied().unwrap_or(0);
    let sum = |ranges: &mut dyn Iterator<Item = &Range>| {
        ranges.fold(0_u64, |sum, range| sum.saturating_add(range.count))
    };
    let (over, all) = (sum(&mut ranges.iter().filter(|range| range.to > largest)), sum(&mut ranges.iter()));
    (over > 0).then(|| {
        format!("{over} of {all} requests are larger than every cell and go past the pools to the heap.")
    })
}

fn is_pooled(case: &ProgramCase<'_>) -> bool {
    case.is_set("HEAPPOOLS", 0, "ON") || case.is_set("HEAPPOOLS", 0, "ALIGN")
}

/// The conflict of these bytes with the region or the 16M line.
fn limits(case: &ProgramCase<'_>, initial: u64, bytes: u64) -> Option<String> {
    if case.is_set("HEAP", 2, "BELOW") {
        let words = "HEAP lies BELOW here: the 16M below the line are for all that runs there.";
        return Some(words.to_owned());
    }
    let (limit, line, words) = case.region(bytes);
    let place = line.map_or(String::new(), |line| format!(" ({}:{})", line.file, line.line));
    match limit {
        Some(limit) if initial > limit => Some(format!(
            "The region leaves {} above the line{place}: an initial size of {} cannot be had, unless IEFUSI sets another limit.",
            written(limit),
            written(initial)
        )),
        Some(limit) if bytes > limit => Some(format!(
            "The region leaves {} above the line{place}: {bytes} bytes cannot be had, unless IEFUSI sets another limit.",
            written(limit)
        )),
        Some(_) => None,
        None => (!words.is_empty()).then(|| words.trim_end().to_owned()),
    }
}

/// Sizes of elements, pseudorandom but always the same, until their sum reaches the use.
fn requests_of(ranges: &[Range], mean: u64, used: u64) -> Vec<u64> {
    let total: u64 = ranges.iter().map(|range| range.count).sum();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below.max(1)
    };
    let (mut all, mut sum) = (Vec::new(), 0_u64);
    while sum < used && all.len() < MOST_REQUESTS {
        let bytes = if total == 0 {
            1 + draw(mean.saturating_mul(2).saturating_sub(1))
        } else {
            let mut at = draw(total);
            let range = ranges.iter().find(|range| {
                let here = at < range.count;
                at = at.saturating_sub(range.count);
                here
            });
            range.map_or(1, |range| range.to)
        };
        let element = bytes.next_multiple_of(8) + HEADER;
        sum = sum.saturating_add(element);
        all.push(element);
    }
    all
}

/// Puts all of them into segments without freeing any: the state at the peak.
fn replay(elements: &[u64], initial: u64, increment: u64) -> Outcome {
    let mut room: BinaryHeap<u64> = BinaryHeap::new();
    let (mut segments, mut bytes) = (0_u64, 0_u64);
    let mut take = |room: &mut BinaryHeap<u64>, length: u64| {
        segments += 1;
        bytes = bytes.saturating_add(length);
        room.push(length);
    };
    if initial > 0 {
        take(&mut room, initial);
    }
    for &element in elements {
        if room.peek().is_none_or(|most| *most < element) {
            take(&mut room, increment.max(element));
        }
        if let Some(mut most) = room.peek_mut() {
            *most -= element;
        }
    }
    let used: u64 = elements.iter().sum();
    let option = format!("HEAP({},{})", written(initial), written(increment));
    Outcome { option, segments: Some(segments), bytes, waste: bytes.saturating_sub(used) }
}

impl fmt::Display for WhatIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "What if, for {}, requests {}:", self.program, self.requests)?;
        for (at, outcome) in self.outcomes.iter().enumerate() {
            let which = if at % 2 == 0 { "now" } else { "then" };
            let segments =
                outcome.segments.map_or(String::new(), |segments| format!("{segments} segments, "));
            let share = 100.0 * outcome.waste as f64 / outcome.bytes.max(1) as f64;
            writeln!(
                f,
                "  {which:<5} {:<40} {segments}{} bytes taken, {} of them beyond what is used ({share:.1} %)",
                outcome.option, outcome.bytes, outcome.waste
            )?;
        }
        if let Some(measured) = self.measured {
            writeln!(f, "  the report shows {measured} segments")?;
        }
        for note in &self.notes {
            writeln!(f, "  {note}")?;
        }
        writeln!(f, "  An estimate: the listing does not say in which order storage was got and freed.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what_if(text: &str, options: &str) -> Result<Vec<WhatIf>, String> {
        let mut collected = Collected::default();
        collected.file("job");
        for item in underbar_listing::read(text.as_bytes()) {
            collected.take(item);
        }
        let all = simulate(&collected, options)?.into_iter();
        all.map(|one| match one {
            Tried::Heap(what) => Ok(what),
            other => Err(other.to_string()),
        })
        .collect()
    }

    /// The talk's program: 50,000 requests of 1 to 32K, of which it measured 27,949 segments of 32K and 8 of 100M.
    #[test]
    fn the_talks_program_comes_out_as_measured() {
        let text = "Storage Report for Enclave main x\n\n    HEAP statistics:\n      Initial size: 32768\n      Increment size: 32768\n      \
                    Total heap storage used (sugg. initial size): 819229056\n      Successful Get Heap requests: 50002\n      \
                    Successful Free Heap requests: 50000\n      Number of segments allocated: 27949\nEnd of Storage Report\n";
        let all = what_if(text, "HEAP(100M,100M)").expect("an option");
        let [now, then] = &all[0].outcomes[..] else { panic!("{all:?}") };
        let segments = now.segments.expect("segments");
        assert!((27_949 * 9 / 10..27_949 * 13 / 10).contains(&segments), "{segments}");
        assert_eq!(then.segments, Some(8));
        assert!(then.waste < now.waste);
        assert!(all[0].to_string().contains("An estimate"));
    }

    #[test]
    fn pools_are_compared_by_their_waste() {
        let text = "Storage Report for Enclave main x\n\n    HEAP statistics:\n      Initial size: 32768\n      Increment size: 32768\n      \
                    Total heap storage used (sugg. initial size): 30000\n    HEAPPOOLS Statistics:\n      Successful Get Heap \
                    requests: 9-16 100\n    HEAPPOOLS Summary:\n  128 136 10 24 1 20 5\nEnd of Storage Report\n";
        let all = what_if(text, "HEAPPOOLS(ON,16,1)").expect("an option");
        let waste: Vec<u64> = all[0].outcomes.iter().map(|outcome| outcome.waste).collect();
        assert_eq!(waste, [100 * 112, 0]);
    }

    #[test]
    fn regions_pools_and_requests_past_them_are_said() {
        let text = "Storage Report for Enclave main x\n\n    HEAP statistics:\n      Initial size: 32768\n      Increment size: 32768\n      \
                    Total heap storage used (sugg. initial size): 30000\n    HEAPPOOLS Statistics:\n      Successful Get Heap \
                    requests: 9-16 100\n      Successful Get Heap requests: 993-1000 7\n    HEAPPOOLS Summary:\n  128 136 10 24 1 20 5\n\
                    End of Storage Report\n";
        let notes =
            |text: &str, options: &str| what_if(text, options).expect("an option")[0].notes.join("\n");
        let said = notes(text, "HEAPPOOLS(ON,16,1)");
        assert_eq!(said.matches("7 of 107 requests are larger than every cell").count(), 2, "{said}");
        assert!(notes(text, "HEAPPOOLS(ON,16,1,1000,1)").lines().count() == 1);
        assert!(notes(text, "HEAP(1M,1M)").contains("HEAPPOOLS is on"));
        assert!(notes(text, "HEAP(64M,1M)").contains("region unknown"));
        let small = format!("//GO EXEC PGM=main,REGION=48M\n{text}");
        assert!(notes(&small, "HEAP(64M,1M)").contains("an initial size of 64M cannot be had"));
        assert!(!notes(&small, "HEAP(40M,1M)").contains("region"));
    }

    #[test]
    fn only_what_can_be_replayed_is() {
        assert!(what_if("", "STACK(4K)").is_err_and(|error| error.contains("HEAP")));
        assert!(what_if("", "HEAP(1OM)").is_err());
        assert!(what_if("", "HEAPPOOLS(ON,30,10)").is_err_and(|error| error.contains("multiple of 8")));
        let bare = "Storage Report for Enclave main x\n\n    HEAP statistics:\n      Initial size: 32768\n      Increment size: \
                    32768\n      Total heap storage used (sugg. initial size): 30000\nEnd of Storage Report\n";
        assert!(what_if(bare, "HEAPPOOLS(ON,16,10)").is_err_and(|why| why.contains("no requests by ranges")));
        assert!(what_if("", "HEAP(3G)").is_err_and(|error| error.contains("below the bar")));
        assert!(
            what_if("", "HEAP(3M),STACK(4K)").is_err_and(|error| error.contains("STACK cannot be tried"))
        );
        let above = "Storage Report for Enclave main x\n\n    64bit User HEAP statistics:\n      Initial size: 1M\nEnd of Storage Report\n";
        assert!(
            what_if(above, "HEAP(3M)")
                .is_err_and(|why| why.contains("main: it cannot be said: its report is of a 64-bit"))
        );
        assert_eq!(what_if("", "HEAP(10M)"), Ok(Vec::new()));
    }
}
