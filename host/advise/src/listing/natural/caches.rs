//! PWCSIZE, from the caches of print and work files in reports.

use underbar_listing::natural::{BufferRow, Cache};
use underbar_model as model;

use super::super::program_case::ProgramCase;
use super::super::sessions::Set;
use super::{Kind, Session, found, session, setting, storage, unreadable};
use crate::advice::{Advice, Line};
use crate::caches::{Judged, USUAL, judge};
use crate::sizes::written;

/// In the order of PWCSIZE, with the usual sizes in KB.
const CACHES: [(Cache, u64, &str); 3] = [
    (Cache::Print, USUAL[0] >> 10, "print"),
    (Cache::Read, USUAL[1] >> 10, "read"),
    (Cache::Write, USUAL[2] >> 10, "write"),
];

pub(crate) fn sound(case: &ProgramCase<'_>) -> Vec<Advice> {
    let session = session(case);
    let bad = case.collected.natural.runs(&session).filter_map(|(file, report)| {
        let doubt = report.doubts.iter().find(|doubt| doubt.kind.spoils_the_report())?;
        let evidence = underbar_listing::Evidence { line: doubt.line, text: doubt.words.clone() };
        let lines = vec![case.line(*file, &evidence)];
        Some(found(Kind::NoAdvice, "not used", lines, format!("{}.", doubt.words)))
    });
    bad.take(20).collect()
}

/// The present and the advised size of one cache.
struct One {
    now: Option<u64>,
    then: u64,
    /// Why it changes.
    reason: Option<String>,
    raise: bool,
    evidence: Vec<Line>,
}

pub(crate) fn caches(case: &ProgramCase<'_>) -> Vec<Advice> {
    let session = session(case);
    let sessions = &case.collected.natural;
    if sessions.is_off(&session) {
        return Vec::new();
    }
    let set = match sessions.parameter(&session, "ZIIP") {
        Set::To(file, _, row) => Some((file, row)),
        Set::Absent => None,
        Set::Unreadable(file, row) => return vec![unreadable(case, file, row)],
        Set::Differently(rows) => {
            let lines = rows.iter().take(2).map(|(file, row)| case.line(*file, &row.evidence)).collect();
            let reason = "ZIIP is set to different values; which of them holds cannot be seen here.";
            return vec![found(Kind::NoAdvice, "ZIIP, differently", lines, reason)];
        }
    };
    let given = set.and_then(|(_, row)| sizes(row.keyword("PWCSIZE")?));
    let all: Vec<One> = (0..3).map(|at| one(case, &session, at, given.map(|given| given[at]))).collect();
    let seen = all.iter().any(|one| one.now.is_some());
    let mut evidence: Vec<Line> = all.iter().flat_map(|one| one.evidence.iter().cloned()).collect();
    evidence.extend(set.map(|(file, row)| case.line(file, &row.evidence)));
    if !seen {
        return unseen(case, &session, given, evidence);
    }
    let complete = sessions.sound(&session).all(|(_, report)| report.is_complete());
    let shown = |one: &One| one.now.map_or("?".to_owned(), |bytes| (bytes >> 10).to_string());
    let now = format!("PWCSIZE=({},{},{})", shown(&all[0]), shown(&all[1]), shown(&all[2]));
    let mut reasons: Vec<String> = all.iter().filter_map(|one| one.reason.clone()).collect();
    let differs = given.is_some_and(|given| {
        all.iter().zip(given).any(|(one, kb)| one.now.is_some_and(|now| now >> 10 != kb))
    });
    if differs {
        reasons.push("The caches of the report are not those of the parameter in this listing.".to_owned());
    }
    let unknown = all.iter().zip(CACHES).find(|(one, _)| one.now.is_none() && given.is_none());
    let hidden = unknown.filter(|_| !complete);
    if all.iter().all(|one| one.reason.is_none()) && hidden.is_some() {
        reasons.insert(0, "The caches that can be read need no change; others cannot be read.".to_owned());
        return vec![found(Kind::NoAdvice, now, evidence, reasons.join(" "))];
    }
    if all.iter().all(|one| one.reason.is_none()) {
        reasons.insert(
            0,
            "The caches that were used are of several 100 KB, or hold all: a larger one only divides what is left.".to_owned(),
        );
        return vec![found(Kind::NoChange, now, evidence, reasons.join(" "))];
    }
    if let Some((_, (_, _, name))) = unknown {
        let why = if complete { "is not in the report, since none was used" } else { "cannot be read" };
        let part = |one: &One| one.now.map_or("?".to_owned(), |_| (one.then >> 10).to_string());
        reasons.push(format!(
            "But PWCSIZE sets all three, and the size of the cache for {name} {why}: PWCSIZE=({},{},{}), with what ZIIP has now for ?.",
            part(&all[0]),
            part(&all[1]),
            part(&all[2])
        ));
        return vec![found(Kind::NoAdvice, now, evidence, reasons.join(" "))];
    }
    let raise = all.iter().any(|one| one.raise);
    let kind = if raise { Kind::Raise } else { Kind::Lower };
    let mut change = found(kind, now, evidence, reasons.join(" "));
    let then = [all[0].then >> 10, all[1].then >> 10, all[2].then >> 10];
    change.option = ziip(set.map(|(_, row)| row.parts()), then);
    let effects =
        all.iter().zip(CACHES).filter(|(one, _)| one.reason.is_some()).map(|(one, (_, _, name))| {
            let now = one.now.unwrap_or(0);
            if one.raise {
                format!(
                    "one switch for each {} of {name} instead of each {}",
                    written(one.then),
                    written(now)
                )
            } else {
                format!("{} less for {name}", written(now.saturating_sub(one.then)))
            }
        });
    change.effect = format!("{}.", effects.collect::<Vec<_>>().join("; "));
    if let (true, Some(print)) = (all[0].raise, all[0].now) {
        change.effect += &format!(
            " Of lines of 132 characters about {} instead of {} go with one switch.",
            all[0].then / 132,
            print / 132
        );
    }
    vec![change]
}

