//! `--fail-on`: an expression over two reports that decides whether a build passes.
//!
//! ```text
//! heap.used_peak > +5%                 more than 5 % above the old figure
//! heap.segments_allocated > 100        more than 100, whatever the old figure was
//! steps.peak_resident_bytes > +10M     more than 10 MiB above the old figure
//! steps.elapsed_ns > 2s                longer than two seconds
//! ecbs.SSL.high_water > +10%           of a class of ECBs
//! ```
//!
//! A gate *fails* if its expression is true. A sign before the value makes it relative to the old figure. K, M and G, or KiB,
//! MiB and GiB as in reports, are powers of 1024; ns, us, ms and s are times. Arithmetic is in integers, so that a limit is met
//! exactly.

use std::borrow::Cow;

use underbar_ledger::Unit;

use crate::absent;
use crate::ecb_sums;
use crate::figure_paths::{Figure, keys, of_report, unit_of};
use crate::model::Report;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// As written.
    pub text: String,
    /// The figure that is tested.
    pub key: Cow<'static, str>,
    /// How the figure is compared.
    pub comparison: Comparison,
    /// With what it is compared.
    pub value: Value,
}

/// How a figure is compared with its limit. A gate fails if the comparison is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
}

/// The limit of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// This figure, whatever the old one was.
    Absolute(u64),
    /// The old figure plus this many units.
    Plus(i128),
    /// The old figure times (1 + this many millionths).
    Millionths(i128),
}

/// Why an expression is invalid. The author of the expression is at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GateError {
    /// There is no such figure.
    UnknownKey {
        /// As written.
        key: String,
        /// The figure with the nearest name; None if no name is like it.
        nearest: Option<&'static str>,
    },
    /// Reports have a null there: the figure does not exist here.
    NoFigure {
        /// The key.
        key: &'static str,
        /// Why.
        why: &'static str,
    },
    /// A comparison is missing.
    NoComparison {
        /// Where, counted in characters from 0.
        at: usize,
    },
    /// The value is a time and the figure is not; or the value is a size and the figure is a time.
    OtherUnit {
        /// The key.
        key: String,
        /// What the figure counts.
        unit: &'static str,
        /// Where, counted in characters from 0.
        at: usize,
    },
    /// The value is invalid.
    BadValue {
        /// As written.
        value: String,
        /// Where it starts, counted in characters from 0.
        at: usize,
    },
}

impl std::fmt::Display for GateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownKey { key, nearest: Some(nearest) } => {
                write!(f, "there is no figure \"{key}\"; did you mean \"{nearest}\"?")
            }
            Self::UnknownKey { key, nearest: None } => {
                write!(f, "there is no figure \"{key}\"; `underbar explain` lists all")
            }
            Self::NoFigure { key, why } => write!(f, "{key} is null in every report: {why}"),
            Self::NoComparison { at } => {
                write!(f, "at character {}: one of > >= < <= == != is needed here", at + 1)
            }
            Self::OtherUnit { key, unit, at } => {
                write!(
                    f,
                    "at character {}: {key} is in {unit}; a value of another unit cannot be held against it",
                    at + 1
                )
            }
            Self::BadValue { value, at } => write!(
                f,
                "at character {}: \"{value}\" is no value; write 100, 64M, 2s, +5%, -10M or the like",
                at + 1
            ),
        }
    }
}

impl std::error::Error for GateError {}

/// The outcome of a gate for two reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The expression is false: the gate passes.
    Passed,
    /// The expression is true.
    Failed,
    /// A report does not know the figure.
    Unknown,
}

impl Outcome {
    /// The exit code for this outcome: 0; 1 for a failed gate; 2 for a gate that cannot decide.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::Unknown => 2,
        }
    }

    /// The word for reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// The outcome of several gates: unknown if one cannot decide, else failed if one failed.
#[must_use]
pub fn worst(outcomes: impl IntoIterator<Item = Outcome>) -> Outcome {
    outcomes.into_iter().max_by_key(|outcome| outcome.exit_code()).unwrap_or(Outcome::Passed)
}

