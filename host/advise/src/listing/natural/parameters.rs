//! MT, SORT, MAINPR, WPSIZE: the values in the parameter text, compared with those that avoid switches.

use underbar_listing::natural::Parameter;

use super::super::program_case::ProgramCase;
use super::super::sessions::Set;
use super::{Kind, Session, found, session, setting, unreadable};
use crate::advice::{Advice, Line};

/// WRKSIZE of the tuning page, in KB.
const WORK: u64 = 1000;

/// A parameter that is set, or the findings if it is not set to a single value.
fn known<'a>(
    case: &'a ProgramCase<'_>,
    session: &Session,
    name: &str,
    absent: &str,
) -> Result<(&'a Parameter, Vec<Line>), Vec<Advice>> {
    match case.collected.natural.parameter(session, name) {
        Set::To(file, _, row) => Ok((row, vec![case.line(file, &row.evidence)])),
        Set::Differently(rows) => {
            let lines = rows.iter().take(2).map(|(file, row)| case.line(*file, &row.evidence)).collect();
            let reason =
                format!("{name} is set to different values; which of them holds cannot be seen here.");
            Err(vec![found(Kind::NoAdvice, format!("{name}, differently"), lines, reason)])
        }
        Set::Unreadable(file, row) => Err(vec![unreadable(case, file, row)]),
        Set::Absent => {
            let Some((file, text)) = case.collected.natural.any_text(session).filter(|_| !absent.is_empty())
            else {
                return Err(Vec::new());
            };
            let lines = vec![case.line(*file, &text.evidence)];
            Err(vec![found(Kind::NoAdvice, format!("{name} is not in the listing"), lines, absent)])
        }
    }
}

/// The finding if zIIP support is off: there are no switches to avoid.
fn off(case: &ProgramCase<'_>, session: &Session, now: String, lines: Vec<Line>) -> Option<Vec<Advice>> {
    let reason = "zIIP support is off (ZIIP=OFF): there are no switches to spare.";
    case.collected.natural.is_off(session).then(|| vec![found(Kind::NoAdvice, now, lines, reason)])
}

pub(crate) fn time_limit(case: &ProgramCase<'_>) -> Vec<Advice> {
    let session = session(case);
    let absent =
        "MT is in no text here; its default is 60. MT=0 for sessions that execute many FETCH statements.";
    let (row, lines) = match known(case, &session, "MT", absent) {
        Ok(known) => known,
        Err(said) => return said,
    };
    let now = format!("MT={}", row.value);
    if row.number() == Some(0) {
        return vec![found(Kind::NoChange, now, lines, "No time limit, so no timer at each FETCH.")];
    }
    if let Some(said) = off(case, &session, now.clone(), lines.clone()) {
        return said;
    }
    let reason = "With a time limit each program that is started at level 1, by FETCH too, is a timer request and a switch.";
    let mut change = found(Kind::Change, now, lines, reason);
    change.option = setting("MT=", vec!["0".to_owned()]);
    change.effect =
        "no timer request, and so no switch, at each FETCH; nothing where a session executes few.".to_owned();
    vec![change]
}

pub(crate) fn sort(case: &ProgramCase<'_>) -> Vec<Advice> {
    let session = session(case);
    let (row, lines) = match known(case, &session, "SORT", "") {
        Ok(known) => known,
        Err(said) => return said,
    };
    let now = format!("SORT={}", row.value);
    if let Some(said) = off(case, &session, now.clone(), lines.clone()) {
        return said;
    }
    let external = row.keyword("EXT") == Some("ON");
    // Its default is 10.
    let work: u64 = row.keyword("WRKSIZE").and_then(|size| size.parse().ok()).unwrap_or(10);
    if !external && work >= WORK {
        let reason = "The internal sort is in use, with a work area of 1000K or more.";
        return vec![found(Kind::NoChange, now, lines, reason)];
    }
    let others =
        row.parts().into_iter().filter(|part| !part.starts_with("WRKSIZE=") && !part.starts_with("EXT"));
    let mut values = vec![format!("WRKSIZE={}", work.max(WORK)), "EXT=OFF".to_owned()];
    values.extend(others.map(str::to_owned));
    let (kind, reason) = if external {
        (
            Kind::Change,
            "An external sort is not processed on the zIIP: about four switches for each record.".to_owned(),
        )
    } else {
        (Kind::Raise, format!("The internal sort is in use, with a work area of {work}K only."))
    };
    let mut change = found(kind, now, lines, reason);
    change.option = setting("SORT=", values);
    change.effect = if external {
        "1,145 records took 1,148 switches instead of 3,435, and 70 ms instead of 155, in the tuning page's program.".to_owned()
    } else {
        "larger sorts stay in storage.".to_owned()
    };
    vec![change]
}

