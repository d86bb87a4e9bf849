//! The rule about heap pools of a run under HEAPPOOLS or HEAPPOOLS64: shares of extents, and sizes of cells.
//!
//! ```text
//! extents of a pool > 2 for each thread ──> raise its share, to hold the cells of a thread in one extent
//! extents hold 4 times what is used     ──> lower the shares
//! ranges (RPTSTG(ON)) and much waste    ──> other sizes, with shares left open, as the system itself suggests them
//! HEAP's initial size changes           ──> percentages of the size that will be in force
//! ```
//!
//! Here each thread has extents of its own, which z/OS does not: so a pool's cells are divided by the threads.
//! Not here: the same for listings (`listing::le::pools`), the choice of sizes (`underbar_model::cells`).

use underbar_model::cells::{MOST, Range, suggested, waste};
use underbar_model::{Pool, Pools};
use underbar_report::pools::UNIT;
use underbar_report::units::{bytes, counted, parse_size};

use crate::advice::{Advice, Evidence, Kind, Setting};
use crate::case::Case;
use crate::heap;

/// With more extents for each thread, the share is too small.
const EXTENTS: u64 = 2;
/// Extents of fewer bytes in all are not lowered.
const WORTH_LOWERING: u64 = 1 << 20;
/// Fewer bytes that are wasted in cells are no reason for other sizes.
const WORTH_CHANGING: u64 = 64 << 10;
/// The largest percentage, and the fewest cells of an extent.
const MOST_PERCENT: u64 = 90;
const LEAST_CELLS: u64 = 4;

/// Rule `heap-pools`.
pub fn apply(case: &Case<'_>) -> Option<Advice> {
    let pools = case.pools.as_ref()?;
    let sizes = &pools.each;
    // Sizes with several pools divide the threads in a way of their own.
    if sizes.is_empty() || sizes.windows(2).any(|two| two[0].cell.value == two[1].cell.value) {
        return None;
    }
    let initial = pools.initial.certain().map(|now| heap_to_be(case).unwrap_or(now));
    let in_force = Shares { case, pools, threads: pools.threads.value.max(1), initial };
    if let Some(other) = in_force.other_sizes(sizes) {
        return Some(other);
    }
    Some(in_force.shares(sizes))
}

/// The initial size of HEAP that is advised.
fn heap_to_be(case: &Case<'_>) -> Option<u64> {
    let option = heap::size(case)?.option?;
    parse_size(option.sub_options.first()?.as_deref()?)
}

/// The pools of a process, and how their extents are sized.
struct Shares<'a> {
    case: &'a Case<'a>,
    pools: &'a Pools,
    /// The most threads at one time.
    threads: u64,
    /// The initial size of HEAP that percentages will be of.
    initial: Option<u64>,
}

