//! Tables of switches into SRB mode before and after: records, switches, processor time.
//!
//! Invariant: tables have no names: they are paired in their order, and only if both listings have equally many of a kind.
//! Not here: advice on a single table (`natural::switches`).

use underbar_listing::natural::{Counted, SwitchTable};

use super::super::Collected;
use super::Comparison;
use super::subject::{Known, Subject};

/// Compares the tables of each kind. A kind is the counted item, in one way or in two.
pub(super) fn compare(old: &Collected, new: &Collected, comparison: &mut Comparison) {
    for (counted, what) in [(Counted::Read, "Records read"), (Counted::Written, "Lines written")] {
        for (ways, shape) in [(1, ""), (2, ", two ways beside each other")] {
            let of = |collected: &'_ Collected| -> Vec<SwitchTable> {
                let all = collected.natural.switches.iter().map(|(_, table)| table);
                all.filter(|table| table.counted == counted && table.ways.len() == ways).cloned().collect()
            };
            let name = format!("Natural: switches, {}{shape}", what.to_lowercase());
            let (one, two) = (of(old), of(new));
            if one.is_empty() || two.is_empty() {
                let there = |all: &[SwitchTable]| (!all.is_empty()).then(|| name.clone());
                comparison.alone(there(&one), there(&two));
                continue;
            }
            let mut subject = Subject::new(&name, &name, [1, 1]);
            if one.len() == two.len() {
                let many = one.len() > 1;
                for (at, (one, two)) in one.iter().zip(&two).enumerate() {
                    let table = if many { format!("table {}: ", at + 1) } else { String::new() };
                    rows(&mut subject, &table, what, one, two);
                }
                subject
                    .notes
                    .push("Tables have no names: paired by what they count, in their order.".to_owned());
            } else {
                subject.notes.push(format!(
                    "{} tables of the old listing, {} of the new: which belong together is not certain: not compared",
                    one.len(),
                    two.len()
                ));
            }
            comparison.subjects.push(subject);
        }
    }
}

fn rows(subject: &mut Subject, table: &str, what: &str, old: &SwitchTable, new: &SwitchTable) {
    if subject.groups.is_empty() {
        subject.group("SWITCHES");
    }
    for (at, (one, two)) in old.ways.iter().zip(&new.ways).enumerate() {
        let way = if old.ways.len() > 1 { format!("{table}way {}: ", at + 1) } else { table.to_owned() };
        let count = |value: u64| Some(Known::count(value));
        subject.row(format!("{way}{what}"), count(one.records), count(two.records));
        subject.row(format!("{way}Switches into SRB mode"), count(one.switches), count(two.switches));
        let cpu = |cpu: Option<u64>| cpu.map(Known::count);
        subject.row(format!("{way}Processor time (ms)"), cpu(one.cpu), cpu(two.cpu));
    }
    for (side, table) in [("old", old), ("new", new)] {
        if let Some(heading) = &table.heading {
            subject.notes.push(format!("{side}: line {}: {}", heading.line, heading.text));
        }
    }
}
