//! A cache of print or work files: its size, its use, and how often it was full.
//!
//! Not here: what it spares ([`crate::Traffic`]).

use crate::figure::Figure;

/// The figures of a cache, in one run or over several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Its name, as BUS has it: PCACHE, WCACHEO, WCACHE01.
    pub name: String,
    /// Its size, in bytes.
    pub size: Figure,
    /// The most bytes that were in it.
    pub used: Figure,
    /// Lines or records that it served.
    pub calls: Figure,
    /// How often it was full, or read to its end.
    pub full: Figure,
    /// Bytes that it can use at most: whatever its size, it is flushed when these are in it.
    pub useful: Figure,
    /// Files that were left alone, or made plain again.
    pub plain: Figure,
}

impl Cache {
    /// A cache of which nothing is known, for one reason.
    #[must_use]
    pub fn absent(name: impl Into<String>, why: &'static str) -> Self {
        let none = || Figure::absent(why);
        let (size, used, calls) = (none(), none(), none());
        Self { name: name.into(), size, used, calls, full: none(), useful: none(), plain: none() }
    }

    /// Whether at most one call of a hundred found it full, so that a larger one spares next to nothing.
    #[must_use]
    pub fn is_seldom_full(&self) -> bool {
        let both = self.calls.certain().zip(self.full.certain());
        both.is_some_and(|(calls, full)| full.saturating_mul(100) <= calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Certainty;

    #[test]
    fn one_of_a_hundred_is_seldom() {
        let of = |calls, full| {
            let figure = |value| Figure::counter("buffers.calls", value, Certainty::Certain);
            Cache { calls: figure(calls), full: figure(full), ..Cache::absent("PCACHE", "not counted") }
        };
        assert!(of(10_000, 100).is_seldom_full() && !of(10_000, 101).is_seldom_full());
        assert!(!Cache::absent("PCACHE", "not counted").is_seldom_full(), "not known");
    }
}
