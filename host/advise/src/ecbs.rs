//! Rules about ECBs of a run: sizes of the available lists of a class, classes that need sizes of their own, the preallocated area.
//!
//! ```text
//! requests by size, of each class ──> sizes of least waste ──> AVL(class,s1,...,s5)
//! ended ECBs by their use, of all classes ──> what holds 95 of 100 ──> ECB(area)
//! ```
//!
//! Invariant: sizes come from counts, never from printed percentages.
//! Not here: the same rules for listings of z/TPF (`listing::ztpf`), and the search for sizes (`underbar_model::classes`).

use underbar_model::{Class, EcbClass, classes::least_waste};
use underbar_report::units::{bytes, count, counted, share, size};

use crate::advice::{Advice, Evidence, Kind, Setting};
use crate::case::Case;

/// Available lists of a class.
const LISTS: usize = 5;
/// Sizes are multiples of this, and at least [`SMALLEST`].
const UNIT: u64 = 16;
const SMALLEST: u64 = 32;
/// Larger requests are known by powers of two only, and the other lists serve them with little waste.
const LARGEST: u64 = 4096;
/// With fewer requests there is no advice.
const FEW: u64 = 100;
/// A change that spares less than one byte in so many is not worthwhile.
const WORTH: u64 = 100;
/// A class deserves sizes of its own if they spare one byte in so many.
const OWN: u64 = 20;
/// The area should hold so many ECBs of a hundred.
const TARGET: u64 = 95;
/// With fewer ECBs there is no advice on it.
const FEW_ECBS: u64 = 20;

/// Requests that an available list may serve.
fn requests(class: &EcbClass) -> Vec<Class> {
    let mut requests = class.requests.classes();
    requests.retain(|row| row.limit <= LARGEST);
    requests
}

fn number(requests: &[Class]) -> u64 {
    requests.iter().fold(0, |sum, row| sum.saturating_add(row.count))
}

/// Bytes of a buffer for a request: of the smallest list that holds it, or of the other lists (see `heap::ecb::lists`).
fn buffer(request: u64, sizes: &[u64]) -> u64 {
    if let Some(size) = sizes.iter().find(|size| **size >= request) {
        return *size;
    }
    if request <= 256 {
        return request.next_multiple_of(64);
    }
    let step = 64 << ((request - 1).ilog2() - 8);
    request.checked_next_multiple_of(step).unwrap_or(u64::MAX)
}

/// Bytes handed out for requests.
fn handed_out(requests: &[Class], sizes: &[u64]) -> u128 {
    let bytes = |row: &Class| u128::from(buffer(row.limit, sizes)) * u128::from(row.count);
    requests.iter().map(bytes).fold(0, u128::saturating_add)
}

/// The sizes that waste least.
fn best(requests: &[Class]) -> Vec<u64> {
    let mut sizes = least_waste(requests, LISTS, UNIT);
    sizes.iter_mut().for_each(|size| *size = (*size).max(SMALLEST));
    sizes.dedup();
    sizes
}

fn setting(name: &str, sizes: &[u64]) -> Setting {
    let sizes = sizes.iter().map(|size| Some(size.to_string()));
    Setting { option: "AVL", sub_options: [Some(name.to_owned())].into_iter().chain(sizes).collect() }
}

/// Whether a name can be written in an option text.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

fn evidence(class: &EcbClass) -> Vec<Evidence> {
    Evidence::all([&class.counted, &class.created])
}

/// Rule `tpf-avl-size` for a run: each class whose sizes are worth a change, that which can spare most first; if there is none, that one alone.
pub fn sizes(case: &Case<'_>) -> Vec<Advice> {
    let mut found: Vec<(u128, Advice)> = case.classes.iter().filter_map(sizes_of).collect();
    found.sort_by_key(|(spared, _)| std::cmp::Reverse(*spared));
    let count = found.iter().filter(|(_, advice)| advice.option.is_some()).count().max(1);
    let mut all: Vec<Advice> = found.into_iter().map(|(_, advice)| advice).collect();
    all.sort_by_key(|advice| advice.option.is_none());
    all.truncate(count);
    if all.is_empty() { uncounted(case).into_iter().collect() } else { all }
}

