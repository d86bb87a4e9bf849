//! ECBs in the layouts of z/TPF: requests by size, use of the preallocated and of further storage, requests by list.
//!
//! ```text
//! TPF ECB HEAP REQUEST SIZE REPORT                             SYSTEM  WIDE      32, 64, 128, 256, 512, ... (PJ47265), or
//!    CLASS UPPER   FREQUENCY   PERCENT                                          128, 256, 384, ... (before it)
//!       LIMIT      OBSERVED    OF TOTAL
//!
//!          64         5564       99.29%                        rounded to hundredths
//!
//! TPF 31-BIT PREALLOCATED ECB HEAP STORAGE USAGE REPORT    SYSTEM  WIDE
//!    CLASS UPPER   FREQUENCY   PERCENT    FREQUENCY DIAGRAM  (SCALE =       1/1)
//!         4KB            3       27.00%   |***                 cut off to whole percents (PJ48166)
//!
//! DECB0125I ... COUNT OF ECB HEAP AVAILABLE LIST REQUESTS FILLED FOR
//!
//! COLLECTION_ID,ECB_SVM,ECB_OWNER_NAME,NVP_NAME,NVP_VALUE,COUNT1,INTEGER_METRICS                                a table of name-value pairs
//! ```
//!
//! Titles, headings, the order of classes, the diagram and how percentages are cut are documented. Not documented are classes above
//! 1024 bytes (here steps of 256 up to 4096, then powers of two), the columns of the display, names in INTEGER_METRICS, and a report of each
//! class of ECBs: z/TPF names a set of sizes, which is the class here. The reports of 31-bit storage have that of __malloc31, and a report
//! with the title of 64-bit storage follows. A class without storage below 2 GiB has the figures of all its storage there: titles stay as
//! they are.
//!
//! Invariant: our own reader of listings finds the same figures (`host/listing/tests/ecbs.rs`).
//! Not here: the figures ([`crate::ecbs`]).

use std::fmt::Write as _;

use underbar_ledger::classes::{USE_STEP, USES};

use crate::ecb_lines::sampled;
use crate::ecb_pairs::EcbPair;
use crate::ecbs::{EcbClass, Rows};
use crate::le;
use crate::model::{Process, Report};
use crate::page::clean;

/// The classes of the request size report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Those of PJ47265.
    Pj47265,
    /// Multiples of 128, as before it.
    Previous,
}

/// The largest class in steps of less than a power of two.
const LAST_STEP: u64 = 4096;
/// At least these classes are printed.
const LEAST: u64 = 1024;
/// Characters of the longest bar.
const BAR: u64 = 50;
/// At least so many classes of virtual storage are printed.
const LEAST_VIRTUAL: usize = 5;
/// Rows of the virtual report, at most.
const MOST_VIRTUAL: u64 = 1024;
/// The largest use that is counted by its step, in bytes.
const LARGEST_STEP: u64 = ((USES - 2) * USE_STEP) as u64;

/// The reports of all classes of all processes.
#[must_use]
pub fn render(report: &Report, layout: Layout) -> String {
    let mut text = String::new();
    for process in &report.processes {
        for class in &process.ecbs {
            one(&mut text, report, process, class, layout);
        }
    }
    if text.is_empty() {
        text.push_str("* No process created an ECB.\n");
    }
    text
}

fn one(text: &mut String, report: &Report, process: &Process, class: &EcbClass, layout: Layout) {
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "* {}, process {}: requests by size in {}",
        process.name(),
        process.process,
        sampled(class)
    );
    let _ = writeln!(text, "TPF ENVIRONMENT SUMMARY REPORT\nDATE COLLECTED  {}\n", le::date(report));
    requests(text, class, layout);
    preallocated(text, class);
    lists(text, class);
    pairs(text, process, class);
}

