//! Which columns of a table have room, and how wide they are.
//!
//! ```text
//! important columns first, each with its least width, as long as there is room
//! what is left over ── to columns of text, up to their longest
//! ```
//!
//! Invariant: with a limit, the widths and the blanks between them are no more than it; figures have a fixed width, so that a table does
//! not move when they change.

/// What a column needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// 0 is the most important.
    pub importance: u8,
    /// The least width.
    pub least: usize,
    /// The most that it can use.
    pub most: usize,
}

/// The blanks between two columns.
pub const GAP: usize = 1;

/// The width of each column; None: it has no room. Without a limit each has what it can use.
#[must_use]
pub fn widths(needs: &[Need], limit: Option<usize>) -> Vec<Option<usize>> {
    let Some(limit) = limit else {
        return needs.iter().map(|need| Some(need.most.max(need.least))).collect();
    };
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|&at| needs[at].importance);
    let mut widths: Vec<Option<usize>> = vec![None; needs.len()];
    let mut left = limit;
    for (turn, &at) in order.iter().enumerate() {
        let gap = if turn == 0 { 0 } else { GAP };
        // The most important one is there, however narrow.
        let width = if turn == 0 { needs[at].least.min(limit) } else { needs[at].least };
        match left.checked_sub(width + gap) {
            Some(rest) => (widths[at], left) = (Some(width), rest),
            None => break,
        }
    }
    for at in order {
        if let Some(width) = &mut widths[at] {
            let more = needs[at].most.saturating_sub(*width).min(left);
            (*width, left) = (*width + more, left - more);
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_important_ones_stay_and_texts_take_what_is_left() {
        let need = |importance, least, most| Need { importance, least, most };
        let needs = [need(0, 6, 6), need(1, 8, 20), need(3, 5, 5), need(2, 9, 9)];
        let of = |limit| widths(&needs, limit);
        assert_eq!(of(None), [Some(6), Some(20), Some(5), Some(9)]);
        assert_eq!(of(Some(100)), of(None));
        assert_eq!(of(Some(31)), [Some(6), Some(8), Some(5), Some(9)]);
        assert_eq!(of(Some(30)), [Some(6), Some(13), None, Some(9)]);
        assert_eq!(of(Some(24)), [Some(6), Some(17), None, None]);
        assert_eq!(of(Some(10)), [Some(6), None, None, None]);
        assert_eq!(of(Some(3)), [Some(3), None, None, None]);
        for limit in 0..60 {
            let widths = of(Some(limit));
            let shown = widths.iter().flatten().count();
            let sum: usize = widths.iter().flatten().sum::<usize>() + GAP * shown.saturating_sub(1);
            assert!(sum <= limit, "{limit}: {widths:?}");
        }
    }
}