/// A class whose ECBs are so few that none of them was counted by size.
fn uncounted(case: &Case<'_>) -> Option<Advice> {
    let got = |class: &EcbClass| class.dispensed.value;
    let is_uncounted = |class: &&EcbClass| class.counted.value == 0 && got(class) >= FEW;
    let class = case.classes.iter().filter(is_uncounted).max_by_key(|class| got(class))?;
    let ecbs = match class.created.value {
        1 => "the ECB".to_owned(),
        created => format!("the {} ECBs", count(created)),
    };
    Some(Advice {
        kind: Kind::NoChange,
        now: setting(&class.name, &class.sizes()).to_string(),
        reason: format!(
            "The requests in {ecbs} of class {} were not counted by size: that is done in one ECB of {}. RPTSTG(ON) counts all.",
            class.name, class.counted_one_in.value
        ),
        evidence: evidence(class),
        risk: "None: nothing is set.".to_owned(),
        ..Advice::default()
    })
}

/// The advice for a class that has enough requests, and the bytes that it spares.
fn sizes_of(class: &EcbClass) -> Option<(u128, Advice)> {
    let requests = requests(class);
    if number(&requests) < FEW {
        return None;
    }
    let proposed = best(&requests);
    let sizes = class.sizes();
    let (old, new) = (handed_out(&requests, &sizes), handed_out(&requests, &proposed));
    // Of all ECBs that were created.
    let every = u128::from(class.created.value / class.counted.value.max(1)).max(1);
    let spared = old.saturating_sub(new).saturating_mul(every);
    let now = setting(&class.name, &sizes);
    let words = |sum: u128| bytes(u64::try_from(sum).unwrap_or(u64::MAX));
    let risk = "The next run's ECBs may ask for other sizes. What no available list holds is served by lists of other sizes, a quarter larger than the \
                request at most.".to_owned();
    let found = Advice { now: now.to_string(), evidence: evidence(class), risk, ..Advice::default() };
    let of = format!(
        "{} of up to {} were counted by size in {} of class {}",
        counted(number(&requests), "request", "requests"),
        bytes(LARGEST),
        counted(class.counted.value, "ECB", "ECBs"),
        class.name
    );
    if !is_plain(&class.name) || old.saturating_sub(new).saturating_mul(u128::from(WORTH)) <= old {
        let reason = format!("{of}; the best sizes would not spare one byte in {WORTH} of {}.", words(old));
        return Some((spared, Advice { kind: Kind::NoChange, reason, ..found }));
    }
    let is_lower = proposed.len() >= sizes.len() && proposed.iter().zip(&sizes).all(|(new, old)| new <= old);
    let is_higher = proposed.iter().zip(&sizes).all(|(new, old)| new >= old);
    let kind = match (is_lower, is_higher) {
        (true, _) => Kind::Lower,
        (_, true) => Kind::Raise,
        _ => Kind::Change,
    };
    let advice = Advice {
        kind,
        option: Some(setting(&class.name, &proposed)),
        reason: format!("{of}; of all ways to cut them into {LISTS} lists these sizes waste least."),
        effect: format!("bytes handed out for these requests {} -> {}.", words(old), words(new)),
        ..found
    };
    Some((spared, advice))
}

/// Rule `tpf-population` for a run: classes that waste much under the sizes that are best for all classes together.
pub fn own_sizes(case: &Case<'_>) -> Vec<Advice> {
    compared(case).into_iter().collect()
}

