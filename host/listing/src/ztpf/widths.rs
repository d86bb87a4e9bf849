//! Whether a number at the end of a line may have lost its last digits.
//!
//! Listings that are cut at the right are cut at one width. So a line cannot have been cut if another
//! line is longer: only a number at the end of the longest line of a table may be cut.
//! Not here: a line that was cut alone. Tables whose rows end in a percent sign need no such care.

/// No record, screen or page is narrower: if all lines are shorter, none was cut at the right.
const NARROWEST: usize = 64;

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
        // If it was cut after a blank, the blank is gone, too.
        length + 1 >= self.longest
    }

    /// The same for the only number of a line, where a line that is shorter than any record is whole.
    ///
    /// So the result for a short table does not depend on the text after it.
    pub(crate) fn may_be_cut_in_a_record(self, length: usize) -> bool {
        self.longest >= NARROWEST && self.may_be_cut(length)
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
        assert!(!widths.may_be_cut_in_a_record(6));
        let mut records = widths;
        records.seen(&[b'x'; 72]);
        assert!(records.may_be_cut_in_a_record(72) && !records.may_be_cut_in_a_record(6));
        assert!(widths.may_be_cut(6) && widths.may_be_cut(5) && !widths.may_be_cut(3));
    }
}
