//! The table of rules for listings, and the functions that apply them.
//!
//! To add a rule, add an entry: its id, its words, its function, and a test beneath.

use underbar_listing::{Field, Figure, Kind as Part};

use super::Line;
use super::collect::{Collected, Program, Run};
use super::sizes::{LINE, above_the_line, percentile, rounded, written};
use crate::suggestion::{Kind, Setting};

/// One rule.
pub struct LeRule {
    /// Its name for `explain` and in advice.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
    /// When it fires, in words.
    pub condition: &'static str,
    /// What it suggests, in words.
    pub formula: &'static str,
    /// When it says "no change", in words.
    pub stop: &'static str,
    /// What following it could cost.
    pub risk: &'static str,
    /// Applies it.
    pub apply: fn(&LeCase<'_>) -> Vec<Found>,
}

/// What a rule looks at.
pub struct LeCase<'a> {
    /// All that was read.
    pub collected: &'a Collected,
    /// The program in question.
    pub program: &'a Program,
}

/// What a rule found.
pub struct Found {
    pub(super) kind: Kind,
    pub(super) now: String,
    pub(super) option: Option<Setting>,
    pub(super) evidence: Vec<Line>,
    pub(super) reason: String,
    pub(super) effect: String,
    pub(super) risk: String,
}

/// All rules for listings of Language Environment.
pub static LE_RULES: [LeRule; 7] = [
    LeRule {
        id: "le-sound",
        title: "Whether the report can be used",
        source: "Own: no advice rather than a wrong one",
        condition: "Lines of two reports stand in one another, or lines are cut at the right.",
        formula: "No advice from that report.",
        stop: "Nothing of this kind was found.",
        risk: "None: nothing is set.",
        apply: sound,
    },
    LeRule {
        id: "le-heap-size",
        title: "Initial size and increment of the heaps",
        source: "Language Environment, \"Total heap storage used (sugg. initial size)\"; storage tuning talk: 27,949 segments \
                 of 32K took 15.44 s of CPU, 8 segments of 100M 0.12 s",
        condition: "More than 8 segments and more used than the initial size holds (raise), or an initial size of which \
                    less than 62 % and 64K are used (lower).",
        formula: "Initial size: the most that was used in any run and an eighth of it for headers and packing, rounded up; \
                  above 128M an eighth of it, as initial size and as increment, which makes about 8 segments. Increment: \
                  a quarter of the initial size. In ten runs or more of which the largest is twice the usual (nine in \
                  ten), or where the region is less than twice the initial size, only the increment is raised.",
        stop: "8 segments or fewer, or the initial size holds all: no change.",
        risk: "A peak of the runs seen need not be the largest. The initial size is taken at once, by each enclave: under \
               CICS and IMS by as many as run at one time.",
        apply: heap_size,
    },
    LeRule {
        id: "le-keep-free",
        title: "KEEP or FREE for increments",
        source: "Storage tuning talk: 39,122 segments allocated and 39,120 freed under FREE took 25.79 s of CPU and 62 s, \
                 under KEEP 22.34 s and 25 s",
        condition: "16 segments or more were freed, and nine of ten of those allocated.",
        formula: "KEEP for the increments of that heap or stack.",
        stop: "Fewer were freed: no change.",
        risk: "KEEP holds storage that others could use. In long-running servers with requests larger than the increment \
               KEEP fragments, and FREE is right.",
        apply: keep_free,
    },
    LeRule {
        id: "le-stack",
        title: "STACK and THREADSTACK from the largest use of any thread",
        source: "Language Environment, storage report: Largest used by any thread (not the maximum of all threads, which \
                 popular advice takes and which is wrong for threaded programs)",
        condition: "A thread used more than the initial size (raise), or less than 62 % of it and 64K less (lower).",
        formula: "Initial size: the largest use of any thread and an eighth of it, rounded up. THREADSTACK only where it is ON.",
        stop: "The initial size holds what any thread used: no change.",
        risk: "The next run may call deeper, which costs an increment. First segments of all threads but the first come out \
               of ANYHEAP (BELOWHEAP if BELOW): raise it by threads times the initial size.",
        apply: stack,
    },
    LeRule {
        id: "le-storage-fill",
        title: "STORAGE that fills every stack frame",
        source: "Storage tuning talk: 0.56 s of CPU under NONE, 2.15 s under 00, 0.57 s under CLEAR",
        condition: "The third value of STORAGE is neither NONE nor CLEAR.",
        formula: "STORAGE(,,NONE).",
        stop: "It is NONE or CLEAR: no change.",
        risk: "A program that uses variables before it sets them behaves otherwise; CLEAR clears the unused initial stack \
               once and may serve it.",
        apply: storage_fill,
    },
    LeRule {
        id: "le-heap-pools",
        title: "HEAPPOOLS: percentages, sizes, leaks",
        source: "Language Environment, storage report: extents allocated should be 1 or 2; suggested percentage = maximum \
                 cells used x element size x 100 / initial heap size, 1 to 90",
        condition: "A pool needed more than 2 extents, requests were larger than the largest cell, or cells were in use at the end.",
        formula: "The published formula, rounded up. More than a tenth of all requests larger than cells: another size.",
        stop: "2 extents or fewer everywhere: no change.",
        risk: "Counts of pools are not serialized and so inexact. An extent is taken whole.",
        apply: heap_pools,
    },
    LeRule {
        id: "le-link-call",
        title: "Many small enclaves",
        source: "Storage tuning talk: 10 levels of LINK took 1760K, of dynamic CALL 128K",
        condition: "Eight storage reports or more of one program in one listing, none of which used more heap than 64K.",
        formula: "Nothing is set: where programs LINK to each other, dynamic CALL saves an enclave each.",
        stop: "Fewer, or larger ones: nothing is said.",
        risk: "A called program shares the caller's run-time: its options and what it leaves behind.",
        apply: link_call,
    },
];

