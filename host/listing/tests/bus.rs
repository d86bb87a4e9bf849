//! The BUS report of our own runs is read back into the same figures, without a doubt.

use underbar_listing::model::natural::{BufferUsage, Cache, Natural};
use underbar_listing::{Item, read};
use underbar_report::bus::render;
use underbar_report::{Report, sample};

fn report() -> Report {
    let mut report = sample::getfree();
    report.processes[0].buffers = sample::buffers();
    report
}

fn found(text: &str) -> Vec<BufferUsage> {
    let buffers = |item| match item {
        Item::Natural(Natural::Buffers(found)) => Some(*found),
        _ => None,
    };
    read(text.as_bytes()).into_iter().filter_map(buffers).collect()
}

#[test]
fn rows_and_their_total_are_read_back() {
    let report = report();
    let all = found(&render(&report));
    let [usage] = &all[..] else { panic!("{all:#?}") };
    assert_eq!(usage.doubts, []);
    assert!(usage.is_sound() && usage.is_complete());
    let read: Vec<_> = usage
        .rows
        .iter()
        .map(|row| (row.name.as_str(), row.kind, row.size, row.used, row.max_used))
        .collect();
    let ours: Vec<_> = report.processes[0]
        .buffers
        .iter()
        .map(|buffer| (buffer.name.as_str(), 'V', buffer.size, buffer.used, Some(buffer.max_used)))
        .collect();
    assert_eq!(read, ours);
    let caches: Vec<_> = usage.rows.iter().map(|row| row.cache()).collect();
    assert_eq!(caches, [Cache::Print, Cache::Write, Cache::Read].map(Some));
    let total = usage.thread.as_ref().and_then(|thread| thread.total.as_ref()).expect("a total");
    assert_eq!((total.value, total.likely), (ours.iter().map(|row| row.2).sum(), false));
    let max = usage.thread.as_ref().and_then(|thread| thread.max_used.as_ref()).expect("a sum");
    assert_eq!((max.value, max.likely), (ours.iter().filter_map(|row| row.4).sum(), false));
}

#[test]
fn sizes_of_all_magnitudes_and_a_thread_are_read_back() {
    let mut state = 9_u64;
    let mut dice = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for round in 0..200 {
        let mut report = report();
        for buffer in &mut report.processes[0].buffers {
            let shift = 10 + dice(20);
            buffer.size = 1 + dice(1 << shift);
            buffer.max_used = dice(buffer.size + 1);
            buffer.used = dice(buffer.max_used + 1);
        }
        let second = report.processes[0].clone();
        report.processes.push(second);
        let text = render(&report);
        let all = found(&text);
        assert_eq!(all.len(), 2, "round {round}: {text}");
        for usage in all {
            assert_eq!(usage.doubts, [], "round {round}: {text}");
            let sizes: Vec<_> = usage.rows.iter().map(|row| (row.size, row.used, row.max_used)).collect();
            let ours = report.processes[0].buffers.iter();
            let ours: Vec<_> = ours.map(|it| (it.size, it.used, Some(it.max_used))).collect();
            assert_eq!(sizes, ours, "round {round}: {text}");
            assert!(usage.thread.is_some_and(|thread| thread.total.is_some_and(|total| !total.likely)));
        }
    }
}
