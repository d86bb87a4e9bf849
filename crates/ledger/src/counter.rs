//! The fields of an entry of the counter table.
//!
//! An entry holds everything about a counter: code, text report, JSON, `explain` and the tests take it from here, so that they
//! cannot disagree.

/// One counter of the ledger.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Snake-case path such as `heap.segments_allocated`: the JSON key, the metric's name, the argument of a gate and of
    /// `explain`. Unique.
    pub key: &'static str,
    /// The label that a report prints before the figure. Unique within the part of the key before the dot.
    pub label: &'static str,
    /// What the figure counts.
    pub unit: Unit,
    /// Who writes it.
    pub writer: Writer,
    /// How far the figure can be trusted while the process runs.
    pub live: Exactness,
    /// How far it can be trusted after the process was killed without a chance to settle it.
    pub killed: Exactness,
    /// How two processes' figures become one.
    pub fold: Fold,
    /// The object that has a figure of its own.
    pub scope: Scope,
    /// The meaning, in a sentence or two, for `explain` and the manual.
    pub meaning: &'static str,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of storage.
    Bytes,
    /// Counts of requests, segments, threads and the like.
    Count,
    /// Nanoseconds.
    Nanoseconds,
}

impl Unit {
    /// The word for this unit in JSON schema and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Count => "count",
            Unit::Nanoseconds => "nanoseconds",
        }
    }
}

/// Who writes a figure: always a thread of the process that the slot belongs to, with relaxed atomics. Others only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The first thread, when the library is loaded, before the program's own code.
    Start,
    /// Each thread adds what it has gathered, from time to time and when it ends.
    Gathered,
    /// The thread whose request it is, within that request.
    Request,
    /// The thread that holds the lock of the heap's space.
    SpaceLock,
    /// The thread that holds the lock of the list of stacks: at the start and end of threads, and of the process.
    StacksLock,
    /// The thread that looks at the process's memory, one at a time.
    Look,
    /// The thread that obeys a live setting.
    Obeyed,
    /// The thread that starts a program, before it does.
    Follow,
    /// The thread that waited for a lock, when it has it; or that locks a mutex that is not ours.
    Waits,
}

impl Writer {
    /// The words for it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Writer::Waits => "the thread that locks",
            Writer::Start => "the first thread, at its start",
            Writer::Gathered => "each thread, what it has gathered",
            Writer::Request => "the thread that asks, at once",
            Writer::SpaceLock => "the holder of the heap's lock",
            Writer::StacksLock => "the holder of the stacks' lock",
            Writer::Look => "the thread that looks",
            Writer::Obeyed => "the thread that obeys",
            Writer::Follow => "the thread that starts a program",
        }
    }
}

/// How far a figure can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// Exact: equal to an independent count.
    Exact,
    /// Behind the true figure by at most the named amount.
    Within(&'static str),
    /// Sampled at intervals: may miss short-lived changes between two samples.
    Sampled,
}

/// The object that a counter has a figure for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each process.
    Process,
    /// Each process, and each of its heaps, if it has more than its default one.
    Heap,
}

impl Scope {
    /// The words for it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Scope::Process => "each process",
            Scope::Heap => "each process and each of its heaps",
        }
    }
}

/// How the figures of two processes become one, when ended processes of one program are folded
/// together or a tree is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Add them.
    Sum,
    /// Keep the larger: peaks and sizes of processes that need not have lived at the same time.
    Max,
}

impl Fold {
    /// Folds two figures. Saturates, because noise in a damaged ledger must not overflow.
    #[must_use]
    pub const fn apply(self, a: u64, b: u64) -> u64 {
        match self {
            Fold::Sum => a.saturating_add(b),
            Fold::Max => {
                if a > b {
                    a
                } else {
                    b
                }
            }
        }
    }
}
