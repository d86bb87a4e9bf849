//! The Language Environment's storage report, 31-bit layout, to the column.
//!
//! ```text
//! <heading>                                                column 1, if the program gave one (CEE3RPH)
//! Storage Report for Enclave <name> <date> <time>          column 1
//! underbar Vvv Rrr.mm                                      column 1
//!
//!     <AREA> statistics:                                   column 5
//!       <label>:                               <value>     column 7, value ends in column 64
//! ```
//!
//! One report for each process, which is an enclave, and one with the area HEAP for each enclave in it (a LINKed program). Labels are
//! from the ledger's table if it has them. A figure without a counterpart is 0, since the layout needs a number there, and a note after
//! the report tells it; in JSON it is null ([`crate::absent`]). An area for which no program asked has the line "none: no program asked
//! for it" above its zeros.
//!
//! ```text
//! areas  the areas and their lines     pools  HEAPPOOLS, if it is on         date  of the heading
//! amode64  the layout of 64-bit programs
//! ```
//!
//! Not here: reading such reports.

pub mod amode64;
mod areas;
mod date;
mod pools;

use std::fmt::{Display, Write as _};

use underbar_ledger::Key;

use crate::heap::{Heap, Kind};
use crate::model::{Process, Report, State};
pub(crate) use areas::none;
use areas::{Row, SECTIONS, figure, lacks};
use date::date_after;
pub(crate) use date::day_and_time;
pub use date::{date, iso_date};

/// Column in which values end, counted from 1.
const VALUE_ENDS: usize = 64;

/// The storage reports of all processes of a report, in the order in which they started.
#[must_use]
pub fn render(report: &Report) -> String {
    render_each(report, |text, process| {
        one(text, report, process);
        for heap in process.heaps.iter().filter(|heap| heap.kind == Kind::Enclave) {
            text.push('\n');
            linked(text, report, process, heap);
        }
    })
}

/// The reports of all processes, each begun by its heading and written by `one`, with an empty line between them.
fn render_each(report: &Report, one: impl Fn(&mut String, &Process)) -> String {
    let mut text = String::new();
    for process in &report.processes {
        if !text.is_empty() {
            text.push('\n');
        }
        if !process.heading.is_empty() {
            text.push_str(&crate::page::clean(&process.heading));
            text.push('\n');
        }
        one(&mut text, process);
    }
    text
}

/// The report of an enclave in a process: a program that was LINKed, and has a heap of its own.
fn linked(text: &mut String, report: &Report, process: &Process, heap: &Heap) {
    title(text, &heap.name, &date_after(report, process.started_ns), report);
    for section in SECTIONS.iter().filter(|section| section.title == "HEAP") {
        let _ = writeln!(text, "    {} statistics:", section.title);
        for Row(label, source) in section.rows {
            let known = source.of_heap().and_then(|key| heap.counters.known(key));
            line(text, 6, label.text(), known.unwrap_or(0));
        }
    }
    linked_ends(text, process, heap);
}

/// The end of an enclave's report, with its notes.
fn linked_ends(text: &mut String, process: &Process, heap: &Heap) {
    text.push_str("End of Storage Report\n\n");
    let mut notes = vec![format!(
        "The program was LINKed in {} (process {}), whose report has its stacks and all else; the time is that of the process.",
        crate::page::clean(process.name()),
        process.process
    )];
    if heap.created > 1 {
        notes.push(format!(
            "These are {} enclaves of one name: requests and segments are their sums, sizes the largest of any.",
            heap.created
        ));
    }
    if !heap.ended {
        notes.push("The enclave had not ended.".to_owned());
    }
    for note in notes {
        wrap(text, &note);
    }
}

/// The first lines of a report.
fn title(text: &mut String, name: &str, date: &str, report: &Report) {
    let name = crate::page::clean(name);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "Storage Report for Enclave {name} {date}");
    let _ = writeln!(text, "underbar {}\n", level(&report.underbar));
}

