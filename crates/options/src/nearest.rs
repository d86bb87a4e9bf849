//! The nearest of some names to a misspelt word.
//!
//! Distance: two points for each inserted, deleted or replaced letter, and one for two neighbours swapped, which is the most
//! common typing error.
//! A word that is a prefix of exactly one name means that name, whatever the distance.

/// Longer words are not compared; no name is longer.
pub(crate) const LONGEST: usize = 24;

/// The name nearest to `word`, if it is near enough for a suggestion.
pub fn nearest<'n>(word: &[u8], names: impl Iterator<Item = &'n str> + Clone) -> Option<&'n str> {
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    let starts =
        |name: &&str| name.len() >= word.len() && name.as_bytes()[..word.len()].eq_ignore_ascii_case(word);
    let mut started = names.clone().filter(starts);
    if let (Some(only), None) = (started.next(), started.next()) {
        return Some(only);
    }
    let near = names.map(|name| (distance(word, name.as_bytes()), name)).min_by_key(|(far, _)| *far);
    // One error in a short word, one for each three letters of a long one.
    near.filter(|(far, _)| *far <= 2 * (word.len() / 3).max(1)).map(|(_, name)| name)
}

fn distance(a: &[u8], b: &[u8]) -> usize {
    let b = &b[..b.len().min(LONGEST)];
    // Three rows of the usual table: the second-last, the last, and the current one.
    let mut rows = [[0_usize; LONGEST + 1]; 3];
    for (column, cell) in rows[1].iter_mut().enumerate() {
        *cell = 2 * column;
    }
    for (line, &left) in a.iter().enumerate() {
        let before = a.get(line.wrapping_sub(1)).copied();
        rows[2][0] = 2 * (line + 1);
        for (column, &right) in b.iter().enumerate() {
            let exchanged = rows[1][column] + 2 * usize::from(!left.eq_ignore_ascii_case(&right));
            let mut least = exchanged.min(rows[1][column + 1] + 2).min(rows[2][column] + 2);
            if let (Some(before), Some(&left_neighbour)) = (before, b.get(column.wrapping_sub(1))) {
                let swapped =
                    before.eq_ignore_ascii_case(&right) && left.eq_ignore_ascii_case(&left_neighbour);
                if swapped {
                    least = least.min(rows[0][column - 1] + 1);
                }
            }
            rows[2][column + 1] = least;
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expect) in
            [("HEAP", "heap", 0), ("HEPA", "HEAP", 1), ("HAP", "HEAP", 2), ("", "AB", 4), ("ABC", "", 6)]
        {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), expect, "{a} {b}");
        }
    }

    #[test]
    fn near_enough_or_nothing() {
        let names = ["HEAP", "HEAPCHK", "RPTSTG", "RPTOPTS"];
        let check = |word: &str, expect| assert_eq!(nearest(word.as_bytes(), names.into_iter()), expect);
        check("hepa", Some("HEAP"));
        check("RPTSGT", Some("RPTSTG"));
        check("RPTST", Some("RPTSTG"));
        check("RPT", None);
        check("XYZZY", None);
        check("HAEPCHEK", Some("HEAPCHK"));
        check("HOOPCAP", None);
        check("", None);
        check("HEAPHEAPHEAPHEAPHEAPHEAPHEAP", None);
    }
}