impl Shares<'_> {
    fn option(&self) -> &'static str {
        if self.pools.initial.certain().is_some() { "HEAPPOOLS" } else { "HEAPPOOLS64" }
    }

    /// ON or ALIGN.
    fn switch(&self) -> String {
        let values = self.case.report.sub_options(self.option());
        let align =
            values.is_some_and(|values| values.first().is_some_and(|on| on.eq_ignore_ascii_case("ALIGN")));
        if align { "ALIGN" } else { "ON" }.to_owned()
    }

    /// The share of an extent in force: a percentage, or a number of cells.
    fn share(pool: &Pool) -> u64 {
        pool.percent.certain().unwrap_or(pool.cells_per_extent.value)
    }

    /// The share that holds a thread's part of the most cells in use.
    fn needed(&self, pool: &Pool) -> u64 {
        let cells = pool.used.value.div_ceil(self.threads);
        match self.initial {
            Some(initial) => {
                let mut of_thread = pool.clone();
                of_thread.used.value = cells;
                of_thread.percent_of(initial).min(MOST_PERCENT)
            }
            None => cells.max(LEAST_CELLS),
        }
    }

    fn found(&self, kind: Kind, pools: &[&Pool], reason: String) -> Advice {
        let shares: Vec<String> =
            self.pools.each.iter().map(|pool| format!("{},{}", pool.cell.value, Self::share(pool))).collect();
        Advice {
            kind,
            now: format!("{}({},{})", self.option(), self.switch(), shares.join(",")),
            evidence: Evidence::all(pools.iter().take(3).flat_map(|pool| [&pool.extents, &pool.used])),
            reason,
            ..Advice::default()
        }
    }

    /// The option with these sizes and shares; a size of 0 closes it, or else the default sizes of the unnamed pools stay in force.
    fn setting(&self, pairs: impl Iterator<Item = (u64, Option<u64>)>) -> Setting {
        let mut words = vec![Some(self.switch())];
        let mut count = 0;
        for (cell, share) in pairs {
            words.extend([Some(cell.to_string()), share.map(|share| share.to_string())]);
            count += 1;
        }
        if count < MOST {
            words.push(Some("0".to_owned()));
        }
        Setting { option: self.option(), sub_options: words }
    }

    fn shares(&self, sizes: &[Pool]) -> Advice {
        let is_kept = self.initial == self.pools.initial.certain();
        let is_small = |pool: &&Pool| pool.extents.value > EXTENTS.saturating_mul(self.threads);
        let small: Vec<&Pool> = sizes.iter().filter(is_small).collect();
        if !small.is_empty() {
            let which = counted(small.len() as u64, "pool", "pools");
            let reason = format!("{which} needed more than 2 extents for each thread.");
            if is_kept && small.iter().all(|pool| self.needed(pool) <= Self::share(pool)) {
                let reason = format!("{reason} A larger initial size of HEAP gives larger extents.");
                return self.found(Kind::NoAdvice, &small, reason);
            }
            let raised = sizes.iter().map(|pool| {
                let (share, needed) = (Self::share(pool), self.needed(pool));
                let kept = if is_small(&pool) { share.max(needed) } else { share };
                (pool.cell.value, Some(if is_kept { kept } else { needed }))
            });
            let option = self.setting(raised);
            return Advice { option: Some(option), ..self.found(Kind::Raise, &small, reason) };
        }
        let held_by = |pool: &Pool| {
            let cells = pool.extents.value.saturating_mul(pool.cells_per_extent.value);
            cells.saturating_mul(pool.element.value)
        };
        let held = sizes.iter().map(held_by).fold(0, u64::saturating_add);
        let used = self.pools.taken();
        let largest: Vec<&Pool> = sizes.iter().filter(|pool| pool.extents.value > 0).collect();
        if held >= WORTH_LOWERING && used < held / 4 {
            let reason = format!("extents hold {}, of which {} were used at most.", bytes(held), bytes(used));
            let lowered = sizes.iter().map(|pool| {
                let needed = self.needed(pool);
                (pool.cell.value, Some(if is_kept { Self::share(pool).min(needed) } else { needed }))
            });
            let option = self.setting(lowered);
            return Advice { option: Some(option), ..self.found(Kind::Lower, &largest, reason) };
        }
        if let (Some(now), Some(to_be), false) = (self.pools.initial.certain(), self.initial, is_kept) {
            let reason = format!(
                "HEAP changes from {} to {}, and percentages are of its initial size.",
                bytes(now),
                bytes(to_be)
            );
            let option = self.setting(sizes.iter().map(|pool| (pool.cell.value, Some(self.needed(pool)))));
            return Advice { option: Some(option), ..self.found(Kind::Change, &largest, reason) };
        }
        self.found(Kind::NoChange, &largest, "no pool needed more than 2 extents for each thread.".to_owned())
    }

    /// Other sizes, if those in force waste much.
    fn other_sizes(&self, sizes: &[Pool]) -> Option<Advice> {
        let cells: Vec<u64> = sizes.iter().map(|pool| pool.element.value).collect();
        let requests = &self.pools.requests.rows;
        let rows: Vec<Range> =
            requests.iter().map(|row| Range { to: row.limit, count: row.count.value }).collect();
        let (before, all) = waste(&rows, &cells)?;
        let chosen = suggested(&rows, sizes.last()?.cell.value, UNIT)?;
        let (after, _) = waste(&rows, &chosen)?;
        if before < WORTH_CHANGING || before.saturating_mul(4) < all || after.saturating_mul(2) > before {
            return None;
        }
        let reason = format!(
            "of {} in cells for all requests together, {} are beyond what was asked for; with sizes that fit them {}.",
            bytes(all),
            bytes(before),
            bytes(after)
        );
        let option = self.setting(chosen.into_iter().map(|cell| (cell, None)));
        let all: Vec<&Pool> = sizes.iter().collect();
        Some(Advice { option: Some(option), ..self.found(Kind::Change, &all, reason) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use underbar_ledger::Key;
    use underbar_report::pools::{Pool, Pools, Ranges};
    use underbar_report::sample;

    const INITIAL: u64 = 4 << 20;

    fn pool(cell: u64, percent: Option<u64>, extents: u64, used_peak: u64) -> Pool {
        let cells_per_extent = percent.map_or(100, |percent| INITIAL * percent / 100 / cell);
        Pool { cell, element: cell, percent, cells_per_extent, gets: 9_000, extents, used_peak, used: 1 }
    }

    /// The advice on a process with these pools and threads.
    fn check(each: Vec<Pool>, threads: u64, ranges: &[(u64, u64)], options: &str) -> Option<Advice> {
        check_of(each, threads, ranges, options, INITIAL * 7 / 8)
    }

    /// The same, in a heap of which so many bytes were used.
    fn check_of(
        each: Vec<Pool>,
        threads: u64,
        ranges: &[(u64, u64)],
        options: &str,
        used: u64,
    ) -> Option<Advice> {
        let mut process = sample::heap("/bin/x", used, 1, INITIAL, (INITIAL, 1 << 20));
        process.counters.set(Key::ThreadsPeak, threads);
        process.ranges = (!ranges.is_empty()).then(|| Ranges(ranges.iter().copied().collect()));
        let initial_size = each.first().and_then(|pool| pool.percent).map(|_| INITIAL);
        process.pools = (!each.is_empty()).then_some(Pools { initial_size, larger_requests: 0, each });
        let mut report = sample::report(vec![process]);
        sample::in_force(&mut report, options);
        advise(&report).into_iter().find(|advice| advice.rule == "heap-pools")
    }

    fn option(advice: &Advice) -> String {
        advice.option.as_ref().map_or(String::new(), ToString::to_string)
    }

    #[test]
    fn a_program_without_pools_has_no_advice_on_them() {
        assert_eq!(check(Vec::new(), 1, &[], ""), None);
    }

    #[test]
    fn a_share_rises_to_hold_the_cells_of_a_thread_in_one_extent() {
        let pools = || vec![pool(64, Some(1), 9, 5_000), pool(256, Some(10), 2, 900)];
        let raise = check(pools(), 1, &[], "HEAPPOOLS(ALIGN)").expect("advice");
        assert_eq!((raise.kind, option(&raise).as_str()), (Kind::Raise, "HEAPPOOLS(ALIGN,64,8,256,10,0)"));
        assert_eq!(raise.now, "HEAPPOOLS(ALIGN,64,1,256,10)");
        assert_eq!(raise.reason, "1 pool needed more than 2 extents for each thread.");
        // Four threads, with extents of their own.
        let raise = check(pools(), 4, &[], "HEAPPOOLS(ON)").expect("advice");
        assert_eq!((raise.kind, option(&raise).as_str()), (Kind::Raise, "HEAPPOOLS(ON,64,2,256,10,0)"));
        let same = check(pools(), 5, &[], "").expect("advice");
        assert_eq!((same.kind, same.option.is_none()), (Kind::NoChange, true));
    }

    #[test]
    fn counts_of_cells_have_no_percentages() {
        let raise = check(vec![pool(64, None, 9, 5_000)], 2, &[], "HEAPPOOLS64(ON)").expect("advice");
        assert_eq!((raise.kind, option(&raise).as_str()), (Kind::Raise, "HEAPPOOLS64(ON,64,2500,0)"));
    }

    #[test]
    fn the_largest_share_needs_a_larger_heap() {
        let none = check(vec![pool(65_536, Some(90), 3, 170)], 1, &[], "").expect("advice");
        assert_eq!((none.kind, none.option.is_none()), (Kind::NoAdvice, true));
    }

    #[test]
    fn shares_far_above_use_fall() {
        let lower = check(vec![pool(64, Some(90), 1, 100), pool(1_024, Some(1), 1, 30)], 1, &[], "");
        let lower = lower.expect("advice");
        assert_eq!((lower.kind, option(&lower).as_str()), (Kind::Lower, "HEAPPOOLS(ON,64,1,1024,1,0)"));
    }

    #[test]
    fn percentages_are_of_the_size_that_heap_will_have() {
        // Of 4M only 500K are used: HEAP falls to 576K, a seventh.
        let pools = || vec![pool(64, Some(10), 1, 5_000), pool(256, Some(1), 9, 900)];
        let raise = check_of(pools(), 1, &[], "", 500 << 10).expect("advice");
        assert_eq!((raise.kind, option(&raise).as_str()), (Kind::Raise, "HEAPPOOLS(ON,64,55,256,40,0)"));
        let change = check_of(vec![pool(64, Some(10), 1, 5_000)], 1, &[], "", 500 << 10).expect("advice");
        assert_eq!((change.kind, option(&change).as_str()), (Kind::Change, "HEAPPOOLS(ON,64,55,0)"));
        assert_eq!(
            change.reason,
            "HEAP changes from 4 MiB to 576 KiB, and percentages are of its initial size."
        );
    }

    #[test]
    fn sizes_change_where_cells_waste_a_quarter() {
        let wasting =
            check(vec![pool(1_024, Some(10), 1, 300)], 1, &[(48, 900), (200, 50)], "").expect("advice");
        assert_eq!(
            (wasting.kind, option(&wasting).as_str()),
            (Kind::Change, "HEAPPOOLS(ON,48,,208,,1024,,0)")
        );
        let fitting = check(vec![pool(48, Some(10), 1, 300)], 1, &[(48, 900)], "").expect("advice");
        assert_ne!(fitting.kind, Kind::Change);
    }
}