/// The three advised sizes in KB, if there is advice.
pub(super) fn advised(case: &ProgramCase<'_>) -> Option<[u64; 3]> {
    let option = caches(case).into_iter().find_map(|found| found.option)?;
    option.sub_options.iter().flatten().find_map(|part| sizes(part.strip_prefix("PWCSIZE=")?))
}

/// The bytes that these sizes add to the buffers of a report: each work file that is read has its own cache.
pub(super) fn growth(rows: &[BufferRow], then: [u64; 3]) -> u64 {
    let size = |row: &BufferRow| {
        let at = CACHES.iter().position(|(cache, _, _)| row.cache() == Some(*cache))?;
        Some((then[at] << 10).saturating_sub(row.size))
    };
    if rows.iter().all(|row| row.cache().is_none()) {
        return then.iter().fold(0, |sum, kb| sum.saturating_add(kb << 10));
    }
    rows.iter().filter_map(size).fold(0, u64::saturating_add)
}

/// No report shows a cache.
fn unseen(
    case: &ProgramCase<'_>,
    session: &Session,
    given: Option<[u64; 3]>,
    evidence: Vec<Line>,
) -> Vec<Advice> {
    let sessions = &case.collected.natural;
    let reports = sessions.sound(session).count();
    let complete = sessions.sound(session).all(|(_, report)| report.is_complete());
    let ziip_set = match sessions.parameter(session, "ZIIP") {
        Set::To(_, _, row) => Some(row.parts()),
        _ => None,
    };
    let without = "BUS at the end of a session shows which caches were used, and how full they were.";
    if !complete {
        let reason = "Whether the session used caches, and how large they are, cannot be read: the report is damaged or cut.";
        return vec![found(Kind::NoAdvice, "PWCSIZE unknown", evidence, reason)];
    }
    match (given, ziip_set) {
        (Some(given), parts) if given.contains(&0) && reports == 0 => {
            let now = format!("PWCSIZE=({},{},{})", given[0], given[1], given[2]);
            let then: Vec<u64> = given
                .iter()
                .zip(CACHES)
                .map(|(kb, (_, usual, _))| if *kb == 0 { usual } else { *kb })
                .collect();
            let mut raise = found(
                Kind::Raise,
                now,
                evidence,
                format!("A cache of 0 is none: each line or record is a switch. {without}"),
            );
            raise.option = ziip(parts, [then[0], then[1], then[2]]);
            raise.effect = "one switch for each cache full instead of each line or record.".to_owned();
            vec![raise]
        }
        (Some(given), _) => {
            let now = format!("PWCSIZE=({},{},{})", given[0], given[1], given[2]);
            let words = if reports > 0 {
                "No cache was used in these sessions: none of them printed, read or wrote work files."
                    .to_owned()
            } else {
                without.to_owned()
            };
            vec![found(Kind::NoAdvice, now, evidence, words)]
        }
        (None, Some(parts)) => {
            let reason = "ZIIP is set without caches (PWCSIZE): each line printed and each record of a work file is a switch.";
            let mut change = found(Kind::Change, "no PWCSIZE", evidence, reason);
            change.option = ziip(Some(parts), USUAL.map(|size| size >> 10));
            change.effect =
                "10,000 lines took 10 switches instead of 10,003 in the tuning page's program.".to_owned();
            vec![change]
        }
        (None, None) if reports > 0 => {
            let lines = sessions
                .sound(session)
                .filter_map(|(file, report)| Some(case.line(*file, &report.rows.first()?.evidence)))
                .take(1)
                .collect();
            let reason = "The reports show no cache, and ZIIP is in no text: if sessions print or use work files, set \
                          ZIIP=(PWCSIZE=(300,200,300)); caches are allocated only when used.";
            vec![found(Kind::NoAdvice, "PWCSIZE unknown", lines, reason)]
        }
        (None, None) => Vec::new(),
    }
}