impl LeCase<'_> {
    fn sound(&self) -> impl Iterator<Item = &Run> {
        self.program.runs.iter().filter(|run| run.report.is_sound())
    }

    fn line(&self, file: usize, evidence: &underbar_listing::Evidence) -> Line {
        let file = self.collected.files.get(file).cloned().unwrap_or_default();
        Line { file, line: evidence.line, text: evidence.text.clone() }
    }

    /// Of all sound runs that have it: each run's file and figure.
    fn figures(&self, part: Part, field: Field) -> Vec<(usize, &Figure)> {
        self.sound().filter_map(|run| Some((run.file, run.report.section(part)?.get(field)?))).collect()
    }

    fn largest(&self, part: Part, field: Field) -> Option<(usize, &Figure)> {
        self.figures(part, field).into_iter().max_by_key(|(_, figure)| figure.value)
    }

    /// What the last run had: sizes that are set now.
    fn last(&self, part: Part, field: Field) -> Option<(usize, &Figure)> {
        self.figures(part, field).into_iter().next_back()
    }

    /// The region's limit for what grows above 16M: a line to show, and words for the risk.
    fn region(&self, bytes: u64) -> (Option<u64>, Option<Line>, String) {
        match self.collected.region_of(&self.program.name) {
            Some((file, region)) => {
                let line = self.line(file, &region.evidence);
                match above_the_line(region) {
                    Some(limit) => (
                        Some(limit),
                        Some(line),
                        format!(
                            "The region leaves {} above the line, unless IEFUSI sets another limit. ",
                            written(limit)
                        ),
                    ),
                    None => (
                        None,
                        Some(line),
                        "REGION asks for all there is; IEFUSI may set a limit. ".to_owned(),
                    ),
                }
            }
            None if bytes > LINE => (
                None,
                None,
                format!(
                    "region unknown: whether {} fit into it cannot be seen here; check REGION first. ",
                    written(bytes)
                ),
            ),
            None => (None, None, String::new()),
        }
    }
}

fn found(kind: Kind, now: String, evidence: Vec<Line>, reason: String) -> Found {
    Found { kind, now, option: None, evidence, reason, effect: String::new(), risk: String::new() }
}

fn sound(case: &LeCase<'_>) -> Vec<Found> {
    let bad = case.program.runs.iter().filter_map(|run| {
        let doubt = run.report.doubts.iter().find(|doubt| doubt.kind.spoils_the_report())?;
        let evidence = underbar_listing::Evidence { line: doubt.line, text: doubt.words.clone() };
        let line = case.line(run.file, &evidence);
        Some(found(Kind::NoAdvice, "not used".to_owned(), vec![line], format!("{}.", doubt.words)))
    });
    bad.take(20).collect()
}

