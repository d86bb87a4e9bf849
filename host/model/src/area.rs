//! The areas that reports and advice cover.

/// One area of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// The heap.
    Heap,
    /// The first thread's stack, and stacks as a whole.
    Stack,
    /// The stacks of all threads but the first.
    ThreadStack,
    /// Locks.
    Lock,
    /// Entries to the kernel, and calls of servers.
    Switches,
}

impl Area {
    /// Its name in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Heap => "HEAP",
            Self::Stack => "STACK",
            Self::ThreadStack => "THREADSTACK",
            Self::Lock => "LOCK",
            Self::Switches => "SWITCHES",
        }
    }
}
