//! The classes of ECBs of a program, for rules that read the model.
//!
//! ```text
//! class SSL (process 12) ─┐
//! class SSL (process 15) ─┴─> SSL: lists, requests, area, each figure with its evidence
//! ```
//!
//! Invariant: classes of one name are one class only if their sizes are the same. A figure is certain after an orderly end, and a lower
//! bound before it: threads count at the ends of ECBs, some at a time.
//! Not here: the classes as a part of the report ([`crate::ecbs`]), and areas of enclaves ([`crate::storage`]).

use underbar_model as model;
use underbar_model::{AreaUse, AvailableList, Certainty, Figure, Need, Requests, Row};

use crate::ecbs::{EcbClass, Rows};
use crate::model::Report;
use crate::program::Program;

/// The classes of the program, those of the same name and sizes in all of its processes together.
#[must_use]
pub fn classes(report: &Report, program: &Program) -> Vec<model::EcbClass> {
    let mut all: Vec<EcbClass> = Vec::new();
    let with_classes =
        report.parts_of(program, |process| Some(&process.ecbs).filter(|ecbs| !ecbs.is_empty()));
    for class in with_classes.flat_map(|(_, classes)| classes) {
        match all.iter_mut().find(|known| known.is_as(class)) {
            Some(known) => known.add(class),
            None => all.push(class.clone()),
        }
    }
    all.iter().map(|class| figures(class, program)).collect()
}

fn figures(class: &EcbClass, program: &Program) -> model::EcbClass {
    let set = |key, value| Figure::counter(key, value, Certainty::Certain);
    let certainty = if program.unfinished { Certainty::AtLeast } else { Certainty::Certain };
    let counted = |key, value| Figure::counter(key, value, certainty);
    let rows = |rows: &Rows| {
        let mut from = 0;
        let row = |(&limit, &count): (&u64, &u64)| {
            let row = Row { from, limit, count: counted("ecbs.requests", count) };
            from = limit;
            row
        };
        rows.up_to.iter().map(row).collect()
    };
    let list = |(number, &size): (u8, &u64)| AvailableList {
        number,
        size: set("ecbs.sizes", size),
        buffers: Figure::absent("lists of a run make buffers as they are asked for"),
    };
    let got = class.lists.iter().fold(0_u64, |sum, list| sum.saturating_add(list.got));
    let need = |(&limit, &ecbs): (&u64, &u64)| Need { limit, users: counted("ecbs.ended", ecbs) };
    model::EcbClass {
        name: class.name.clone(),
        lists: (1..).zip(&class.sizes).map(list).collect(),
        created: counted("ecbs.created", class.created),
        counted: counted("ecbs.counted", class.counted),
        counted_one_in: set("ecbs.counted_one_in", class.counted_one_in),
        dispensed: counted("ecbs.got", got),
        requests: Requests {
            all: counted("ecbs.requests", class.requests.all()),
            rows: rows(&class.requests),
            missing: class.requests.above.map_or(Some(0), |(_, count)| Some(count)),
        },
        area: AreaUse {
            area: set("ecbs.area", class.area),
            rows: class.uses.up_to.iter().map(need).collect(),
            above: counted("ecbs.ended", class.uses.above.map_or(0, |above| above.1)),
            collections: 1,
        },
        exceeded: counted("ecbs.ended", class.exceeded()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_class_has_its_figures_with_their_evidence() {
        let of = sample::ecbs();
        let (one, mut other) = (of.clone(), of.clone());
        other.sizes[0] = 4096;
        let mut process = sample::heap("/bin/x", 1, 1, 1, (0, 0));
        process.ecbs = vec![one.clone(), one, other];
        let mut report = sample::report(vec![process]);
        let all = classes(&report, &report.programs()[0]);
        let [class, apart] = &all[..] else { panic!("{all:?}") };
        assert_eq!((class.sizes(), apart.sizes()[0]), (of.sizes.clone(), 4096));
        assert_eq!(class.created, Figure::counter("ecbs.created", 2 * of.created, Certainty::Certain));
        assert_eq!((class.area.all(), class.exceeded.value), (2 * of.uses.all(), 2 * of.exceeded()));
        let larger = class.requests.larger_than(32);
        assert_eq!(larger.least, 2 * of.requests.beyond(32));
        assert_eq!(class.requests.counted() + class.requests.missing.unwrap_or(0), class.requests.all.value);
        report.processes[0].state = crate::State::Running;
        let all = classes(&report, &report.programs()[0]);
        assert_eq!(all[0].created.certainty, Certainty::AtLeast);
        assert_eq!(all[0].area.area.certainty, Certainty::Certain, "an option sets it");
    }
}