fn compared(case: &Case<'_>) -> Option<Advice> {
    let mut all: Vec<_> = case.classes.iter().map(|class| (class, requests(class))).collect();
    all.retain(|(_, requests)| number(requests) >= FEW);
    if all.len() < 2 {
        return None;
    }
    let mut together: Vec<Class> = Vec::new();
    for row in all.iter().flat_map(|(_, requests)| requests) {
        match together.binary_search_by_key(&row.limit, |known| known.limit) {
            Ok(at) => together[at].count = together[at].count.saturating_add(row.count),
            Err(at) => together.insert(at, *row),
        }
    }
    let common = best(&together);
    let deserve: Vec<String> = all
        .iter()
        .filter_map(|(class, requests)| {
            let (shared, own) = (handed_out(requests, &common), handed_out(requests, &best(requests)));
            let spared = shared.saturating_sub(own);
            (spared * u128::from(OWN) > shared)
                .then(|| format!("{} ({} %)", class.name, spared * 100 / shared.max(1)))
        })
        .collect();
    let evidence = Evidence::all(all.iter().map(|(class, _)| &class.counted));
    let sizes = common.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let (kind, reason) = if deserve.is_empty() {
        (
            Kind::NoChange,
            format!(
                "{} have requests so much alike that the same sizes ({sizes}) serve them.",
                counted(all.len() as u64, "class", "classes")
            ),
        )
    } else {
        (
            Kind::Change,
            format!(
                "Sizes of their own spare bytes that common sizes ({sizes}) hand out in vain: {}. AVL(class,...) sets them: see \
                 tpf-avl-size.",
                deserve.join(", ")
            ),
        )
    };
    Some(Advice { kind, evidence, reason, risk: "None: nothing is set.".to_owned(), ..Advice::default() })
}

/// Rule `tpf-preallocated` for a run.
pub fn area(case: &Case<'_>) -> Vec<Advice> {
    preallocated(case).into_iter().collect()
}

