//! From places to instructions: the function, the displacement, and the instruction that a sample is charged to.
//!
//! ```text
//! function   [ mov | lock cmpxchg | jne ]      decoded forward from its start, as x86 cannot be read backwards
//!                         ^          ^
//!                 charged to this    taken here
//! ```
//!
//! Symbols give the start of a function, otherwise the unwind table; otherwise decoding starts at the nearest sample below,
//! since samples are at instructions. If no start decodes exactly to the sample, it stays in its place.
//!
//! Invariant: a sample is charged to itself or to the instruction before it, never lost, never counted twice.
//! Known limit: a sample that jumped to the instruction after a locked one is charged to the locked one, too.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use underbar_symbols::{Image, Place, Symbols};

use crate::decode::{self, LONGEST, Step};
use crate::maps::Maps;
use crate::model::{Facts, Profile, Row, SCHEMA, percent, true_rate};
use crate::tally::{Source, Tally};

/// The name of code in no file.
pub const MADE_AT_RUN_TIME: &str = "(code made at run time)";
/// The name of code in no known mapping.
pub const UNKNOWN: &str = "(unknown)";

/// The greatest distance at which a lower sample helps to find the start of instructions.
const NEAR: u64 = 512;

/// The profile of the counts.
#[must_use]
pub fn profile(tally: &Tally, symbols: &Symbols, maps: &Maps, facts: Facts) -> Profile {
    let mut by_source: HashMap<Option<&Source>, Vec<(u64, u64)>> = HashMap::new();
    for (source, offset, count) in tally.places() {
        by_source.entry(source).or_default().push((offset, count));
    }
    let mut rows = Vec::new();
    for (source, places) in by_source {
        match source.and_then(|source| Some((source, image(symbols, source)?))) {
            Some((source, image)) => rows.extend(of_file(source, &image, &places, facts.raw)),
            None => rows.extend(places.iter().map(|(offset, count)| {
                let row = without_file(source, *offset, *count);
                named(row, maps, source.and_then(|source| source.process))
            })),
        }
    }
    for row in &mut rows {
        row.percent = percent(row.count, tally.samples);
    }
    Profile {
        schema: SCHEMA,
        underbar: env!("CARGO_PKG_VERSION"),
        event: facts.sampler.event(),
        mode: facts.sampler.mode(),
        true_rate_hz: true_rate(tally.samples, &facts),
        facts,
        samples: tally.samples,
        lost: tally.lost,
        throttled: tally.throttled,
        processes: tally.processes(),
        threads: tally.threads(),
        instructions: in_order(rows),
    }
}

/// The file that was mapped; None if its path now has another one.
fn image(symbols: &Symbols, source: &Source) -> Option<Rc<Image>> {
    let image = symbols.image(&source.path)?;
    let is_same = source.build_id.is_empty() || image.build_id() == Some(source.build_id.as_slice());
    is_same.then_some(image)
}

fn without_file(source: Option<&Source>, offset: u64, count: u64) -> Row {
    let name = source.map(|source| source.path.to_string_lossy().into_owned());
    let program = match name {
        Some(name) if name.starts_with("//") => MADE_AT_RUN_TIME.to_owned(),
        Some(name) => name,
        None => UNKNOWN.to_owned(),
    };
    let (displacement, address) = (offset, offset);
    Row {
        program,
        function: None,
        displacement,
        address,
        instruction: None,
        line: None,
        count,
        charged: 0,
        percent: 0.0,
    }
}

/// The row, with the names that the process has left of its code, if any.
fn named(row: Row, maps: &Maps, process: Option<u32>) -> Row {
    let Some(named) = process.and_then(|process| maps.find(process, row.address)) else { return row };
    Row {
        program: named.program.map_or(row.program, str::to_owned),
        function: Some(underbar_symbols::spelled(named.function)),
        displacement: named.displacement,
        ..row
    }
}

/// Instructions of one file, from offsets and their counts.
fn of_file(source: &Source, image: &Image, places: &[(u64, u64)], raw: bool) -> Vec<Row> {
    let mut met: BTreeMap<u64, u64> = BTreeMap::new();
    let mut rows = Vec::new();
    for &(offset, count) in places {
        match image.address(offset) {
            Some(address) => *met.entry(address).or_default() += count,
            None => rows.push(without_file(Some(source), offset, count)),
        }
    }
    let mut code = Code { image, functions: HashMap::new() };
    // Count, and its part that was taken one instruction later.
    let mut charged: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut below = None;
    for (&address, &count) in &met {
        let blamed = if raw { None } else { code.slow_before(address, below) };
        let entry = charged.entry(blamed.unwrap_or(address)).or_default();
        entry.0 += count;
        entry.1 += if blamed.is_some() { count } else { 0 };
        below = Some(address);
    }
    let name = |address| image.code(address).or_else(|| image.data(address));
    rows.extend(charged.into_iter().map(|(address, (count, charged))| {
        let (function, displacement) = match place(image, address) {
            Some(place) => (Some(place.symbol), place.displacement),
            None => (None, address),
        };
        let bytes = image.bytes(address..address.saturating_add(LONGEST));
        let instruction = decode::text(image.machine(), &bytes, address, &name);
        let program = source.path.to_string_lossy().into_owned();
        let line = image.line(address).map(|line| format!("{}:{}", line.file, line.line));
        Row { program, function, displacement, address, instruction, line, count, charged, percent: 0.0 }
    }));
    rows
}