fn one(case: &ProgramCase<'_>, session: &Session, at: usize, given: Option<u64>) -> One {
    let (cache, usual, name) = CACHES[at];
    let usual = usual << 10;
    let Some((over_all, fullest)) = storage::cache(case, session, cache) else {
        let then = given.map_or(usual, |kb| kb << 10);
        return One { now: None, then, reason: None, raise: false, evidence: Vec::new() };
    };
    let size = over_all.size.value;
    let evidence = fullest.used.evidence.line().cloned().into_iter().collect();
    let keep = One { now: Some(size), then: size, reason: None, raise: false, evidence };
    let mut reports = case.collected.natural.sound(session);
    let is_whole = reports.all(|(_, report)| report.is_complete());
    let used = |of: &model::Cache| of.used.value;
    match judge((&over_all, &fullest), usual, is_whole) {
        Judged::Full => {
            let (full, used) = (written(fullest.size.value), used(&fullest));
            let reason = format!("The cache for {name}, {full}, was full ({used} bytes).");
            One { then: usual, reason: Some(reason), raise: true, ..keep }
        }
        Judged::Large(enough) => {
            let most = used(&over_all);
            let reason =
                format!("Of the cache for {name}, {}, at most {most} bytes were used.", written(size));
            One { then: enough, reason: Some(reason), ..keep }
        }
        Judged::Enough => keep,
    }
}

/// The three sizes in KB; None unless all are there.
fn sizes(text: &str) -> Option<[u64; 3]> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let all: Option<Vec<u64>> = inner.split(',').map(|kb| kb.parse().ok()).collect();
    all?.try_into().ok()
}

