//! HEAPPOOLS: percentages from the summary, sizes from the requests by ranges, leaks.
//!
//! Invariant: percentages follow the published formula, for the initial heap size that will be in force. Sizes are suggested
//! with empty percentages, since no report of the old sizes shows how many cells of a new size are in use at a time.
//! Not here: how sizes are chosen (`underbar_model::cells`).

use underbar_listing::{Evidence, Kind as Part};
use underbar_model::cells::{MOST, Range, suggested, waste};
use underbar_model::{Pool, Supply};

use super::super::collect::Run;
use super::super::place;
use super::{ProgramCase, contradiction, found, heap, lines};
use crate::advice::{Advice, Kind, Setting};
use crate::sizes::{size, written};

/// With more extents, the pool is too small.
const EXTENTS: u64 = 2;

pub(crate) fn apply(case: &ProgramCase<'_>) -> Vec<Advice> {
    let has = |run: &&Run| !run.report.pools.is_empty() || !run.report.ranges.is_empty();
    let Some(run) = case.sound().filter(has).last() else { return Vec::new() };
    if let Some(doubt) = run.report.doubtful_pool() {
        let line = case.line(run.file, &Evidence { line: doubt.line, text: doubt.words.clone() });
        let reason =
            "Not every row of the summary can be read, so there is no advice about pools.".to_owned();
        return vec![found(Kind::NoAdvice, "HEAPPOOLS".to_owned(), vec![line], reason)];
    }
    let mut all = Vec::new();
    // Other sizes come with empty percentages, which suit a heap that does not grow: suggest only one of the two at a time.
    match sizes(case, run).filter(|_| raised(case).is_none()) {
        Some(sizes) => all.push(sizes),
        None => all.extend(percentages(case, run)),
    }
    all.extend(larger(case, run));
    let pools = case.pools(run);
    let leaks = pools
        .iter()
        .filter(|pool| pool.in_use.value > 0 && pool.in_use.value.saturating_mul(2) >= pool.used.value);
    all.extend(leaks.map(|pool| {
        let reason = format!(
            "{} of at most {} cells of {} bytes were in use at the end: a hint of a leak.",
            pool.in_use.value, pool.used.value, pool.cell.value
        );
        found(Kind::NoAdvice, "HEAPPOOLS".to_owned(), lines([&pool.in_use]), reason)
    }));
    all
}

fn percentages(case: &ProgramCase<'_>, run: &Run) -> Option<Advice> {
    if contradiction::concerns(case, Part::Heap) {
        return None;
    }
    let pools = &case.pools(run);
    let before = case.heap_of(run).initial.certain()?;
    let many: Vec<&Pool> = pools.iter().filter(|pool| pool.extents.value > EXTENTS).collect();
    let raised = raised(case);
    // The same percentages of a larger heap make larger extents, though no more cells are used.
    let grow_with_it =
        raised.is_some_and(|to| to > before) && pools.iter().any(|pool| pool.percent.certain().is_some());
    if many.is_empty() && !grow_with_it {
        let shown = lines(pools.iter().take(1).map(|pool| &pool.extents));
        let reason = "No pool needed more than 2 extents.".to_owned();
        return (!pools.is_empty()).then(|| found(Kind::NoChange, now(pools), shown, reason));
    }
    if let (Some(of), None) = (run.report.pools_of(), raised) {
        return Some(by_themselves(case, run, of, pools));
    }
    // Percentages refer to the initial size that will be in force.
    let initial = raised.unwrap_or(before).max(1);
    let mut words = vec![Some(switch(case))];
    let (mut grows, mut short) = (true, 0);
    for pool in pools {
        let needed = pool.percent_of(initial);
        short += u64::from(pool.taken().saturating_mul(10) > initial.saturating_mul(9));
        let keep = pool.extents.value <= EXTENTS && raised.is_none();
        let percent = if keep { pool.percent.certain().unwrap_or(needed) } else { needed };
        grows &= pool.percent.certain().is_none_or(|now| percent >= now);
        words.extend([Some(pool.cell.value.to_string()), Some(percent.to_string())]);
    }
    close(&mut words, pools.len());
    if many.is_empty() {
        let taken = |heap: u64, of: &dyn Fn(&Pool) -> u64| -> u64 {
            pools.iter().map(|pool| (u128::from(heap) * u128::from(of(pool)) / 100) as u64).sum()
        };
        let kept = taken(initial, &|pool| pool.percent.certain().unwrap_or(0));
        let used: u64 = pools.iter().map(Pool::taken).sum();
        let reason = format!(
            "HEAP grows from {} to {}, and the percentages with it: the first extents would take {kept} bytes, for cells \
             that took {used}.",
            written(before),
            written(initial)
        );
        let shown = lines(pools.iter().take(3).map(|pool| &pool.used));
        let mut change = found(Kind::Change, now(pools), shown, reason);
        change.option = Some(Setting { option: "HEAPPOOLS", sub_options: words });
        change.effect = "extents of the size that the cells need.".to_owned();
        return Some(change);
    }
    let evidence = lines(many.iter().map(|pool| &pool.extents));
    let plural = if many.len() == 1 { "" } else { "s" };
    let reason = format!("{} pool{plural} needed more than 2 extents.", many.len());
    let kind = if grows { Kind::Raise } else { Kind::Change };
    let mut raise = found(kind, now(pools), evidence, reason);
    raise.option = Some(Setting { option: "HEAPPOOLS", sub_options: words });
    raise.effect =
        format!("one extent for each pool{}, of an initial heap size of {}.", but(short), written(initial));
    Some(raise)
}

