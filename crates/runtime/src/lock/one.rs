//! The one mutex for which LOCK sets its own policy, identified by its address in the program's file.
//!
//! ```text
//! LOCK(,PLACE,HOW)    PLACE == address of the variable - where the program was loaded
//!                  or PLACE == return address of a call that waited for it - where the program was loaded
//! ```
//!
//! Code and data of a file have different addresses, so one number identifies either. If several mutexes were waited for at
//! one call, all of them are meant.
//! Invariant: checked when a mutex gets its record, and when it is waited for at a new call site. The path that takes a
//! free mutex has no check.
//! Known limit: before glibc 2.35 the loader does not report where the program is, and no mutex is meant.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use underbar_ledger::locks::{Area, LockRecord, POLICY_AS_OPTION};

/// Written once, when the options are read; relaxed. Place 0: none is meant.
static PLACE: AtomicU64 = AtomicU64::new(0);
static POLICY: AtomicU32 = AtomicU32::new(POLICY_AS_OPTION);

/// Obeys LOCK(,place,policy).
pub fn configure(place: u64, policy: u32) {
    POLICY.store(policy, Ordering::Relaxed);
    PLACE.store(place, Ordering::Relaxed);
}

/// Checks whether the mutex is meant: it has got its record, or is waited for at another call site, and its modules are
/// known.
pub fn look(area: &Area, record: &LockRecord) {
    let place = PLACE.load(Ordering::Relaxed);
    // What the host sets while the program runs stays.
    let is_unset = record.policy.load(Ordering::Relaxed) == POLICY_AS_OPTION;
    if place != 0 && is_unset && is_at(area, record, place) {
        record.policy.store(POLICY.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

fn is_at(area: &Area, record: &LockRecord, place: u64) -> bool {
    let address = record.address.load(Ordering::Relaxed);
    let sites = || record.waiters.iter().map(|site| &site.address).chain([&record.first_site]);
    area.modules.iter().take_while(|module| module.end.load(Ordering::Acquire) != 0).any(|module| {
        let (start, end) = (module.start.load(Ordering::Relaxed), module.end.load(Ordering::Relaxed));
        let base = module.base.load(Ordering::Relaxed);
        // The program itself has no path. The call precedes its return address.
        let is_the_program = module.path[0].load(Ordering::Relaxed) == 0 && base != u64::MAX;
        let is_here =
            |address: u64, within: u64| (start..end).contains(&within) && address.wrapping_sub(base) == place;
        let waited_here = |site: &AtomicU64| {
            let site = site.load(Ordering::Relaxed);
            is_here(site, site.wrapping_sub(1))
        };
        is_the_program && (is_here(address, address) || sites().any(waited_here))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutex_is_known_by_its_place_or_by_that_of_the_call() {
        // SAFETY: zeros are an empty area; it stays for ever.
        let area: &'static Area = unsafe {
            let layout = std::alloc::Layout::new::<Area>();
            &*std::alloc::alloc_zeroed(layout).cast()
        };
        let library = &area.modules[0];
        library.path[0].store(b'/', Ordering::Relaxed);
        for (module, base) in [(library, 0x5000), (&area.modules[1], 0x9000)] {
            module.base.store(base, Ordering::Relaxed);
            module.start.store(base, Ordering::Relaxed);
            module.end.store(base + 0x1000, Ordering::Relaxed);
        }
        let is = |address, site, place| {
            let record = &area.locks[0];
            record.address.store(address, Ordering::Relaxed);
            record.first_site.store(site, Ordering::Relaxed);
            is_at(area, record, place)
        };
        assert!(is(0x9040, 0x5111, 0x40), "the variable");
        assert!(is(0x7777, 0x9111, 0x111), "the call");
        area.locks[0].waiters[3].address.store(0x9222, Ordering::Relaxed);
        assert!(is(0x7777, 0x5111, 0x222), "another call");
        assert!(is(0x7777, 0xa000, 0x1000), "a call at the very end");
        assert!(!is(0x5040, 0x5111, 0x40), "a place in another file");
        assert!(!is(0x9041, 0x5111, 0x40));
    }
}
