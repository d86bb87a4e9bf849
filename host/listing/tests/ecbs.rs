//! Reports of ECBs in the layouts of z/TPF, as our own runs print them, are read back into the same figures.

use underbar_listing::model::ztpf::{
    EcbRow, Found, Frequencies, ListRow, Lists as FoundLists, MetricRow, Metrics, Table,
};
use underbar_listing::{Item, read};
use underbar_report::ecbs::{EcbClass, EcbList, Rows};
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

/// Of each list: its number, and requests by own, by shared lists, by new storage, freed, dispensed; then the rows about ECBs.
type Lists = (Vec<(Option<u64>, [u64; 5])>, Vec<(EcbRow, u64)>);

fn read_lists(lists: &FoundLists) -> Lists {
    let row = |row: &ListRow| {
        assert_eq!((row.own_31.value, row.shared_31.value), (0, 0));
        let figures = [&row.own_64, &row.shared_64, &row.new_storage, &row.freed, &row.dispensed];
        (row.list.map(u64::from), figures.map(|figure| figure.value))
    };
    (
        lists.rows.iter().map(row).collect(),
        lists.ecbs.iter().map(|(row, _, high)| (*row, high.value)).collect(),
    )
}

fn printed_lists(class: &EcbClass) -> Lists {
    let is_there = |list: &&EcbList| list.list.is_none_or(|number| number as usize <= class.sizes.len());
    let row = |list: &EcbList| (list.list, [list.own(), list.shared, list.carved, list.freed, list.got]);
    let ecbs = [
        (EcbRow::WithBuffer, class.with_buffer),
        (EcbRow::ExpandedTable, class.expanded_tags),
        (EcbRow::WithFrame, class.with_frame),
        (EcbRow::Frames, class.frames),
        (EcbRow::HighWater, class.high_water),
    ];
    (class.lists.iter().filter(is_there).map(row).collect(), ecbs.into())
}

/// Name, value, and the figures that are in every row: ECBs, high-water mark, dispensed and freed of the second list and all others.
type Pairs = Vec<(String, String, [u64; 6])>;

fn read_pairs(metrics: &Metrics) -> Pairs {
    let row = |row: &MetricRow| {
        let of =
            |name: &str| row.values.iter().find(|(known, _)| known == name).map_or(u64::MAX, |value| value.1);
        let names =
            ["ECBS", "HIGH_WATER_64", "AVL2_DISPENSED", "AVL2_FREED", "OTHER_DISPENSED", "OTHER_FREED"];
        let (name, value) = row.pair.clone().unwrap_or_default();
        (name, value, names.map(of))
    };
    metrics.rows.iter().map(row).collect()
}

fn printed_pairs(class: &EcbClass) -> Pairs {
    let of_list = |list: &EcbList| [list.got, list.freed];
    let ([second, last], text) = ([1, 5].map(|at| of_list(&class.lists[at])), String::new);
    let mut all =
        vec![(text(), text(), [class.ended, class.high_water, second[0], second[1], last[0], last[1]])];
    for pair in &class.pairs {
        let name = pair.name.clone().unwrap_or_else(|| "*OTHERS".to_owned());
        let lists = [1, 5].map(|at| [pair.lists[at].got, pair.lists[at].freed]);
        let [second, last] = lists;
        let figures = [pair.ecbs, pair.high_water, second[0], second[1], last[0], last[1]];
        all.push((name, pair.value.clone().unwrap_or_default(), figures));
    }
    all
}

/// A line that lost its end, or a digit, gives no figure.
#[test]
fn damaged_displays_give_no_figure() {
    let text = render(&report(vec![sample::ecbs()]), Layout::Pj47265);
    let lists = |text: &str| {
        found(text).into_iter().find_map(|found| match found {
            Found::Lists(lists) => Some(lists),
            _ => None,
        })
    };
    let whole = lists(&text).expect("the display");
    for (good, bad, rows, ecbs) in [
        ("         9600\n", "         960\n", 5, 5),
        ("         9600\n", "         96O0\n", 5, 5),
        ("         9000         9600\n", "         9000\n", 5, 5),
        ("                           95\n", "                           9S\n", 6, 4),
        ("FREED    DISPENSED", "FREED", 0, 0),
    ] {
        let damaged = text.replacen(good, bad, 1);
        assert_ne!(damaged, text, "{good}");
        let found = lists(&damaged).expect("the display");
        assert_eq!((found.rows.len(), found.ecbs.len()), (rows, ecbs), "{bad}");
        assert_eq!(found.doubts.len(), whole.doubts.len() + 1, "{bad}: {:#?}", found.doubts);
    }
}

/// Names and values may have what separates fields.
#[test]
fn names_and_values_with_commas_quotes_and_braces_are_read_back() {
    let mut class = sample::ecbs();
    for (pair, value) in class.pairs.iter_mut().zip(["a,b", "{\"x\":1}"]) {
        pair.value = Some(value.to_owned());
        pair.name = Some(format!("\"{value}"));
    }
    let text = render(&report(vec![class.clone()]), Layout::Pj47265);
    let metrics = found(&text).into_iter().find_map(|found| match found {
        Found::Metrics(metrics) => Some(metrics),
        _ => None,
    });
    assert_eq!(read_pairs(&metrics.expect("name-value pairs")), printed_pairs(&class), "{text}");
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
            assert_eq!(read_lists(lists), printed_lists(&class), "{text}");
            assert!(lists.doubts.is_empty(), "{text}\n{:#?}", lists.doubts);
            let metrics = all.iter().find_map(|found| match found {
                Found::Metrics(metrics) => Some(metrics),
                _ => None,
            });
            let metrics = metrics.expect("name-value pairs");
            assert!(metrics.doubts.is_empty(), "{text}\n{:#?}", metrics.doubts);
            assert_eq!(read_pairs(metrics), printed_pairs(&class), "{text}");
        }
    }
}
