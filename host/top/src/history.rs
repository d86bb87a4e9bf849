//! The figures of the last looks, for trends.
//!
//! Invariant: at most [`LENGTH`] figures of each; a process that is not in a look any more is forgotten.

use std::collections::HashMap;

use crate::look::{Look, Row, Who};

/// Looks that are remembered.
pub const LENGTH: usize = 240;

/// The figures of one process, or of all together; the newest is the last.
#[derive(Clone, Debug, Default)]
pub struct Trend {
    /// Heap storage in use.
    pub heap: Vec<u64>,
    /// Resident memory.
    pub resident: Vec<u64>,
    /// Requests in a second.
    pub requests: Vec<u64>,
    /// CPU time in thousandths of a processor.
    pub cpu: Vec<u64>,
}

/// The trends of all processes.
#[derive(Default)]
pub struct History {
    /// All processes together.
    pub whole: Trend,
    each: HashMap<Who, Trend>,
}

impl Trend {
    fn add(&mut self, heap: u64, resident: u64, requests: u64, cpu: u64) {
        let all = [
            (&mut self.heap, heap),
            (&mut self.resident, resident),
            (&mut self.requests, requests),
            (&mut self.cpu, cpu),
        ];
        for (figures, figure) in all {
            if figures.len() == LENGTH {
                figures.remove(0);
            }
            figures.push(figure);
        }
    }
}

impl History {
    /// Adds a look.
    pub fn add(&mut self, look: &Look) {
        self.whole.add(
            look.sum(|row| Some(row.heap_used_bytes)),
            look.sum(|row| row.resident_bytes),
            look.sum(|row| row.requests_per_s),
            look.sum(|row| row.cpu_per_mille),
        );
        let mut each = std::mem::take(&mut self.each);
        for row in &look.processes {
            let mut trend = each.remove(&row.who()).unwrap_or_default();
            if row.runs() {
                let known = |figure: Option<u64>| figure.unwrap_or(0);
                trend.add(
                    row.heap_used_bytes,
                    known(row.resident_bytes),
                    known(row.requests_per_s),
                    known(row.cpu_per_mille),
                );
            }
            self.each.insert(row.who(), trend);
        }
    }

    /// That of one process.
    #[must_use]
    pub fn of(&self, row: &Row) -> Option<&Trend> {
        self.each.get(&row.who())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_the_last_and_who_is_gone_is_forgotten() {
        let row = |process, heap| Row { process, heap_used_bytes: heap, ..Row::default() };
        let mut history = History::default();
        for heap in 0..LENGTH as u64 + 5 {
            history.add(&Look { processes: vec![row(1, heap), row(2, 1)], ..Look::default() });
        }
        let one = history.of(&row(1, 0)).expect("there");
        assert_eq!(
            (one.heap.len(), one.heap.last(), history.whole.heap.last()),
            (LENGTH, Some(&244), Some(&245))
        );
        history.add(&Look { processes: vec![row(2, 1)], ..Look::default() });
        assert!(history.of(&row(1, 0)).is_none());
    }
}
