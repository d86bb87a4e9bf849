//! Whether a number at the end of a line may have lost its last digits.
//!
//! Where listings are cut at the right, they are cut at one width. So a line cannot have been cut where any other
//! line goes on: only a number at the end of the longest line of a table is in danger.
//! Not here: a line that was cut alone. Tables whose rows end in a percent sign need no such care.

/// No record, screen or page is narrower: where all lines are shorter, none was cut at the right.
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
        // Where it was cut behind a blank, the blank is gone, too.
        length + 1 >= self.longest
    }

    /// The same of the only number of a line, where a line that is shorter than any record is whole.
    ///
    /// So what is said of a short table does not depend on what follows it.
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
