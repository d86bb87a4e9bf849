//! THSIZE, from the total of all buffers and the size of the thread.

use underbar_listing::natural::ParameterCarrier;

use super::super::program_case::ProgramCase;
use super::super::sessions::Set;
use super::{Kind, found, session, setting, storage};
use crate::advice::{Advice, Line};
use crate::sizes::{LINE, above_the_line, rounded, written};
use crate::thread_sizes::{Judged, judge};

/// The smallest thread, in KB.
const LEAST: u64 = 256;

pub(crate) fn thread(case: &ProgramCase<'_>) -> Vec<Advice> {
    let session = session(case);
    let sessions = &case.collected.natural;
    if sessions.runs(&session).any(|(_, report)| report.is_of_linux) {
        // A page of underbar's: its rows are caches of files. The summary of that run has what THSIZE(n) would do.
        return Vec::new();
    }
    let mut all = Vec::new();
    let set = sessions.parameter(&session, "THSIZE");
    if let Set::To(file, ParameterCarrier::Set, row) = &set {
        let lines = vec![case.line(*file, &row.evidence)];
        let reason = "THSIZE is ignored in a string that SYS= or PROFILE= activates: set it directly.";
        all.push(found(Kind::NoAdvice, format!("THSIZE={} in NTSYS", row.value), lines, reason));
    }
    let caches = super::caches::advised(case);
    // All buffers, and the bytes that the advised caches add to them.
    let (storage, more) =
        storage::thread(case, &session, |rows| caches.map_or(0, |then| super::caches::growth(rows, then)));
    let (Some(total), Some(now)) = (storage.used.certain(), storage.initial.certain()) else {
        let lines = match &set {
            Set::To(file, _, row) | Set::Unreadable(file, row) => vec![case.line(*file, &row.evidence)],
            _ => Vec::new(),
        };
        let words = match &set {
            Set::To(_, _, row) => format!("THSIZE={}", row.value),
            Set::Unreadable(..) => "THSIZE cannot be read".to_owned(),
            _ => "THSIZE unknown".to_owned(),
        };
        if session.has_reports {
            let reason =
                "The report does not say, or not without doubt, how large the thread and all buffers are.";
            all.push(found(Kind::NoAdvice, words, lines, reason));
        } else if !lines.is_empty() {
            let reason = "BUS at the end of a session shows how large all buffers are together.";
            all.push(found(Kind::NoAdvice, words, lines, reason));
        }
        return all;
    };
    let shown = [&storage.used, &storage.initial].into_iter();
    let mut evidence: Vec<Line> = shown.filter_map(|figure| figure.evidence.line().cloned()).collect();
    let words = format!("THSIZE={}", now >> 10);
    let all_of_them = total.saturating_add(more);
    let need = rounded(all_of_them.saturating_add(all_of_them / 8), 64 << 10).max(LEAST << 10);
    let mut buffers = format!("All buffers are {} together", kilobytes(total));
    if more > 0 {
        buffers += &format!(", and {} with the caches that are advised here", kilobytes(all_of_them));
    }
    let sure = storage.used_by_all.certain().is_some();
    let judged = judge(all_of_them, need, now);
    if judged == Judged::Small {
        let reason = if now == 0 {
            format!("{buffers}, and there is no thread: each buffer is a GETMAIN.")
        } else {
            format!("{buffers}; the thread of {} does not hold them: the rest are GETMAINs.", kilobytes(now))
        };
        let mut raise = found(Kind::Raise, words, evidence, reason);
        let region = case.collected.region_of(&case.program.name);
        let limit = region.and_then(|(_, region)| above_the_line(region));
        raise.evidence.extend(region.map(|(file, region)| case.line(file, &region.evidence).into()));
        let fixed = "The thread is taken at once, out of the region. It must hold all buffers of fixed size, or the session does \
                     not start. THSIZE is ignored in strings of SYS= and PROFILE= and in an alternative parameter module. It \
                     counts in batch and under TSO only.";
        raise.risk = match (region, limit) {
            (_, Some(limit)) if limit / 2 < need => {
                raise.kind = Kind::NoAdvice;
                raise.reason += " The region leaves no room for a thread that does.";
                all.push(raise);
                return all;
            }
            (None, _) if need > LINE => {
                format!(
                    "region unknown: whether {} fit into it cannot be seen here; check REGION first. {fixed}",
                    written(need)
                )
            }
            _ => fixed.to_owned(),
        };
        raise.option = setting("THSIZE=", vec![(need >> 10).to_string()]);
        raise.effect =
            "one GETMAIN at the start instead of one for each buffer that comes and goes.".to_owned();
        all.push(raise);
        return all;
    }
    let too_large = judged == Judged::Large;
    let contradiction = " What was used at most contradicts itself in the report, so nothing leans on it.";
    if too_large && sure {
        let mut lower =
            found(Kind::Lower, words, evidence, format!("{buffers}, of a thread of {}.", kilobytes(now)));
        lower.option = setting("THSIZE=", vec![(need >> 10).to_string()]);
        lower.effect = format!("{} less for each session.", written(now - need));
        all.push(lower);
        return all;
    }
    if too_large {
        let reason =
            format!("{buffers}, of a thread of {}: it may be too large.{contradiction}", kilobytes(now));
        all.push(found(Kind::NoAdvice, words, evidence, reason));
        return all;
    }
    if let Set::To(file, _, row) = &set {
        evidence.push(case.line(*file, &row.evidence));
    }
    let doubt = if sure { "" } else { contradiction };
    let reason = format!("{buffers}: the thread of {} holds them.{doubt}", kilobytes(now));
    all.push(found(Kind::NoChange, words, evidence, reason));
    all
}

