//! Tables of frequencies before and after: requests by size, and ECBs by their heap use.
//!
//! Invariant: a set of sizes is compared only with the same set; of several reports of it, the last sound one is compared.
//! Every sum includes the possible counts of missing rows.
//! Not here: common ranges (`classes`), how bytes are counted (`available_lists`).

use underbar_listing::model::ztpf::{Class, Found, Frequencies, Table};

use super::super::Collected;
use super::super::available_lists::{Span, serve};
use super::super::ztpf::population::{name, present, requests};
use super::classes::common;
use super::subject::{Known, Subject};
use super::{Comparison, paired};

/// The most classes that are named; further ones are counted.
const MOST_NAMED: usize = 12;

/// The reports of one set.
struct Reports<'a> {
    collected: &'a Collected,
    set: Option<&'a str>,
    all: Vec<(usize, &'a Frequencies)>,
}

impl<'a> Reports<'a> {
    fn last(&self) -> Option<(usize, &'a Frequencies)> {
        self.all.iter().rev().find(|(_, report)| report.sound && !report.rows.is_empty()).copied()
    }
}

/// Compares all tables.
pub(super) fn compare(old: &Collected, new: &Collected, comparison: &mut Comparison) {
    for (table, what) in [
        (Table::RequestSizes, "requests by size"),
        (Table::Preallocated, "use of the preallocated 31-bit heap"),
        (Table::Virtual, "ECBs that exceeded the preallocated 31-bit heap"),
        (Table::Preallocated64, "use of the preallocated 64-bit heap"),
        (Table::Virtual64, "ECBs that exceeded the preallocated 64-bit heap"),
    ] {
        let name = |one: &Reports<'_>| format!("{}: {what}", name(one.set));
        for pair in paired(reports(old, table), reports(new, table), |one, two| one.set == two.set) {
            match pair {
                (Some(old), Some(new)) => {
                    let mut subject = Subject::new(&name(&old), &name(&new), [old.all.len(), new.all.len()]);
                    one(&mut subject, table, &old, &new);
                    comparison.subjects.push(subject);
                }
                (old, new) => comparison.alone(old.as_ref().map(name), new.as_ref().map(name)),
            }
        }
    }
}

fn reports(collected: &Collected, table: Table) -> Vec<Reports<'_>> {
    let mut all: Vec<Reports<'_>> = Vec::new();
    for (file, found) in &collected.ztpf {
        let Found::Frequencies(report) = found else { continue };
        if report.table != table {
            continue;
        }
        let set = report.set.as_deref();
        match all.iter_mut().find(|known| known.set == set) {
            Some(known) => known.all.push((*file, report)),
            None => all.push(Reports { collected, set, all: vec![(*file, report)] }),
        }
    }
    all
}

fn one(subject: &mut Subject, table: Table, old: &Reports<'_>, new: &Reports<'_>) {
    for (side, reports) in [("old", old), ("new", new)] {
        if reports.last().is_none() {
            subject.notes.push(format!("{side}: no report of it can be used: not compared"));
        }
        subject.doubts(side, reports.all.iter().flat_map(|(_, report)| &report.doubts));
    }
    let (Some((old_file, one)), Some((new_file, two))) = (old.last(), new.last()) else { return };
    if table == Table::RequestSizes {
        subject.group("REQUESTS");
        subject.row("In the rows that were read", count(one.read()), count(two.read()));
        subject.row("In all, by their percentages", all(one), all(two));
    } else {
        area(subject, table, one, two);
    }
    by_class(subject, table, one, two);
    if table == Table::RequestSizes {
        sizes(subject, (old, old_file, one), (new, new_file, two));
    }
}

fn count(value: u64) -> Option<Known> {
    Some(Known::count(value))
}

/// All observations: at least, at most.
fn total(report: &Frequencies) -> (u64, Option<u64>) {
    let complete = report.table != Table::RequestSizes && is_whole(report);
    let read = report.read();
    match report.total {
        _ if complete => (read, Some(read)),
        // If rows are missing, the rows read are only a lower bound.
        Some(total) => (total.least.max(read), total.most),
        None => (read, None),
    }
}

fn all(report: &Frequencies) -> Option<Known> {
    let (least, most) = total(report);
    Some(Known::span(least, most))
}

/// Whether every row of a usage report is there.
fn is_whole(report: &Frequencies) -> bool {
    report.doubts.is_empty() && report.missing().0 == 0 && report.rows.last().is_some_and(|row| row.over)
}

