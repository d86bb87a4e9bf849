//! The total of observations of a table of frequencies, from its percentages.
//!
//! ```text
//! count * 100 / total = percent, rounded or cut off:   count / (percent + 1) < total <= count / (percent - 1/2)
//! ```
//!
//! The range that all rows allow together is often one number. It shows the observations of missing rows, wherever the
//! listing was cut, and the row that was misread.
//! Invariant: the total allowed is never less than the sum of the rows.

use crate::model::ztpf::{Class, Total};

/// The result of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// They can be true together.
    Sound(Total),
    /// All but this one.
    Without(usize),
    /// They cannot, and it is not clear which of them is wrong.
    Contradiction,
}

/// Checks rows.
pub(crate) fn total(rows: &[Class]) -> Verdict {
    let whole = is_whole(rows);
    if let Some(total) = sound(rows) {
        return Verdict::Sound(total);
    }
    // The range that all rows from each one on allow, so that the range of all but one is the meet of two parts.
    let mut behind = vec![Bounds::default()];
    for row in rows.iter().rev() {
        behind.push(behind[behind.len() - 1].and(Bounds::of(row, whole)));
    }
    let mut before = Bounds::default();
    let mut alone = rows.iter().enumerate().filter(|(gone, row)| {
        let rest = before.and(behind[rows.len() - 1 - gone]);
        before = before.and(Bounds::of(row, whole));
        rest.total().is_some()
    });
    match (alone.next(), alone.next()) {
        (Some((only, _)), None) => Verdict::Without(only),
        _ => Verdict::Contradiction,
    }
}

/// The range of rows, if they can be true together.
pub(crate) fn sound<'a>(rows: impl IntoIterator<Item = &'a Class> + Clone) -> Option<Total> {
    let whole = is_whole(rows.clone());
    rows.into_iter().fold(Bounds::default(), |all, row| all.and(Bounds::of(row, whole))).total()
}

/// Percentages are without hundredths, unless one row shows that there are some.
fn is_whole<'a>(rows: impl IntoIterator<Item = &'a Class>) -> bool {
    rows.into_iter().all(|row| row.percent.is_multiple_of(100))
}

/// The range that some rows allow.
#[derive(Clone, Copy, Default)]
struct Bounds {
    least: u128,
    most: Option<u128>,
    sum: u128,
    /// A row without observations has a percentage of them.
    is_wrong: bool,
}

impl Bounds {
    fn of(row: &Class, whole: bool) -> Bounds {
        let count = u128::from(row.count.value);
        // In halves of the printed unit.
        let (unit, percent) = if whole { (200, row.percent / 100) } else { (20_000, row.percent) };
        let percent = u128::from(percent);
        if count == 0 {
            return Bounds { is_wrong: percent > 0, ..Bounds::default() };
        }
        let most = (percent > 0).then(|| count * unit / (2 * percent - 1));
        Bounds { least: count * unit / (2 * percent + 2) + 1, most, sum: count, is_wrong: false }
    }

    fn and(self, other: Bounds) -> Bounds {
        Bounds {
            least: self.least.max(other.least),
            most: self.most.into_iter().chain(other.most).min(),
            sum: self.sum + other.sum,
            is_wrong: self.is_wrong || other.is_wrong,
        }
    }

    fn total(self) -> Option<Total> {
        let least = self.least.max(self.sum);
        if self.is_wrong || self.most.is_some_and(|most| most < least) {
            return None;
        }
        let most = self.most.map(u64::try_from).transpose().ok()?;
        Some(Total { least: u64::try_from(least).ok()?, most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Evidence, Figure};

    fn class((count, percent): (u64, u64)) -> Class {
        let evidence = Evidence { line: 1, text: String::new() };
        let count = Figure { value: count, evidence, likely: false };
        Class { limit: 1, over: false, percent, count }
    }

    fn check(rows: &[(u64, u64)], expect: Verdict) {
        let rows: Vec<Class> = rows.iter().copied().map(class).collect();
        assert_eq!(total(&rows), expect);
    }

    fn sound(least: u64, most: impl Into<Option<u64>>) -> Verdict {
        Verdict::Sound(Total { least, most: most.into() })
    }

    #[test]
    fn percentages_give_the_total_and_what_is_missing() {
        check(&[(7112, 88_90), (640, 8_00), (240, 3_00)], sound(8000, 8000));
        check(&[(7112, 88_90)], sound(8000, 8000));
        check(&[(4, 36_00), (0, 0), (7, 63_00)], sound(11, 11));
        check(&[(0, 0), (3, 0)], sound(301, None));
        check(&[], sound(0, None));
    }

    #[test]
    fn all_but_one_are_as_if_the_one_were_not_there() {
        let mut next = crate::ztpf::tests::dice();
        let mut seen = [0; 3];
        for _ in 0..5_000 {
            let counts: Vec<u64> = (0..1 + next(5)).map(|_| next(100)).collect();
            let sum = counts.iter().sum::<u64>().max(1);
            let percent = |count: u64| (20_000 * count / sum).div_ceil(2);
            let mut rows: Vec<(u64, u64)> = counts.into_iter().map(|count| (count, percent(count))).collect();
            // One is misread, or two are.
            for _ in 0..next(3) {
                let at = next(rows.len() as u64) as usize;
                rows[at].0 *= 10;
            }
            let rows: Vec<Class> = rows.into_iter().map(class).collect();
            let without = |gone: usize| {
                let rest = rows.iter().enumerate().filter(|(at, _)| *at != gone).map(|(_, row)| row);
                super::sound(rest).is_some()
            };
            let alone: Vec<usize> = (0..rows.len()).filter(|gone| without(*gone)).collect();
            let (expect, kind) = match (super::sound(&rows), &alone[..]) {
                (Some(total), _) => (Verdict::Sound(total), 0),
                (None, [one]) => (Verdict::Without(*one), 1),
                (None, _) => (Verdict::Contradiction, 2),
            };
            // Where only one row shows that there are hundredths, the rest alone would be read as if there were none.
            let is_hundredths =
                |gone: usize| rows.iter().enumerate().any(|(at, row)| at != gone && row.percent % 100 > 0);
            if (0..rows.len()).all(is_hundredths) {
                assert_eq!(total(&rows), expect, "{rows:?}");
                seen[kind] += 1;
            }
        }
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
    }

    #[test]
    fn a_misread_row_is_found() {
        check(&[(7112, 88_90), (6400, 8_00), (240, 3_00)], Verdict::Without(1));
        check(&[(7112, 88_90), (0, 8_00), (240, 3_00)], Verdict::Without(1));
        check(&[(7112, 88_90), (6400, 8_00)], Verdict::Contradiction);
    }
}
