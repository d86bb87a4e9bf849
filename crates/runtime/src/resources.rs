//! The table of the runtime's resources: the work of each when the process starts, is looked at, forks and ends.
//!
//! ```text
//! first request    configure                    │ down the table
//! constructor      start                        v
//! fork                    before_fork   ^  then after_fork, or after_fork_in_child   │
//!                                       │                                            v
//! seccomp                 look, close   ^
//! exec                    settle, exec  │
//! end      finish, settle, look, end    │ up the table
//! ```
//!
//! The order of the rows is that of the start; everything that ends goes the other way. So a fork takes locks up the table
//! and gives them back down the table: of two rows with locks, the lower one's lock is taken first ([`crate::fork`]). The
//! ledger is below all rows that write to it.
//!
//! Invariant: `start`, `options`, `seccomp`, `fork`, `clone`, `key` and `follow`, which walk the table, name no resource but the
//! ledger, and no resource knows them, except that the heap's first request begins the start; a new resource is a row here.
//! Cost: none. The table is constant, so each walk becomes direct calls of the functions in its column.
//! Not here: the work of the resources, and the callers of the walks.

use crate::ledger::own_reads;
use crate::orders::{Given, Orders};
use crate::{
    by_caller, coverage, cpu_limit, deepbind, faults, file_cache, heap, ledger, lock, multi_fetch, placement,
    sample, serving, sites, stack, switch, timer,
};

