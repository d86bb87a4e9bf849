//! The heaps of a process that has more than its default one: their lines in reports.
//!
//! ```text
//! heaps     default 60 MiB, parser (enclave) 40 MiB, 12 x scratch ended, others 3 MiB      summary
//!
//! server, process 4711, heap parser (enclave)                                              --all
//!   heap.gets                            50,002           Successful Get Heap requests
//!   requests  33-40: 40,000, 17-24: 10,002                                                 under RPTSTG(ON)
//! ```
//!
//! A process with its default heap only has no such list.
//! Not here: one heap (`heap`).

use underbar_ledger::Key;

use crate::heap::HeapFigures;
use crate::model::{Process, Report};
use crate::page::{Line, Page, clean, clip, labelled};
use crate::pools::Ranges;
use crate::units::bytes;

/// The line in the summary: the heaps of the first process that has more than one, and the bytes in use of each.
pub(crate) fn line(report: &Report, page: Page<'_>) -> Option<Line> {
    let process = report.processes.iter().find(|process| !process.heaps.is_empty())?;
    let heaps: Vec<String> = process
        .heaps
        .iter()
        .map(|heap| {
            let used = heap.counters.known(Key::HeapUsed).map(bytes);
            let used = if heap.ended { Some("ended".to_owned()) } else { used };
            format!("{} {}", heap.words(), used.as_deref().unwrap_or("unknown"))
        })
        .collect();
    let line = labelled("heaps", String::new());
    let indent: usize = line.0.iter().map(|(_, text)| text.chars().count()).sum();
    Some(labelled("heaps", clip(&heaps.join(", "), page.columns.saturating_sub(indent))))
}