/// Heaps: section, and the smallest unit of its sizes.
const HEAPS: [(Part, u64); 6] = [
    (Part::Heap, 4096),
    (Part::Heap24, 4096),
    (Part::AnyHeap, 4096),
    (Part::BelowHeap, 4096),
    (Part::User64, 1 << 20),
    (Part::User31, 4096),
];

/// A setting with sizes at the place of a section's initial size.
fn setting(part: Part, initial: Option<u64>, increment: Option<u64>) -> Option<Setting> {
    let (option, at) = part.row()?.option;
    let mut words: Vec<Option<String>> = vec![None; at];
    if matches!(option, "THREADSTACK" | "THREADSTACK64") && at > 0 {
        words[0] = Some("ON".to_owned());
    }
    words.push(initial.map(written));
    words.push(increment.map(written));
    Some(Setting { option, sub_options: words })
}

fn now(part: Part, initial: u64, increment: Option<u64>) -> String {
    setting(part, Some(initial), increment).map_or(String::new(), |setting| setting.to_string())
}

fn heap_size(case: &LeCase<'_>) -> Vec<Found> {
    HEAPS.iter().filter_map(|(part, unit)| one_heap(case, *part, *unit)).collect()
}

fn one_heap(case: &LeCase<'_>, part: Part, unit: u64) -> Option<Found> {
    const FEW: u64 = 8;
    let (total_file, total) = case.largest(part, Field::Total)?;
    let (initial_file, initial) = case.last(part, Field::Initial)?;
    let increment = case.last(part, Field::Increment);
    let segments = case.largest(part, Field::Allocated);
    if total.value == 0 {
        return None;
    }
    let set = now(part, initial.value, increment.map(|increment| increment.1.value));
    let mut evidence =
        vec![case.line(total_file, &total.evidence), case.line(initial_file, &initial.evidence)];
    evidence.extend(segments.map(|(file, figure)| case.line(file, &figure.evidence)));
    let title = part.title();
    let room = total.value.saturating_add(total.value / 8);
    let step = increment.map(|increment| increment.1.value.max(unit));
    // Where the number is missing, no fewer can have been needed than these.
    let least = step.map(|step| total.value.saturating_sub(initial.value).div_ceil(step) + 1);
    let known = segments.map(|segments| segments.1.value).or(least);
    let of =
        |count: usize| if count == 1 { "in one run".to_owned() } else { format!("at most in {count} runs") };
    let used = format!("{} bytes used {}", total.value, of(case.figures(part, Field::Total).len()));
    if initial.value >= total.value {
        let enough = rounded(room, unit);
        if total.value.saturating_mul(100) >= initial.value.saturating_mul(62)
            || initial.value.saturating_sub(enough) < 64 << 10
        {
            return Some(found(
                Kind::NoChange,
                set,
                evidence,
                format!("{title}: the initial size holds what is used, and is not far too large: {used}."),
            ));
        }
        let mut lower = found(
            Kind::Lower,
            set,
            evidence,
            format!("{title}: {used}, of an initial size of {}.", initial.value),
        );
        lower.option = setting(part, Some(enough), None);
        lower.effect = format!("{} less for each enclave.", written(initial.value - enough));
        return Some(lower);
    }
    let Some(count) = known else {
        return Some(found(
            Kind::NoAdvice,
            set,
            evidence,
            format!("{title}: neither the number of segments nor the increment can be read."),
        ));
    };
    if count <= FEW {
        return Some(found(
            Kind::NoChange,
            set,
            evidence,
            format!("{title}: {count} segments are few: {used}."),
        ));
    }
    let whole = if room > 128 << 20 { rounded(total.value.div_ceil(8), unit) } else { rounded(room, unit) };
    let quarter = if room > 128 << 20 { whole } else { rounded(whole / 4, unit) };
    let larger = step.unwrap_or(0).max(quarter);
    let mut all: Vec<u64> = case.figures(part, Field::Total).iter().map(|(_, figure)| figure.value).collect();
    let usual = percentile(&mut all, 90);
    let rare = all.len() >= 10 && total.value / 2 >= usual;
    let below = matches!(part, Part::Heap24 | Part::BelowHeap);
    let is64 = part == Part::User64;
    let (limit, line, words) =
        if is64 { (None, None, memlimit(case)) } else { case.region(whole.max(larger)) };
    evidence.extend(line);
    let small_region = limit.is_some_and(|limit| limit / 2 < whole);
    if small_region && limit.is_some_and(|limit| limit / 8 < larger) {
        let reason =
            format!("{title}: {count} segments, {used}; but the region leaves no room for larger ones.");
        return Some(found(Kind::NoAdvice, set, evidence, reason));
    }
    if below && whole > 1 << 20 {
        let reason = format!(
            "{title}: {count} segments, {used}; below the line there is too little room to take more at once."
        );
        return Some(found(Kind::NoAdvice, set, evidence, reason));
    }
    let first = if small_region {
        None
    } else if rare {
        Some(rounded(usual.saturating_add(usual / 8).min(whole), unit))
    } else {
        Some(whole)
    };
    let first = first.filter(|first| *first > initial.value);
    let next = Some(larger).filter(|larger| Some(*larger) != increment.map(|increment| increment.1.value));
    if first.is_none() && next.is_none() {
        return Some(found(
            Kind::NoChange,
            set,
            evidence,
            format!("{title}: {count} segments, {used}; sizes are as large as they should be."),
        ));
    }
    let will = total.value.saturating_sub(first.unwrap_or(initial.value)).div_ceil(larger.max(1)) + 1;
    let exact = if segments.is_some() { "" } else { " or more" };
    let rarely = if rare {
        format!("; nine runs in ten need no more than {usual}, so the increment takes the rest")
    } else {
        String::new()
    };
    let mut raise = found(
        Kind::Raise,
        set,
        evidence,
        format!("{title}: {count} segments{exact}, a request to the system each: {used}{rarely}."),
    );
    raise.option = setting(part, first, next);
    raise.effect = match will {
        1 => format!("one segment instead of {count}."),
        _ => format!("about {will} segments instead of {count}."),
    };
    raise.risk = format!("{words}{}", LE_RULES[1].risk);
    Some(raise)
}

