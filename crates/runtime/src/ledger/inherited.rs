//! The figures with which a forked child begins: the storage that it has from its parent.
//!
//! Invariant: what the parent did does not count for the child, what it holds does.
//! Not here: the slot that the child finds (`attach`).

use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_ledger::heaps::OF_PARENT;
use underbar_ledger::layout::not_below_zero;

use super::{heaps, pools};

/// Figures with which a child begins.
pub(super) type Inherited = [(Key, u64); INHERITED];
const INHERITED: usize = 9;

/// Those of the fork that is under way. By the time that the child asks, its parent may have gone on, or have ended and left
/// its slot to another process; this copy is in the child's own memory.
static AT_FORK: AtFork = AtFork {
    is_kept: AtomicBool::new(false),
    figures: [const { AtomicU64::new(0) }; INHERITED],
    unsettled: [const { AtomicI64::new(0) }; 2],
};

/// Written by the thread that forks, under the locks of the heap, and by the child's only thread. Relaxed: read by that
/// thread alone.
struct AtFork {
    is_kept: AtomicBool,
    /// In the order of [`parents_figures`].
    figures: [AtomicU64; INHERITED],
    /// Blocks and bytes that the thread has in use beyond what the ledger knows.
    unsettled: [AtomicI64; 2],
}

/// In the child: the figures of the fork that made it, or those of its parent now if the fork was not announced.
pub(super) fn take() -> Inherited {
    AT_FORK.take().unwrap_or_else(parents_figures)
}

impl AtFork {
    fn keep(&self) {
        let [blocks, bytes] = self.unsettled.each_ref().map(|unsettled| unsettled.load(Ordering::Relaxed));
        for (kept, (key, figure)) in self.figures.iter().zip(parents_figures()) {
            let more = match key {
                Key::HeapInherited => blocks,
                Key::HeapUsed | Key::HeapUsedPeak => bytes,
                _ => 0,
            };
            kept.store(not_below_zero(figure.wrapping_add_signed(more)), Ordering::Relaxed);
        }
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// None if the fork was not announced.
    fn take(&self) -> Option<Inherited> {
        if !self.is_kept.swap(false, Ordering::Relaxed) {
            return None;
        }
        let mut figures = parents_figures();
        for ((_, figure), kept) in figures.iter_mut().zip(&self.figures) {
            *figure = kept.load(Ordering::Relaxed);
        }
        Some(figures)
    }
}

/// Before a fork, in the parent: its thread has so many blocks and bytes in use beyond what the ledger knows.
pub(crate) fn leave_unsettled((blocks, bytes): (i64, i64)) {
    for (to, figure) in AT_FORK.unsettled.iter().zip([blocks, bytes]) {
        to.store(figure, Ordering::Relaxed);
    }
}

/// Before a fork, in the parent, when all its figures are settled or left: keeps them for the child.
pub(crate) fn keep_figures() -> bool {
    AT_FORK.keep();
    heaps::keep();
    pools::keep();
    true
}

/// After it, in the parent.
pub(crate) fn drop_figures() {
    AT_FORK.is_kept.store(false, Ordering::Relaxed);
    heaps::keep_no_more();
    pools::keep_no_more();
    super::classes::keep_no_more();
}

/// The storage that a forked child has from the start.
fn parents_figures() -> Inherited {
    let slot = super::last_slot();
    let figure = |key| slot.cell(key).load(Ordering::Relaxed);
    // All storage that it got and has not given back, as far as the ledger knows.
    let inherited =
        figure(Key::HeapInherited).wrapping_add(figure(Key::HeapGets)).wrapping_sub(figure(Key::HeapFrees));
    let of_parent = |(to, from)| (to, figure(from));
    let [a, b, c, d, e, f] = OF_PARENT.map(of_parent);
    let [g, h] =
        [Key::AdditionalUsed, Key::AdditionalUsedPeak].map(|to| of_parent((to, Key::AdditionalUsed)));
    [a, b, c, d, e, f, g, h, (Key::HeapInherited, not_below_zero(inherited))]
}