/// The name of the set of sizes: letters, digits and underscores.
fn set(class: &EcbClass) -> String {
    class.name.chars().take(16).map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn sizes(class: &EcbClass) -> String {
    let all = class.sizes.iter().zip(1..).map(|(size, list)| format!("AVL{list} {size}"));
    all.collect::<Vec<_>>().join(" , ")
}

/// A count of the whole, in hundredths of a percent, rounded.
fn rounded(count: u64, whole: u64) -> u128 {
    (u128::from(count) * 20_000 / u128::from(whole.max(1))).div_ceil(2)
}

/// The classes of requests up to the largest one, each with its upper limit.
fn limits(layout: Layout, largest: u64) -> Vec<u64> {
    let steps: Vec<u64> = match layout {
        Layout::Pj47265 => {
            [32, 64, 128].into_iter().chain((1..=LAST_STEP / 256).map(|step| step * 256)).collect()
        }
        Layout::Previous => (1..=LAST_STEP / 128).map(|step| step * 128).collect(),
    };
    let powers = (13..=26).map(|power| 1 << power);
    let all: Vec<u64> = steps.into_iter().chain(powers).collect();
    let last = all.iter().position(|limit| *limit >= largest.max(LEAST)).unwrap_or(all.len() - 1);
    all[..=last].to_vec()
}

fn requests(text: &mut String, class: &EcbClass, layout: Layout) {
    let rows = &class.requests;
    let _ = writeln!(text, "{:<81}SYSTEM  WIDE", "TPF ECB HEAP REQUEST SIZE REPORT");
    let _ = writeln!(text, "SETNAME = {}", set(class));
    let _ = writeln!(text, "CURRENT BUFFER SIZES IN BYTES: {}\n", sizes(class));
    let _ = writeln!(text, "   CLASS UPPER   FREQUENCY   PERCENT\n      LIMIT      OBSERVED    OF TOTAL\n");
    let whole = rows.all();
    let row = |label: String, count: u64| {
        let percent = rounded(count, whole);
        format!("{label:>12}{count:>13}{:>9}.{:02}%\n", percent / 100, percent % 100)
    };
    let limits = limits(
        layout,
        if rows.above.is_some() { u64::MAX } else { rows.up_to.keys().last().copied().unwrap_or(0) },
    );
    let mut below = 0;
    for limit in limits {
        text.push_str(&row(limit.to_string(), rows.between(below, limit)));
        below = limit;
    }
    if let Some((limit, count)) = rows.above {
        text.push_str(&row(format!("> {limit}"), count));
    }
    text.push('\n');
}

/// A table of ECBs by their use of storage: classes by their limit in bytes, and the ECBs above the last one.
fn usage(text: &mut String, rows: &[(u64, u64)], above: u64) {
    let most = rows.iter().map(|row| row.1).chain([above]).max().unwrap_or(0);
    let whole = rows.iter().map(|row| row.1).fold(above, u64::saturating_add).max(1);
    // One star for so many ECBs.
    let scale = [1, 2, 5].into_iter().flat_map(|step| (0..18).map(move |power| step * 10_u64.pow(power)));
    let scale = scale.filter(|scale| most / scale <= BAR).min().unwrap_or(u64::MAX);
    let _ = writeln!(
        text,
        "   CLASS UPPER   FREQUENCY   PERCENT    FREQUENCY DIAGRAM  (SCALE ={:>10})\n      LIMIT      OBSERVED    OF TOTAL\n",
        format!("1/{scale}")
    );
    let mut row = |label: String, count: u64| {
        let percent = u128::from(count) * 100 / u128::from(whole);
        let bar = "*".repeat(usize::try_from(count / scale).unwrap_or(0));
        let _ = writeln!(text, "{label:>12}{count:>13}{percent:>9}.00%   |{bar}");
    };
    for (limit, count) in rows {
        row(format!("{}KB", limit / 1024), *count);
    }
    if let Some((limit, _)) = rows.last() {
        row(format!("> {}KB", limit / 1024), above);
    }
    text.push('\n');
}

fn preallocated(text: &mut String, class: &EcbClass) {
    if class.with_low == 0 {
        return usages(text, class, "31-BIT", class.area, &class.uses);
    }
    let mut low = class.low_uses.clone();
    low.up_to.insert(0, class.ended.saturating_sub(low.all()));
    usages(text, class, "31-BIT", class.low, &low);
    usages(text, class, "64-BIT", class.area, &class.uses);
}

/// ECBs by their use of storage of that kind, of which they begin with so many bytes.
fn usages(text: &mut String, class: &EcbClass, kind: &str, area: u64, uses: &Rows) {
    let step = USE_STEP as u64;
    let rows = |from: u64, to: u64| -> Vec<(u64, u64)> {
        (from..=to).map(|row| (row * step, uses.up_to.get(&(row * step)).copied().unwrap_or(0))).collect()
    };
    // Beyond the largest step it is not known who exceeded the area: the last row is of those above that step. A damaged ledger or report may
    // have any figure here.
    let (area, exceed) = (area.min(LARGEST_STEP) / step, uses.beyond(area.min(LARGEST_STEP)));
    let _ = writeln!(
        text,
        "TPF {kind} PREALLOCATED ECB HEAP STORAGE USAGE REPORT    SYSTEM  WIDE\nSETNAME = {}\n",
        set(class)
    );
    usage(text, &rows(0, area), exceed);
    if exceed > 0 && class.area < LARGEST_STEP {
        let last = match uses.above {
            Some((limit, _)) => limit / step,
            None => uses.up_to.keys().last().map_or(area, |last| last / step),
        };
        let _ = writeln!(
            text,
            "TPF {kind} VIRTUAL ECB HEAP STORAGE USAGE REPORT    SYSTEM  WIDE\n\
             REPORT ONLY INCLUDES ECBS THAT EXCEEDED THE PREALLOCATED ECB HEAP\nSETNAME = {}\n",
            set(class)
        );
        let last = last.clamp(area + LEAST_VIRTUAL as u64, area + MOST_VIRTUAL);
        usage(text, &rows(area + 1, last), uses.above.map_or(0, |above| above.1));
    }
}

fn lists(text: &mut String, class: &EcbClass) {
    let _ = writeln!(
        text,
        "DECB0125I COUNT OF ECB HEAP AVAILABLE LIST REQUESTS FILLED FOR\nALL ECBS   CREATED {}   ENDED {}\nSETNAME = {}\n\
         ECB HEAP AVL LIST BUFFER SIZES: {}\n",
        class.created,
        class.ended,
        set(class),
        sizes(class)
    );
    let _ = writeln!(
        text,
        "LIST         31 BIT  SHARED AVLS       64 BIT  SHARED AVLS  NEW STORAGE        FREED    DISPENSED"
    );
    // Which list a buffer below 2 GiB is of is not counted: they are with the others.
    for list in &class.lists {
        let low = if list.list.is_none() { class.low_got.min(list.carved) } else { 0 };
        let Some(name) = list_name(class, list.list) else { continue };
        let [freed, got] = [list.freed, list.own().saturating_add(list.shared).saturating_add(list.carved)];
        let _ = writeln!(
            text,
            "{name:<6}{:>13}{:>13}{:>13}{:>13}{:>13}{freed:>13}{got:>13}",
            0,
            low,
            list.own(),
            list.shared,
            list.carved - low
        );
    }
    let _ = writeln!(
        text,
        "\n{:<48}{:>10}\n{:<48}{:>10}\n\n{:<38}{:>10}{:>16}",
        "ECBS WITH AT LEAST ONE BUFFER",
        class.with_buffer,
        "ECBS THAT EXPANDED THE HASH TABLE",
        class.expanded_tags,
        "",
        "31-BIT",
        "64-BIT"
    );
    // Storage below 2 GiB comes in smaller pieces than frames.
    for (label, low, figure) in [
        ("ECBS WITH AT LEAST ONE 1 MB FRAME", 0, class.with_frame),
        ("1 MB FRAMES OBTAINED", 0, class.frames),
        ("HIGH-WATER MARK OF ONE ECB, BYTES", class.low_high_water, class.high_water),
    ] {
        let _ = writeln!(text, "{label:<38}{low:>10}{figure:>16}");
    }
    text.push_str("END OF DISPLAY\n\n");
}

/// The name of a list in a row; None if the class has no such list.
fn list_name(class: &EcbClass, list: Option<u64>) -> Option<String> {
    match list {
        Some(number) if number as usize > class.sizes.len() => None,
        Some(number) => Some(format!("AVL{number}")),
        None => Some("OTHER".to_owned()),
    }
}

/// A table of name-value pairs: the class as an owner, then each of its pairs.
fn pairs(text: &mut String, process: &Process, class: &EcbClass) {
    text.push_str("COLLECTION_ID,ECB_SVM,ECB_OWNER_NAME,NVP_NAME,NVP_VALUE,COUNT1,INTEGER_METRICS\n");
    let mut row = |pair: Option<&EcbPair>| {
        let (name, value) = match pair {
            None => (String::new(), String::new()),
            Some(EcbPair { name: Some(name), value: Some(value), .. }) => (quoted(name), quoted(value)),
            Some(_) => ("*OTHERS".to_owned(), String::new()),
        };
        let metrics = metrics(class, pair);
        let json: Vec<String> = metrics.iter().map(|(name, figure)| format!("\"{name}\":{figure}")).collect();
        let _ = writeln!(
            text,
            "P{},,{},{name},{value},{},{{{}}}",
            process.process,
            quoted(&class.name),
            metrics.len(),
            json.join(",")
        );
    };
    row(None);
    class.pairs.iter().for_each(|pair| row(Some(pair)));
    text.push('\n');
}

/// A field in quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", clean(text).replace('"', "\"\""))
}

