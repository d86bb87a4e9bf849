//! Rules that set nothing: reports that cannot be used, counts, coarse classes, sets of sizes.
//!
//! Invariant: each names the data that more advice would need.
//! Not here: what the displays show (`displays`), and which reports are damaged (`unusable`).

use underbar_model::{Certainty, Evidence as Source, Figure, Storage};
use underbar_report::units::{count, counted};

use super::super::Collected;
use super::super::shares::share;
use super::avl::too_coarse;
use super::configuration::value;
use super::displays::{self, NOT_READ, Pairs, Set, Shown, SystemHeap};
use super::population::{Population, name, populations};
use super::unusable::{self, Unusable};
use super::{LISTS, about};
use crate::advice::{Advice, Kind, Line};

/// Entries of the first control table.
const ENTRIES: u64 = 150;
const FRAME: u64 = 4096;
/// At most this many displays of one kind are remarked on.
const MOST: usize = 20;

/// Reports that cannot be used.
pub(crate) fn sound(collected: &Collected) -> Vec<Advice> {
    unusable::tables(collected).map(Unusable::said).take(MOST).collect()
}

/// Numbers of buffers.
pub(crate) fn counts(collected: &Collected) -> Vec<Advice> {
    let known = populations(collected);
    let lists = displays::configured(collected, &known);
    if lists.is_empty() && known.is_empty() {
        return Vec::new();
    }
    let mut evidence: Vec<_> = match (&lists[..], known.first()) {
        ([], Some(one)) => one.titles.iter().take(1).cloned().collect(),
        _ => lists.iter().filter_map(|list| list.buffers.evidence.line().cloned()).collect(),
    };
    evidence.dedup();
    let mut said = about(&name(None), Kind::NoAdvice, evidence);
    said.certainty = "none: nothing is set".to_owned();
    said.reason = "How many buffers an ECB holds at one time is in none of these reports, so the numbers are left as they are; \
                   name-value pairs of PJ48166 count what each list dispenses and gets back."
        .to_owned();
    if lists.is_empty() {
        said.now = "HAVLn not known".to_owned();
        return vec![said];
    }
    let figures: Vec<String> =
        lists.iter().map(|list| format!("HAVL{}={}", list.number, list.buffers.value)).collect();
    said.now = figures.join(" ");
    let sum = lists.iter().take(LISTS).fold(0_u64, |sum, list| sum.saturating_add(list.buffers.value));
    if sum > ENTRIES {
        said.reason +=
            &format!(" {sum} buffers in all are more than the {ENTRIES} that were possible before PJ47265.");
    }
    let bytes = lists.iter().try_fold(0_u64, |sum, list| {
        let is_known = list.size.certainty != Certainty::Unknown;
        is_known.then(|| sum.saturating_add(list.buffers.value.saturating_mul(list.size.value)))
    });
    if let (Some(bytes), Some(area)) = (bytes, value(collected, "PEH"))
        && bytes > area.value.saturating_mul(FRAME)
    {
        said.reason += &format!(
            " These buffers take {bytes} bytes, more than PEH={} holds if it counts 4-KB frames: check both.",
            area.value
        );
    }
    vec![said]
}

/// Reports with classes of 128.
pub(crate) fn fine(collected: &Collected) -> Vec<Advice> {
    let all = populations(collected);
    let one = |population: &Population<'_>| {
        let first = population.requests.rows.first()?;
        let finer = all.iter().any(|other| other.set == population.set && !other.coarse);
        if !too_coarse(population) || finer || first.count.value == 0 {
            return None;
        }
        let lines = population.titles.last().into_iter().chain(first.count.evidence.line());
        let mut said = about(&population.name, Kind::NoAdvice, lines.cloned().collect());
        said.now = "classes of 128".to_owned();
        said.reason = format!(
            "{} of the requests are of 1 to {} bytes, and the report does not say which: whether a list of 32 or 64 would \
             serve them shows only with the classes of PJ47265.",
            share(first.count.value, population.all()),
            first.limit
        );
        said.certainty = "none: nothing is set".to_owned();
        Some(said)
    };
    all.iter().filter_map(one).collect()
}

