//! The pairs of number and label where print and labels came apart.
//!
//! ```text
//! Initial size:          a number that is alone belongs to the label just above or just below it;
//!        32768           numbers and labels keep their order; no label has two
//! Increment size:
//! ```
//!
//! Every assignment that obeys this and contradicts nothing is tried. A number that has the same label in all of them is
//! certain; any other number goes to the label above it if that is free, and is *likely*.
//! Invariant: as long as print moved by no more than one label, what is certain is true, wherever the text is cut.
//! Not here: numbers on the line of their label (`storage`).

/// More numbers than this in one section are noise.
const MOST: usize = 16;

/// A number's place: the number of labels before it.
pub(crate) type Gap = usize;

/// Assigns a label, by index, to each number, and returns whether it is certain. None: no label, or no assignment.
///
/// `open`: the last label seen is not the section's last one, so that a number after it may belong to a missing
/// label. `possible` returns whether an assignment contradicts nothing.
pub(crate) fn place(
    gaps: &[Gap],
    labels: usize,
    open: bool,
    possible: &dyn Fn(&[usize]) -> bool,
) -> Option<Vec<(usize, bool)>> {
    if gaps.len() > MOST {
        return None;
    }
    let last = if open { labels + MOST } else { labels };
    let mut ways: Vec<Vec<usize>> = Vec::new();
    let mut way = Vec::new();
    every(gaps, labels, last, &mut way, &mut |way| {
        if possible(way) {
            ways.push(way.to_vec());
        }
    });
    let preferred = preferred(gaps, &ways)?;
    let certain = |at: usize| ways.iter().all(|way| way[at] == preferred[at]);
    Some(preferred.iter().enumerate().map(|(at, label)| (*label, certain(at))).collect())
}

fn every(gaps: &[Gap], labels: usize, last: usize, way: &mut Vec<usize>, found: &mut dyn FnMut(&[usize])) {
    let Some(&gap) = gaps.get(way.len()) else { return found(way) };
    let least = way.last().map_or(0, |label| label + 1);
    // Several labels may be missing after the last label seen.
    let most = if gap == labels { least.max(gap) } else { gap };
    for label in gap.saturating_sub(1)..=most {
        if label >= least && label < last {
            way.push(label);
            every(gaps, labels, last, way, found);
            way.pop();
        }
    }
}

/// The assignment in which each number goes to the label above it if that is free.
fn preferred<'w>(gaps: &[Gap], ways: &'w [Vec<usize>]) -> Option<&'w Vec<usize>> {
    ways.iter().max_by_key(|way| way.iter().zip(gaps).filter(|(label, gap)| **label + 1 == **gap).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `V` a number, `L` a label.
    fn check(order: &str, open: bool, expect: &[(usize, bool)]) {
        let (mut gaps, mut labels) = (Vec::new(), 0);
        for c in order.chars() {
            if c == 'L' { labels += 1 } else { gaps.push(labels) }
        }
        let got = place(&gaps, labels, open, &|_| true);
        assert_eq!(got.as_deref(), Some(expect), "{order}");
    }

    #[test]
    fn neighbours_decide() {
        let all = |n: usize| (0..n).map(|at| (at, true)).collect::<Vec<_>>();
        check("VLVLLVVLLVVLL", false, &all(6));
        check(
            "LVLVVLVLVLLVLV",
            false,
            &[(0, true), (1, true), (2, true), (3, true), (4, true), (5, true), (6, true)],
        );
        check("VLLVLV", false, &[(0, true), (1, true), (2, true)]);
    }

    #[test]
    fn what_can_be_otherwise_is_likely() {
        check("LVLVL", false, &[(0, false), (1, false)]);
        check("LV", true, &[(0, false)]);
        check("LV", false, &[(0, true)]);
    }

    #[test]
    fn too_many_numbers_have_no_way() {
        assert_eq!(place(&[0, 0], 1, false, &|_| true), None);
        assert_eq!(place(&[1; 40], 1, true, &|_| true), None);
    }

    #[test]
    fn contradictions_rule_ways_out() {
        let got = place(&[1], 2, false, &|way| way != [0]);
        assert_eq!(got, Some(vec![(1, true)]));
    }
}
