//! PREFSBL and PREFTBL by the formula of the record buffer.
//!
//! PREFSBL = 300 + FBL + 2 (16 + RBL) + 2 (16 + RBL) records, where FBL and RBL are the lengths of the format buffer and of
//! the record buffer. No known listing prints them; the user can add a line `FBL=50,RBL=100`.

use underbar_model::Figure;

use super::super::program_case::ProgramCase;
use super::super::sessions::{Sessions, Set};
use super::{Kind, Session, found, session, setting, unreadable};
use crate::advice::{Advice, Line};
use crate::fetches::USUAL;

/// The most bytes of records that one call may return.
const RECORDS: u64 = 32_767;
const DEFAULT_SINGLE: u64 = 3000;
const DEFAULT_TOTAL: u64 = 30_000;
const MOST_SINGLE: u64 = 65_535;

/// Lengths of the buffers of a read, in bytes.
struct Lengths {
    format: u64,
    record: u64,
    lines: Vec<Line>,
}

/// The lengths, if both are in the listings and no two values differ.
fn lengths(case: &ProgramCase<'_>, session: &Session) -> Option<Lengths> {
    let one = |name: &str| match case.collected.natural.parameter(session, name) {
        Set::To(file, _, row) => Some((row.number()?, case.line(file, &row.evidence))),
        _ => None,
    };
    let ((format, first), (record, second)) = (one("FBL")?, one("RBL")?);
    Some(Lengths { format, record, lines: vec![first, second] })
}

/// The number of records that one call may return, by the length of the record buffer.
pub(super) fn room(case: &ProgramCase<'_>, session: &Session) -> Figure {
    let Some(lengths) = lengths(case, session) else {
        return Figure::absent("the listing does not show the length of the record buffer");
    };
    let [.., line] = &lengths.lines[..] else { return Figure::absent("no line shows it") };
    Figure::line(line.clone(), RECORDS / lengths.record.max(1), false)
}

/// The number of records that a buffer holds.
fn records(single: u64, lengths: &Lengths) -> u64 {
    let each = 2 * (16 + lengths.record);
    single.saturating_sub(300 + lengths.format + each) / each
}

/// The size of a buffer for this many records.
fn single(records: u64, lengths: &Lengths) -> u64 {
    300 + lengths.format + 2 * (16 + lengths.record) * (1 + records)
}

/// A number, or its default if it is in no text.
fn number(sessions: &Sessions, session: &Session, name: &str, default: u64) -> Option<u64> {
    match sessions.adarun(session, name) {
        Set::To(_, _, row) => row.number(),
        Set::Absent => Some(default),
        Set::Differently(_) | Set::Unreadable(..) => None,
    }
}

