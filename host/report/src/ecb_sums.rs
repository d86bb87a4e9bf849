//! Figures of ECBs that two reports can be compared by: of all classes together, and of each class.
//!
//! ```text
//! ecbs.high_water          the largest of all classes                 ecbs.SSL.high_water     that of class SSL
//! ecbs.frames              the sum of all classes                     ecbs.SSL.frames         the sum of its processes
//! ```
//!
//! Invariant: None where a report has no class, or no such class.
//! Not here: all other figures (`figure_paths`).

use underbar_ledger::Unit;

use crate::ecbs::{EcbClass, EcbList, FIGURES};
use crate::figure_paths::Figure;
use crate::model::Report;

/// A figure that classes have.
pub(crate) struct Sum {
    /// Its key for all classes; that of its explanation, too.
    pub key: &'static str,
    /// What it counts.
    pub unit: Unit,
    get: fn(&EcbClass) -> u64,
    /// Of several classes the largest one counts; else their sum.
    is_peak: bool,
}

const fn sum(key: &'static str, get: fn(&EcbClass) -> u64) -> Sum {
    Sum { key, unit: Unit::Count, get, is_peak: false }
}

/// All of them.
pub(crate) static SUMS: [Sum; 11] = [
    sum("ecbs.created", |class| class.created),
    sum("ecbs.ended", |class| class.ended),
    sum("ecbs.with_buffer", |class| class.with_buffer),
    sum("ecbs.expanded_tags", |class| class.expanded_tags),
    sum("ecbs.with_frame", |class| class.with_frame),
    sum("ecbs.frames", |class| class.frames),
    Sum { key: "ecbs.high_water", unit: Unit::Bytes, get: |class| class.high_water, is_peak: true },
    sum("ecbs.got", |class| of_lists(class, |list| list.got)),
    sum("ecbs.freed", |class| of_lists(class, |list| list.freed)),
    sum("ecbs.shared", |class| of_lists(class, |list| list.shared)),
    sum("ecbs.carved", |class| of_lists(class, |list| list.carved)),
];

fn of_lists(class: &EcbClass, get: fn(&EcbList) -> u64) -> u64 {
    class.lists.iter().map(get).fold(0, u64::saturating_add)
}

impl Sum {
    /// The words printed for it.
    pub fn label(&self) -> &'static str {
        FIGURES.iter().find(|figure| figure.key == self.key).map_or("", |figure| figure.label)
    }

    fn of<'a>(&self, classes: impl Iterator<Item = &'a EcbClass>) -> Option<u64> {
        let join = if self.is_peak { u64::max } else { u64::saturating_add };
        classes.map(self.get).reduce(join)
    }

    /// Of all classes.
    pub fn of_report(&self, report: &Report) -> Option<u64> {
        self.of(classes(report))
    }

    /// The key for a class.
    fn key_of(&self, class: &str) -> String {
        let name = self.key.strip_prefix("ecbs.").unwrap_or(self.key);
        format!("ecbs.{class}.{name}")
    }
}

fn classes(report: &Report) -> impl Iterator<Item = &EcbClass> {
    report.processes.iter().flat_map(|process| &process.ecbs)
}

/// The class and the figure of a key such as `ecbs.SSL.high_water`.
pub(crate) fn parse(key: &str) -> Option<(&str, &'static Sum)> {
    let (class, name) = key.strip_prefix("ecbs.")?.rsplit_once('.')?;
    let sum = SUMS.iter().find(|sum| sum.key.strip_prefix("ecbs.") == Some(name))?;
    (!class.is_empty()).then_some((class, sum))
}

/// The figure of such a key in a report.
pub(crate) fn value(report: &Report, key: &str) -> Option<u64> {
    let (name, sum) = parse(key)?;
    sum.of(classes(report).filter(|class| class.name == name))
}

/// The figures of each class that one of the reports has: those of the first report, those of the second one.
pub(crate) fn of_classes(old: &Report, new: &Report) -> Vec<[Figure; 2]> {
    let mut names: Vec<&str> = Vec::new();
    for class in classes(old).chain(classes(new)) {
        if !names.contains(&class.name.as_str()) {
            names.push(&class.name);
        }
    }
    let figures = |name: &&str| {
        let name = name.to_string();
        SUMS.iter().map(move |sum| {
            let key = sum.key_of(&name);
            [old, new].map(|report| Figure {
                value: value(report, &key),
                key: key.clone().into(),
                label: sum.label(),
                unit: sum.unit,
            })
        })
    };
    names.iter().flat_map(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn classes_are_added_by_their_names() {
        let mut report = sample::tree();
        let class = |name: &str, frames, high_water| EcbClass {
            name: name.to_owned(),
            frames,
            high_water,
            ..sample::ecbs()
        };
        report.processes[0].ecbs = vec![class("SSL", 3, 70), class("A.B", 5, 90)];
        report.processes[1].ecbs = vec![class("SSL", 4, 80)];
        let of = |key: &str| match SUMS.iter().find(|sum| sum.key == key) {
            Some(sum) => sum.of_report(&report),
            None => value(&report, key),
        };
        let keys =
            ["ecbs.frames", "ecbs.high_water", "ecbs.SSL.frames", "ecbs.SSL.high_water", "ecbs.A.B.frames"];
        assert_eq!(keys.map(of), [12, 90, 7, 80, 5].map(Some));
        assert_eq!(["ecbs.JAVA.frames", "ecbs.SSL.none", "ecbs..frames"].map(of), [None; 3]);
        assert!(SUMS.iter().all(|sum| !sum.label().is_empty()));
        let all = of_classes(&report, &sample::getfree());
        assert_eq!(all.len(), 2 * SUMS.len());
        let frames = all.iter().find(|two| two[0].key == "ecbs.SSL.frames").expect("there");
        assert_eq!([frames[0].value, frames[1].value], [Some(7), None]);
    }
}