fn memlimit(case: &LeCase<'_>) -> String {
    match case.collected.regions.iter().find_map(|(_, region)| region.memlimit) {
        Some(u64::MAX) => "MEMLIMIT is NOLIMIT. ".to_owned(),
        Some(limit) => format!("MEMLIMIT is {}. ", written(limit)),
        None => "region unknown: MEMLIMIT is not in the listing; check it first. ".to_owned(),
    }
}

fn keep_free(case: &LeCase<'_>) -> Vec<Found> {
    let place = |part: Part| match part {
        Part::Heap | Part::AnyHeap | Part::Stack => Some(3),
        Part::BelowHeap => Some(2),
        _ => None,
    };
    let parts = [Part::Heap, Part::AnyHeap, Part::BelowHeap, Part::Stack];
    let one = |part: Part| {
        let at = place(part)?;
        let runs = case.sound().filter_map(|run| {
            let section = run.report.section(part)?;
            Some((run.file, section.get(Field::Allocated)?, section.get(Field::Freed)?))
        });
        let (file, allocated, freed) = runs.max_by_key(|(_, _, freed)| freed.value)?;
        if freed.value < 16 || freed.value.saturating_mul(10) < allocated.value.saturating_mul(9) {
            return None;
        }
        let (option, _) = part.row()?.option;
        let evidence = vec![case.line(file, &allocated.evidence), case.line(file, &freed.evidence)];
        let mut keep = found(
            Kind::Raise,
            format!("{option} FREE (segments were freed)"),
            evidence,
            format!(
                "{}: {} segments allocated and {} freed: they come and go.",
                part.title(),
                allocated.value,
                freed.value
            ),
        );
        let mut words = vec![None; at];
        words.push(Some("KEEP".to_owned()));
        keep.option = Some(Setting { option, sub_options: words });
        keep.effect = "emptied increments are used again instead of being asked for anew.".to_owned();
        Some(keep)
    };
    parts.into_iter().filter_map(one).collect()
}