pub(crate) fn prefetch(case: &ProgramCase<'_>) -> Vec<Advice> {
    let session = session(case);
    let sessions = &case.collected.natural;
    for name in ["PREFETCH", "PREFSBL", "PREFTBL", "PREFNREC"] {
        if let Set::Unreadable(file, row) = sessions.adarun(&session, name) {
            return vec![unreadable(case, file, row)];
        }
    }
    for name in ["FBL", "RBL"] {
        if let (Set::Unreadable(file, row), Set::To(..)) =
            (sessions.parameter(&session, name), sessions.adarun(&session, "PREFETCH"))
        {
            return vec![unreadable(case, file, row)];
        }
    }
    let Set::To(file, _, row) = sessions.adarun(&session, "PREFETCH") else { return Vec::new() };
    let mut evidence = vec![case.line(file, &row.evidence)];
    if row.value == "NO" {
        let reason = "Adabas does not fetch ahead by itself; statements with MULTI-FETCH do.";
        return vec![found(Kind::NoAdvice, "PREFETCH=NO", evidence, reason)];
    }
    let (Some(now), Some(total)) = (
        number(sessions, &session, "PREFSBL", DEFAULT_SINGLE),
        number(sessions, &session, "PREFTBL", DEFAULT_TOTAL),
    ) else {
        let reason =
            "PREFSBL or PREFTBL is set to different values; which of them holds cannot be seen here.";
        return vec![found(Kind::NoAdvice, "PREFSBL, differently", evidence, reason)];
    };
    for name in ["PREFSBL", "PREFTBL"] {
        if let Set::To(file, _, row) = sessions.adarun(&session, name) {
            evidence.push(case.line(file, &row.evidence));
        }
    }
    // A default is not a value from the listing.
    let shown = |name: &str, value: u64| match sessions.adarun(&session, name) {
        Set::To(..) => format!("{name}={value}"),
        _ => format!("{name} not in the listing (default {value})"),
    };
    let words = format!("{}, {}", shown("PREFSBL", now), shown("PREFTBL", total));
    if total < now {
        let reason = "PREFTBL is smaller than PREFSBL: it must hold one for each sequential read at a time.";
        let mut raise = found(Kind::Raise, words, evidence, reason);
        raise.option = setting("PREFTBL=", vec![now.to_string()]);
        raise.effect = "one sequential read at a time has its buffer.".to_owned();
        return vec![raise];
    }
    let Some(lengths) = lengths(case, &session) else {
        let example = Lengths { format: 50, record: 100, lines: Vec::new() };
        let reason = format!(
            "How many records fit depends on the lengths of format and record buffer, which the listing does not show (a line \
             FBL=n,RBL=n would); with 50 and 100 bytes it would be {}.",
            records(now, &example)
        );
        return vec![found(Kind::NoAdvice, words, evidence, reason)];
    };
    evidence.extend(lengths.lines.iter().cloned());
    let holds = records(now, &lengths);
    // The recommended number, limited by the bytes of a call and by the largest buffer.
    let most = (RECORDS / lengths.record).min(records(MOST_SINGLE, &lengths));
    let then = USUAL.min(most);
    let fits = format!("The buffer holds {holds} records of {} bytes", lengths.record);
    if let Set::To(file, _, row) = sessions.adarun(&session, "PREFNREC")
        && row.number().is_some_and(|limit| (1..holds.min(USUAL)).contains(&limit))
    {
        evidence.push(case.line(file, &row.evidence));
        let reason = format!("{fits}, but PREFNREC={} allows fewer; 0 lets the buffers decide.", row.value);
        return vec![found(Kind::NoAdvice, words, evidence, reason)];
    }
    if holds >= then || then == 0 {
        let reason = if holds >= USUAL {
            format!("{fits}: nine calls of ten and more are spared.")
        } else {
            format!("{fits}; no buffer may hold more.")
        };
        return vec![found(Kind::NoChange, words, evidence, reason)];
    }
    let need = single(then, &lengths).clamp(1024, MOST_SINGLE);
    let mut raise = found(Kind::Raise, words, evidence, format!("{fits}."));
    raise.option = setting("PREFSBL=", vec![need.to_string()]);
    raise.effect = format!("one call for each {then} records instead of each {}.", holds.max(1));
    let mut all = vec![raise];
    if total < need {
        let mut more = found(
            Kind::Raise,
            shown("PREFTBL", total),
            Vec::new(),
            "PREFTBL must not be smaller than PREFSBL.",
        );
        more.evidence.clone_from(&all[0].evidence);
        more.option = setting("PREFTBL=", vec![need.to_string()]);
        more.effect = "one sequential read at a time has its buffer.".to_owned();
        all.push(more);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, of};
    use super::*;

    #[test]
    fn the_formula_and_its_inverse_agree() {
        let lengths = Lengths { format: 50, record: 100, lines: Vec::new() };
        for (single, holds) in [(3000, 10), (15_000, 62), (65_535, 279), (300, 0)] {
            assert_eq!(records(single, &lengths), holds);
        }
        for count in 0..300 {
            assert_eq!(records(single(count, &lengths), &lengths), count);
        }
    }

    #[test]
    fn buffers_hold_ten_records() {
        let text =
            |single: &str, lengths: &str| format!("ADARUN PROG=USER,PREFETCH=YES{single}\n{lengths}\n");
        let all = check(&[&text("", "FBL=50,RBL=100")], None);
        assert_eq!(of(&all, "natural-prefetch").kind, Kind::NoChange);
        let all = check(&[&text("", "FBL=60,RBL=400")], Some("ADARUN PREFSBL=9512"));
        assert_eq!(of(&all, "natural-prefetch").effect, "one call for each 10 records instead of each 2.");
        check(&[&text(",PREFSBL=9512", "FBL=60,RBL=400")], None);
        check(&[&text("", "FBL=60,RBL=2400")], Some("ADARUN PREFSBL=53512,PREFTBL=53512"));
        let all = check(&[&text(",PREFSBL=40000", "FBL=60,RBL=400")], Some("ADARUN PREFTBL=40000"));
        assert_eq!(
            of(&all, "natural-prefetch").now,
            "PREFSBL=40000, PREFTBL not in the listing (default 30000)"
        );
        // Ten records of this length are more than a call may return.
        check(&[&text("", "FBL=60,RBL=4000")], Some("ADARUN PREFSBL=64616,PREFTBL=64616"));
        let all = check(&[&text(",PREFNREC=4", "FBL=50,RBL=100")], None);
        assert!(of(&all, "natural-prefetch").reason.contains("PREFNREC=4 allows fewer"));
        let all = check(&[&text("", "")], None);
        assert!(of(&all, "natural-prefetch").reason.ends_with("it would be 10."));
        for (value, lengths) in
            [(",PREFSBL=88888", "FBL=60,RBL=90"), (",PREFSBL=4OOO", "FBL=60,RBL=90"), ("", "FBL=60,RBL=9O")]
        {
            let all = check(&[&text(value, lengths)], None);
            let advice = of(&all, "natural-prefetch");
            assert_eq!(advice.kind, Kind::NoAdvice, "{advice}");
            assert!(advice.now.ends_with("cannot be read"), "{advice}");
        }
        let all = check(&["ADARUN PROG=USER,PREFETCH=NO\n"], None);
        assert_eq!(of(&all, "natural-prefetch").kind, Kind::NoAdvice);
    }
}
