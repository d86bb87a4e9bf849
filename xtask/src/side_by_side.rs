//! Work on many items, a few at a time: in the order of the items, each by the first thread that is idle.
//!
//! Not here: single steps that run next to others (`aside`).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The number of processors.
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Calls the function for each item, in this many threads; its results, in the order in which they came.
pub fn side_by_side<T: Sync, R: Send>(items: &[T], jobs: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::side_by_side;

    #[test]
    fn everything_is_done_once() {
        let mut done = side_by_side(&[1, 2, 3, 4, 5], 3, |number| number * 2);
        done.sort_unstable();
        assert_eq!(done, [2, 4, 6, 8, 10]);
    }
}