fn one(text: &mut String, report: &Report, process: &Process) {
    title(text, process.name(), &date_after(report, process.started_ns), report);
    for section in &SECTIONS {
        let _ = writeln!(text, "    {} statistics:", section.title);
        if let Some(why) = section.asked.is_none(process) {
            let _ = writeln!(text, "      {why}");
        }
        for Row(label, source) in section.rows {
            line(text, 6, label.text(), figure(report, process, *source));
        }
    }
    if let Some(of) = &process.pools {
        pools::write(text, process, of);
    }
    line(text, 4, Key::ThreadsPeak.entry().label, process.counters.get(Key::ThreadsPeak));
    text.push_str("End of Storage Report\n\n");
    for note in notes(report, process) {
        wrap(text, &note);
    }
}

/// A label, and a value that ends in its column.
fn line(text: &mut String, indent: usize, label: &str, value: impl Display) {
    // At least one blank, even if a value is too long for its column.
    let room = VALUE_ENDS.saturating_sub(indent + label.len() + 2);
    let _ = writeln!(text, "{:indent$}{label}: {value:>room$}", "");
}

/// The note on the zeros of this report.
fn notes(report: &Report, process: &Process) -> Vec<String> {
    let mut notes = Vec::new();
    if process.state == State::Folded || process.processes > 1 {
        notes.push(format!(
            "These are {} ended processes of one program: requests and segments are their sums, sizes the largest of any.",
            process.processes
        ));
    }
    if process.state == State::Killed {
        notes.push(
            "The process was killed before it could settle its counts: gets and frees may lack the last of each thread, up to a thousand."
                .to_owned(),
        );
    }
    let counters = &process.counters;
    if counters.get(Key::HeapInitialSize) == 0 || counters.get(Key::HeapIncrementSize) == 0 {
        notes.push("HEAP: a size of 0 is AUTO; increments grow with the heap.".to_owned());
    }
    notes.push(
        if report.threads_are_governed() {
            "STACK holds the first thread, THREADSTACK all others: to the page, as last looked at."
        } else {
            "STACK holds all threads, since THREADSTACK is OFF; THREADSTACK shows all but the first of them: to the page, as last looked at."
        }
        .to_owned(),
    );
    if lacks(report, process) {
        notes.push(
            "Nobody looked at this process's stacks while it ran: they are 0 (null in JSON).".to_owned(),
        );
    }
    if counters.get(Key::ThreadsPeak) > 2 {
        notes.push(
            "THREADSTACK, maximum of all concurrent threads: at least this, which is the maximum of all threads less the most of the first."
                .to_owned(),
        );
    }
    notes.push(
        match (counters.get(Key::StackSegmentsAllocated), counters.get(Key::ThreadStackSegmentsAllocated)) {
            (0, 0) => "Stacks are not underbar's: they are one mapping each and have no segments, so these are 0. Sizes that are AUTO or not set are 0, too.",
            (0, _) => "THREADSTACK: segments are those of the stacks that underbar made. The first stack is the kernel's and has none. Sizes that are AUTO or not set are 0.",
            (_, 0) => "STACK: segments are those of stacks that the program made for itself. Those of threads are one mapping each. Sizes that are AUTO or not set are 0.",
            _ => "STACK: segments are those of stacks that the program made for itself; THREADSTACK: those of the stacks that underbar made. Sizes that are AUTO or not set are 0.",
        }
        .to_owned(),
    );
    notes.push(
        match counters.get(Key::AnyHeapStacks) {
            0 => "ANYHEAP: underbar's own storage, for its tables. First segments of threads' stacks come out of it only under THREADSTACK with increments, KEEP or FREE: here they are the C library's.",
            _ => "ANYHEAP: underbar's own storage, for its tables, and the first segments of the stacks that it makes for threads.",
        }
        .to_owned(),
    );
    notes.push(
        "LIBSTACK and BELOWHEAP: none, since no program on Linux asks for them: sizes are those of the options, all else is 0 (null in JSON)."
            .to_owned(),
    );
    notes.push(of_threads(process));
    notes.push(below_the_line(process));
    if let had @ 1.. = areas::had(process) {
        notes.push(format!("HEAP: the requests count {had} elements that the process had of its parent."));
    }
    if counters.get(Key::AdditionalCreates) > 0 {
        notes.push("HEAP, total heap storage used: with the additional heaps, at one time.".to_owned());
    }
    if process.heaps.iter().any(|heap| heap.kind == Kind::Enclave) {
        notes.push(
            "HEAP, total heap storage used: with the enclaves in this process, at one time.".to_owned(),
        );
    }
    if let Some(of) = &process.pools {
        notes.extend(pools::notes(process, of));
    }
    notes
}

