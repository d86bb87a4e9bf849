//! The one table of the sections of a storage report, and of their labels, in the order in which they are printed.
//!
//! Invariant: the order of this table is the order in a report.
//! Not here: sections whose titles or lines no source confirms; `storage` recognises them by their heading.

use serde::Serialize;

/// A section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The first thread's stack, or all threads' under THREADSTACK(OFF).
    Stack,
    /// Stacks of all threads but the first.
    ThreadStack,
    /// The downward stack.
    XplinkStack,
    /// Downward stacks of all threads but the first.
    XplinkThreadStack,
    /// The library's stack.
    LibStack,
    /// Heaps of PL/I tasks.
    ThreadHeap,
    /// The user heap.
    Heap,
    /// The user heap below the line.
    Heap24,
    /// The library's heap above the line.
    AnyHeap,
    /// The library's heap below the line.
    BelowHeap,
    /// The stack of a 64-bit program.
    Stack64,
    /// Threads' stacks of a 64-bit program.
    ThreadStack64,
    /// The user heap above the bar.
    User64,
    /// The user heap of a 64-bit program below the bar.
    User31,
    /// The user heap of a 64-bit program below the line.
    User24,
    /// The library's heaps of a 64-bit program: above the bar, below it, and below the line.
    Library64,
    /// See [`Kind::Library64`].
    Library31,
    /// See [`Kind::Library64`].
    Library24,
    /// The heaps for input and output of a 64-bit program: above the bar, below it, and below the line.
    Io64,
    /// See [`Kind::Io64`].
    Io31,
    /// See [`Kind::Io64`].
    Io24,
    /// Heaps made by CEECRHP, all together.
    AdditionalHeap,
    /// Heap pools.
    Pools,
}

/// A label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Initial size, in bytes.
    Initial,
    /// Increment size, in bytes.
    Increment,
    /// Maximum used by all concurrent threads, in bytes.
    AllThreads,
    /// Largest used by any thread, in bytes.
    AnyThread,
    /// Heaps made.
    Created,
    /// Heaps discarded.
    Discarded,
    /// Total heap storage used, in bytes: the peak.
    Total,
    /// The initial size that Language Environment suggests, in bytes.
    Suggested,
    /// Successful get requests.
    Gets,
    /// Successful free requests.
    Frees,
    /// Segments allocated.
    Allocated,
    /// Segments freed.
    Freed,
    /// Increments allocated (64-bit stacks).
    Increments,
}

use Field::{
    AllThreads, Allocated, AnyThread, Created, Discarded, Freed, Frees, Gets, Increment, Increments, Initial,
    Suggested, Total,
};