impl Gate {
    /// Parses an expression.
    ///
    /// # Errors
    /// Says which part is wrong, and where.
    pub fn parse(text: &str) -> Result<Gate, GateError> {
        let at = |rest: &str| text[..text.len() - rest.len()].chars().count();
        let rest = text.trim_start();
        // Names of classes may have a hyphen.
        let is_of_ecbs = rest.starts_with("ecbs.");
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.' || is_of_ecbs && c == '-';
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let known = keys().find(|key| *key == name).map(Cow::Borrowed);
        let of_class = || ecb_sums::parse(name).map(|_| Cow::Owned(name.to_owned()));
        let key = known.or_else(of_class).ok_or_else(|| match absent::find(name) {
            Some(absent) => GateError::NoFigure { key: absent.key, why: absent.why },
            None => GateError::UnknownKey { key: name.to_owned(), nearest: nearest(name, keys()) },
        })?;
        let rest = rest.trim_start();
        let signs = [
            (">=", Comparison::AtLeast),
            ("<=", Comparison::AtMost),
            ("==", Comparison::Equal),
            ("!=", Comparison::Unequal),
            (">", Comparison::Above),
            ("<", Comparison::Below),
        ];
        let (comparison, rest) = signs
            .into_iter()
            .find_map(|(sign, comparison)| Some((comparison, rest.strip_prefix(sign)?)))
            .ok_or_else(|| GateError::NoComparison { at: at(rest) })?;
        let rest = rest.trim_start();
        let value = parse_value(rest.trim_end())
            .ok_or_else(|| GateError::BadValue { value: rest.trim_end().to_owned(), at: at(rest) })?;
        if let Some(unit) = unit_of(&key)
            && is_of_another(rest.trim_end(), unit)
        {
            return Err(GateError::OtherUnit { key: key.into_owned(), unit: unit.name(), at: at(rest) });
        }
        Ok(Gate { text: text.trim().to_owned(), key, comparison, value })
    }

    /// The figure of a report that is tested; None if the report does not know it.
    #[must_use]
    pub fn figure(&self, report: &Report) -> Option<u64> {
        let figure = of_report(report).into_iter().find(|figure: &Figure| figure.key == self.key);
        figure.map_or_else(|| ecb_sums::value(report, &self.key), |figure| figure.value)
    }

    /// Decides.
    #[must_use]
    pub fn decide(&self, old: &Report, new: &Report) -> Outcome {
        let figure = |report| self.figure(report);
        let Some(new) = figure(new).map(i128::from) else { return Outcome::Unknown };
        // new ? limit, both scaled by the same number so that percentages stay integers.
        const MILLION: i128 = 1_000_000;
        let limit = match self.value {
            Value::Absolute(value) => Some(i128::from(value) * MILLION),
            Value::Plus(value) => figure(old).map(|old| (i128::from(old) + value) * MILLION),
            Value::Millionths(value) => {
                // The product of two 64-bit factors may exceed 127 bits: then no figure is above it.
                figure(old).map(|old| i128::from(old).saturating_mul(MILLION + value))
            }
        };
        let Some(limit) = limit else { return Outcome::Unknown };
        let new = new * MILLION;
        let failed = match self.comparison {
            Comparison::Above => new > limit,
            Comparison::AtLeast => new >= limit,
            Comparison::Below => new < limit,
            Comparison::AtMost => new <= limit,
            Comparison::Equal => new == limit,
            Comparison::Unequal => new != limit,
        };
        if failed { Outcome::Failed } else { Outcome::Passed }
    }
}