/// ZIIP with these caches, and with its other keywords.
fn ziip(parts: Option<Vec<&str>>, kb: [u64; 3]) -> Option<super::Setting> {
    let others = parts
        .unwrap_or_default()
        .into_iter()
        .filter(|part| !part.starts_with("PWCSIZE=") && !part.is_empty());
    let mut values: Vec<String> = others.map(str::to_owned).collect();
    values.push(format!("PWCSIZE=({},{},{})", kb[0], kb[1], kb[2]));
    setting("ZIIP=", values)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, of, report};
    use super::*;

    const K: u64 = 1 << 10;

    #[test]
    fn full_and_small_caches_are_raised() {
        let text = report(
            "ANNA",
            &[("PCACHE", 64 * K, 65_530), ("WCACHE01", 64 * K, 65_500)],
            Some((4000, 3_600_000)),
        );
        // If one cache is in no report and no text, none is set: the parameter always has all three.
        let all = check(&[&text], None);
        let advice = of(&all, "natural-cache-size");
        assert_eq!((advice.kind, advice.now.as_str()), (Kind::NoAdvice, "PWCSIZE=(64,64,?)"));
        assert!(
            advice.reason.contains("write is not in the report")
                && advice.reason.contains("PWCSIZE=(300,200,?)"),
            "{}",
            advice.reason
        );
        let all =
            check(&[&text, "ZIIP=(ON,PWCSIZE=(64,64,300)),MT=0\n"], Some("ZIIP=(ON,PWCSIZE=(300,200,300))"));
        let advice = of(&all, "natural-cache-size");
        assert_eq!(advice.kind, Kind::Raise);
        assert!(
            advice.effect.contains("one switch for each 300K of print instead of each 64K"),
            "{}",
            advice.effect
        );
        assert!(advice.effect.contains("about 2327 instead of 496"), "{}", advice.effect);
        // The other keywords are unchanged.
        let all = check(
            &[&text, "ZIIP=(ON,STAT=ON,PWCSIZE=(64,64,500)),MT=0\n"],
            Some("ZIIP=(ON,STAT=ON,PWCSIZE=(300,200,500))"),
        );
        assert_eq!(of(&all, "natural-cache-size").evidence.len(), 3);
    }

    #[test]
    fn large_caches_stay_however_full() {
        let text = report(
            "ANNA",
            &[("PCACHE", 500 * K, 511_900), ("WCACHEO", 300 * K, 307_100)],
            Some((4000, 3_600_000)),
        );
        let all = check(&[&text], None);
        assert_eq!(of(&all, "natural-cache-size").kind, Kind::NoChange);
    }

    #[test]
    fn caches_that_were_never_filled_go_down() {
        let text = report("ANNA", &[("PCACHE", 900 * K, 90 * K)], Some((4000, 3_600_000)));
        let others = "ZIIP=(ON,PWCSIZE=(900,200,300)),MT=0\n";
        let all = check(&[&text, others], Some("ZIIP=(ON,PWCSIZE=(104,200,300))"));
        assert_eq!(of(&all, "natural-cache-size").kind, Kind::Lower);
        // Another session filled it.
        let other = report("ANNA", &[("PCACHE", 900 * K, 900 * K)], Some((4000, 3_600_000)));
        let all = check(&[&text, &other], None);
        assert!(of(&all, "natural-cache-size").certainty.starts_with("medium: 2 sessions"));
    }

    #[test]
    fn ziip_without_caches_gets_some_and_ziip_that_is_off_none() {
        check(&["ZIIP=ON,MT=0\n"], Some("ZIIP=(ON,PWCSIZE=(300,200,300))"));
        check(&["ZIIP=(AUTO,PWCSIZE=(0,200,0)),MT=0\n"], Some("ZIIP=(AUTO,PWCSIZE=(300,200,300))"));
        let all = check(&["ZIIP=OFF,MT=0\n"], None);
        assert!(of(&all, "natural-components").reason.contains("off"));
        let all = check(&["ZIIP=(ON,PWCSIZE=(64,64,64)),MT=0\n"], None);
        assert!(of(&all, "natural-cache-size").reason.starts_with("BUS at the end"));
        let all = check(&["ZIIP=(ON,PWCSIZE=(64,64,64)),MT=0\n", "ZIIP=OFF\n"], None);
        assert!(of(&all, "natural-cache-size").reason.contains("different values"));
    }

    #[test]
    fn sizes_that_cannot_be_read_are_no_advice() {
        for sizes in ["(700,700)", "(1,2,3,4)", "(,300,)", "700"] {
            let all = check(&[&format!("ZIIP=(ON,PWCSIZE={sizes}),MT=0\n")], None);
            assert_eq!(of(&all, "natural-cache-size").now, "ZIIP cannot be read", "{sizes}");
            let text = report("ANNA", &[("PCACHE", 64 * K, 65_530)], None);
            let all = check(&[&text, &format!("ZIIP=(ON,PWCSIZE={sizes}),MT=0\n")], None);
            assert_eq!(of(&all, "natural-cache-size").now, "ZIIP cannot be read", "{sizes}");
        }
    }

    #[test]
    fn reports_with_gaps_lower_nothing_and_guess_nothing() {
        let text = report(
            "ANNA",
            &[("WCACHE01", 900 * K, 90 * K), ("WCACHE02", 900 * K, 800 * K)],
            Some((4000, 3_600_000)),
        );
        check(&[&text], None);
        let all = check(&[&text.replace("819200", "8l9200")], None);
        assert_eq!(of(&all, "natural-cache-size").kind, Kind::NoAdvice);
        let small = report(
            "ANNA",
            &[("PCACHE", 64 * K, 65_530), ("WCACHEO", 900 * K, 800 * K)],
            Some((4000, 3_600_000)),
        );
        let others = "ZIIP=(ON,PWCSIZE=(64,200,900)),MT=0\n";
        check(&[&small, others], Some("ZIIP=(ON,PWCSIZE=(300,200,900))"));
        check(&[&small], None);
        let all = check(&[&small.replace("921600 32", "92I600 32")], None);
        assert!(of(&all, "natural-cache-size").reason.contains("sets all three"));
    }

    #[test]
    fn mixed_reports_set_nothing() {
        let text = report("ANNA", &[("PCACHE", 64 * K, 65_530)], None);
        let mixed = format!("{text}{}", "1 PCACHE V 65536 32 0.0 65530 100.0\n");
        let all = check(&[&mixed], None);
        assert_eq!(of(&all, "natural-sound").kind, Kind::NoAdvice);
    }
}