fn stack(case: &LeCase<'_>) -> Vec<Found> {
    let on = |option: &str| {
        let row = case.collected.option_of(&case.program.name, option);
        row.is_some_and(|(_, row)| {
            row.sub_options().first().is_some_and(|word| word.eq_ignore_ascii_case("ON"))
        })
    };
    let parts = [
        (Part::Stack, 4096),
        (Part::ThreadStack, 4096),
        (Part::Stack64, 1 << 20),
        (Part::ThreadStack64, 1 << 20),
    ];
    let one = |(part, unit): (Part, u64)| {
        let governed = match part {
            Part::ThreadStack => on("THREADSTACK"),
            Part::ThreadStack64 => on("THREADSTACK64"),
            _ => true,
        };
        let (file, largest) = case.largest(part, Field::AnyThread)?;
        let (initial_file, initial) = case.last(part, Field::Initial)?;
        if largest.value == 0 || !governed {
            return None;
        }
        let set = now(part, initial.value, None);
        let evidence = vec![case.line(file, &largest.evidence), case.line(initial_file, &initial.evidence)];
        let enough =
            rounded(largest.value.saturating_add(if unit == 4096 { largest.value / 8 } else { 0 }), unit);
        let title = part.title();
        let used = format!(
            "{title}: the thread that used most used {} bytes of an initial size of {}",
            largest.value, initial.value
        );
        if largest.value > initial.value {
            let mut raise = found(Kind::Raise, set, evidence, format!("{used}."));
            let (limit, line, words) = case.region(enough);
            if limit.is_some_and(|limit| limit / 4 < enough) {
                raise.kind = Kind::NoAdvice;
                raise.reason += " The region leaves no room for a larger one.";
                return Some(raise);
            }
            raise.evidence.extend(line);
            raise.option = setting(part, Some(enough), None);
            raise.effect = "the stack fits into its first segment.".to_owned();
            let threads = case
                .program
                .runs
                .iter()
                .filter_map(|run| run.report.threads.as_ref())
                .map(|threads| threads.value)
                .max();
            let many = match threads {
                Some(threads) if threads > 1 => format!(
                    "{threads} threads at one time times {} are {}. ",
                    written(enough),
                    written(threads.saturating_mul(enough))
                ),
                _ => String::new(),
            };
            raise.risk = format!("{words}{many}{}", LE_RULES[3].risk);
            return Some(raise);
        }
        if largest.value.saturating_mul(100) < initial.value.saturating_mul(62)
            && initial.value.saturating_sub(enough) >= 64 << 10
        {
            let mut lower = found(Kind::Lower, set, evidence, format!("{used}."));
            lower.option = setting(part, Some(enough), None);
            lower.effect = format!(
                "{} less for each enclave, and under THREADSTACK(OFF) for each thread.",
                written(initial.value - enough)
            );
            return Some(lower);
        }
        Some(found(Kind::NoChange, set, evidence, format!("{used}.")))
    };
    parts.into_iter().filter_map(one).collect()
}

fn storage_fill(case: &LeCase<'_>) -> Vec<Found> {
    let Some((file, row)) = case.collected.option_of(&case.program.name, "STORAGE") else {
        return Vec::new();
    };
    let values = row.sub_options();
    let Some(third) = values.get(2).filter(|word| !word.is_empty()) else { return Vec::new() };
    if ["NONE", "CLEAR"].iter().any(|word| word.eq_ignore_ascii_case(third)) {
        return Vec::new();
    }
    let evidence = vec![case.line(file, &row.evidence)];
    let mut dear = found(
        Kind::Change,
        format!("STORAGE({})", row.values),
        evidence,
        format!("Every stack frame is filled with {third} as it is made."),
    );
    dear.option = Some(Setting::new("STORAGE", [None, None, Some("NONE".to_owned())]));
    dear.effect =
        "calls cost no more than they do by themselves: 2.15 s against 0.56 s of CPU in the talk's program."
            .to_owned();
    vec![dear]
}

