//! Reports of ECBs in the layouts of z/TPF, as our own runs print them, are read back into the same figures.

use underbar_listing::model::ztpf::{Found, Frequencies, Table};
use underbar_listing::{Item, read};
use underbar_report::ecbs::{EcbClass, Rows};
use underbar_report::ztpf::{Layout, render};
use underbar_report::{Report, sample};

fn report(classes: Vec<EcbClass>) -> Report {
    let mut report = sample::getfree();
    report.processes[0].ecbs = classes;
    report
}

fn found(text: &str) -> Vec<Found> {
    let ztpf = |item| match item {
        Item::Ztpf(found) => Some(found),
        _ => None,
    };
    read(text.as_bytes()).into_iter().filter_map(ztpf).collect()
}

/// Limit, whether it is the row above it, and count.
fn rows(table: &Frequencies) -> Vec<(u64, bool, u64)> {
    table.rows.iter().map(|row| (row.limit, row.over, row.count.value)).filter(|row| row.2 > 0).collect()
}

/// A class whose counts are as the seed has them.
fn classes() -> Vec<EcbClass> {
    let mut state = 7_u64;
    let mut dice = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut all = vec![sample::ecbs()];
    for number in 0..40 {
        let mut class = EcbClass { name: format!("SET{number}"), ..sample::ecbs() };
        let limits: Vec<u64> =
            (1..=256).map(|step| step * 16).chain((13..=26).map(|power| 1 << power)).collect();
        let requests =
            (0..1 + dice(8)).map(|_| (limits[dice(limits.len() as u64) as usize], 1 + dice(100_000)));
        class.requests = Rows { up_to: requests.collect(), above: None };
        let uses = (0..1 + dice(8)).map(|_| (4_096 * dice(127), 1 + dice(100_000)));
        class.uses = Rows { up_to: uses.collect(), above: (dice(2) == 0).then(|| (516_096, 1 + dice(50))) };
        all.push(class);
    }
    all
}

#[test]
fn storage_below_2_gib_is_what_the_reports_of_31_bit_storage_have() {
    let class = sample::ecbs_with_low();
    let all = found(&render(&report(vec![class.clone()]), Layout::Pj47265));
    let tables: Vec<&Frequencies> = all
        .iter()
        .filter_map(|found| match found {
            Found::Frequencies(table) if table.table != Table::RequestSizes => Some(table),
            _ => None,
        })
        .collect();
    let rows: Vec<_> = tables.iter().map(|table| (table.table, rows(table))).collect();
    let expect = [
        (Table::Preallocated, vec![(0, false, 93), (4_096, false, 5), (20_480, false, 1), (32_768, true, 1)]),
        (Table::Virtual, vec![(40_960, false, 1)]),
    ];
    assert_eq!(rows, expect);
    assert!(tables.iter().all(|table| table.sound && table.doubts.is_empty()));
}

#[test]
fn what_is_printed_is_read_back() {
    for class in classes() {
        for layout in [Layout::Pj47265, Layout::Previous] {
            let text = render(&report(vec![class.clone()]), layout);
            let all = found(&text);
            let tables: Vec<&Frequencies> = all
                .iter()
                .filter_map(|found| match found {
                    Found::Frequencies(table) => Some(table),
                    _ => None,
                })
                .collect();
            let exceed = class.uses.beyond(class.area);
            assert_eq!(tables.len(), 2 + usize::from(exceed > 0), "{text}\n{all:#?}");
            for table in &tables {
                assert!(table.sound && table.doubts.is_empty(), "{text}\n{:#?}", table.doubts);
                assert_eq!(table.set.as_deref(), Some(class.name.as_str()));
                assert!(table.run.is_some());
            }
            let requests = tables[0];
            assert_eq!(requests.table, Table::RequestSizes);
            let sizes: Vec<u64> = requests.sizes.iter().map(|(_, size)| size.value).collect();
            assert_eq!(sizes, class.sizes);
            // Each class of the report has the counts of the ledger rows within it.
            let mut below = 0;
            for row in &requests.rows {
                assert_eq!(row.count.value, class.requests.between(below, row.limit), "{text}");
                below = row.limit;
            }
            assert_eq!(requests.read(), class.requests.all());
            let mut uses: Vec<(u64, bool, u64)> =
                class.uses.up_to.iter().map(|(limit, count)| (*limit, false, *count)).collect();
            uses.extend(class.uses.above.map(|(limit, count)| (limit, true, count)));
            let (within, mut beyond): (Vec<_>, Vec<_>) =
                uses.into_iter().partition(|row| row.0 <= class.area);
            let mut expect = within;
            if exceed > 0 {
                expect.push((class.area, true, exceed));
                beyond.sort_unstable();
                assert_eq!(rows(tables[2]), beyond, "{text}");
            }
            assert_eq!(rows(tables[1]), expect, "{text}");
            let lists = all.iter().find_map(|found| match found {
                Found::Lists(lists) => Some(lists),
                _ => None,
            });
            let lists = lists.expect("the display");
            assert_eq!(lists.set.as_deref(), Some(class.name.as_str()));
            assert_eq!(lists.sizes.iter().map(|(_, size)| size.value).collect::<Vec<_>>(), class.sizes);
        }
    }
}