/// Displays of one ECB's lists.
pub(crate) fn sets(collected: &Collected) -> Vec<Advice> {
    let one = |set: Set| {
        let mut evidence = vec![set.title];
        evidence.extend(set.lists.first().and_then(|list| list.size.evidence.line().cloned()));
        let mut said = about(&name(set.name.as_deref()), Kind::NoAdvice, evidence);
        let size = |figure: &Figure| {
            format!("{}{}", figure.value, if figure.is_likely() { " (may be cut)" } else { "" })
        };
        let sizes: Vec<String> =
            set.lists.iter().map(|list| format!("AVL{} {}", list.number, size(&list.size))).collect();
        said.now = if sizes.is_empty() { "sizes not known".to_owned() } else { sizes.join(", ") };
        said.reason = match &set.name {
            Some(set) => format!(
                "These are the sizes of set {set} only. A request size report of the whole system does not speak for it: choose \
                 its sizes by what ECBs of that set ask for."
            ),
            None => "The display does not say to which set these sizes belong.".to_owned(),
        };
        if let Some([all, shared, new]) = set.dispensed {
            said.reason += &format!(
                " Its lists dispensed {}: {} by shared lists, {} by new storage.",
                counted(all, "buffer", "buffers"),
                share(shared, all),
                share(new, all)
            );
        }
        said.certainty = "none: nothing is set".to_owned();
        said
    };
    displays::sets(collected).map(one).take(MOST).collect()
}

/// Name-value pairs and the system heap.
pub(crate) fn read_only(collected: &Collected) -> Vec<Advice> {
    let one = |shown: Shown| {
        let (title, now, reason) = match shown {
            Shown::Pairs(pairs) => of_pairs(pairs),
            Shown::SystemHeap(heap) => of_system_heap(*heap),
        };
        let mut said = about(&name(None), Kind::NoAdvice, vec![title]);
        (said.now, said.reason) = (now, reason);
        said.certainty = "none: nothing is set".to_owned();
        said
    };
    displays::others(collected).map(one).take(MOST).collect()
}

fn of_pairs(pairs: Pairs) -> (Line, String, String) {
    let changes: Vec<String> =
        pairs.changes.iter().take(12).map(|(name, sum)| format!("{name} {}", count(sum.value))).collect();
    let shown = match &changes[..] {
        _ if !pairs.has_ecbs => "not known, since the rows name no ECB".to_owned(),
        [] => "none that is called AVL or HEAP".to_owned(),
        changes => changes.join(", "),
    };
    let now = counted(pairs.rows, "row of name-value pairs", "rows of name-value pairs");
    if !pairs.of_classes.is_empty() {
        let rows = pairs.of_classes.iter().take(12).map(|(name, ecbs, buffers)| {
            let buffers = counted(*buffers, "buffer", "buffers");
            format!("{name} {}, {buffers} dispensed", counted(*ecbs, "ECB", "ECBs"))
        });
        let rows: Vec<String> = rows.collect();
        let reason = format!("Sums of ended ECBs, as underbar prints them: {}.", rows.join("; "));
        return (pairs.title, now, reason);
    }
    let reason = format!(
        "Changes within ECBs: {shown}. Which counters are about the heap of ECBs is in no public source, so nothing is \
         set by them."
    );
    (pairs.title, now, reason)
}

fn of_system_heap(heap: SystemHeap) -> (Line, String, String) {
    let SystemHeap { title, whole, preallocated } = heap;
    // A row of both columns.
    let row = |of: [&Figure; 2]| {
        let size = |figure: &Figure| match figure.certainty {
            Certainty::Unknown => "-".to_owned(),
            _ => format!("{} KB{}", count(figure.value / 1024), if figure.is_likely() { "?" } else { "" }),
        };
        match of {
            [Figure { evidence: Source::Absent(NOT_READ), .. }, _] => "not read".to_owned(),
            [low, high] => format!("31-bit {}, 64-bit {}", size(low), size(high)),
        }
    };
    // The ratio of two figures, in each column that has both; with words before it if there is one.
    let shares = |words: &str, columns: &[Storage; 2], two: fn(&Storage) -> [&Figure; 2]| {
        let of_column = |(width, of): (&str, &Storage)| {
            let [part, whole] = two(of);
            if part.certainty == Certainty::Unknown || whole.value == 0 {
                return None;
            }
            let sure = if part.is_likely() || whole.is_likely() { "?" } else { "" };
            Some(format!("{width} {}{sure}", share(part.value, whole.value)))
        };
        let both: Vec<String> = ["31-bit", "64-bit"].into_iter().zip(columns).filter_map(of_column).collect();
        if both.is_empty() { String::new() } else { format!(" {words}: {}.", both.join(", ")) }
    };
    let now = format!("system heap in use: {}", row([&whole[0].used_last, &whole[1].used_last]));
    let reason = format!(
        "Most in use: {}, the least that its size has to hold.{}{}{} No source holds a rule for the system heap: \
         nothing is set.",
        row([&whole[0].used, &whole[1].used]),
        shares("Of its size", &whole, |of| [&of.used, &of.initial]),
        shares("In use now of the most", &whole, |of| [&of.used_last, &of.used]),
        shares("In use of what is preallocated", &preallocated, |of| [&of.used_last, &of.initial]),
    );
    (title, now, reason)
}
