//! Caches of print and work files: the sizes that are enough for a listing of Natural (PWCSIZE) and for a run (PRINT, WORKFILE).
//!
//! ```text
//! Cache (size, most used, how often full)  ─> judge: Full, Large, Enough
//! Traffic without one (calls, bytes, time) ─> what a cache of the usual size spares
//! ```
//!
//! Not here: how caches are read in listings (`listing::natural::caches`), and the caches themselves (`runtime`).

use underbar_model::{Cache, Figure, Traffic};
use underbar_report::units::{bytes, count};

use crate::advice::{Advice, Evidence, Kind, Setting};
use crate::case::Case;
use crate::sizes::{is_well_used, rounded};
use crate::worth::{FEW, Worth};

const K: u64 = 1 << 10;

/// The sizes of caches that are usual, for print, read and write: several 100 KB are sufficient.
pub const USUAL: [u64; 3] = [300 * K, 200 * K, 300 * K];

/// What is to be said of the size of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// It was full, and is smaller than usual.
    Full,
    /// So many bytes would have been enough.
    Large(u64),
    /// It is right, or not known well enough.
    Enough,
}

/// Judges a cache by its use over all runs, and in the run in which it was fullest. `is_whole`: no run's use is missing.
pub fn judge((over_all, fullest): (&Cache, &Cache), usual: u64, is_whole: bool) -> Judged {
    let size = over_all.size.value;
    let (Some(used), Some(full)) = (fullest.used.certain(), fullest.size.certain()) else {
        return Judged::Enough;
    };
    if used.saturating_mul(100) >= full.saturating_mul(95) {
        let is_enough = size >= usual || fullest.is_seldom_full();
        return if is_enough { Judged::Enough } else { Judged::Full };
    }
    let Some(most) = over_all.used.certain() else { return Judged::Enough };
    let enough = rounded(most.saturating_add(most / 8), 4096);
    if is_whole && !is_well_used(most, size) && size.saturating_sub(enough) >= 64 * K {
        return Judged::Large(enough);
    }
    Judged::Enough
}

/// Traffic that a cache could serve.
struct Served<'a> {
    traffic: &'a Traffic,
    /// The usual size of its cache.
    usual: u64,
    /// Before and after the number of bytes of a call.
    words: [&'static str; 2],
}

/// Rule `natural-cache-size`, for a run.
pub fn of_run(case: &Case<'_>) -> Vec<Advice> {
    if case.caches.is_empty() { without(case) } else { case.caches.iter().map(of_cache).collect() }
}

/// What is to be said of a cache that a run had.
fn of_cache(cache: &Cache) -> Advice {
    let usual = match cache.name.as_str() {
        "PCACHE" => USUAL[0],
        "WCACHEO" => USUAL[2],
        _ => USUAL[1],
    };
    let size = cache.size.value;
    let figures = [&cache.size, &cache.used, &cache.calls, &cache.full, &cache.useful, &cache.plain];
    let now = format!("{} of {}", cache.name, bytes(size));
    let mut advice = Advice { now, evidence: Evidence::all(figures), ..Advice::default() };
    if cache.calls.value == 0 {
        advice.reason = match cache.plain.value {
            0 => "No file used it.".to_owned(),
            files => {
                format!("No file used it: {} were left alone (--report bus has the reasons).", count(files))
            }
        };
        return advice;
    }
    let served = format!("{} calls, {} times full", count(cache.calls.value), count(cache.full.value));
    let useful = cache.useful.certain();
    (advice.kind, advice.reason) = match (judge((cache, cache), usual, true), useful) {
        (Judged::Full, Some(useful)) if useful <= size => (
            Kind::NoChange,
            format!("{served}: a larger one cannot help, since it is flushed before it is full."),
        ),
        (Judged::Full, Some(useful)) => {
            let then = bytes(useful.min(usual));
            (
                Kind::NoAdvice,
                format!("{served}: with {then} fewer than one call of a hundred would find it full."),
            )
        }
        (Judged::Large(enough), _) => {
            let most = bytes(cache.used.value);
            (Kind::NoAdvice, format!("{served}; at most {most} were used: {} are enough.", bytes(enough)))
        }
        _ => (Kind::NoChange, format!("{served}.")),
    };
    advice
}

/// What caches would spare a run that has none.
fn without(case: &Case<'_>) -> Vec<Advice> {
    let of = &case.switching;
    let served = |traffic, at: usize, words| Served { traffic, usual: USUAL[at], words };
    let print = [served(&of.print, 0, ["writes of", "to standard output or error"])];
    let files =
        [served(&of.read, 1, ["reads of", "of files"]), served(&of.written, 2, ["writes of", "to files"])];
    // Which files they are is not counted: all of them.
    let all_files = Some("*".to_owned());
    [judged(case, "PRINT", &print, None), judged(case, "WORKFILE", &files, all_files)]
        .into_iter()
        .flatten()
        .collect()
}

