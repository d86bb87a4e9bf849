//! Buffer usage of Natural before and after: each buffer in both reports, and the thread.
//!
//! Invariant: of several reports of a user, the last sound one is compared. A buffer that only one of them has is named; the
//! comparison states that the other lacks it only if that report was read completely.
//! Not here: the advised sizes (`natural::caches`, `natural::thread`).

use underbar_listing::natural::{BufferRow, BufferUsage, ThreadUse};
use underbar_listing::{Doubt, Figure};

use super::super::Collected;
use super::subject::{Known, Subject};
use super::{Comparison, paired};

type Reports<'a> = Vec<&'a BufferUsage>;

/// Compares the reports of each user.
pub(super) fn compare(old: &Collected, new: &Collected, comparison: &mut Comparison) {
    let name = |all: &Reports<'_>| {
        let user = all.last().and_then(|report| report.user.as_deref());
        let user = user.map_or(String::new(), |user| format!(" {user}"));
        format!("Natural{user}: buffer usage (BUS)")
    };
    let (one, two) = (users(old), users(new));
    let alone = one.len() == 1 && two.len() == 1;
    for pair in paired(one, two, |one, two| alone || one[0].user == two[0].user) {
        match pair {
            (Some(old), Some(new)) => {
                let mut subject = Subject::new(&name(&old), &name(&new), [old.len(), new.len()]);
                both(&mut subject, &old, &new);
                comparison.subjects.push(subject);
            }
            (old, new) => comparison.alone(old.as_ref().map(name), new.as_ref().map(name)),
        }
    }
}

/// The reports of each user; none is empty.
fn users(collected: &Collected) -> Vec<Reports<'_>> {
    let mut all: Vec<Reports<'_>> = Vec::new();
    for (_, report) in &collected.natural.reports {
        match all.iter_mut().find(|known| known[0].user == report.user) {
            Some(known) => known.push(report),
            None => all.push(vec![report]),
        }
    }
    all
}

fn both(subject: &mut Subject, old: &Reports<'_>, new: &Reports<'_>) {
    let last = |all: &Reports<'_>| -> Option<usize> { all.iter().rposition(|report| report.is_sound()) };
    for (side, all) in [("old", old), ("new", new)] {
        if last(all).is_none() {
            subject.notes.push(format!("{side}: no report of it can be used: not compared"));
        }
        subject.doubts(side, all.iter().flat_map(|report| -> &[Doubt] { &report.doubts }));
    }
    let (Some(one), Some(two)) = (last(old).map(|at| old[at]), last(new).map(|at| new[at])) else { return };
    subject.group("BUFFERS (bytes)");
    for row in &one.rows {
        let Some(twin) = find(two, &row.name) else { continue };
        let count = |value: u64| Some(Known::count(value));
        subject.row(format!("{} size", row.name), count(row.size), count(twin.size));
        subject.row(format!("{} used now", row.name), count(row.used), count(twin.used));
        let most = |row: &BufferRow| row.max_used.map(Known::count);
        subject.row(format!("{} used at most", row.name), most(row), most(twin));
    }
    only("old", one, "new", two, subject);
    only("new", two, "old", one, subject);
    subject.group("THREAD (bytes)");
    type Part = fn(&ThreadUse) -> &Option<Figure>;
    let parts: [(&str, Part); 4] = [
        ("Size", |thread| &thread.thread),
        ("All buffers", |thread| &thread.total),
        ("Used now", |thread| &thread.used),
        ("Used at most", |thread| &thread.max_used),
    ];
    for (label, part) in parts {
        let figure =
            |report: &BufferUsage| report.thread.as_ref().and_then(|all| part(all).as_ref()).map(Known::from);
        subject.row(label, figure(one), figure(two));
    }
}

fn find<'a>(report: &'a BufferUsage, name: &str) -> Option<&'a BufferRow> {
    report.rows.iter().find(|row| row.name == name)
}

fn only(side: &str, has: &BufferUsage, other: &str, has_not: &BufferUsage, subject: &mut Subject) {
    let rows = has.rows.iter().filter(|row| find(has_not, &row.name).is_none());
    let names: Vec<&str> = rows.map(|row| row.name.as_str()).collect();
    if !names.is_empty() {
        let why = if has_not.is_complete() { "has none" } else { "has none, or it was not read" };
        subject
            .notes
            .push(format!("{side}: not compared, since the {other} report {why}: {}", names.join(", ")));
    }
}