/// What THREADHEAP has.
fn of_threads(process: &Process) -> String {
    if process.heaps.iter().all(|heap| heap.kind != Kind::Thread) {
        return "THREADHEAP: a thread has a heap of its own where the option THREADHEAP has a size."
            .to_owned();
    }
    match process.counters.get(Key::ThreadHeapsLeft) {
        0 => "THREADHEAP: the heaps of threads; each went back when its thread ended.".to_owned(),
        left => format!(
            "THREADHEAP: the heaps of threads. Of {left} something was in use when the thread ended; such a heap stays until that is freed."
        ),
    }
}

/// What HEAP24 has.
fn below_the_line(process: &Process) -> String {
    if process.heaps.iter().all(|heap| heap.kind != Kind::Line) {
        return "HEAP24: programs ask for it by __malloc24.".to_owned();
    }
    match areas::of_kind(process, Kind::Line, Key::HeapFailedGets) {
        0 => "HEAP24: storage of __malloc24, below 16 MiB.".to_owned(),
        failed => format!(
            "HEAP24: {failed} requests found no room below 16 MiB. There is none below vm.mmap_min_addr (sysctl), nor where a program is linked to fixed addresses (see explain HEAP)."
        ),
    }
}

/// A note, wrapped at 72 columns after an asterisk.
fn wrap(text: &mut String, note: &str) {
    let mut column = 1;
    text.push('*');
    for word in note.split(' ') {
        if column + 1 + word.len() > 72 {
            text.push_str("\n ");
            column = 1;
        }
        text.push(' ');
        text.push_str(word);
        column += 1 + word.len();
    }
    text.push('\n');
}

