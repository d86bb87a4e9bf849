//! How many observations a table of frequencies holds, by its percentages.
//!
//! ```text
//! count * 100 / total = percent, rounded or cut off:   count / (percent + 1) < total <= count / (percent - 1/2)
//! ```
//!
//! What all rows allow together is often one number. It tells what rows that are missing hold, wherever the listing
//! was cut, and which row was misread.
//! Invariant: the total allowed is never less than the sum of the rows.

use super::model::{Class, Total};

/// What was found about the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// They can be true together.
    Sound(Total),
    /// All but this one.
    Without(usize),
    /// They cannot, and it is not plain which of them is wrong.
    Contradiction,
}

/// Examines rows.
pub(crate) fn total(rows: &[Class]) -> Verdict {
    // Without hundredths, unless one row shows that there are some.
    let whole = rows.iter().all(|row| row.percent.is_multiple_of(100));
    let all: Vec<usize> = (0..rows.len()).collect();
    if let Some(total) = of(rows, &all, whole) {
        return Verdict::Sound(total);
    }
    let mut alone = all.iter().filter(|gone| {
        let rest: Vec<usize> = all.iter().copied().filter(|at| at != *gone).collect();
        of(rows, &rest, whole).is_some()
    });
    match (alone.next(), alone.next()) {
        (Some(only), None) => Verdict::Without(*only),
        _ => Verdict::Contradiction,
    }
}

fn of(rows: &[Class], which: &[usize], whole: bool) -> Option<Total> {
    let (mut least, mut most, mut sum) = (0_u128, None::<u128>, 0_u128);
    for row in which.iter().map(|at| &rows[*at]) {
        let count = u128::from(row.count.value);
        sum += count;
        // In halves of the printed unit.
        let (unit, percent) = if whole { (200, row.percent / 100) } else { (20_000, row.percent) };
        let percent = u128::from(percent);
        if count == 0 {
            if percent > 0 {
                return None;
            }
            continue;
        }
        least = least.max(count * unit / (2 * percent + 2) + 1);
        if percent > 0 {
            let here = count * unit / (2 * percent - 1);
            most = Some(most.map_or(here, |most| most.min(here)));
        }
    }
    let least = least.max(sum);
    if most.is_some_and(|most| most < least) {
        return None;
    }
    Some(Total { least: u64::try_from(least).ok()?, most: most.map(u64::try_from).transpose().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Evidence, Figure};

    fn check(rows: &[(u64, u64)], expect: Verdict) {
        let class = |(at, (count, percent)): (usize, &(u64, u64))| {
            let evidence = Evidence { line: 1, text: String::new() };
            let count = Figure { value: *count, evidence, likely: false };
            Class { limit: at as u64 + 1, over: false, percent: *percent, count }
        };
        let rows: Vec<Class> = rows.iter().enumerate().map(class).collect();
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
    fn a_misread_row_is_found() {
        check(&[(7112, 88_90), (6400, 8_00), (240, 3_00)], Verdict::Without(1));
        check(&[(7112, 88_90), (0, 8_00), (240, 3_00)], Verdict::Without(1));
        check(&[(7112, 88_90), (6400, 8_00)], Verdict::Contradiction);
    }
}