fn parse_value(text: &str) -> Option<Value> {
    let (sign, number) = match text.as_bytes().first()? {
        b'+' => (Some(1), &text[1..]),
        b'-' => (Some(-1), &text[1..]),
        _ => (None, text),
    };
    if let Some(percent) = number.strip_suffix('%') {
        return Some(Value::Millionths(sign? * i128::from(decimal(percent.trim_end(), 10_000)?)));
    }
    const UNITS: [(&str, u64); 11] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("K", 1 << 10),
        ("M", 1 << 20),
        ("G", 1 << 30),
        ("", 1),
    ];
    let (digits, unit) =
        UNITS.into_iter().find_map(|(suffix, unit)| Some((number.strip_suffix(suffix)?.trim_end(), unit)))?;
    let value = decimal(digits, unit)?;
    Some(match sign {
        None => Value::Absolute(value),
        Some(sign) => Value::Plus(sign * i128::from(value)),
    })
}

/// Does a value have the unit of another kind of figure? Counts may be given in K, M and G.
fn is_of_another(value: &str, unit: Unit) -> bool {
    let is_time = value.ends_with('s');
    let is_size = value.ends_with(['B', 'K', 'M', 'G']);
    if unit == Unit::Nanoseconds { is_size } else { is_time }
}

/// A decimal number times `unit`. None if it is not a number, or not a whole number of the smallest unit.
fn decimal(text: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    if text.contains('.') && fraction.is_empty() {
        return None;
    }
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let part = if fraction.is_empty() { 0 } else { fraction.parse::<u128>().ok()? };
    let scaled = (u128::from(whole.parse::<u64>().ok()?) * scale + part) * u128::from(unit);
    if !scaled.is_multiple_of(scale) {
        return None;
    }
    u64::try_from(scaled / scale).ok()
}

/// The name with the fewest changes of single characters to `wanted`; None if more than half of them would have to change.
#[must_use]
pub fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // No name has a thousand characters; a prefix bounds the work.
    let wanted: Vec<char> = wanted.chars().take(80).flat_map(char::to_lowercase).collect();
    let all = names.map(|name| (distance(&wanted, &name.to_lowercase().chars().collect::<Vec<_>>()), name));
    let (changes, name) = all.min_by_key(|(changes, _)| *changes)?;
    (changes * 2 <= wanted.len()).then_some(name)
}