fn preallocated(case: &Case<'_>) -> Option<Advice> {
    let (first, others) = case.classes.split_first()?;
    let (mut used, mut exceeded) = (first.area.clone(), first.exceeded.clone());
    for class in others {
        used.add(class.area.clone());
        exceeded.add(&class.exceeded);
    }
    let (ecbs, present, exceed) = (used.all(), used.area.value, exceeded.value);
    if ecbs < FEW_ECBS {
        return None;
    }
    let found = Advice {
        now: format!("ECB({})", size(present)),
        evidence: Evidence::of(&used.area)
            .into_iter()
            .chain([Evidence::Counter { key: "ecbs.ended", figure: ecbs }])
            .collect(),
        risk: "Each ECB takes the addresses of its area; memory is taken only where it is touched."
            .to_owned(),
        ..Advice::default()
    };
    let Some(holds) = used.holding(TARGET) else {
        let reason = format!(
            "{} of {} ended ECBs had more than any area that is counted by steps: the rest is in frames of 1 MiB.",
            share(used.above.value, ecbs),
            count(ecbs)
        );
        return Some(Advice { kind: Kind::NoAdvice, reason, ..found });
    };
    let reason = format!(
        "{} of {} ended ECBs had more than the area; {} hold {TARGET} % of them.",
        count(exceed),
        count(ecbs),
        bytes(holds)
    );
    let kind = match holds.cmp(&present) {
        std::cmp::Ordering::Greater => Kind::Raise,
        // Pages that no ECB touches take addresses, and no memory.
        std::cmp::Ordering::Less if present >= 4 * holds => Kind::Lower,
        _ => return Some(Advice { kind: Kind::NoChange, reason, ..found }),
    };
    let option = Some(Setting::new("ECB", [Some(size(holds))]));
    let effect = match kind {
        Kind::Raise => format!("ECBs that need a frame {} -> {}.", count(exceed), count(used.exceed(holds))),
        _ => format!("addresses of each ECB {} -> {}; memory stays the same.", bytes(present), bytes(holds)),
    };
    Some(Advice { kind, option, reason, effect, ..found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::advise;
    use underbar_report::ecbs::{EcbClass, Rows};
    use underbar_report::sample;

    fn class(name: &str, requests: &[(u64, u64)], uses: &[(u64, u64)]) -> EcbClass {
        let rows = |all: &[(u64, u64)]| Rows { up_to: all.iter().copied().collect(), above: None };
        EcbClass { name: name.to_owned(), requests: rows(requests), uses: rows(uses), ..sample::ecbs() }
    }

    fn said(rule: &str, classes: Vec<EcbClass>) -> Option<Advice> {
        let mut process = sample::heap("/bin/server", 40 << 20, 4, 64 << 20, (0, 0));
        process.ecbs = classes;
        advise(&sample::report(vec![process])).into_iter().find(|advice| advice.rule == rule)
    }

    fn sized(rule: &str, classes: Vec<EcbClass>) -> Option<(Kind, String)> {
        said(rule, classes).map(|found| (found.kind, found.suggested().unwrap_or_default()))
    }

    #[test]
    fn sizes_are_those_of_the_class_that_can_spare_most() {
        let rule = "tpf-avl-size";
        let ssl = class("SSL", &[(48, 900), (80, 90), (112, 10)], &[]);
        let json = class("JSON", &[(32, 500), (64, 300)], &[]);
        assert_eq!(
            sized(rule, vec![json.clone(), ssl]),
            Some((Kind::Change, "AVL(SSL,48,80,112)".to_owned()))
        );
        assert_eq!(sized(rule, vec![json.clone()]), Some((Kind::NoChange, String::new())));
        let small = class("SMALL", &[(16, 10), (128, 5)], &[]);
        assert_eq!(sized(rule, vec![small]), None, "too few");
        assert_eq!(sized(rule, Vec::new()), None);
        let lower = class("LOW", &[(32, 9), (48, 9), (96, 900), (208, 9), (400, 9)], &[]);
        assert_eq!(sized(rule, vec![lower]), Some((Kind::Lower, "AVL(LOW,32,48,96,208,400)".to_owned())));
        let high = class("HIGH", &[(80, 900), (144, 90), (272, 9), (528, 50), (1_040, 50)], &[]);
        assert_eq!(sized(rule, vec![high]), Some((Kind::Raise, "AVL(HIGH,80,144,272,528,1040)".to_owned())));
        // The name of a class that no option text can hold.
        let odd = class("A,B)", &[(48, 900)], &[]);
        assert_eq!(sized(rule, vec![odd]), Some((Kind::NoChange, String::new())));
    }

    /// The runtime's lists of other sizes: 64 apart up to 256, then four for each doubling.
    #[test]
    fn other_sizes_are_those_of_the_heap() {
        let all = [1, 65, 256, 257, 321, 512, 513, 640, 1_025, 4_096].map(|request| buffer(request, &[]));
        assert_eq!(all, [64, 128, 256, 320, 384, 512, 640, 640, 1_280, 4_096]);
        assert_eq!((buffer(33, &[32, 48]), buffer(49, &[32, 48])), (48, 64));
    }

    #[test]
    fn few_ecbs_are_counted_by_an_option() {
        let few = EcbClass { created: 20, counted: 0, ..class("FEW", &[], &[]) };
        let found = said("tpf-avl-size", vec![few.clone()]).expect("a reason");
        assert_eq!((found.kind, found.option), (Kind::NoChange, None));
        assert!(
            found.reason.starts_with("The requests in the 20 ECBs of class FEW were not counted"),
            "{}",
            found.reason
        );
        let sized = class("SSL", &[(48, 900)], &[]);
        assert_eq!(sized_of(vec![few, sized]), "AVL(SSL,48)");
    }

    fn sized_of(classes: Vec<EcbClass>) -> String {
        sized("tpf-avl-size", classes).expect("advice").1
    }

    #[test]
    fn each_class_that_is_worth_a_change_has_its_sizes() {
        let (one, two) = (class("ONE", &[(48, 900)], &[]), class("TWO", &[(80, 900), (112, 900)], &[]));
        let alike = class("ALIKE", &[(64, 900)], &[]);
        let mut process = sample::heap("/bin/server", 40 << 20, 4, 64 << 20, (0, 0));
        process.ecbs = vec![one, alike, two];
        let all = advise(&sample::report(vec![process]));
        let options: Vec<String> =
            all.iter().filter(|advice| advice.rule == "tpf-avl-size").filter_map(Advice::suggested).collect();
        assert_eq!(options, ["AVL(TWO,80,112)", "AVL(ONE,48)"]);
        let merged = crate::lines::merged(&all);
        assert!(merged[0].text().ends_with("AVL(TWO,80,112),AVL(ONE,48)"), "{}", merged[0].text());
    }

    #[test]
    fn classes_that_differ_deserve_sizes_of_their_own() {
        let rule = "tpf-population";
        let many = |at: u64| -> Vec<(u64, u64)> { (0..5).map(|step| (at + 160 * step, 500)).collect() };
        let (one, other) = (class("SSL", &many(48), &[]), class("JAVA", &many(128), &[]));
        let found = said(rule, vec![one.clone(), other]).expect("two classes");
        assert_eq!((found.kind, found.option), (Kind::Change, None));
        assert!(found.reason.contains("JAVA (") || found.reason.contains("SSL ("), "{}", found.reason);
        let alike = EcbClass { name: "HTTP".to_owned(), ..one.clone() };
        assert_eq!(sized(rule, vec![one.clone(), alike]).expect("two").0, Kind::NoChange);
        assert_eq!(sized(rule, vec![one]), None);
    }

    #[test]
    fn the_area_holds_95_of_100_ecbs_of_all_classes() {
        let rule = "tpf-preallocated";
        let of = |uses: &[(u64, u64)]| sized(rule, vec![class("SSL", &[], uses), class("HTTP", &[], uses)]);
        assert_eq!(of(&[(4_096, 50), (40_960, 45), (81_920, 5)]), Some((Kind::Raise, "ECB(40K)".to_owned())));
        assert_eq!(of(&[(4_096, 96), (40_960, 4)]), Some((Kind::Lower, "ECB(4K)".to_owned())));
        assert_eq!(of(&[(32_768, 96), (40_960, 4)]), Some((Kind::NoChange, String::new())));
        assert_eq!(of(&[(4_096, 9)]), None, "too few");
        let mut huge = class("SSL", &[], &[(4_096, 50)]);
        huge.uses.above = Some((516_096, 50));
        assert_eq!(sized(rule, vec![huge]), Some((Kind::NoAdvice, String::new())));
    }

    /// The reports in the layouts of z/TPF, read back, lead to the same area, and know the present sizes.
    #[test]
    fn printed_reports_give_the_same_advice() {
        use underbar_report::ztpf::{Layout, render};
        let uses = [(4_096, 50), (40_960, 45), (81_920, 5)];
        let class = class("SSL", &[(48, 900), (80, 90), (336, 10)], &uses);
        let mut process = sample::heap("/bin/server", 40 << 20, 4, 64 << 20, (0, 0));
        process.ecbs = vec![class.clone()];
        let text = render(&sample::report(vec![process]), Layout::Pj47265);
        let mut collected = crate::listing::Collected::default();
        collected.file("ecbs.txt");
        underbar_listing::read(text.as_bytes()).into_iter().for_each(|item| collected.take(item));
        let all = crate::advise_listing(&collected);
        let of = |rule: &str| all.iter().find(|advice| advice.rule == rule).expect(rule);
        let values =
            |rule: &str| -> Vec<String> { of(rule).values.iter().map(ToString::to_string).collect() };
        assert_eq!(values("tpf-preallocated"), ["PEH=10"]);
        assert_eq!(
            said("tpf-preallocated", vec![class]).and_then(|found| found.suggested()).as_deref(),
            Some("ECB(40K)")
        );
        assert!(of("tpf-avl-size").now.contains("HAVSZ1=32 HAVSZ2=64"), "{}", of("tpf-avl-size").now);
        assert_eq!(of("tpf-avl-size").target, "z/TPF, set SSL");
    }
}
