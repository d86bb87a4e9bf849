//! The clause MULTI-FETCH, and MFSET: the number of records that one call returns.

use underbar_listing::natural::Factor;

use super::super::program_case::ProgramCase;
use super::super::sessions::Set;
use super::{Kind, found, prefetch, session};
use crate::advice::Advice;

/// The factor that experts recommend, and the largest that they use.
const USUAL: u64 = 10;
const LARGEST: u64 = 100;
/// The most findings of one kind.
const MOST: usize = 20;

pub(crate) fn fetch(case: &ProgramCase<'_>) -> Vec<Advice> {
    let session = session(case);
    if !session.has_parameters {
        return Vec::new();
    }
    let sessions = &case.collected.natural;
    let room = prefetch::lengths(case, &session).map(|lengths| prefetch::RECORDS / lengths.record.max(1));
    let mut all = Vec::new();
    for (file, clause) in sessions.clauses.iter().take(MOST) {
        let lines = vec![case.line(*file, &clause.evidence)];
        let (kind, now, reason) = match clause.factor {
            Factor::Of(factor) => {
                let now = format!("MULTI-FETCH OF {factor}");
                let fits = room.is_none_or(|room| factor <= room);
                match factor {
                    0 | 1 => (
                        Kind::NoAdvice,
                        now,
                        format!(
                            "A factor of {factor} reads single records: MULTI-FETCH OF {USUAL} spares nine calls of ten."
                        ),
                    ),
                    _ if !fits => {
                        let room = room.unwrap_or(0);
                        let reason = format!(
                            "{factor} records are not below 32 KB together: {room} are, by the length of the record buffer."
                        );
                        (Kind::NoAdvice, now, reason)
                    }
                    _ if factor > LARGEST => {
                        let reason = "Factors above 100 seldom pay, in batch neither: the calls are few already, and records \
                                      become old.";
                        (Kind::NoAdvice, now, reason.to_owned())
                    }
                    _ => {
                        let reason =
                            format!("One call for each {factor} records; what it spares more is little.");
                        let reason = if factor < USUAL {
                            format!("One call for each {factor} records; {USUAL} spare nine calls of ten.")
                        } else {
                            reason
                        };
                        (Kind::NoChange, now, reason)
                    }
                }
            }
            Factor::Off => {
                let reason = "The statement reads single records: a call, and a switch, for each, unless it reads with hold.";
                (Kind::NoAdvice, "MULTI-FETCH OFF".to_owned(), reason.to_owned())
            }
            Factor::On => {
                let reason = "Natural chooses the factor.";
                (Kind::NoChange, "MULTI-FETCH ON".to_owned(), reason.to_owned())
            }
            Factor::Variable => {
                let reason = "The factor is a variable: its value is not in the listing.";
                (Kind::NoAdvice, "MULTI-FETCH OF a variable".to_owned(), reason.to_owned())
            }
        };
        all.push(found(kind, now, lines, reason));
    }
    if let Set::To(file, _, row) = sessions.parameter(&session, "MFSET")
        && row.value != "ON"
    {
        let lines = vec![case.line(file, &row.evidence)];
        let reason = if row.value == "NEVER" {
            "No statement fetches several records, whatever its clause says."
        } else {
            "Only statements with a clause fetch several records; MFSET=ON would let all do so that do not say otherwise."
        };
        all.push(found(Kind::NoAdvice, format!("MFSET={}", row.value), lines, reason));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, of};
    use super::*;

    #[test]
    fn factors_are_judged() {
        let check = |factor: &str, more: &str, kind: Kind, words: &str| {
            let all = check(&[&format!("READ MULTI-FETCH {factor} STAFF BY NAME\n{more}")], None);
            let advice = of(&all, "natural-multi-fetch");
            assert_eq!(advice.kind, kind, "{factor}: {advice}");
            assert!(advice.reason.contains(words), "{factor}: {advice}");
        };
        check("OF 1", "", Kind::NoAdvice, "single records");
        check("OF 8", "", Kind::NoChange, "10 spare nine");
        check("OF 20", "", Kind::NoChange, "each 20 records");
        check("OF 1500", "", Kind::NoAdvice, "seldom pay");
        check("OF 20", "FBL=50,RBL=4000\n", Kind::NoAdvice, "8 are");
        check("OF 8", "FBL=50,RBL=4000\n", Kind::NoChange, "each 8 records");
        check("OFF", "", Kind::NoAdvice, "single records");
        check("ON", "", Kind::NoChange, "chooses");
        check("OF #N", "", Kind::NoAdvice, "variable");
        check("ON", "MFSET=NEVER\n", Kind::NoChange, "chooses");
    }
}