/// Each heap of each process that has more than one, with the heading of its figures, and its requests by ranges of 8 bytes.
pub(crate) fn sections(report: &Report) -> impl Iterator<Item = (String, &HeapFigures, Option<&Ranges>)> {
    report.processes.iter().flat_map(|process: &Process| {
        process.heaps.iter().map(move |heap| {
            let ended = if heap.ended { ", ended" } else { "" };
            let head = format!(
                "{}, process {}, heap {}{ended}",
                clean(process.name()),
                process.process,
                heap.words()
            );
            (head, &heap.counters, heap.ranges.as_ref())
        })
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::mem::offset_of;

    use serde_json::Value;
    use underbar_ledger::heaps::{HeapRow, PAGE_OFFSET};
    use underbar_ledger::layout::{SLOT_BYTES, SLOTS_OFFSET, Slot};
    use underbar_ledger::{HeapKind, RowState};
    use underbar_ledger::{LedgerView, SlotState};

    use super::*;
    use crate::gather::Facts;
    use crate::gather::tests::ledger;

    /// A ledger of two processes, of which the second has heaps; the figure of its first heap, and the name, are the caller's.
    fn written(name: &[u8], used: u64) -> Vec<u8> {
        let mut bytes =
            ledger(&[(SlotState::Ended, 10, "/bin/a", 9_000), (SlotState::Live, 11, "/bin/server", 0)]);
        let slot = SLOTS_OFFSET + SLOT_BYTES;
        let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let counter = |key: Key| offset_of!(Slot, counters) + 8 * key as usize;
        put(slot + offset_of!(Slot, heaps), 3);
        put(slot + counter(Key::HeapUsed), 100 << 20);
        put(slot + counter(Key::HeapUsedPeak), 200 << 20);
        let row = |place: usize| slot + PAGE_OFFSET + place * size_of::<HeapRow>();
        let word = |kind, state| HeapRow::word_of(kind, state);
        put(row(0), word(HeapKind::Enclave, RowState::Live));
        put(row(0) + offset_of!(HeapRow, counters) + 8 * Key::HeapUsed as usize, used);
        put(row(0) + offset_of!(HeapRow, counters) + 8 * Key::HeapUsedPeak as usize, 50 << 20);
        put(row(1), word(HeapKind::Additional, RowState::Ended));
        put(row(1) + offset_of!(HeapRow, name), u64::from_le_bytes(*b"scratch\0"));
        put(row(2), u64::MAX);
        let at = row(0) + offset_of!(HeapRow, name);
        bytes[at..at + name.len()].copy_from_slice(name);
        bytes
    }

    fn report(bytes: &[u8]) -> Report {
        Report::from_ledger(&LedgerView::new(bytes).expect("a good ledger"), Facts::default(), |_| true)
    }

    /// A report of that ledger.
    pub(crate) fn sample() -> Report {
        report(&written(b"parser", 40 << 20))
    }

    #[test]
    fn heaps_are_a_section_of_their_process_and_of_no_other() {
        let report = sample();
        let server = report.processes.iter().find(|process| process.process == 11).expect("the server");
        let heaps: Vec<_> = server.heaps.iter().map(|heap| (heap.words(), heap.ended)).collect();
        let expect = [("default", false), ("parser (enclave)", false), ("scratch", true)];
        assert_eq!(heaps, expect.map(|(words, ended)| (words.to_owned(), ended)));
        let of = |key| server.heaps.iter().map(|heap| heap.counters.known(key)).collect::<Vec<_>>();
        assert_eq!(of(Key::HeapUsed), [Some(60 << 20), Some(40 << 20), Some(0)]);
        assert_eq!(of(Key::HeapUsedPeak), [None, Some(50 << 20), Some(0)]);
        assert_eq!(of(Key::StackLargest), [None; 3]);
        assert!(report.processes.iter().all(|process| process.heaps.is_empty() == (process.process == 10)));

        let page = Page { columns: 100, ..Page::of_terminal(None, false) };
        let text = crate::summary::render_on(&report, &[], page);
        let line = "  heaps     default 60 MiB, parser (enclave) 40 MiB, scratch ended\n";
        assert!(text.contains(line), "{text}");
        let text = crate::every::render(&report, page);
        assert!(text.contains("server, process 11, heap parser (enclave)\n"), "{text}");
        assert!(text.contains("server, process 11, heap scratch, ended\n"), "{text}");
        assert!(text.contains("  heap.used_peak                  52,428,800 50 MiB"), "{text}");
    }

    #[test]
    fn json_has_them_by_the_keys_of_the_table() {
        let report = sample();
        let json: Value = serde_json::from_str(&report.to_json()).expect("JSON");
        let of = |number: u64| {
            let processes = json["processes"].as_array().expect("an array");
            processes.iter().find(|process| process["process"] == number).expect("a process")
        };
        assert!(of(10).get("heaps").is_none(), "one heap is no section");
        let parser = &of(11)["heaps"][1];
        assert_eq!(
            (&parser["kind"], &parser["name"], &parser["ended"]),
            (&"enclave".into(), &"parser".into(), &false.into())
        );
        assert_eq!(parser["counters"]["heap"]["used"], 40 << 20);
        assert_eq!(of(11)["heaps"][0]["counters"]["heap"]["used_peak"], Value::Null);
        let names = parser["counters"]["heap"].as_object().expect("an object").len();
        assert_eq!(names, crate::heap::keys().count());
        assert_eq!(Report::from_json(report.to_json().as_bytes()).expect("what was written"), report);
        let error = serde_json::from_str::<HeapFigures>(r#"{"heap": {"gets": -7}}"#).expect_err("negative");
        assert!(error.to_string().contains("heap.gets is -7"), "{error}");
    }

    /// 70 requests of 33 to 40 bytes and 5 of 1 to 8 in all, of which the heap `parser` has 60 and none.
    #[test]
    fn each_heap_has_its_requests_by_ranges() {
        use underbar_ledger::heap_steps::HeapSteps;
        use underbar_ledger::pools::{self, Head, Pools};
        let mut bytes = written(b"parser", 40 << 20);
        assert!(
            report(&bytes)
                .processes
                .iter()
                .all(|process| process.heaps.iter().all(|heap| heap.ranges.is_none()))
        );
        let slot = SLOTS_OFFSET + SLOT_BYTES;
        let pages = slot + pools::PAGE_OFFSET;
        let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        put(slot + offset_of!(Slot, pools), 1);
        put(pages + offset_of!(Pools, head) + offset_of!(Head, counts_steps), 1);
        put(pages + offset_of!(Pools, steps) + 8 * 4, 70);
        put(pages + offset_of!(Pools, steps), 5);
        let steps = LedgerView::heap_steps_of(1);
        put(steps.start + 8 * 4, 60);
        put(steps.start + size_of::<HeapSteps>() + 8 * 4, 3);
        let report = report(&bytes);
        let server = report.processes.iter().find(|process| process.process == 11).expect("the server");
        let ranges: Vec<Vec<(u64, u64)>> = server
            .heaps
            .iter()
            .map(|heap| heap.ranges.as_ref().expect("counted").0.clone().into_iter().collect())
            .collect();
        assert_eq!(ranges, [vec![(8, 5), (40, 7)], vec![(40, 60)], vec![(40, 3)]]);
        let text = crate::every::render(&report, Page::of_terminal(None, false));
        assert!(text.contains("  requests  33-40: 7, 1-8: 5\n"), "{text}");
        assert_eq!(Report::from_json(report.to_json().as_bytes()).expect("what was written"), report);
    }

    /// The second process was killed in the enclave `parser`.
    #[test]
    fn the_program_that_was_linked_when_the_process_ended_is_named() {
        let report = Report::from_ledger(
            &LedgerView::new(&written(b"parser", 40 << 20)).expect("a good ledger"),
            Facts::default(),
            |_| false,
        );
        let page = Page { columns: 120, ..Page::of_terminal(None, false) };
        let text = crate::summary::render_on(&report, &[], page);
        assert!(text.contains("ended without notice while parser was LINKed"), "{text}");
    }

    /// Names are the program's, and figures may be damaged: neither may control a terminal or make a line too long.
    #[test]
    fn damaged_rows_give_a_report_all_the_same() {
        let report = report(&written(b"\x1b[2J\xff\n0123456789012345678901234", u64::MAX - 5));
        let page = Page { columns: 80, ..Page::of_terminal(None, false) };
        for text in [crate::summary::render_on(&report, &[], page), crate::every::render(&report, page)] {
            assert!(!text.contains('\u{1b}'), "{text}");
        }
        let text = crate::summary::render_on(&report, &[], page);
        let line = text.lines().find(|line| line.starts_with("  heaps")).expect("a line");
        assert!(line.chars().count() <= 80, "{line}");
        let heap = &report.processes.iter().find(|process| process.process == 11).expect("it").heaps[1];
        assert_eq!(heap.counters.known(Key::HeapUsed), Some(0), "below zero is none");
    }
}