/// Percentages if HEAP's initial size and the cells of an extent disagree: the used cells, as a share of the cells of an
/// extent, determine them without any size of the heap.
fn by_themselves(case: &ProgramCase<'_>, run: &Run, of: (u64, u64), pools: &[Pool]) -> Advice {
    let many: Vec<&Pool> = pools.iter().filter(|pool| pool.extents.value > EXTENTS).collect();
    let mut words = vec![Some(switch(case))];
    let mut short = 0;
    for pool in pools {
        let now = pool.percent.certain().unwrap_or(1);
        let cells = pool.cells_per_extent.value.max(1);
        let needed = now.saturating_mul(pool.used.value).div_ceil(cells);
        short += u64::from(pool.extents.value > EXTENTS && needed > 90);
        let percent = if pool.extents.value > EXTENTS { needed.clamp(1, 90) } else { now };
        words.extend([Some(pool.cell.value.to_string()), Some(percent.to_string())]);
    }
    close(&mut words, pools.len());
    let heap = case.heap_of(run).initial;
    let evidence = lines([&heap].into_iter().chain(many.iter().map(|pool| &pool.extents)));
    let reason = format!(
        "{} needed more than 2 extents. HEAP's initial size and the cells of an extent disagree, which are those of {} to {} \
         bytes; what was used of an extent's cells tells the percentages without it.",
        if many.len() == 1 { "1 pool".to_owned() } else { format!("{} pools", many.len()) },
        of.0,
        of.1
    );
    let mut raise = found(Kind::Raise, now(pools), evidence, reason);
    raise.option = Some(Setting { option: "HEAPPOOLS", sub_options: words });
    raise.effect = format!("one extent for each pool{}, whatever the heap's initial size is.", but(short));
    raise
}

/// An exception for pools whose cells do not fit in the largest extent that can be set.
fn but(short: u64) -> String {
    match short {
        0 => String::new(),
        1 => " but 1, whose cells need more than 90 %".to_owned(),
        short => format!(" but {short}, whose cells need more than 90 %"),
    }
}

/// The advised initial size of HEAP, if HEAP can be set.
fn raised(case: &ProgramCase<'_>) -> Option<u64> {
    heap::one(case, Part::Heap, 4096)
        .and_then(|found| found.option)
        .filter(|_| place::fixed(case, "HEAP").is_none())
        .and_then(|option| size(option.sub_options.first()?.as_deref()?))
}

/// The first sub-option: ON, or ALIGN if that is known to be in force.
fn switch(case: &ProgramCase<'_>) -> String {
    if case.is_set("HEAPPOOLS", 0, "ALIGN") { "ALIGN" } else { "ON" }.to_owned()
}

/// Adds a size of 0 after the last pair: otherwise the default sizes of the unnamed pools stay in force.
fn close(words: &mut Vec<Option<String>>, pairs: usize) {
    if pairs < MOST {
        words.push(Some("0".to_owned()));
    }
}

/// Other sizes, if those in force waste much.
fn sizes(case: &ProgramCase<'_>, run: &Run) -> Option<Advice> {
    let pools = case.pools(run);
    let cells: Vec<u64> = pools.iter().map(|pool| pool.cell.value).collect();
    let rows = case.requests(run).rows;
    let certain = rows.iter().filter_map(|row| Some((row.limit, row.count.certain()?)));
    let ranges: Vec<Range> = certain.map(|(to, count)| Range { to, count }).collect();
    let largest = cells.last().copied()?;
    let (before, bytes) = waste(&ranges, &cells)?;
    let chosen = suggested(&ranges, largest, 8)?;
    let (after, _) = waste(&ranges, &chosen)?;
    if before.saturating_mul(4) < bytes || after.saturating_mul(2) > before {
        return None;
    }
    let mut wasting: Vec<_> = rows.iter().collect();
    wasting.sort_by_key(|row| {
        let cell = cells.iter().find(|cell| **cell >= row.limit).unwrap_or(&row.limit);
        std::cmp::Reverse((cell - row.limit).saturating_mul(row.count.value))
    });
    let evidence = lines(wasting.iter().take(3).map(|row| &row.count));
    let reason = format!(
        "Of {bytes} bytes of cells for all requests together, {before} are beyond what was asked for; with sizes that \
         fit the requests {after}."
    );
    let mut change = found(Kind::Change, now(&pools), evidence, reason);
    let mut words = vec![Some(switch(case))];
    words.extend(chosen.iter().flat_map(|cell| [Some(cell.to_string()), None]));
    close(&mut words, chosen.len());
    change.option = Some(Setting { option: "HEAPPOOLS", sub_options: words });
    change.effect =
        "less waste in each cell; how many cells of each size are needed, the next report says.".to_owned();
    Some(change)
}

fn larger(case: &ProgramCase<'_>, run: &Run) -> Option<Advice> {
    let Supply { requests, beyond, .. } = case.supply(run);
    let (all, large) = (requests.all.certain()?, beyond.certain()?);
    if large.saturating_mul(10) <= all.max(1) {
        return None;
    }
    let reason = format!(
        "{large} requests were larger than the largest cell: a pool of a larger size would serve them."
    );
    Some(found(Kind::NoAdvice, now(&case.pools(run)), lines([&beyond, &requests.all]), reason))
}

/// The present sizes and percentages, as the summary shows them.
fn now(pools: &[Pool]) -> String {
    let pair = |pool: &Pool| format!("{},{}", pool.cell.value, pool.percent.certain().unwrap_or(0));
    let pairs: Vec<String> = pools.iter().map(pair).collect();
    if pairs.is_empty() { "HEAPPOOLS".to_owned() } else { format!("HEAPPOOLS(,{})", pairs.join(",")) }
}