/// The version in the form `V00 R01.00`.
fn level(version: &str) -> String {
    let mut parts = version.split('.').map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().unwrap_or(0)
    });
    let mut next = || parts.next().unwrap_or(0);
    format!("V{:02} R{:02}.{:02}", next(), next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    const GETFREE: &str = "\
Storage Report for Enclave getfree 11/20/26 10:15:07 AM
underbar V00 R01.00

    STACK statistics:
      Initial size:                                       131072
      Increment size:                                     131072
      Maximum used by all concurrent threads:             204800
      Largest used by any thread:                         204800
      Number of segments allocated:                            0
      Number of segments freed:                                0
    THREADSTACK statistics:
      none: no program asked for it
      Initial size:                                            0
      Increment size:                                          0
      Maximum used by all concurrent threads:                  0
      Largest used by any thread:                              0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    LIBSTACK statistics:
      none: no program asked for it
      Initial size:                                            0
      Increment size:                                          0
      Maximum used by all concurrent threads:                  0
      Largest used by any thread:                              0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    THREADHEAP statistics:
      none: no program asked for it
      Initial size:                                            0
      Increment size:                                          0
      Maximum used by all concurrent threads:                  0
      Largest used by any thread:                              0
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    HEAP statistics:
      Initial size:                                        32768
      Increment size:                                      32768
      Total heap storage used (sugg. initial size):    819229056
      Successful Get Heap requests:                        50002
      Successful Free Heap requests:                       50000
      Number of segments allocated:                        27949
      Number of segments freed:                                0
    HEAP24 statistics:
      none: no program asked for it
      Initial size:                                         8192
      Increment size:                                       4096
      Total heap storage used (sugg. initial size):            0
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    ANYHEAP statistics:
      Initial size:                                            0
      Increment size:                                          0
      Total heap storage used (sugg. initial size):      1048576
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    BELOWHEAP statistics:
      none: no program asked for it
      Initial size:                                            0
      Increment size:                                          0
      Total heap storage used (sugg. initial size):            0
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    Additional Heap statistics:
      none: no program asked for it
      Successful Create Heap requests:                         0
      Successful Discard Heap requests:                        0
      Total heap storage used:                                 0
      Successful Get Heap requests:                            0
      Successful Free Heap requests:                           0
      Number of segments allocated:                            0
      Number of segments freed:                                0
    Largest number of threads concurrently active:             1
End of Storage Report

* STACK holds all threads, since THREADSTACK is OFF; THREADSTACK shows
  all but the first of them: to the page, as last looked at.
* Stacks are not underbar's: they are one mapping each and have no
  segments, so these are 0. Sizes that are AUTO or not set are 0, too.
* ANYHEAP: underbar's own storage, for its tables. First segments of
  threads' stacks come out of it only under THREADSTACK with increments,
  KEEP or FREE: here they are the C library's.
* LIBSTACK and BELOWHEAP: none, since no program on Linux asks for them:
  sizes are those of the options, all else is 0 (null in JSON).
* THREADHEAP: a thread has a heap of its own where the option THREADHEAP
  has a size.
* HEAP24: programs ask for it by __malloc24.
";

    #[test]
    fn getfree_byte_for_byte() {
        assert_eq!(render(&sample::getfree()), GETFREE);
    }

    #[test]
    fn every_value_ends_in_column_64() {
        let text = render(&sample::getfree());
        let valued = text.lines().filter(|line| line.starts_with("    ") && line.contains(":  "));
        let lengths: Vec<_> = valued.map(str::len).collect();
        assert_eq!(lengths.len(), 6 * 3 + 8 + 7 * 5 + 1);
        assert!(lengths.iter().all(|&length| length == VALUE_ENDS));
    }

    /// A server with threads: the first one used 30,000 bytes, another one 50,000, all together 170,000.
    fn threads(option: &str) -> String {
        let mut report = sample::getfree();
        for (key, figure) in [
            (Key::ThreadsPeak, 5),
            (Key::StackMain, 30_000),
            (Key::StackThread, 50_000),
            (Key::StackLargest, 50_000),
            (Key::StackConcurrent, 170_000),
        ] {
            report.processes[0].counters.set(key, figure);
        }
        report.options.in_force[0].option = option.to_owned();
        render(&report)
    }

    fn figures_of(text: &str, area: &str) -> Vec<u64> {
        let lines = text.lines().skip_while(|line| *line != format!("    {area} statistics:")).skip(1);
        let lines = lines.take_while(|line| line.starts_with("      "));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect()
    }

    #[test]
    fn stacks_are_divided_as_threadstack_says() {
        let off = threads("THREADSTACK(OFF,4096,4096)");
        assert_eq!(figures_of(&off, "STACK"), [131_072, 131_072, 170_000, 50_000, 0, 0]);
        assert_eq!(figures_of(&off, "THREADSTACK"), [4_096, 4_096, 140_000, 50_000, 0, 0]);
        assert!(off.contains("* STACK holds all threads, since THREADSTACK is OFF"));
        let on = threads("THREADSTACK(ON,524288,4096)");
        assert_eq!(figures_of(&on, "STACK"), [131_072, 131_072, 30_000, 30_000, 0, 0]);
        assert_eq!(figures_of(&on, "THREADSTACK"), [524_288, 4_096, 140_000, 50_000, 0, 0]);
        assert!(on.contains("* STACK holds the first thread, THREADSTACK all others"));
        assert!(on.contains("* THREADSTACK, maximum of all concurrent threads: at least this"));
    }

    #[test]
    fn additional_heaps_are_an_area_and_no_part_of_heap() {
        let mut report = sample::getfree();
        for (key, figure) in [
            (Key::AdditionalCreates, 3),
            (Key::AdditionalDiscards, 2),
            (Key::AdditionalUsedPeak, 70_000),
            (Key::AdditionalGets, 40_000),
            (Key::AdditionalFrees, 39_000),
            (Key::AdditionalSegmentsAllocated, 900),
            (Key::AdditionalSegmentsFreed, 60),
        ] {
            report.processes[0].counters.set(key, figure);
        }
        report.processes[0].counters.set(Key::HeapSegmentsFreed, 100);
        report.processes[0].heading = "Monthly\u{1b} run".to_owned();
        let text = render(&report);
        assert!(text.starts_with("Monthly"), "{text}");
        assert!(!text.contains('\u{1b}') && text.contains(" run\nStorage Report for Enclave getfree "));
        assert_eq!(figures_of(&text, "Additional Heap"), [3, 2, 70_000, 40_000, 39_000, 900, 60]);
        assert_eq!(figures_of(&text, "HEAP"), [32_768, 32_768, 819_229_056, 10_002, 11_000, 27_049, 40]);
        assert!(text.contains("* HEAP, total heap storage used: with the additional heaps"));
        let json = report.to_json();
        assert_eq!(Report::from_json(json.as_bytes()).expect("what was written"), report);
        assert!(!render(&sample::getfree()).contains("with the additional heaps"));
    }

    /// Of 50,002 gets of the process, 3,000 are those of its enclaves.
    #[test]
    fn an_enclave_has_a_report_of_its_own() {
        let mut report = sample::getfree();
        let heap = serde_json::json!({
            "kind": "enclave", "name": "job\u{1b}", "ended": true, "created": 3,
            "counters": {"heap": {"gets": 3_000, "frees": 2_999, "used_peak": 4_096, "segments_allocated": 6,
                "segments_freed": 6, "initial_size": 24_576, "increment_size": 0}}
        });
        report.processes[0].heaps.push(serde_json::from_value(heap).expect("a heap"));
        let text = render(&report);
        let (process, enclave) = text.split_once("Storage Report for Enclave job").expect("two reports");
        assert_eq!(figures_of(process, "HEAP")[3], 47_002);
        assert!(process.contains("* HEAP, total heap storage used: with the enclaves"), "{process}");
        assert_eq!(figures_of(enclave, "HEAP"), [24_576, 0, 4_096, 3_000, 2_999, 6, 6]);
        assert!(
            enclave.contains("LINKed in getfree") && enclave.contains("3 enclaves of one name"),
            "{enclave}"
        );
        assert!(!text.contains('\u{1b}'));
        assert!(text.lines().all(|line| line.len() <= 72));
    }

    #[test]
    fn heap_pools_are_behind_the_heaps_of_a_process_that_has_them() {
        let mut report = sample::getfree();
        assert!(!render(&report).contains("HEAPPOOLS"));
        report.processes[0].pools = Some(sample::pools());
        let text = render(&report);
        let place = |words: &str| text.find(words).expect(words);
        assert!(place("Additional Heap statistics:") < place("    HEAPPOOLS Statistics:\n"));
        assert!(place("    HEAPPOOLS Summary:\n") < place("    Largest number of threads"));
        assert!(text.contains("* HEAPPOOLS: a cell takes") && text.contains("under RPTSTG(ON)"), "{text}");
    }

    #[test]
    fn a_figure_too_long_for_its_column_keeps_a_blank() {
        let mut report = sample::getfree();
        report.processes[0].counters.set(Key::HeapUsedPeak, u64::MAX);
        let text = render(&report);
        assert!(text.contains("(sugg. initial size): 18446744073709551615\n"));
    }

    #[test]
    fn one_report_for_each_process_with_its_own_notes() {
        let text = render(&sample::tree());
        assert_eq!(text.matches("Storage Report for Enclave ").count(), 3);
        assert_eq!(text.matches("End of Storage Report\n").count(), 3);
        assert_eq!(text.matches("* These are 3 ended processes").count(), 2);
        assert!(text.contains("* HEAP: a size of 0 is AUTO"));
    }

    #[test]
    fn the_level_is_the_version() {
        assert_eq!(
            [level("0.1.0"), level("1.12.3-rc1"), level("x")],
            ["V00 R01.00", "V01 R12.03", "V00 R00.00"]
        );
    }
}