/// One row.
pub(crate) struct Resource {
    /// Its name for readers, tests and the check of the walks.
    name: &'static str,
    /// Obeys its options, once, before the first request is served.
    configure: fn(&Orders<'_>),
    /// The C library is up, and the program has not begun: by the constructor, in the first thread.
    start: unsafe fn(&Given),
    /// Publishes figures that threads counted and have not yet added to the ledger. Takes no lock that the calling thread
    /// may hold.
    settle: fn(),
    /// The process ends in good order, or replaces itself: work that still counts is done, before figures are settled.
    finish: fn(),
    /// Looks at figures that no thread counts: the process's memory, its stacks.
    look: fn(),
    /// The program is about to forbid itself system calls: takes resources that it will need, and stops activity that will
    /// be forbidden.
    close: fn(),
    /// The process is about to become another program, or fails to.
    exec: fn(),
    /// Its work at a fork.
    fork: Option<Fork>,
    /// Gives up the key that reports the end of a thread. False if it has none, or gave it up before.
    give_up_key: fn() -> bool,
    /// The process ends in good order.
    end: fn(),
}

/// The work of a resource at a fork. The result of `before` is passed to the others.
pub(crate) struct Fork {
    /// Takes locks, and returns whether it did the work that the others undo.
    before: fn() -> bool,
    /// In the parent, by the thread that called `before`.
    after: unsafe fn(bool),
    /// In the child, whose thread is the copy of the one that called `before`.
    after_in_child: unsafe fn(bool),
    /// In the parent, after `after`: the fork made no child.
    failed: fn(bool),
}

const NOTHING: Resource = Resource {
    name: "",
    configure: |_| (),
    start: |_| (),
    settle: || (),
    finish: || (),
    look: || (),
    close: || (),
    exec: || (),
    fork: None,
    give_up_key: || false,
    end: || (),
};

const NO_FORK: Fork = Fork { before: || false, after: |_| (), after_in_child: |_| (), failed: |_| () };

/// The table.
const RESOURCES: [Resource; ROWS] = [
    Resource {
        name: "figures that a child begins with",
        // When all rows below have settled theirs.
        fork: Some(Fork {
            before: ledger::inherited::keep_figures,
            after: |_| ledger::inherited::drop_figures(),
            ..NO_FORK
        }),
        ..NOTHING
    },
    Resource {
        name: "page faults",
        start: |_| faults::at_start(),
        fork: Some(Fork { after_in_child: |_| faults::after_fork_in_child(), ..NO_FORK }),
        ..NOTHING
    },
    Resource {
        name: "locks",
        configure: lock::configure,
        start: |_| lock::at_start(),
        settle: lock::settle,
        fork: Some(Fork { after_in_child: |_| lock::after_fork_in_child(), ..NO_FORK }),
        ..NOTHING
    },
    Resource {
        name: "heap",
        configure: heap::configure,
        settle: || _ = heap::settle(),
        look: heap::look,
        close: heap::reserve,
        fork: Some(Fork {
            before: heap::before_fork,
            after: heap::after_fork,
            after_in_child: heap::after_fork_in_child,
            ..NO_FORK
        }),
        give_up_key: || heap::END.give_up(),
        ..NOTHING
    },
    Resource {
        name: "stacks",
        configure: stack::configure,
        start: stack::at_start,
        look: stack::look,
        fork: Some(Fork {
            before: stack::before_fork,
            after: stack::after_fork,
            after_in_child: stack::after_fork_in_child,
            ..NO_FORK
        }),
        give_up_key: stack::give_up_key,
        ..NOTHING
    },
    Resource {
        name: "names",
        configure: by_caller::configure,
        fork: Some(Fork {
            before: deepbind::before_fork,
            after: deepbind::after_fork,
            after_in_child: deepbind::after_fork_in_child,
            ..NO_FORK
        }),
        ..NOTHING
    },
    Resource {
        name: "multi-fetch",
        configure: multi_fetch::configure,
        start: |_| multi_fetch::at_start(),
        ..NOTHING
    },
    Resource {
        name: "timers",
        configure: timer::configure,
        // Before the switches, which are bound last and so called first: they count what the program calls.
        start: |_| timer::at_start(),
        close: timer::retire,
        exec: timer::before_exec,
        ..NOTHING
    },
    Resource {
        name: "switches",
        configure: switch::configure,
        // After the ledger, in which it counts, and when no other row looks functions up any more.
        start: switch::at_start,
        look: switch::look,
        fork: Some(Fork { after_in_child: |_| switch::after_fork_in_child(), ..NO_FORK }),
        give_up_key: || switch::END.give_up(),
        ..NOTHING
    },
    Resource {
        name: "caches of files",
        configure: file_cache::configure,
        // After the switches: what a cache takes does not enter the kernel, so that it is not counted.
        start: file_cache::at_start,
        finish: file_cache::finish,
        close: file_cache::finish,
        fork: Some(Fork {
            before: file_cache::before_fork,
            after: |is_held| file_cache::after_fork(is_held),
            after_in_child: |is_held| file_cache::after_fork_in_child(is_held),
            ..NO_FORK
        }),
        ..NOTHING
    },
    Resource {
        name: "placement",
        configure: placement::configure,
        look: placement::look,
        fork: Some(Fork { after_in_child: |_| placement::after_fork_in_child(), ..NO_FORK }),
        ..NOTHING
    },
    Resource { name: "coverage", look: coverage::look::<heap::OurSegments>, ..NOTHING },
    Resource {
        name: "CPU limit",
        configure: cpu_limit::configure,
        start: |_| cpu_limit::at_start(),
        fork: Some(Fork { after_in_child: |_| cpu_limit::after_fork_in_child(), ..NO_FORK }),
        ..NOTHING
    },
    Resource {
        name: "ledger",
        configure: ledger::path::configure,
        fork: Some(Fork {
            before: ledger::attach::before_fork,
            after_in_child: |is_announced| ledger::attach::after_fork(is_announced),
            failed: ledger::attach::has_come,
            ..NO_FORK
        }),
        end: ledger::attach::ended,
        ..NOTHING
    },
    Resource {
        name: "sites",
        // After the ledger, next to which its file is.
        configure: sites::configure,
        start: sites::at_start,
        close: sites::close,
        fork: Some(Fork { after_in_child: |_| sites::after_fork_in_child(), ..NO_FORK }),
        end: sites::at_end,
        ..NOTHING
    },
    Resource { name: "own reads", start: |_| own_reads::at_start(), ..NOTHING },
    Resource { name: "other allocators", start: |_| serving::at_start(), ..NOTHING },
    Resource {
        name: "frames",
        configure: stack::fill::configure,
        start: |_| stack::fill::before_main(),
        ..NOTHING
    },
    Resource {
        name: "samples",
        configure: sample::configure,
        start: |_| sample::at_start(),
        close: sample::before_sandbox,
        fork: Some(Fork { after_in_child: |_| sample::after_fork_in_child(), ..NO_FORK }),
        give_up_key: || sample::END.give_up(),
        end: sample::ended,
        ..NOTHING
    },
];

/// Runs code for each row down the table, or up. Each row is a constant there, so that the functions in its columns are
/// called directly. An array of pointers would need relocation of all of them by the loader when a process starts.
macro_rules! each {
    (down, $row:ident, $then:expr) => { each!(@ $row, $then, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18) };
    (up, $row:ident, $then:expr) => { each!(@ $row, $then, 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0) };
    (@ $row:ident, $then:expr, $($at:literal)*) => {{
        $({
            const ROW: &Resource = &RESOURCES[$at];
            let $row = ROW;
            $then;
        })*
    }};
}
const ROWS: usize = 19;

// A row that is missing in the lists above would be left out of every walk.
const _: () = {
    let (mut down, mut up) = (0, 0);
    each!(down, row, down += !row.name.is_empty() as usize);
    each!(up, row, up += !row.name.is_empty() as usize);
    assert!(down == ROWS && up == ROWS);
};

/// All resources obey the options.
pub(crate) fn configure(orders: &Orders<'_>) {
    each!(down, row, (row.configure)(orders));
}

/// All resources start.
///
/// # Safety
/// The environment is null, or C's and unchanged meanwhile. No other thread runs yet.
pub(crate) unsafe fn start(given: &Given) {
    // SAFETY: the caller's promise.
    each!(down, row, unsafe { (row.start)(given) });
}

/// Adds all counted figures to the ledger.
pub(crate) fn settle() {
    each!(up, row, (row.settle)());
}

/// Adds all figures that can be observed now to the ledger.
pub(crate) fn look() {
    each!(up, row, (row.look)());
}

/// The process is about to become another program by exec: what that program has from this one must be as without us.
pub(crate) fn before_exec() {
    each!(up, row, (row.exec)());
}

/// The last moment before the program forbids itself system calls.
pub(crate) fn close() {
    look();
    each!(up, row, (row.close)());
}

/// The process ends in good order.
pub(crate) fn end() {
    each!(up, row, (row.finish)());
    settle();
    look();
    each!(up, row, (row.end)());
}

/// The program needs all keys of threads: gives up the one that is missed least. False if none is left.
pub(crate) fn give_up_key() -> bool {
    each!(
        up,
        row,
        if (row.give_up_key)() {
            return true;
        }
    );
    false
}

/// The answer of each row with a [`Fork`] before a fork: a bit for each, that of the topmost row lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Before(pub u64);

impl Before {
    /// The number of bits.
    pub const BITS: u32 = {
        let mut count = 0;
        each!(down, row, count += row.fork.is_some() as u32);
        count
    };
}

/// Before a fork: locks are taken, up the table.
pub(crate) fn before_fork() -> Before {
    let mut before = 0;
    each!(
        up,
        row,
        if let Some(fork) = &row.fork {
            before = before << 1 | u64::from((fork.before)());
        }
    );
    Before(before)
}

/// The work after a fork, down the table, with the answer of each row.
#[inline(always)]
fn after(before: Before, mut then: impl FnMut(&'static Fork, bool)) {
    let mut bits = 0..Before::BITS;
    each!(
        down,
        row,
        if let Some(fork) = &row.fork
            && let Some(bit) = bits.next()
        {
            then(fork, before.0 >> bit & 1 != 0);
        }
    );
}

/// After a fork, in the parent.
///
/// # Safety
/// This thread called [`before_fork`], which returned this.
pub(crate) unsafe fn after_fork(before: Before) {
    // SAFETY: the caller's promise.
    after(before, |fork, answer| unsafe { (fork.after)(answer) });
}

/// After a fork, in the child.
///
/// # Safety
/// The thread of which this one is the copy called [`before_fork`], which returned this.
pub(crate) unsafe fn after_fork_in_child(before: Before) {
    // SAFETY: the caller's promise.
    after(before, |fork, answer| unsafe { (fork.after_in_child)(answer) });
}

/// After [`after_fork`], if the fork made no child.
pub(crate) fn fork_failed(before: Before) {
    after(before, |fork, answer| (fork.failed)(answer));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn place(name: &str) -> usize {
        RESOURCES.iter().position(|resource| resource.name == name).expect("a row of that name")
    }

    #[test]
    fn rows_have_names_of_their_own() {
        for (at, resource) in RESOURCES.iter().enumerate() {
            assert!(!resource.name.is_empty());
            assert_eq!(place(resource.name), at, "{}", resource.name);
        }
    }

    /// What `fork` proves rests on it; and what is written after the slot was given up would be another process's.
    #[test]
    fn locks_are_taken_from_names_to_the_heap_and_the_ledger_is_below_who_writes_to_it() {
        let [ledger, names, stacks, heap] = ["ledger", "names", "stacks", "heap"].map(place);
        assert!(ledger > names && names > stacks && stacks > heap);
        assert!(place("samples") > stacks, "the program gets the key first that is missed least");
        for (at, resource) in RESOURCES.iter().enumerate() {
            let writes = [
                resource.settle as usize != NOTHING.settle as usize,
                resource.look as usize != NOTHING.look as usize,
            ];
            assert!(at < ledger || writes == [false; 2], "{}", resource.name);
        }
    }

    #[test]
    fn each_row_is_given_its_own_answer() {
        let mut rows = 0;
        after(Before(0), |_, answer| rows += u32::from(!answer));
        assert_eq!(rows, Before::BITS);
        for lone in 0..rows as usize {
            let mut given = Vec::new();
            after(Before(1 << lone), |_, answer| given.push(answer));
            assert_eq!(given.iter().position(|&answer| answer), Some(lone));
            assert_eq!(given.iter().filter(|&&answer| answer).count(), 1);
        }
    }
}