fn kilobytes(bytes: u64) -> String {
    format!("{}K", bytes.div_ceil(1 << 10))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, of, report};
    use super::*;

    const ROW: (&str, u64, u64) = ("ESIZE", 65_536, 65_000);

    #[test]
    fn a_thread_that_is_too_small_is_raised() {
        let all = check(&[&report("ANNA", &[ROW], Some((1000, 1_600_000)))], Some("THSIZE=1792"));
        let advice = of(&all, "natural-thread-size");
        assert_eq!((advice.kind, advice.now.as_str()), (Kind::Raise, "THSIZE=1000"));
        assert!(advice.reason.contains("1563K together; the thread of 1000K"), "{}", advice.reason);
        let all = check(&[&report("ANNA", &[ROW], Some((0, 1_600_000)))], Some("THSIZE=1792"));
        assert!(of(&all, "natural-thread-size").reason.contains("there is no thread"));
    }

    #[test]
    fn a_page_of_underbar_has_no_thread_to_raise() {
        let page = report("EXPORTER", &[("WCACHEO", 307_200, 32)], Some((0, 307_200)));
        let all = check(&[&page.replace("z/OS", "Linux")], None);
        assert!(all.iter().all(|advice| advice.rule != "natural-thread-size"), "{all:#?}");
        let all = check(&[&page], Some("THSIZE=384"));
        assert_eq!(of(&all, "natural-thread-size").kind, Kind::Raise);
    }

    #[test]
    fn caches_that_are_advised_count() {
        let rows = [("PCACHE", 10_240, 10_240), ("WCACHEO", 10_240, 10_240), ("WCACHE01", 10_240, 10_240)];
        let all = check(
            &[&report("ANNA", &rows, Some((900, 409_600)))],
            Some("ZIIP=(PWCSIZE=(300,200,300)),THSIZE=1344"),
        );
        let advice = of(&all, "natural-thread-size");
        assert_eq!(advice.kind, Kind::Raise);
        assert!(advice.reason.contains("400K together, and 1170K with the caches"), "{}", advice.reason);
        // Two work files that are read have one cache each.
        let rows = [("WCACHE01", 10_240, 10_240), ("WCACHE02", 10_240, 10_240)];
        let others = "ZIIP=(ON,PWCSIZE=(300,10,300)),MT=0\n";
        let all = check(
            &[&report("ANNA", &rows, Some((900, 409_600))), others],
            Some("ZIIP=(ON,PWCSIZE=(300,200,300))"),
        );
        assert!(of(&all, "natural-thread-size").reason.contains("780K with the caches"));
    }

    #[test]
    fn the_region_limits_it() {
        let text = report("ANNA", &[ROW], Some((1000, 40 << 20)));
        let all = check(&[&text], Some("THSIZE=47104"));
        assert!(of(&all, "natural-thread-size").risk.starts_with("region unknown"));
        let all = check(&[&format!("//N EXEC PGM=NATB,REGION=40M\n{text}")], None);
        assert!(of(&all, "natural-thread-size").reason.contains("no room"));
    }

    #[test]
    fn a_thread_that_holds_all_stays_or_goes_down() {
        let all = check(&[&report("ANNA", &[ROW], Some((1800, 1_600_000)))], None);
        assert_eq!(of(&all, "natural-thread-size").kind, Kind::NoChange);
        let all = check(&[&report("ANNA", &[ROW], Some((4000, 1_600_000)))], Some("THSIZE=1792"));
        assert_eq!(of(&all, "natural-thread-size").kind, Kind::Lower);
        // The largest session decides.
        let larger = report("ANNA", &[ROW], Some((4000, 3_600_000)));
        check(&[&report("ANNA", &[ROW], Some((4000, 1_600_000))), &larger], None);
    }

    #[test]
    fn contradictions_never_set_anything() {
        let text = report("ANNA", &[ROW], Some((4000, 1_600_000)));
        let all = check(&[&text.replace("782K", "482K")], None);
        let advice = of(&all, "natural-thread-size");
        assert_eq!(advice.kind, Kind::NoAdvice);
        assert!(advice.reason.contains("contradicts itself"), "{advice}");
        let all = check(&[&text.replace("1563K", "1463K")], None);
        assert!(of(&all, "natural-thread-size").reason.contains("not without doubt"));
    }

    #[test]
    fn a_size_in_a_set_is_ignored_and_so_said() {
        let all = check(&["  NTSYS BATCH,'THSIZE=3000,MT=0'\n"], None);
        assert!(of(&all, "natural-thread-size").reason.contains("ignored"));
    }
}
