//! The processes of one program, together: what suggestions are made for.
//!
//! ```text
//! cc1plus (process 12) ─┐
//! cc1plus (process 15) ─┼─> cc1plus: 3 processes, counters folded
//! cc1plus (folded)     ─┘
//! ```
//!
//! Invariant: each process is counted once, also if it became the same program again by exec.
//! Not here: how one counter is folded ([`crate::figures`]).

use std::cmp::Reverse;
use std::collections::HashMap;

use underbar_ledger::Key;

use crate::figures::Figures;
use crate::model::{Allocator, Owner, Process, Report, Role, State};
use crate::sizes::{self, Sizes};

/// All processes of one program, folded. Suggestions are made for these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name ([`crate::Process::name`]), as in sections of options files.
    pub name: String,
    /// The number of processes that ran it.
    pub processes: u64,
    /// True if sections of it are folded: then a process that became the program again may count twice.
    pub is_folded: bool,
    /// Their counters, folded.
    pub counters: Figures,
    /// Their requests by size, added, as far as known.
    pub sizes: Option<Sizes>,
    /// Owners of other memory, the largest first.
    pub owners: Vec<Owner>,
    /// Another allocator that it has, as far as known.
    pub allocator: Option<Allocator>,
    /// True if a process was still running or was killed: then its last figures are those of work in progress, not of a program
    /// that has freed everything.
    pub unfinished: bool,
    /// The longest that one of them ran, in nanoseconds, as far as known.
    pub longest_ns: u64,
}

impl Program {
    /// The other allocator that serves all or many of its requests.
    #[must_use]
    pub fn served_by(&self) -> Option<&Allocator> {
        self.allocator.as_ref().filter(|allocator| allocator.role != Role::Replaced)
    }

    /// A sum over the program's processes, divided by their number and rounded up.
    #[must_use]
    pub fn each(&self, key: Key) -> u64 {
        self.counters.get(key).div_ceil(self.processes.max(1))
    }
}

/// Memory of processes with less is not measured.
const LEAST_LOOKED_AT: u64 = 4 << 20;

impl Report {
    /// A part that some of a program's processes have, with its process. Names are compared last: there may be thousands of
    /// processes, and few have the part.
    pub fn parts_of<'a, T>(
        &'a self,
        program: &'a Program,
        part: impl Fn(&'a Process) -> Option<T>,
    ) -> impl Iterator<Item = (&'a Process, T)> {
        let with_part = self.processes.iter().filter_map(move |process| Some((process, part(process)?)));
        with_part.filter(|(process, _)| process.name() == program.name)
    }

    /// The programs of the tree, the one with the most memory (in its heap or elsewhere) first.
    #[must_use]
    pub fn programs(&self) -> Vec<Program> {
        let mut programs: Vec<Program> = Vec::new();
        // The index of each program: a saved report may name thousands.
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        // For each program and process number: did the process become the program by exec?
        let mut seen: HashMap<(usize, u32), bool> = HashMap::new();
        for process in &self.processes {
            let end = process.ended_ns.or_else(|| self.steps.as_ref().map(|steps| steps.elapsed_ns));
            let ran = end.unwrap_or(0).saturating_sub(process.started_ns);
            let unfinished = matches!(process.state, State::Running | State::Killed);
            let at = *by_name.entry(process.name()).or_insert_with(|| {
                programs.push(Program {
                    name: process.name().to_owned(),
                    processes: 0,
                    is_folded: false,
                    counters: Figures::unknown(),
                    sizes: None,
                    owners: Vec::new(),
                    allocator: None,
                    unfinished: false,
                    longest_ns: 0,
                });
                programs.len() - 1
            });
            let program = &mut programs[at];
            let continued = process.counters.get(Key::ProcessContinued) > 0;
            let earlier = (process.state != State::Folded)
                .then(|| seen.insert((at, process.process), continued))
                .flatten();
            // A process that became the same program again is one process.
            if !earlier.is_some_and(|earlier| earlier || continued) {
                program.processes = program.processes.saturating_add(process.processes);
            }
            // From one measurement: that of the process with the most memory.
            let anonymous = process.counters.get(Key::CoverageAnonymous);
            if anonymous > program.counters.get(Key::CoverageAnonymous) || program.owners.is_empty() {
                program.owners.clone_from(&process.owners);
            }
            program.counters.fold(&process.counters);
            sizes::fold(&mut program.sizes, process.sizes.as_ref());
            program.unfinished |= unfinished;
            program.is_folded |= process.state == State::Folded;
            program.allocator = program.allocator.take().or_else(|| process.allocator.clone());
            if process.state != State::Folded {
                program.longest_ns = program.longest_ns.max(ran);
            }
        }
        for program in &mut programs {
            program.owners.sort_by_key(|owner| Reverse(owner.bytes));
        }
        let weight = |program: &Program| {
            let heap = program.counters.get(Key::HeapUsedPeak);
            // Storage of a heap that is not touched is not memory, so the measurement decides. Only 4 MiB and more are measured.
            let memory = match program.counters.get(Key::CoverageAnonymous) {
                0 => heap.min(LEAST_LOOKED_AT),
                anonymous => anonymous,
            };
            (memory, heap, program.counters.get(Key::HeapGets))
        };
        programs.sort_by_key(|program| Reverse(weight(program)));
        programs
    }
}

#[cfg(test)]
mod tests {
    use underbar_ledger::Key;

    use crate::model::Report;
    use crate::sample;

    #[test]
    fn processes_of_one_program_are_one() {
        let report = sample::tree();
        let programs = report.programs();
        let names: Vec<_> = programs.iter().map(|p| (p.name.as_str(), p.processes)).collect();
        assert_eq!(names, [("cc1plus", 3), ("as", 3), ("g++", 1)]);
        assert_eq!(programs[0].each(Key::HeapGets), 12_000);
        assert_eq!(programs[0].owners[0].name, "libgmp.so.10");
    }

    /// A shell that starts a shell by exec in a child of its own: two sections, one process.
    #[test]
    fn a_process_that_becomes_the_same_program_again_is_one() {
        let mut report = sample::getfree();
        let mut again = report.processes[0].clone();
        again.counters.set(Key::ProcessContinued, 1);
        report.processes.push(again.clone());
        assert_eq!(report.programs()[0].processes, 1);
        // Another process made by fork, and one that reuses its number.
        again.process += 1;
        again.counters.set(Key::ProcessContinued, 0);
        report.processes.extend([again.clone(), again]);
        assert_eq!(report.programs()[0].processes, 3);
    }

    #[test]
    fn the_program_with_the_most_memory_leads_and_not_the_largest_heap() {
        let mut report = sample::tree();
        let compiler = &mut report.processes[1].counters;
        // It has a heap of its own: 240 MiB are outside this heap, and 2 MiB are in it.
        compiler.set(Key::HeapUsedPeak, 2 << 20);
        compiler.set(Key::CoverageAnonymous, 240 << 20);
        compiler.set(Key::CoverageHeap, 2 << 20);
        let names = |report: &Report| -> Vec<String> {
            report.programs().into_iter().map(|program| program.name).collect()
        };
        assert_eq!(names(&report), ["cc1plus", "as", "g++"]);
        // Storage that was never touched is no memory, also if no measurement was needed.
        report.processes[0].counters.set(Key::HeapUsedPeak, 900 << 20);
        assert_eq!(names(&report), ["cc1plus", "g++", "as"]);
        report.processes[0].counters.set(Key::CoverageAnonymous, 5 << 20);
        assert_eq!(names(&report), ["cc1plus", "g++", "as"]);
    }
}
