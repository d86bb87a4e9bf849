//! The caches of print and work files of a program, for rules that read the model.
//!
//! Invariant: of several processes a cache has the sums of calls, and the largest sizes and uses.
//! Not here: the caches as a part of the report ([`crate::buffers`]), and their layout ([`crate::bus`]).

use std::collections::BTreeMap;

use underbar_model::{Cache, Certainty, Figure};

use crate::buffers::Buffer;
use crate::buffers::FULL;
use crate::model::Report;
use crate::program::Program;

/// The caches of all processes of the program, by name.
#[must_use]
pub fn caches(report: &Report, program: &Program) -> Vec<Cache> {
    let mut all: BTreeMap<&str, Cache> = BTreeMap::new();
    for (_, buffers) in report.parts_of(program, |process| Some(&process.buffers)) {
        for buffer in buffers {
            let one = of(buffer, if program.unfinished { Certainty::AtLeast } else { Certainty::Certain });
            match all.get_mut(buffer.name.as_str()) {
                None => {
                    all.insert(&buffer.name, one);
                }
                Some(sum) => {
                    for (sum, more) in [
                        (&mut sum.calls, &one.calls),
                        (&mut sum.full, &one.full),
                        (&mut sum.plain, &one.plain),
                    ] {
                        sum.add(more);
                    }
                    for (sum, other) in [
                        (&mut sum.size, &one.size),
                        (&mut sum.used, &one.used),
                        (&mut sum.useful, &one.useful),
                    ] {
                        sum.raise(other);
                    }
                }
            }
        }
    }
    all.into_values().collect()
}

fn of(buffer: &Buffer, certainty: Certainty) -> Cache {
    let figure = |key, value| Figure::counter(key, value, certainty);
    Cache {
        name: buffer.name.clone(),
        size: figure("buffers.size", buffer.size),
        used: figure("buffers.max_used", buffer.max_used),
        calls: figure("buffers.calls", buffer.calls),
        full: figure("buffers.flushes.full", buffer.flushed(FULL)),
        useful: match buffer.suggestion().size() {
            Some(bytes) => figure("buffers.between_p99", bytes),
            None => Figure::absent("nothing went through it"),
        },
        plain: figure(
            "buffers.plain",
            buffer.plain.values().fold(0, |sum, &files| sum.saturating_add(files)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn caches_of_several_processes_are_one() {
        let mut report = sample::getfree();
        let buffer = |calls, max_used, full| Buffer {
            name: "PCACHE".to_owned(),
            size: 64 << 10,
            calls,
            bytes: calls * 133,
            max_used,
            flushes: [(FULL.to_owned(), full)].into_iter().collect(),
            ..Buffer::default()
        };
        report.processes[0].buffers = vec![buffer(10_000, 60_000, 20)];
        let mut other = report.processes[0].clone();
        other.buffers =
            vec![buffer(5, 65_000, 0), Buffer { name: "WCACHEO".to_owned(), ..Buffer::default() }];
        other.process += 1;
        report.processes.push(other);
        let found = caches(&report, &report.programs()[0]);
        let [print, written] = &found[..] else { panic!("{found:?}") };
        assert_eq!((print.name.as_str(), written.name.as_str()), ("PCACHE", "WCACHEO"));
        let figures = [&print.calls, &print.full, &print.used, &print.useful].map(Figure::certain);
        assert_eq!(figures, [10_005, 20, 65_000, 16 << 10].map(Some));
        assert!(print.is_seldom_full() && written.useful.certain().is_none());
    }
}