pub(crate) fn main_printer(case: &ProgramCase<'_>) -> Vec<Advice> {
    let session = session(case);
    if case.collected.natural.is_off(&session) {
        return Vec::new();
    }
    let absent = "MAINPR is in no text here; its default is 0. Output of WRITE, DISPLAY and PRINT to CMPRINT is not cached: \
                  MAINPR=n sends it to printer n, which has a cache.";
    let (row, lines) = match known(case, &session, "MAINPR", absent) {
        Ok(known) => known,
        Err(said) => return said,
    };
    let now = format!("MAINPR={}", row.value);
    if row.number() == Some(0) {
        let reason = "Output of programs goes to CMPRINT, which is not cached: MAINPR=n, with printer n defined, caches it.";
        return vec![found(Kind::NoAdvice, now, lines, reason)];
    }
    vec![found(Kind::NoChange, now, lines, "Output of programs goes to a printer, which has a cache.")]
}

pub(crate) fn work_pools(case: &ProgramCase<'_>) -> Vec<Advice> {
    let session = session(case);
    let Ok((row, lines)) = known(case, &session, "WPSIZE", "") else { return Vec::new() };
    if case.collected.natural.is_off(&session) || row.parts().iter().any(|part| !matches!(*part, "0" | "")) {
        return Vec::new();
    }
    let reason = "WPSIZE without work pools saves storage, but makes a GETMAIN, and so a switch, of each physical buffer: on the \
                  zIIP leave it at its default.";
    vec![found(Kind::NoAdvice, format!("WPSIZE={}", row.value), lines, reason)]
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, of};
    use super::*;

    #[test]
    fn a_time_limit_is_dropped_where_it_is_set() {
        let all = check(&["THSIZE=3000,MT=60\n"], Some("MT=0"));
        assert_eq!(of(&all, "natural-time-limit").kind, Kind::Change);
        assert!(of(&all, "natural-time-limit").certainty.starts_with("low"));
        assert_eq!(of(&check(&["THSIZE=3000,MT=0\n"], None), "natural-time-limit").kind, Kind::NoChange);
        let all = check(&["THSIZE=3000\n"], None);
        assert!(of(&all, "natural-time-limit").reason.contains("in no text"));
        let all = check(&["FBL=60,RBL=90\n"], None);
        assert!(all.iter().all(|advice| advice.rule != "natural-time-limit"), "{all:#?}");
        let all = check(&["MT=60,ZIIP=OFF\n"], None);
        assert!(of(&all, "natural-time-limit").reason.contains("off"));
        // Dynamic parameters override the module; two dynamic ones that differ give no value.
        check(&["  NTPRM MT=60,THSIZE=3000\n", "MT=0\n"], None);
        let all = check(&["MT=60\n", "MT=30\n"], None);
        assert_eq!(of(&all, "natural-time-limit").kind, Kind::NoAdvice);
    }

    #[test]
    fn sorts_are_internal_and_have_room() {
        check(&["SORT=(WRKSIZE=40,EXT=ON,EXTNAME=SYNCSORT)\n"], Some("SORT=(WRKSIZE=1000,EXT=OFF)"));
        let all = check(
            &["SORT=(EXT=ON,WRKSIZE=4000,STORAGE=BP)\n"],
            Some("SORT=(WRKSIZE=4000,EXT=OFF,STORAGE=BP)"),
        );
        assert_eq!(of(&all, "natural-sort").kind, Kind::Change);
        let all = check(&["SORT=(EXT=OFF)\n"], Some("SORT=(WRKSIZE=1000,EXT=OFF)"));
        assert_eq!(of(&all, "natural-sort").kind, Kind::Raise);
        let all = check(&["  NTSORT WRKSIZE=1000\n"], None);
        assert_eq!(of(&all, "natural-sort").kind, Kind::NoChange);
    }

    #[test]
    fn main_printer_and_work_pools_are_named_and_not_set() {
        let all = check(&["MAINPR=0,WPSIZE=(0,0),MT=0\n"], None);
        assert_eq!(of(&all, "natural-main-printer").kind, Kind::NoAdvice);
        assert!(of(&all, "natural-work-pools").reason.contains("GETMAIN"));
        let all = check(&["MAINPR=3,WPSIZE=(32,128),MT=0\n"], None);
        assert_eq!(of(&all, "natural-main-printer").kind, Kind::NoChange);
        assert!(all.iter().all(|advice| advice.rule != "natural-work-pools"));
    }
}
