//! The input of rules for the accounts of a run: the report, and the figures of one program as the model has them.
//!
//! Not here: where the figures come from (`underbar_report::storage`, `supply`, `ecb_figures`,
//! `pool_figures`, `switch_figures`, `cache_figures`).

use underbar_ledger::Key;
use underbar_model::{Cache, EcbClass, Enclaves, Pools, Storage, Supply, Switching, Threads};
use underbar_report::units::size;
use underbar_report::{
    Program, Report, cache_figures, ecb_figures, pool_figures, storage, supply, switch_figures,
};

/// The input of a rule.
pub struct Case<'a> {
    /// The whole report.
    pub report: &'a Report,
    /// The program, with all of its processes folded together.
    pub program: &'a Program,
    /// Its heap.
    pub heap: Storage,
    /// How its heap served requests; None if the heap chooses its increments by itself.
    pub supply: Option<Supply>,
    /// Its enclaves.
    pub enclaves: Vec<Enclaves>,
    /// Its classes of ECBs.
    pub classes: Vec<EcbClass>,
    /// Its heap pools; None without HEAPPOOLS.
    pub pools: Option<Pools>,
    /// The stacks that STACK sets.
    pub stack: Storage,
    /// The stacks that THREADSTACK sets.
    pub thread_stacks: Storage,
    /// Its threads.
    pub threads: Threads,
    /// Its switches.
    pub switching: Switching,
    /// Its caches of print and work files.
    pub caches: Vec<Cache>,
}

impl<'a> Case<'a> {
    /// A program of a report.
    #[must_use]
    pub fn new(report: &'a Report, program: &'a Program) -> Self {
        Self {
            report,
            program,
            heap: storage::heap(program),
            supply: supply::supply(program),
            enclaves: storage::enclaves(report, program),
            classes: ecb_figures::classes(report, program),
            pools: pool_figures::pools(report, program),
            stack: storage::stack(report, program),
            thread_stacks: storage::thread_stacks(report, program),
            threads: storage::threads(report, program),
            switching: switch_figures::switching(report, program),
            caches: cache_figures::caches(report, program),
        }
    }

    /// A counter of the program: a sum, or the largest of any process.
    pub(crate) fn get(&self, key: Key) -> u64 {
        self.program.counters.get(key)
    }

    /// Fourth sub-option of HEAP in force, or AUTO if the report does not show it.
    pub(crate) fn disposition(&self) -> String {
        let in_force =
            self.report.sub_options("HEAP").and_then(|values| values.get(3).map(|v| v.to_ascii_uppercase()));
        in_force.filter(|value| !value.is_empty()).unwrap_or_else(|| "AUTO".to_owned())
    }

    /// The present setting of HEAP.
    pub(crate) fn heap_now(&self) -> String {
        let word = |bytes| match bytes {
            0 => "AUTO".to_owned(),
            set => size(set),
        };
        let (initial, increment) = (self.heap.initial.value, self.heap.increment.value);
        format!("HEAP({},{},,{})", word(initial), word(increment), self.disposition())
    }
}