/// The function; or the section, if it is more specific than code.
fn place(image: &Image, address: u64) -> Option<Place> {
    image.code(address).or_else(|| {
        let section = image.section(address).filter(|section| section.symbol != ".text")?;
        Some(Place { symbol: format!("[{}]", section.symbol), ..section })
    })
}

/// Functions decoded so far, by their starts.
struct Code<'a> {
    image: &'a Image,
    functions: HashMap<u64, Vec<Step>>,
}

impl Code<'_> {
    /// The instruction before this one, if an interrupt waits for it. `below` is the nearest sample below.
    fn slow_before(&mut self, address: u64, below: Option<u64>) -> Option<u64> {
        let image = self.image;
        let Some(function) = image.function(address) else {
            let below = below.filter(|below| address - below <= NEAR)?;
            let bytes = image.bytes(below..address.saturating_add(LONGEST));
            return slow_before(&decode::steps(image.machine(), &bytes, below), address);
        };
        let steps = self.functions.entry(function.start).or_insert_with(|| {
            let start = function.start;
            decode::steps(image.machine(), &image.bytes(function), start)
        });
        slow_before(steps, address)
    }
}

fn slow_before(steps: &[Step], address: u64) -> Option<u64> {
    let at = steps.binary_search_by_key(&address, |step| step.address).ok()?;
    let before = steps.get(at.checked_sub(1)?)?;
    before.is_slow.then_some(before.address)
}

/// Programs with most samples first, in each the functions with most samples first, in each by displacement.
fn in_order(mut rows: Vec<Row>) -> Vec<Row> {
    let mut of_program: HashMap<String, u64> = HashMap::new();
    let mut of_function: HashMap<(String, Option<String>), u64> = HashMap::new();
    for row in &rows {
        *of_program.entry(row.program.clone()).or_default() += row.count;
        *of_function.entry((row.program.clone(), row.function.clone())).or_default() += row.count;
    }
    rows.sort_by_cached_key(|row| {
        let key = (row.program.clone(), row.function.clone());
        let most = std::cmp::Reverse((of_program[&row.program], row.program.clone()));
        (most, std::cmp::Reverse(of_function[&key]), row.function.clone(), row.displacement, row.address)
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    fn step(address: u64, is_slow: bool) -> Step {
        Step { address, is_slow }
    }

    #[test]
    fn only_the_instruction_right_behind_a_slow_one_is_charged_to_it() {
        let steps = [step(10, false), step(12, true), step(16, false), step(18, false)];
        for (taken, blamed) in [(10, None), (12, None), (16, Some(12)), (18, None), (17, None), (9, None)] {
            assert_eq!(slow_before(&steps, taken), blamed, "{taken}");
        }
        assert_eq!(slow_before(&[step(4, true)], 4), None);
    }

    #[test]
    fn what_has_no_file_is_counted_all_the_same() {
        let mut tally = Tally::default();
        let mapped = |start, name: &str| Record::Mapped {
            process: 1,
            start,
            length: 0x1000,
            offset: 0,
            name: name.into(),
            build_id: vec![1; 20],
        };
        let own = std::env::current_exe().expect("a path");
        tally.add(mapped(0x1000, "/no/such/file"));
        tally.add(mapped(0x3000, "//anon"));
        // Not the file that was mapped: it has another build-id.
        tally.add(mapped(0x5000, own.to_str().expect("text")));
        for address in [0x1010, 0x3010, 0x5010, 0x9010, 0x9010] {
            tally.add(Record::Sample { address, process: 1, thread: 1 });
        }
        let profile = profile(&tally, &Symbols::new(), &Maps::default(), Facts::default());
        let mut shown: Vec<_> = profile
            .instructions
            .iter()
            .map(|row| (row.program.clone(), row.displacement, row.count))
            .collect();
        shown[1..].sort();
        let row = |name: &str, displacement, count| (name.to_owned(), displacement, count);
        assert_eq!(shown[0], row(UNKNOWN, 0x9010, 2));
        let own = own.to_str().expect("text");
        // In any checkout: its path may sort before or after the missing file's.
        let mut rest = [row(MADE_AT_RUN_TIME, 0x3010, 1), row("/no/such/file", 0x10, 1), row(own, 0x10, 1)];
        rest.sort();
        assert_eq!(shown[1..], rest);
        assert_eq!(profile.samples, 5);
        assert!(profile.instructions.iter().all(|row| row.function.is_none() && row.instruction.is_none()));
    }
}
