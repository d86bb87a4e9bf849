//! The figures of a run, as `name=number` on one line: the output of one process for another.

use std::collections::BTreeMap;
use std::fmt;

/// Whole numbers by their names; times in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures(BTreeMap<String, u64>);

impl Figures {
    /// Adds one.
    #[must_use]
    pub fn with(mut self, name: &str, figure: u64) -> Self {
        self.0.insert(name.to_owned(), figure);
        self
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// All of them, in the order of their names.
    pub fn all(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, figure)| (name.as_str(), *figure))
    }

    /// From the line; None if it is not such a line.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let pair = |word: &str| {
            let (name, figure) = word.split_once('=')?;
            Some((name.to_owned(), figure.parse().ok()?))
        };
        let all: BTreeMap<String, u64> = line.split_ascii_whitespace().map(pair).collect::<Option<_>>()?;
        (!all.is_empty()).then_some(Self(all))
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, figure)) in self.0.iter().enumerate() {
            write!(to, "{}{name}={figure}", if at > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Figures;

    #[test]
    fn what_is_written_is_read() {
        let figures = Figures::default().with("operations", 7).with("cpu_ns", 3);
        assert_eq!(figures.to_string(), "cpu_ns=3 operations=7");
        assert_eq!(Figures::parse(&figures.to_string()), Some(figures));
        assert_eq!(Figures::parse("thread panicked"), None);
        assert_eq!(Figures::parse(""), None);
    }
}
