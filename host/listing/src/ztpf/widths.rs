//! Whether a number at the end of a line may have lost its last digits.
//!
//! Where listings are cut at the right, they are cut at one width. So a line cannot have been cut where any other
//! line goes on: only a number at the end of the longest line of a table is in danger.
//! Not here: a line that was cut alone. Tables whose rows end in a percent sign need no such care.

/// Lengths of the lines of one table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Widths {
    longest: usize,
}

impl Widths {
    /// A line of the table, or between its lines.
    pub(crate) fn seen(&mut self, text: &[u8]) {
        self.longest = self.longest.max(text.len());
    }

    /// Whether a line of this length may be cut.
    pub(crate) fn may_be_cut(self, length: usize) -> bool {
        // Where it was cut behind a blank, the blank is gone, too.
        length + 1 >= self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_longest_line_is_in_danger() {
        let mut widths = Widths::default();
        for line in ["abc", "abcdef", "ab"] {
            widths.seen(line.as_bytes());
        }
        assert!(widths.may_be_cut(6) && widths.may_be_cut(5) && !widths.may_be_cut(3));
    }
}
