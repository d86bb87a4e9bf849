//! Folding: where all slots are taken, the figures of an ended process become part of its program's aggregate.
//!
//! ```text
//! slots of ended processes      fold             slots
//! sh 1, sh 2, ls 3, sh 4   ───────────────>  sh (3 processes), ls (1), free, free
//! ```
//!
//! Invariant: one process at a time folds, and a process that died while folding is replaced. Figures are added once: the
//! directory's entry says Folding meanwhile, and what was Folding when its folder died is dropped.
//! Not here: how a slot is claimed and left (`attach`), how figures fold (`underbar_ledger`).

use core::sync::atomic::Ordering;

use underbar_ledger::layout::{Directory, FILE_BYTES, SLOT_BYTES, SLOTS, SLOTS_OFFSET};
use underbar_ledger::{
    Caches, Classes, Header, Identity, LedgerView, Pairs, Pools, Slot, SlotState, Switches, pairs, pools,
};
use underbar_sys::syscall;

/// Adds an ended process to its program's aggregate and claims its slot; `map` maps the whole file.
pub(super) fn fold(header: &Header, me: Identity, map: impl FnOnce() -> Option<*mut u8>) -> Option<usize> {
    become_folder(header, me)?;
    let whole = map();
    let found = whole.and_then(|whole| {
        // SAFETY: a slot of the mapped file; only allocated ones are requested.
        let slot = |place: usize| unsafe { &*whole.add(SLOTS_OFFSET + place * SLOT_BYTES).cast::<Slot>() };
        // SAFETY: as above; only those of slots that have pools are requested.
        let pools_of = |place: usize| unsafe {
            &*whole.add(SLOTS_OFFSET + place * SLOT_BYTES + pools::PAGE_OFFSET).cast::<Pools>()
        };
        // SAFETY: as above; only those of slots that have classes are requested.
        let classes_of =
            |place: usize| unsafe { &*whole.add(LedgerView::classes_of(place).start).cast::<Classes>() };
        // SAFETY: as above; only those of slots that have pairs are requested.
        let pairs_of = |place: usize| unsafe {
            &*whole.add(LedgerView::classes_of(place).start + pairs::OFFSET).cast::<Pairs>()
        };
        // SAFETY: as above; only those of slots that count switches are requested, and of their tables only those that are there.
        let switches_of =
            |place: usize| unsafe { &*whole.add(LedgerView::switches_of(place).start).cast::<Switches>() };
        // SAFETY: as above; only those of slots that have caches are requested.
        let caches_of =
            |place: usize| unsafe { &*whole.add(LedgerView::caches_of(place).start).cast::<Caches>() };
        fold_into(&header.directory, me, slot, (pools_of, classes_of, pairs_of, switches_of, caches_of))
    });
    if let Some(whole) = whole {
        // SAFETY: mapped above; no other code knows of it.
        let _ = unsafe { syscall::munmap(whole, FILE_BYTES) };
    }
    header.folder.store(0, Ordering::Release);
    found
}

/// Makes this process the only one that folds; replaces one that died while folding.
fn become_folder(header: &Header, me: Identity) -> Option<()> {
    for _ in 0..200 {
        let holder = header.folder.load(Ordering::Relaxed);
        if (holder == 0 || is_gone(Identity::unpacked(holder), me))
            && header
                .folder
                .compare_exchange(holder, me.packed(), Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        {
            return Some(());
        }
        syscall::sched_yield();
    }
    None
}

/// Whether that process is certainly gone. No process here can judge one whose number is of another namespace: its figures
/// remain its own until a process of its namespace sees that it is gone.
fn is_gone(process: Identity, me: Identity) -> bool {
    me.sees(process) && syscall::kill(process.number as i32, 0) == Err(syscall::Errno::ESRCH)
}

fn fold_into<'a>(
    directory: &Directory,
    me: Identity,
    slot: impl Fn(usize) -> &'a Slot,
    (pools_of, classes_of, pairs_of, switches_of, caches_of): (
        impl Fn(usize) -> &'a Pools,
        impl Fn(usize) -> &'a Classes,
        impl Fn(usize) -> &'a Pairs,
        impl Fn(usize) -> &'a Switches,
        impl Fn(usize) -> &'a Caches,
    ),
) -> Option<usize> {
    let classes = |place: usize| slot(place).classes.load(Ordering::Acquire);
    let has_pairs = |place: usize| slot(place).pairs.load(Ordering::Acquire) != 0;
    let has_switches = |place: usize| slot(place).switches.load(Ordering::Acquire) != 0;
    let has_caches = |place: usize| slot(place).caches.load(Ordering::Acquire) != 0;
    let has_pools = |place: usize| slot(place).pools.load(Ordering::Acquire) != 0;
    for place in 0..SLOTS {
        let Some((state, process)) = directory.get(place) else { continue };
        let over = match state {
            SlotState::Ended => true,
            SlotState::Live | SlotState::Claimed | SlotState::Folding => is_gone(process, me),
            SlotState::Free | SlotState::Aggregate => false,
        };
        if !over || !directory.change(place, (state, process), (SlotState::Folding, me)) {
            continue;
        }
        if matches!(state, SlotState::Claimed | SlotState::Folding) {
            // It died before it had figures, or while its slot was wiped: the figures are not reliable.
            let _ = directory.change(place, (SlotState::Folding, me), (SlotState::Claimed, me));
            return Some(place);
        }
        let same = (0..SLOTS).find(|&other| {
            directory.get(other).is_some_and(|(state, _)| state == SlotState::Aggregate)
                && slot(other).is_of_the_program_of(slot(place))
        });
        match same {
            Some(aggregate) => {
                slot(aggregate).fold(slot(place));
                // Processes with different pools have no sum.
                if has_pools(aggregate) && !(has_pools(place) && pools_of(aggregate).fold(pools_of(place))) {
                    slot(aggregate).pools.store(0, Ordering::Relaxed);
                }
                // Nor have those with different classes.
                let made = [classes(aggregate), classes(place)];
                if made[0] != 0 && !classes_of(aggregate).fold(classes_of(place), made) {
                    slot(aggregate).classes.store(0, Ordering::Relaxed);
                    slot(aggregate).pairs.store(0, Ordering::Relaxed);
                }
                if has_pairs(aggregate) && has_pairs(place) {
                    pairs_of(aggregate).fold(pairs_of(place));
                }
                if has_switches(aggregate) && has_switches(place) {
                    switches_of(aggregate).fold(switches_of(place));
                }
                if has_caches(aggregate) && has_caches(place) {
                    caches_of(aggregate).fold(caches_of(place));
                }
                let _ = directory.change(place, (SlotState::Folding, me), (SlotState::Claimed, me));
                return Some(place);
            }
            // The first slot of its program becomes the aggregate; the search for a free one goes on.
            None => {
                let _ = directory.change(place, (SlotState::Folding, me), (SlotState::Aggregate, process));
            }
        }
    }
    None
}