/// Levenshtein's distance, one row at a time.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use underbar_ledger::Key;

    /// Two reports whose heap peaks are `old` and `new`.
    fn check(old: u64, new: u64, expression: &str) -> Outcome {
        let (mut a, mut b) = (sample::getfree(), sample::getfree());
        a.tree.counters.set(Key::HeapUsedPeak, old);
        b.tree.counters.set(Key::HeapUsedPeak, new);
        Gate::parse(expression).expect(expression).decide(&a, &b)
    }

    #[test]
    fn limits_are_met_exactly() {
        use Outcome::{Failed, Passed};
        for (old, new, expression, outcome) in [
            (1000, 1050, "heap.used_peak > +5%", Passed),
            (1000, 1051, "heap.used_peak > +5%", Failed),
            (1000, 1050, "heap.used_peak >= +5%", Failed),
            (1_000_000, 1_001_250, "heap.used_peak>+0.125%", Passed),
            (1_000_000, 1_001_251, "heap.used_peak>+0.125%", Failed),
            (1000, 949, " heap.used_peak < -5 % ", Failed),
            (1000, 950, "heap.used_peak < -5%", Passed),
            (0, 1, "heap.used_peak > +5%", Failed),
            (7, 100, "heap.used_peak > 100", Passed),
            (7, 101, "heap.used_peak > 100", Failed),
            (7, 3 << 29, "heap.used_peak == 1.5G", Failed),
            (1 << 63, 1 << 63, "heap.used_peak > +1844674407370955%", Passed),
            (0, 64 << 20, "heap.used_peak > 64M", Passed),
            (0, 64 << 20, "heap.used_peak > 64 MiB", Passed),
            (0, (64 << 20) + 1, "heap.used_peak > 65536KiB", Failed),
            (1, (10 << 20) + 1, "heap.used_peak > +10M", Passed),
            (1, (10 << 20) + 2, "heap.used_peak > +10M", Failed),
            (u64::MAX, u64::MAX, "heap.used_peak > +0%", Passed),
            (u64::MAX, u64::MAX, "heap.used_peak != +0", Passed),
        ] {
            assert_eq!(check(old, new, expression), outcome, "{old} {new} {expression}");
        }
    }

    #[test]
    fn a_value_of_another_unit_is_refused() {
        let unit = |text| match Gate::parse(text) {
            Err(GateError::OtherUnit { unit, at, .. }) => Some((unit, at)),
            Err(error) => panic!("{text}: {error}"),
            Ok(_) => None,
        };
        assert_eq!(unit("heap.gets > 5s"), Some(("count", 12)));
        assert_eq!(unit("heap.used_peak > +5ms"), Some(("bytes", 17)));
        assert_eq!(unit("steps.elapsed_ns > 64M"), Some(("nanoseconds", 19)));
        assert_eq!(unit("steps.elapsed_ns > 1 KiB"), Some(("nanoseconds", 19)));
        for right in ["heap.gets > 5M", "tree.processes > 5", "steps.elapsed_ns > +5%", "lock.wait_ns > 5us"]
        {
            assert_eq!(unit(right), None, "{right}");
        }
    }

    #[test]
    fn times_and_steps_can_be_gated() {
        let report = sample::getfree();
        let decide = |text| Gate::parse(text).expect(text).decide(&report, &report);
        assert_eq!(decide("steps.elapsed_ns > 1.45s"), Outcome::Passed);
        assert_eq!(decide("steps.elapsed_ns > 1449ms"), Outcome::Failed);
        let mut unknown = report.clone();
        unknown.steps = None;
        let gate = Gate::parse("steps.read_calls > +5%").expect("a gate");
        assert_eq!(gate.decide(&unknown, &report), Outcome::Unknown);
        assert_eq!(gate.decide(&report, &unknown), Outcome::Unknown);
        assert_eq!(worst([Outcome::Failed, Outcome::Unknown, Outcome::Passed]).exit_code(), 2);
        assert_eq!(worst([Outcome::Failed, Outcome::Passed]).exit_code(), 1);
        assert_eq!(worst([]).exit_code(), 0);
    }

    #[test]
    fn the_tree_can_be_gated_and_what_was_not_measured_decides_nothing() {
        let mut report = sample::tree();
        let decide = |report: &Report, text| Gate::parse(text).expect(text).decide(report, report);
        assert_eq!(decide(&report, "tree.unrecorded > 0"), Outcome::Passed);
        assert_eq!(decide(&report, "tree.processes > 6"), Outcome::Failed);
        assert_eq!(decide(&report, "tree.programs != 3"), Outcome::Passed);
        report.tree.counters = serde_json::from_str(r#"{"stack": {"largest": null}}"#).expect("figures");
        assert_eq!(decide(&report, "stack.largest > 1M"), Outcome::Unknown);
    }

    #[test]
    fn errors_point_at_the_place() {
        let error = |text| Gate::parse(text).expect_err(text).to_string();
        assert_eq!(
            error("heap.usedpeak > 5"),
            "there is no figure \"heap.usedpeak\"; did you mean \"heap.used_peak\"?"
        );
        assert_eq!(error("heap.gets 5"), "at character 11: one of > >= < <= == != is needed here");
        assert_eq!(error("heap.gets"), "at character 10: one of > >= < <= == != is needed here");
        let null = error("libstack.largest > 1M");
        assert!(null.starts_with("libstack.largest is null in every report: The library stack"), "{null}");
        assert!(error("heap.gets > five").starts_with("at character 13: \"five\" is no value"));
        for value in
            ["", "+", "5%", "1.", ".5", "0.3", "1e9", "99999999999999999999", "-", "5 5", "+5%%", "é"]
        {
            assert!(
                matches!(Gate::parse(&format!("heap.gets > {value}")), Err(GateError::BadValue { .. })),
                "{value}"
            );
        }
        assert!(Gate::parse(&"x".repeat(100_000)).is_err());
        assert!(Gate::parse("").is_err());
    }
}