/// What caches would spare the traffic that one option governs. None: it is little, or not known.
fn judged(
    case: &Case<'_>,
    option: &'static str,
    all: &[Served<'_>],
    files: Option<String>,
) -> Option<Advice> {
    let some: Vec<&Served<'_>> = all.iter().filter(|served| served.is_some()).collect();
    let sum = |of: fn(&Served<'_>) -> Option<u64>| {
        some.iter().filter_map(|served| of(served)).fold(0, u64::saturating_add)
    };
    let spared = sum(|served| served.traffic.spared(served.usual));
    let worth = Worth::of(spared, &case.switching.cpu).filter(|_| !some.is_empty())?;
    let told: Vec<String> = some.iter().map(|served| served.told()).collect();
    let figures = some.iter().flat_map(|served| served.figures()).chain([&case.switching.cpu]);
    let mut advice =
        Advice { now: format!("no {option}"), evidence: Evidence::all(figures), ..Advice::default() };
    advice.reason = format!("{}: a cache would spare {}.", told.join(", "), worth.words("processor time"));
    if !worth.is_enough() {
        advice.reason.insert_str(0, "Not worth it here: ");
        return Some(advice);
    }
    let sizes = all
        .iter()
        .map(|served| Some(if served.is_some() { (served.usual / K).to_string() } else { "0".to_owned() }));
    let sub_options = files.map(Some).into_iter().chain(sizes).collect();
    advice.kind = Kind::Change;
    advice.risk = "Who reads the file meanwhile sees the lines later.".to_owned();
    advice.option = is_known(option).then_some(Setting { option, sub_options });
    let (now, then) = (
        sum(|served| served.traffic.calls.at_least()),
        sum(|served| served.traffic.calls_with(served.usual)),
    );
    advice.effect = format!("about {} calls instead of {}.", count(then), count(now));
    Some(advice)
}

/// Whether there is such an option.
fn is_known(option: &str) -> bool {
    underbar_options::OPTIONS.iter().any(|entry| entry.name == option)
}

impl<'a> Served<'a> {
    /// Whether there are so many calls that their cost can be measured, and it was.
    fn is_some(&self) -> bool {
        let calls = self.traffic.calls.at_least();
        calls.is_some_and(|calls| calls >= FEW) && self.traffic.spared(self.usual).is_some()
    }

    fn figures(&self) -> [&'a Figure; 3] {
        [&self.traffic.calls, &self.traffic.bytes, &self.traffic.time]
    }

    /// `10,000 writes of 132 B each to files`.
    fn told(&self) -> String {
        let (calls, moved) = (self.traffic.calls.value, self.traffic.bytes.value);
        let [before, after] = self.words;
        format!("{} {before} {} each {after}", count(calls), bytes(moved / calls.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use underbar_model::Certainty;
    use underbar_report::buffers::Buffer;
    use underbar_report::sample;
    use underbar_report::steps::Steps;
    use underbar_report::switch_costs::SwitchCosts;
    use underbar_report::switches::{Calls, Switches};

    #[test]
    fn caches_are_judged_whatever_told_them() {
        let figure = |value| Figure::counter("buffers.size", value, Certainty::Certain);
        let cache = |size: u64, used: u64| {
            let absent = Cache::absent("PCACHE", "not told");
            Cache { size: figure(size), used: figure(used), ..absent }
        };
        let judged = |size, used| judge((&cache(size, used), &cache(size, used)), USUAL[0], true);
        let seldom = Cache { calls: figure(10_000), full: figure(90), ..cache(64 * K, 63 * K) };
        assert_eq!(judge((&seldom, &seldom), USUAL[0], true), Judged::Enough, "it is seldom full");
        assert_eq!(judged(64 * K, 63 * K), Judged::Full);
        assert_eq!(judged(300 * K, 300 * K), Judged::Enough, "a larger one only divides what is left");
        assert_eq!(judged(900 * K, 90 * K), Judged::Large(104 * K));
        assert_eq!(judged(100 * K, 50 * K), Judged::Enough, "less than 64K would be spared");
        let large = cache(900 * K, 90 * K);
        assert_eq!(judge((&large, &large), USUAL[0], false), Judged::Enough, "a run's use is missing");
    }

    /// The suggestions for a run that used `cpu` milliseconds and made these calls at 400 ns each.
    fn said(cpu: u64, calls: &[(&str, &str, u64, u64)]) -> Vec<Advice> {
        let mut process = sample::heap("/bin/logger", 1 << 20, 1, 1 << 20, (0, 0));
        let calls = calls.iter().map(|&(kind, function, count, bytes)| Calls {
            component: "logger".to_owned(),
            kind: kind.to_owned(),
            function: function.to_owned(),
            count,
            bytes: Some(bytes),
        });
        process.switches = Some(Switches { calls: calls.collect(), ..Switches::default() });
        let mut report = sample::report(vec![process]);
        report.steps = Some(Steps { user_ns: cpu * 1_000_000, elapsed_ns: 1 << 40, ..Steps::default() });
        let (read_ns, write_ns) = (400, 400);
        report.host.switch_costs = Some(SwitchCosts { read_ns, write_ns, ..SwitchCosts::default() });
        advise(&report).into_iter().filter(|advice| advice.rule == "natural-cache-size").collect()
    }

    /// The options to set, which must be those; none of them if there is no such option.
    fn sets(all: &[Advice], expected: &[&str]) {
        let options: Vec<String> = all.iter().filter_map(Advice::suggested).collect();
        let is_there = |text: &&&str| is_known(text.split('(').next().unwrap_or_default());
        let expected: Vec<&&str> = expected.iter().filter(is_there).collect();
        assert_eq!(
            options.iter().map(String::as_str).collect::<Vec<_>>(),
            expected.into_iter().copied().collect::<Vec<_>>()
        );
    }

    #[test]
    fn small_writes_and_reads_get_caches() {
        let print = [("print", "write", 10_000, 1_330_000)];
        let all = said(100, &print);
        sets(&all, &["PRINT(300)"]);
        let words = "10,000 writes of 133 B each to standard output or error: a cache would spare about 4.00 ms of 100 ms of \
                     processor time, 3.9 %.";
        assert_eq!(all[0].reason, words);
        assert_eq!(all[0].effect, "about 5 calls instead of 10,000.");
        let keys: Vec<String> = all[0].evidence.iter().map(ToString::to_string).collect();
        assert_eq!(keys[0], "switches.print.calls 10000", "{keys:?}");
        let files = [("file", "write", 20_000, 2_000_000), ("file", "read", 10_478, 838_240)];
        sets(&said(100, &files), &["WORKFILE(*,200,300)"]);
        sets(&said(100, &files[..1]), &["WORKFILE(*,0,300)"]);
        sets(&said(100, &files[1..]), &["WORKFILE(*,200,0)"]);
    }

    #[test]
    fn caches_of_a_run_are_judged_by_their_use() {
        let said = |size: u64, max_used: u64, calls: u64, full: u64, between_p99: Option<u64>| {
            let mut process = sample::heap("/bin/logger", 1 << 20, 1, 1 << 20, (0, 0));
            process.buffers = vec![Buffer {
                name: "PCACHE".to_owned(),
                size,
                max_used,
                calls,
                bytes: calls * 133,
                flushes: [("full".to_owned(), full)].into_iter().collect(),
                between_p99,
                ..Buffer::default()
            }];
            let all = advise(&sample::report(vec![process]));
            let advice = all.into_iter().find(|advice| advice.rule == "natural-cache-size").expect("advice");
            assert_eq!((&advice.option, advice.area), (&None, Some(underbar_model::Area::Switches)));
            (advice.kind, advice.reason)
        };
        // A rule says "no change" after its advice is followed.
        let right = said(300 * K, 300 * K, 10_000, 5, None);
        assert_eq!(right, (Kind::NoChange, "10,000 calls, 5 times full.".to_owned()));
        let (kind, reason) = said(1024, 1_020, 10_000, 1_300, None);
        assert_eq!(kind, Kind::NoAdvice);
        assert!(reason.contains("with 16 KiB fewer than one call of a hundred"), "{reason}");
        let (kind, reason) = said(1024, 1_020, 10_000, 1_300, Some(900));
        assert_eq!(kind, Kind::NoChange);
        assert!(reason.contains("a larger one cannot help"), "{reason}");
        let (_, reason) = said(900 * K, 90 * K, 700, 0, None);
        assert!(reason.contains("104 KiB are enough"), "{reason}");
        assert_eq!(said(300 * K, 0, 0, 0, None).1, "No file used it.");
    }

    #[test]
    fn what_is_little_is_not_worth_it() {
        let all = said(1_000, &[("print", "write", 10_000, 1_330_000)]);
        sets(&all, &[]);
        assert!(all[0].reason.starts_with("Not worth it here: 10,000 writes of 133 B"), "{}", all[0].reason);
        assert_eq!(said(1, &[("print", "write", 999, 9_990)]), [], "few");
        assert_eq!(said(1, &[("file", "write", 9_000, 9_000 * 65_536)]), [], "large writes");
        assert_eq!(said(1, &[("network", "send", 9_000, 9_000)]), [], "no file");
    }
}
