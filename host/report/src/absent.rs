//! Figures of the documents' storage report that have no counterpart on Linux, or that underbar does not count.
//!
//! Invariant: each is null in JSON and 0 in the Language Environment layout, where a note says so. The layout takes its zeros
//! from this table, so both have the same figures (a test of `le` compares them).
//! Not here: counters (`underbar_ledger`), where they are printed ([`crate::le`]).

use underbar_ledger::Key;

/// A figure without a counterpart.
#[derive(Clone, Copy, Debug)]
pub struct Absent {
    /// Its key path, such as `libstack.segments_allocated`.
    pub key: &'static str,
    /// Its label in print.
    pub label: Label,
    /// Why there is none.
    pub why: &'static str,
}

impl Absent {
    /// Whether one of the process's heaps has the figure.
    pub fn is_of_a_heap(&self) -> bool {
        [ROW_24, THREAD_HEAP].contains(&self.why)
    }
}

/// The label of a figure.
#[derive(Clone, Copy, Debug)]
pub enum Label {
    /// The label of this counter.
    Of(Key),
    /// These words.
    Words(&'static str),
}

impl Label {
    /// The label as it is printed, without a colon.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Label::Of(key) => key.entry().label,
            Label::Words(words) => words,
        }
    }
}

const LIBRARY_STACK: &str = "The library stack is storage that Language Environment needs below its 16M line; \
                             on Linux libraries use the program's own stacks.";
const THREAD_HEAP: &str =
    "The heaps of threads (THREADHEAP) are one of the process's heaps: heaps, of kind thread.";
const ROW_24: &str = "Storage below 16 MiB (__malloc24) is a heap of the process: heaps, of kind below_16m.";
const BELOW_HEAP: &str = "Nothing of underbar has to be below the 16M line, so no program has such storage.";
macro_rules! absent {
    ($($key:literal, $label:expr, $why:expr;)*) => {
        /// All figures without a counterpart, area by area as the storage report has them.
        pub static ABSENT: [Absent; [$($key),*].len()] = [$(Absent { key: $key, label: $label, why: $why }),*];
    };
}

use Label::Of;

absent! {
    "libstack.concurrent", Of(Key::StackConcurrent), LIBRARY_STACK;
    "libstack.largest", Of(Key::StackLargest), LIBRARY_STACK;
    "libstack.segments_allocated", Of(Key::HeapSegmentsAllocated), LIBRARY_STACK;
    "libstack.segments_freed", Of(Key::HeapSegmentsFreed), LIBRARY_STACK;
    "threadheap.concurrent", Of(Key::StackConcurrent), THREAD_HEAP;
    "threadheap.gets", Of(Key::HeapGets), THREAD_HEAP;
    "threadheap.frees", Of(Key::HeapFrees), THREAD_HEAP;
    "threadheap.segments_allocated", Of(Key::HeapSegmentsAllocated), THREAD_HEAP;
    "threadheap.segments_freed", Of(Key::HeapSegmentsFreed), THREAD_HEAP;
    "heap24.used_peak", Of(Key::HeapUsedPeak), ROW_24;
    "heap24.gets", Of(Key::HeapGets), ROW_24;
    "heap24.frees", Of(Key::HeapFrees), ROW_24;
    "heap24.segments_allocated", Of(Key::HeapSegmentsAllocated), ROW_24;
    "heap24.segments_freed", Of(Key::HeapSegmentsFreed), ROW_24;
    "belowheap.used_peak", Of(Key::HeapUsedPeak), BELOW_HEAP;
    "belowheap.gets", Of(Key::HeapGets), BELOW_HEAP;
    "belowheap.frees", Of(Key::HeapFrees), BELOW_HEAP;
    "belowheap.segments_allocated", Of(Key::HeapSegmentsAllocated), BELOW_HEAP;
    "belowheap.segments_freed", Of(Key::HeapSegmentsFreed), BELOW_HEAP;
}

/// The figure of this key. None if there is no such key.
#[must_use]
pub fn find(key: &str) -> Option<&'static Absent> {
    ABSENT.iter().find(|absent| absent.key == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_in_no_other_table() {
        for (at, absent) in ABSENT.iter().enumerate() {
            assert_eq!(Key::find(absent.key), None, "{}", absent.key);
            assert!(ABSENT[..at].iter().all(|other| other.key != absent.key), "{}", absent.key);
            assert!(find(absent.key).is_some() && absent.why.ends_with('.'), "{}", absent.key);
        }
    }
}