/// A row of the table of sections.
pub struct Row {
    /// Which section.
    pub kind: Kind,
    /// The words before "statistics".
    pub title: &'static str,
    /// Its labels in order.
    pub fields: &'static [Field],
    /// The option whose values it shows, and the index of the initial size among its sub-options.
    pub option: (&'static str, usize),
}

const STACK: &[Field] = &[Initial, Increment, AllThreads, AnyThread, Allocated, Freed];
const THREAD_HEAP: &[Field] = &[Initial, Increment, AllThreads, AnyThread, Gets, Frees, Allocated, Freed];
const HEAP: &[Field] = &[Initial, Increment, Total, Gets, Frees, Allocated, Freed];
const MADE: &[Field] = &[Created, Discarded, Total, Gets, Frees, Allocated, Freed];
const STACK64: &[Field] = &[Initial, Increment, AllThreads, AnyThread, Increments];
const USER64: &[Field] = &[Initial, Increment, Total, Suggested, Gets, Frees, Allocated, Freed];

/// All sections with known labels.
pub static SECTIONS: [Row; 22] = [
    Row { kind: Kind::Stack, title: "STACK", fields: STACK, option: ("STACK", 0) },
    Row { kind: Kind::ThreadStack, title: "THREADSTACK", fields: STACK, option: ("THREADSTACK", 1) },
    Row { kind: Kind::XplinkStack, title: "XPLINK STACK", fields: STACK, option: ("STACK", 4) },
    Row {
        kind: Kind::XplinkThreadStack,
        title: "XPLINK THREADSTACK",
        fields: STACK,
        option: ("THREADSTACK", 5),
    },
    Row { kind: Kind::LibStack, title: "LIBSTACK", fields: STACK, option: ("LIBSTACK", 0) },
    Row { kind: Kind::ThreadHeap, title: "THREADHEAP", fields: THREAD_HEAP, option: ("THREADHEAP", 0) },
    Row { kind: Kind::Heap, title: "HEAP", fields: HEAP, option: ("HEAP", 0) },
    Row { kind: Kind::Heap24, title: "HEAP24", fields: HEAP, option: ("HEAP", 4) },
    Row { kind: Kind::AnyHeap, title: "ANYHEAP", fields: HEAP, option: ("ANYHEAP", 0) },
    Row { kind: Kind::BelowHeap, title: "BELOWHEAP", fields: HEAP, option: ("BELOWHEAP", 0) },
    Row { kind: Kind::Stack64, title: "STACK64", fields: STACK64, option: ("STACK64", 0) },
    Row { kind: Kind::ThreadStack64, title: "THREADSTACK64", fields: STACK64, option: ("THREADSTACK64", 1) },
    Row { kind: Kind::User64, title: "64bit User HEAP", fields: USER64, option: ("HEAP64", 0) },
    Row { kind: Kind::User31, title: "31bit User HEAP", fields: HEAP, option: ("HEAP64", 3) },
    Row { kind: Kind::User24, title: "24bit User HEAP", fields: HEAP, option: ("HEAP64", 6) },
    Row { kind: Kind::Library64, title: "64bit Library HEAP", fields: USER64, option: ("LIBHEAP64", 0) },
    Row { kind: Kind::Library31, title: "31bit Library HEAP", fields: HEAP, option: ("LIBHEAP64", 3) },
    Row { kind: Kind::Library24, title: "24bit Library HEAP", fields: HEAP, option: ("LIBHEAP64", 6) },
    Row { kind: Kind::Io64, title: "64bit I/O HEAP", fields: USER64, option: ("IOHEAP64", 0) },
    Row { kind: Kind::Io31, title: "31bit I/O HEAP", fields: HEAP, option: ("IOHEAP64", 3) },
    Row { kind: Kind::Io24, title: "24bit I/O HEAP", fields: HEAP, option: ("IOHEAP64", 6) },
    Row { kind: Kind::AdditionalHeap, title: "Additional Heap", fields: MADE, option: ("", 0) },
];

/// Labels as printed; if one begins another, the longer one is first.
pub static LABELS: [(&str, Field); 14] = [
    ("Initial size", Initial),
    ("Increment size", Increment),
    ("Maximum used by all concurrent threads", AllThreads),
    ("Largest used by any thread", AnyThread),
    ("Successful Create Heap requests", Created),
    ("Successful Discard Heap requests", Discarded),
    ("Total heap storage used (sugg. initial size)", Total),
    ("Total heap storage used", Total),
    ("Suggested initial size", Suggested),
    ("Successful Get Heap requests", Gets),
    ("Successful Free Heap requests", Frees),
    ("Number of segments allocated", Allocated),
    ("Number of segments freed", Freed),
    ("Number of increments allocated", Increments),
];

impl Kind {
    /// Its row.
    #[must_use]
    pub fn row(self) -> Option<&'static Row> {
        SECTIONS.iter().find(|row| row.kind == self)
    }

    /// The words of its heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.row().map_or("HEAPPOOLS", |row| row.title)
    }

    /// Whether only reports of 64-bit programs have it.
    #[must_use]
    pub fn is_64bit_only(self) -> bool {
        matches!(self, Self::Stack64 | Self::ThreadStack64 | Self::User64 | Self::User31)
            || (self.is_ours() && self != Self::AdditionalHeap)
    }

    /// Whether its lines are known of reports of underbar only: z/OS has such sections, but no listing of one is known.
    #[must_use]
    pub fn is_ours(self) -> bool {
        matches!(
            self,
            Self::User24
                | Self::Library64
                | Self::Library31
                | Self::Library24
                | Self::Io64
                | Self::Io31
                | Self::Io24
                | Self::AdditionalHeap
        )
    }

    /// The maximum of sizes, in bytes.
    #[must_use]
    pub fn most_bytes(self) -> u64 {
        match self {
            Self::Heap24 | Self::BelowHeap | Self::LibStack | Self::User24 | Self::Library24 | Self::Io24 => {
                16 << 20
            }
            Self::Stack64
            | Self::ThreadStack64
            | Self::User64
            | Self::Library64
            | Self::Io64
            | Self::AdditionalHeap
            | Self::Pools => 1 << 47,
            _ => 2 << 30,
        }
    }
}

impl Field {
    /// The label.
    #[must_use]
    pub fn label(self) -> &'static str {
        LABELS.iter().rev().find(|(_, field)| *field == self).map_or("", |(label, _)| label)
    }

    /// Whether it is a number of bytes.
    #[must_use]
    pub fn is_bytes(self) -> bool {
        matches!(self, Initial | Increment | AllThreads | AnyThread | Total | Suggested)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_a_label_and_every_kind_one_row() {
        for row in &SECTIONS {
            assert_eq!(SECTIONS.iter().filter(|other| other.kind == row.kind).count(), 1);
            assert!(row.fields.iter().all(|field| !field.label().is_empty()));
        }
    }
}