fn area(subject: &mut Subject, table: Table, old: &Frequencies, new: &Frequencies) {
    let over = |report: &Frequencies| report.rows.last().filter(|row| row.over).cloned();
    let (one, two) = (over(old), over(new));
    let count = |row: &Option<Class>| row.as_ref().map(|row| Known::count(row.count.value));
    let limit = |row: &Option<Class>| row.as_ref().map(|row| Known::count(row.limit));
    let share = |report: &Frequencies, row: &Option<Class>| {
        row.as_ref().and_then(|row| Known::share((row.count.value, Some(row.count.value)), total(report)))
    };
    subject.group("ECBS");
    subject.row("ECBs", all(old), all(new));
    let words = match table {
        Table::Virtual | Table::Virtual64 => {
            ["Above the last class", "Share above the last class", "Last class (bytes)"]
        }
        _ => ["Exceed the area", "Share that exceeds the area", "Area (bytes)"],
    };
    subject.row(words[0], count(&one), count(&two));
    subject.row(words[1], share(old, &one), share(new, &two));
    subject.row(words[2], limit(&one), limit(&two));
    if matches!(table, Table::Preallocated | Table::Preallocated64)
        && one.zip(two).is_some_and(|(one, two)| one.limit != two.limit)
    {
        subject.notes.push("The areas differ: what exceeds is of each its own area.".to_owned());
    }
}

fn by_class(subject: &mut Subject, table: Table, old: &Frequencies, new: &Frequencies) {
    let common = common(old, new);
    let kb = table != Table::RequestSizes;
    let headings = if kb {
        ["ECBS BY CLASS", "SHARE OF ALL ECBS"]
    } else {
        ["REQUESTS BY CLASS (bytes)", "SHARE OF ALL REQUESTS"]
    };
    subject.group(headings[0]);
    for range in &common.ranges {
        let [one, two] = range.counts.map(|(least, most)| Some(Known::span(least, most)));
        subject.row(range.label(kb), one, two);
    }
    subject.group(headings[1]);
    for range in &common.ranges {
        let [one, two] = range.counts;
        subject.row(range.label(kb), Known::share(one, total(old)), Known::share(two, total(new)));
    }
    if common.merged {
        let layouts = if old.is_coarse() == new.is_coarse() { "" } else { " (finer with PJ47265)" };
        subject.notes.push(format!(
            "The classes of the two differ{layouts}: compared are sums up to the limits that both have."
        ));
    }
    for (side, left) in ["old", "new"].iter().zip(&common.left) {
        if left.is_empty() {
            continue;
        }
        let unit = |row: &Class| {
            let above = if row.over { "above " } else { "" };
            if kb { format!("{above}{} KB", row.limit >> 10) } else { format!("{above}{}", row.limit) }
        };
        let mut names: Vec<String> = left.iter().take(MOST_NAMED).map(|row| unit(row)).collect();
        if let Some(more @ 1..) = left.len().checked_sub(MOST_NAMED) {
            names.push(format!("and {more} more"));
        }
        subject.notes.push(format!(
            "{side}: classes not compared, since the other has none of these limits, or rows next to them were not read: {}",
            names.join(", ")
        ));
    }
}

/// Present sizes, and the bytes that they hand out and waste, if both listings have all of them.
fn sizes(
    subject: &mut Subject,
    old: (&Reports<'_>, usize, &Frequencies),
    new: (&Reports<'_>, usize, &Frequencies),
) {
    let known = |(reports, file, report): (&Reports<'_>, usize, &Frequencies)| {
        let all = present(reports.collected, reports.set, &[(file, report)]);
        let sizes: Vec<(u64, bool)> = all.iter().map(|now| (now.value, now.is_likely())).collect();
        let complete = !sizes.is_empty();
        let found = || report.sizes.iter().map(|(_, size)| (size.value, size.likely)).collect();
        (complete, if complete { sizes } else { found() })
    };
    let ((old_complete, old_sizes), (new_complete, new_sizes)) = (known(old), known(new));
    subject.group("PRESENT SIZES (bytes)");
    for at in 0..old_sizes.len().max(new_sizes.len()) {
        let size = |sizes: &[(u64, bool)]| {
            sizes.get(at).map(|(size, likely)| Known::count(*size).or_likely(*likely))
        };
        subject.row(format!("AVL{}", at + 1), size(&old_sizes), size(&new_sizes));
    }
    for (side, complete) in [("old", old_complete), ("new", new_complete)] {
        if !complete {
            subject.notes.push(format!(
                "{side}: not all present sizes are known: what they hand out and waste is not compared"
            ));
        }
    }
    if !(old_complete && new_complete) {
        return;
    }
    let served = |(reports, file, report): (&Reports<'_>, usize, &Frequencies), sizes: &[(u64, bool)]| {
        let likely = sizes.iter().any(|(_, likely)| *likely);
        let sizes: Vec<u64> = sizes.iter().map(|(size, _)| *size).collect();
        let (least, most) = report.missing();
        let requests = requests(reports.collected, &[(file, report)], most);
        let (arm, more) = (serve("now", &requests.classes(), &sizes), least > 0);
        [arm.together.bytes, arm.together.wasted, arm.beyond.requests]
            .map(|span: Span| Some(Known::span(span.least, (!more).then_some(span.most)).or_likely(likely)))
    };
    let [bytes, wasted, beyond] = served(old, &old_sizes);
    let [new_bytes, new_wasted, new_beyond] = served(new, &new_sizes);
    subject.group("BY THE PRESENT SIZES");
    subject.row("Bytes handed out", bytes, new_bytes);
    subject.row("Of these wasted", wasted, new_wasted);
    subject.row("Requests that no list holds", beyond, new_beyond);
}
