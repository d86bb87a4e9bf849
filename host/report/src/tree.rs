//! Figures of the whole tree of processes that are not sums over processes, and the one table that describes them.
//!
//! Not here: the counters of all processes together (the ledger's table; [`crate::figures`]).

use crate::model::Tree;

/// One entry of the table.
#[derive(Clone, Copy)]
pub struct OfTree {
    /// Key path, as in gates and `explain`.
    pub key: &'static str,
    /// The words printed before the figure.
    pub label: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Takes the figure from the tree.
    pub get: fn(&Tree) -> u64,
}

/// All figures of the tree; each is a count.
pub static TREE: [OfTree; 3] = [
    OfTree {
        key: "tree.processes",
        label: "processes",
        meaning: "Processes that kept accounts. One that goes on as another program (exec) is one process.",
        get: |tree| tree.processes,
    },
    OfTree {
        key: "tree.programs",
        label: "programs",
        meaning: "Different programs that they ran.",
        get: |tree| tree.programs,
    },
    OfTree {
        key: "tree.unrecorded",
        label: "without accounts",
        meaning: "Processes for which the ledger had no room, or that could not reach it: forked by a program that has changed its root \
            directory, or whose options forbid the file (ulimit -f). Give the file system of XDG_RUNTIME_DIR more room, or start underbar \
            behind the change of the root.",
        get: |tree| tree.unrecorded,
    },
];
