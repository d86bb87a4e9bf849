//! The clause MULTI-FETCH, and MFSET: the number of records that one call returns.

use underbar_listing::natural::Factor;
use underbar_model::{Fetches, Figure};

use super::super::program_case::ProgramCase;
use super::super::sessions::Set;
use super::{Kind, found, prefetch, session};
use crate::advice::Advice;
use crate::fetches::{self, Judged, USUAL};

/// The most findings of one kind.
const MOST: usize = 20;

pub(crate) fn fetch(case: &ProgramCase<'_>) -> Vec<Advice> {
    let session = session(case);
    if !session.has_parameters {
        return Vec::new();
    }
    let sessions = &case.collected.natural;
    let room = prefetch::room(case, &session);
    let mut all = Vec::new();
    for (file, clause) in sessions.clauses.iter().take(MOST) {
        let lines = vec![case.line(*file, &clause.evidence)];
        let (kind, now, reason) = match clause.factor {
            Factor::Of(factor) => {
                let now = format!("MULTI-FETCH OF {factor}");
                let of = Fetches {
                    factor: Figure::line(case.line(*file, &clause.evidence), factor, false),
                    room: room.clone(),
                    ..Fetches::absent("a clause does not show it")
                };
                let Some(judged) = fetches::judge(&of) else { continue };
                let (kind, reason) = match judged {
                    Judged::Single => (
                        Kind::NoAdvice,
                        format!(
                            "A factor of {factor} reads single records: MULTI-FETCH OF {USUAL} spares nine calls of ten."
                        ),
                    ),
                    Judged::TooLarge(room) => {
                        let reason = format!(
                            "{factor} records are not below 32 KB together: {room} are, by the length of the record buffer."
                        );
                        (Kind::NoAdvice, reason)
                    }
                    Judged::Seldom => {
                        let reason = "Factors above 100 seldom pay, in batch neither: the calls are few already, and records \
                                      become old.";
                        (Kind::NoAdvice, reason.to_owned())
                    }
                    Judged::Few => {
                        let reason =
                            format!("One call for each {factor} records; {USUAL} spare nine calls of ten.");
                        (Kind::NoChange, reason)
                    }
                    Judged::Fits => {
                        let reason =
                            format!("One call for each {factor} records; what it spares more is little.");
                        (Kind::NoChange, reason)
                    }
                };
                (kind, now, reason)
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
