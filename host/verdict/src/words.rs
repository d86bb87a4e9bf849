//! Counts in words: `1 pair`, `15 pairs`.
//!
//! Not here: any noun whose plural takes more than an s.

/// `n` and its noun.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "run")), ["0 runs", "1 run", "2 runs"]);
    }
}
