//! The threads of a program, and how many of them have a stack of the size that the system sets.
//!
//! ```text
//! all threads = the first + of_default + those that ask for a size of their own
//! ```
//!
//! Not here: what one stack held (`storage`).

use crate::figure::Figure;

/// The threads of a program, in one run or over several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threads {
    /// The most at one time, the first one included.
    pub at_once: Figure,
    /// The most bytes of stack that any thread but the first used.
    pub deepest: Figure,
    /// Threads that ask for no stack size.
    pub of_default: Figure,
    /// The most of them at one time.
    pub of_default_at_once: Figure,
    /// Bytes of their stacks without an option.
    pub default_stack: Figure,
}

impl Threads {
    /// Threads of which only the largest number at one time is known, and why the rest is not.
    #[must_use]
    pub fn counted(at_once: Figure, why: &'static str) -> Self {
        let none = || Figure::absent(why);
        Self {
            at_once,
            deepest: none(),
            of_default: none(),
            of_default_at_once: none(),
            default_stack: none(),
        }
    }
}
