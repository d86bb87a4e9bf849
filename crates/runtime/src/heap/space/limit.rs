//! Places for segments whose addresses are below a limit.
//!
//! The kernel is asked for one place after the other, and refuses those where something is mapped. The search goes on where the last
//! one ended, and begins again once.
//!
//! Invariant: a segment ends at the limit or before.
//! Cost: a call for each place that is taken, and at most a few thousand where there is no room.
//! Not here: what is done without one (`supply`).

use core::sync::atomic::{AtomicUsize, Ordering};

use underbar_sys::syscall;

/// The kernel's usual `vm.mmap_min_addr`; it refuses lower places.
const LOWEST: usize = 64 * 1024;
/// Places that are tried in one search, at most.
const MOST: usize = 4096;

/// Where the next search begins. Any thread; relaxed: a hint.
static NEXT: AtomicUsize = AtomicUsize::new(LOWEST);

/// A new mapping of `size` bytes, a multiple of pages, that ends below `limit`.
pub fn map_below(limit: usize, size: usize) -> Option<usize> {
    if size == 0 || size > limit - LOWEST {
        return None;
    }
    let last = limit - size;
    // A step finds any gap of its size, and does not take longer for a larger limit.
    let step = (limit / MOST).next_multiple_of(4096);
    let from = NEXT.load(Ordering::Relaxed);
    let from = if from > last { LOWEST } else { from };
    let places = (from..=last).step_by(step).chain((LOWEST..from).step_by(step));
    for place in places {
        match syscall::map_anonymous_at(place, size) {
            Ok(start) if start.addr() == place => {
                NEXT.store((place + size).next_multiple_of(4096), Ordering::Relaxed);
                return Some(place);
            }
            // A kernel before 4.17 takes the place as a hint.
            Ok(start) => {
                // SAFETY: no other code knows of the mapping.
                let _ = unsafe { syscall::munmap(start, size) };
            }
            Err(_) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_ends_below_its_limit_or_there_is_none() {
        for limit in [16 << 20, 2 << 30] {
            let places: std::vec::Vec<_> = (0..20).map(|_| map_below(limit, 8192).expect("room")).collect();
            assert!(places.iter().all(|place| *place >= LOWEST && place + 8192 <= limit));
            for (at, place) in places.iter().enumerate() {
                assert!(places[..at].iter().all(|other| other.abs_diff(*place) >= 8192));
            }
            assert_eq!(map_below(limit, limit), None);
            for place in places {
                // SAFETY: mapped above, and used by no one.
                unsafe { syscall::munmap(place as *mut u8, 8192) }.expect("mapped");
            }
        }
    }
}