fn heap_pools(case: &LeCase<'_>) -> Vec<Found> {
    let Some(run) = case.sound().filter(|run| !run.report.pools.is_empty()).last() else { return Vec::new() };
    let Some(initial) = run.report.section(Part::Heap).and_then(|heap| heap.get(Field::Initial)) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    // Percentages are of the initial size that will be in force.
    let raised = one_heap(case, Part::Heap, 4096)
        .and_then(|found| found.option)
        .and_then(|option| option.sub_options.first().cloned()?);
    let size = raised.as_deref().and_then(underbar_size).unwrap_or(initial.value).max(1);
    let many: Vec<_> = run.report.pools.iter().filter(|pool| pool.extents > 2).collect();
    let evidence: Vec<Line> = many.iter().map(|pool| case.line(run.file, &pool.evidence)).collect();
    if many.is_empty() {
        let lines = run.report.pools.iter().take(1).map(|pool| case.line(run.file, &pool.evidence)).collect();
        all.push(found(
            Kind::NoChange,
            "HEAPPOOLS".to_owned(),
            lines,
            "No pool needed more than 2 extents.".to_owned(),
        ));
    } else {
        let mut words = vec![None];
        for pool in &run.report.pools {
            let percent =
                pool.used_peak.saturating_mul(pool.element).saturating_mul(100).div_ceil(size).clamp(1, 90);
            let percent =
                if pool.extents > 2 || raised.is_some() { percent } else { pool.percent.unwrap_or(percent) };
            words.extend([Some(pool.cell.to_string()), Some(percent.to_string())]);
        }
        let pools = many.len();
        let mut raise = found(
            Kind::Raise,
            "HEAPPOOLS".to_owned(),
            evidence,
            format!("{pools} pools needed more than 2 extents."),
        );
        raise.option = Some(Setting { option: "HEAPPOOLS", sub_options: words });
        raise.effect = format!("one extent for each pool, of an initial heap size of {}.", written(size));
        all.push(raise);
    }
    let gets = run.report.section(Part::Heap).and_then(|heap| heap.get(Field::Gets));
    if let (Some(large), Some(gets)) = (&run.report.larger_than_cells, gets)
        && large.value.saturating_mul(10) > gets.value.max(1)
    {
        let lines = vec![case.line(run.file, &large.evidence), case.line(run.file, &gets.evidence)];
        let reason = format!(
            "{} requests were larger than the largest cell: a pool of a larger size would serve them.",
            large.value
        );
        all.push(found(Kind::NoAdvice, "HEAPPOOLS".to_owned(), lines, reason));
    }
    for pool in run
        .report
        .pools
        .iter()
        .filter(|pool| pool.in_use > 0 && pool.in_use.saturating_mul(2) >= pool.used_peak)
    {
        let lines = vec![case.line(run.file, &pool.evidence)];
        let reason = format!(
            "{} of at most {} cells of {} bytes were in use at the end: a hint of a leak.",
            pool.in_use, pool.used_peak, pool.cell
        );
        all.push(found(Kind::NoAdvice, "HEAPPOOLS".to_owned(), lines, reason));
    }
    all
}