/// The figures of a row: what the document lists for name-value pairs, for all ECBs of the class or for those with a pair.
fn metrics(class: &EcbClass, pair: Option<&EcbPair>) -> Vec<(String, u64)> {
    let figures = match pair {
        None => [
            class.ended,
            class.with_buffer,
            class.expanded_tags,
            class.with_frame,
            class.frames,
            class.high_water,
        ],
        Some(pair) => {
            [pair.ecbs, pair.with_buffer, pair.expanded_tags, pair.with_frame, pair.frames, pair.high_water]
        }
    };
    let [ecbs, with_buffer, expanded_tags, with_frame, frames, high_water] = figures;
    let mut all: Vec<(String, u64)> = [
        ("ECBS", ecbs),
        ("ECBS_WITH_BUFFER", with_buffer),
        ("ECBS_EXPANDED_TABLE", expanded_tags),
        ("ECBS_WITH_FRAME_31", 0),
        ("ECBS_WITH_FRAME_64", with_frame),
        ("FRAMES_31", 0),
        ("FRAMES_64", frames),
        ("HIGH_WATER_64", high_water),
    ]
    .map(|(name, figure)| (name.to_owned(), figure))
    .into();
    // Of a pair it is not counted.
    if pair.is_none() || class.with_low == 0 {
        all.push(("HIGH_WATER_31".to_owned(), class.low_high_water));
    }
    all.extend(pair.map(|pair| ("BYTES_DISPENSED".to_owned(), pair.bytes)));
    let lists: Vec<(Option<u64>, [u64; 2])> = match pair {
        None => class.lists.iter().map(|list| (list.list, [list.got, list.freed])).collect(),
        Some(pair) => pair.lists.iter().map(|list| (list.list, [list.got, list.freed])).collect(),
    };
    for (list, [got, freed]) in lists {
        if let Some(name) = list_name(class, list) {
            all.extend([(format!("{name}_DISPENSED"), got), (format!("{name}_FREED"), freed)]);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn percentages_of_use_are_cut_off_and_those_of_requests_rounded() {
        let mut text = String::new();
        usage(&mut text, &[(0, 5), (4_096, 0), (8_192, 3), (12_288, 1)], 2);
        let rows: Vec<&str> = text.lines().skip(3).filter(|line| !line.is_empty()).collect();
        assert_eq!(
            rows,
            [
                "         0KB            5       45.00%   |*****",
                "         4KB            0        0.00%   |",
                "         8KB            3       27.00%   |***",
                "        12KB            1        9.00%   |*",
                "      > 12KB            2       18.00%   |**",
            ]
        );
        assert!(
            text.starts_with(
                "   CLASS UPPER   FREQUENCY   PERCENT    FREQUENCY DIAGRAM  (SCALE =       1/1)\n"
            )
        );
        assert_eq!(
            [rounded(5_564, 5_604), rounded(1, 5_604), rounded(2, 3), rounded(0, 0)],
            [99_29, 2, 66_67, 0]
        );
    }

    #[test]
    fn bars_have_a_scale() {
        let mut text = String::new();
        usage(&mut text, &[(0, 5_000), (4_096, 199)], 0);
        assert!(text.contains("(SCALE =     1/100)\n"), "{text}");
        assert!(text.contains(&format!("|{}\n", "*".repeat(50))) && text.contains("|*\n"), "{text}");
    }

    #[test]
    fn both_layouts_have_their_classes() {
        assert_eq!(limits(Layout::Pj47265, 40), [32, 64, 128, 256, 512, 768, 1_024]);
        assert_eq!(limits(Layout::Previous, 40)[..3], [128, 256, 384]);
        assert_eq!(limits(Layout::Previous, 5_000).last(), Some(&8_192));
        assert_eq!(limits(Layout::Pj47265, u64::MAX).last(), Some(&(64 << 20)));
    }

    /// ECBs above the last step may have fitted into a large area.
    #[test]
    fn an_area_beyond_the_steps_is_not_said_to_be_exceeded() {
        let mut report = sample::getfree();
        report.processes[0].ecbs = vec![EcbClass { area: 1 << 20, ..sample::ecbs() }];
        let text = render(&report, Layout::Pj47265);
        assert!(text.contains("     > 504KB            1        1.00%   |\n"), "{text}");
        assert!(!text.contains("EXCEEDED"), "{text}");
    }

    #[test]
    fn a_report_of_each_class() {
        let mut report = sample::getfree();
        assert!(render(&report, Layout::Pj47265).starts_with("* No process"));
        report.processes[0].ecbs = vec![sample::ecbs()];
        let text = render(&report, Layout::Pj47265);
        for part in [
            "* getfree, process 4711: requests by size in 10 ECBs, sampled: one in 10\n",
            "CURRENT BUFFER SIZES IN BYTES: AVL1 32 , AVL2 64 , AVL3 128 , AVL4 256 , AVL5 512\n",
            "          32           30        2.99%\n          64          960       95.81%\n",
            "        32KB            0        0.00%   |\n      > 32KB            4        4.00%   |",
            "       504KB            0        0.00%   |\n     > 504KB            1       25.00%   |*\n",
            "AVL2              0            0         8900          200          500         9000         9600\n",
            "ECBS WITH AT LEAST ONE BUFFER                           95\n",
            "1 MB FRAMES OBTAINED                           0               5\n",
            "\nP4711,,\"SSL\",,,21,{\"ECBS\":100,\"ECBS_WITH_BUFFER\":95,\"ECBS_EXPANDED_TABLE\":3,\"ECBS_WITH_FRAME_31\":0,\"ECBS_WITH_FRAME_64\":4,",
            "\nP4711,,\"SSL\",\"TRANSACTION\",\"LOG, and more\",22,{\"ECBS\":60,",
            "\"BYTES_DISPENSED\":230400,\"AVL1_DISPENSED\":0,\"AVL1_FREED\":0,\"AVL2_DISPENSED\":3600,\"AVL2_FREED\":3500,",
            "\nP4711,,\"SSL\",*OTHERS,,22,{\"ECBS\":10,",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(render(&report, Layout::Previous).contains("         128          990       98.80%\n"));
        assert!(!text.contains("TPF 64-BIT"));
        report.processes[0].ecbs = vec![sample::ecbs_with_low()];
        let text = render(&report, Layout::Pj47265);
        let low = text.split("TPF 64-BIT").next().expect("a first part");
        for part in [
            "         0KB           93       93.00%   |",
            "         4KB            5        5.00%   |",
            "      > 32KB            1        1.00%   |",
            "TPF 31-BIT VIRTUAL",
        ] {
            assert!(low.contains(part), "{part}\n{text}");
        }
        assert!(
            text.contains("HIGH-WATER MARK OF ONE ECB, BYTES          40960         1400000\n"),
            "{text}"
        );
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("P4711,")).collect();
        assert!(rows[0].contains("\"HIGH_WATER_31\":40960") && !rows[1].contains("HIGH_WATER_31"), "{text}");
        assert!(
            text.contains(
                "OTHER             0           50            0            0            0           20           50"
            ),
            "{text}"
        );
    }
}