/// A size as this crate writes it.
fn underbar_size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix('M') {
        Some(digits) => (digits, 1 << 20),
        None => text.strip_suffix('K').map_or((text, 1), |digits| (digits, 1 << 10)),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

fn link_call(case: &LeCase<'_>) -> Vec<Found> {
    let runs: Vec<&Run> = case.sound().filter(|run| run.report.enclave.is_some()).collect();
    let small = |run: &&Run| {
        run.report
            .section(Part::Heap)
            .and_then(|heap| heap.get(Field::Total))
            .is_some_and(|total| total.value <= 64 << 10)
    };
    let one_file = runs.windows(2).all(|two| two[0].file == two[1].file);
    if runs.len() < 8 || !one_file || !runs.iter().all(small) {
        return Vec::new();
    }
    let evidence = runs
        .iter()
        .take(2)
        .filter_map(|run| Some(case.line(run.file, &run.report.sections.first()?.heading)))
        .collect();
    let reason = format!(
        "{} enclaves that use little: where programs LINK to each other, dynamic CALL spares an enclave each.",
        runs.len()
    );
    vec![found(Kind::NoAdvice, "LINK or CALL cannot be seen in a listing".to_owned(), evidence, reason)]
}

#[cfg(test)]
mod tests {
    use super::super::{Form, advise_listing, settings};
    use super::*;

    fn listing(text: &str) -> Collected {
        let mut collected = Collected::default();
        collected.file("job.txt");
        for item in underbar_listing::read(text.as_bytes()) {
            collected.take(item);
        }
        collected
    }

    fn heap(name: &str, initial: u64, increment: u64, total: u64, counts: [u64; 4]) -> String {
        let [gets, frees, allocated, freed] = counts;
        format!(
            "Storage Report for Enclave {name} 11/20/26\nLanguage Environment V03 R01.00\n\n    HEAP statistics:\n      \
             Initial size: {initial}\n      Increment size: {increment}\n      Total heap storage used (sugg. initial size): \
             {total}\n      Successful Get Heap requests: {gets}\n      Successful Free Heap requests: {frees}\n      Number of \
             segments allocated: {allocated}\n      Number of segments freed: {freed}\nEnd of Storage Report\n"
        )
    }

    /// The option line for all programs, and the advice.
    fn check(text: &str, expect: Option<&str>) -> Vec<super::super::Advice> {
        let collected = listing(text);
        let all = advise_listing(&collected);
        let name = &collected.programs[0].name;
        let line = Form::Ceeopts.text(&settings(&all, name));
        assert_eq!(line.as_deref().map(str::trim_end), expect, "{all:#?}");
        all
    }

    #[test]
    fn many_segments_are_made_few_as_in_the_talk() {
        let all = check(
            &heap("main", 32768, 32768, 819_229_056, [50_002, 50_000, 27_949, 0]),
            Some("HEAP(104M,104M)"),
        );
        assert!(all[0].risk.starts_with("region unknown"), "{}", all[0].risk);
        assert!(all[0].reason.contains("27949 segments"));
        assert_eq!(
            (all[0].evidence[0].line, all[0].effect.as_str()),
            (7, "about 8 segments instead of 27949.")
        );
        check(&heap("main", 100 << 20, 100 << 20, 818_334_944, [50_002, 50_000, 8, 0]), None);
    }

    #[test]
    fn small_heaps_hold_everything_at_once_and_need_no_region() {
        let all =
            check(&heap("main", 32768, 32768, 1_264_640, [5_210, 5_198, 41, 0]), Some("HEAP(1408K,352K)"));
        assert!(!all[0].risk.contains("region unknown"));
    }

    #[test]
    fn a_small_region_raises_the_increment_only_or_nothing() {
        let many = heap("PAY", 32768, 32768, 30 << 20, [9_000, 9, 970, 0]);
        let all = check(&format!("//GO EXEC PGM=PAY,REGION=64M\n{many}"), None);
        assert!(all[0].reason.contains("no room"), "{:?}", all[0]);
        let all = check(&format!("//GO EXEC PGM=PAY,REGION=128M\n{many}"), Some("HEAP(36M,9M)"));
        assert!(all[0].risk.starts_with("The region leaves 128M"), "{}", all[0].risk);
    }

    #[test]
    fn what_is_far_too_large_goes_down() {
        let all = check(&heap("main", 256 << 20, 1 << 20, 20 << 20, [5, 5, 1, 0]), Some("HEAP(24M)"));
        assert_eq!(all[0].kind, Kind::Lower);
    }

    #[test]
    fn segments_that_come_and_go_are_kept() {
        check(
            &heap("main", 32768, 32768, 819_982_896, [70_002, 69_999, 39_122, 39_120]),
            Some("HEAP(104M,104M,,KEEP)"),
        );
        check(&heap("main", 32768, 32768, 30_000, [70, 70, 30, 2]), None);
    }

    #[test]
    fn a_rare_peak_is_left_to_the_increment() {
        let mut text = String::new();
        for run in 0..12 {
            let (total, allocated) = if run == 5 { (64 << 20, 2_050) } else { (4 << 20, 130) };
            text += &heap("main", 32768, 32768, total, [9_000, 8_000, allocated, 0]);
        }
        let all = check(&text, Some("HEAP(4608K,18M)"));
        assert!(all[0].confidence.starts_with("high: 12 runs"));
    }

    #[test]
    fn mixed_reports_give_no_advice() {
        let one = heap("A", 32768, 32768, 819_229_056, [50_002, 50_000, 27_949, 0]);
        let (start, rest) = one.split_at(one.find("    HEAP").expect("there"));
        let other = heap("B", 4096, 4096, 3328, [1, 1, 1, 0]);
        let all = check(&format!("{start}{other}{rest}"), None);
        assert!(all.iter().all(|advice| advice.option.is_none()), "{all:#?}");
    }

    #[test]
    fn dear_storage_is_named() {
        let text = heap("main", 32768, 32768, 3_328, [1, 1, 1, 0]);
        check(&format!("export _CEE_RUNOPTS=\"STORAGE(,,00)\"\n{text}"), Some("STORAGE(,,NONE)"));
        check(&format!("export _CEE_RUNOPTS=\"STORAGE(,,CLEAR)\"\n{text}"), None);
    }

    #[test]
    fn rules_have_unique_ids_and_full_words() {
        for (at, rule) in LE_RULES.iter().enumerate() {
            assert!(LE_RULES[..at].iter().all(|other| other.id != rule.id));
            for words in [rule.condition, rule.formula, rule.stop, rule.risk] {
                assert!(words.ends_with('.') && words.len() > 15, "{}: {words}", rule.id);
            }
        }
    }
}
