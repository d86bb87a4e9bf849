//! Requests by class against sizes of available lists.
//!
//! ```text
//! class (from, limit]     a request of r bytes goes to the smallest list of r bytes or more
//! list sizes  s1 < s2 < s3     waste of a request = s - r, and r is only known to be in its class
//! ```
//!
//! Invariant: least and most cover all sizes that requests of a class can have: no other value is possible.
//! Not here: the best sizes (`super::super::ztpf::avl`).

use super::super::Collected;
use underbar_model::{Class, Figure};

use super::super::ztpf::avl::{Choice, choose, too_coarse};
use super::super::ztpf::population::{line, populations};
use super::{Arm, Row, Simulation, Span};

/// Requests of a class that go to one list, or to none.
struct Part {
    list: Option<usize>,
    size: u64,
    /// Waste of the largest of them.
    least: u64,
    /// Waste of the smallest of them.
    most: u64,
}

/// Serves the classes' requests with these sizes, in ascending order.
#[must_use]
pub fn serve(name: &'static str, classes: &[Class], sizes: &[u64]) -> Arm {
    let mut rows: Vec<Row> =
        sizes.iter().enumerate().map(|(at, size)| row(format!("AVL{}", at + 1), Some(*size))).collect();
    let mut beyond = row("no list".to_owned(), None);
    let mut together = row("together".to_owned(), None);
    for class in classes.iter().filter(|class| class.count > 0) {
        let (mut from, mut parts) = (class.from, Vec::new());
        for (at, size) in sizes.iter().enumerate() {
            if *size > from && from < class.limit {
                let to = class.limit.min(*size);
                // Requests from + 1 to `to` go to this list.
                parts.push(Part { list: Some(at), size: *size, least: size - to, most: size - from - 1 });
                from = to;
            }
        }
        if from < class.limit {
            parts.push(Part { list: None, size: 0, least: 0, most: 0 });
        }
        let one = parts.len() == 1;
        for part in &parts {
            let row = part.list.map_or(&mut beyond, |at| &mut rows[at]);
            let count = |certain: u64, at: u64| if one { certain.saturating_mul(at) } else { 0 };
            add(&mut row.requests, count(class.count, 1), class.count);
            add(&mut row.bytes, count(class.count, part.size), class.count.saturating_mul(part.size));
            add(&mut row.wasted, count(class.count, part.least), class.count.saturating_mul(part.most));
        }
        let least =
            |of: fn(&Part) -> u64| class.count.saturating_mul(parts.iter().map(of).min().unwrap_or(0));
        let most = |of: fn(&Part) -> u64| class.count.saturating_mul(parts.iter().map(of).max().unwrap_or(0));
        let served = |least: bool| {
            let some = if least {
                parts.iter().all(|part| part.list.is_some())
            } else {
                parts.iter().any(|part| part.list.is_some())
            };
            if some { class.count } else { 0 }
        };
        add(&mut together.requests, served(true), served(false));
        add(&mut together.bytes, least(|part| part.size), most(|part| part.size));
        add(&mut together.wasted, least(|part| part.least), most(|part| part.most));
    }
    Arm { name, rows, beyond, together }
}

fn row(name: String, size: Option<u64>) -> Row {
    Row { name, size, requests: Span::default(), bytes: Span::default(), wasted: Span::default() }
}

fn add(span: &mut Span, least: u64, most: u64) {
    span.least = span.least.saturating_add(least);
    span.most = span.most.saturating_add(most);
}

/// The sizes that a text names: none for `AVL`, which means the advised sizes.
///
/// None if the text is about something else.
pub(super) fn sizes(text: &str) -> Option<Result<Vec<u64>, String>> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("AVL") {
        return Some(Ok(Vec::new()));
    }
    text.get(..5).filter(|start| start.eq_ignore_ascii_case("HAVSZ"))?;
    let mut all = Vec::new();
    for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
        let expect = format!("HAVSZ{}=", all.len() + 1);
        let value = word.get(..expect.len()).filter(|name| name.eq_ignore_ascii_case(&expect));
        let size = value.and_then(|_| word[expect.len()..].parse::<u64>().ok());
        match size.filter(|size| (1..=1 << 31).contains(size) && all.last().is_none_or(|last| size > last)) {
            Some(size) => all.push(size),
            None => {
                return Some(Err(format!(
                    "{word}: {expect} and a size larger than the one before is needed"
                )));
            }
        }
    }
    Some(Ok(all))
}

/// Tries the present sizes and the given ones, or the advised ones if none are given, for each population.
pub(super) fn simulate(collected: &Collected, given: &[u64]) -> Vec<Simulation> {
    let one = |population: &super::super::ztpf::population::Population<'_>| {
        let now: Vec<u64> = population.now.iter().map(|now| now.value).collect();
        let choice = if given.is_empty() { choose(population) } else { Choice::Sizes(given.to_vec()) };
        let (proposed, why_not) = match &choice {
            Choice::Sizes(sizes) => (sizes.clone(), None),
            Choice::None(why) => (Vec::new(), Some(why.clone())),
        };
        let (mut arms, classes) = (Vec::new(), population.classes());
        if !now.is_empty() {
            arms.push(serve("now", &classes, &now));
        }
        if !proposed.is_empty() {
            // Not advised: given by the user, or chosen from classes that are too coarse.
            let tried = !given.is_empty() || (now.is_empty() && too_coarse(population));
            let name = if tried { "tried" } else { "proposed" };
            arms.push(serve(name, &classes, &proposed));
        }
        let mut evidence: Vec<_> =
            population.reports.iter().map(|(file, report)| line(collected, *file, &report.title)).collect();
        evidence.truncate(8);
        evidence.extend(population.now.first().and_then(|now| now.evidence.line()).cloned());
        let mut notes = Vec::new();
        if now.is_empty() {
            notes.push("The present sizes are not known: the listing does not hold all of them.".to_owned());
        } else if population.now.iter().any(Figure::is_likely) {
            notes.push(
                "The last of the present sizes ends the longest line of its report, which may be cut."
                    .to_owned(),
            );
        }
        match (population.missing, population.requests.missing) {
            (0, Some(0)) => {}
            (least, Some(most)) if least == most => {
                notes.push(format!(
                    "{most} more requests lie in rows that are not here: they are served by neither."
                ));
            }
            (least, most) => {
                let most = most.map_or("any number".to_owned(), |most| format!("up to {most}"));
                notes.push(if least == 0 {
                    format!(
                        "Requests in rows that are not here which rounded percentages allow: {}.",
                        most.trim_start_matches("up to ")
                    )
                } else {
                    format!(
                        "Requests that may lie in rows that are not here, and so are served by none: {most}."
                    )
                });
            }
        }
        notes.extend(why_not);
        notes.push(
            "Of a request only its class is known, so that what is wasted is a span; requests that no list holds \
             get storage of their own size from the heap."
                .to_owned(),
        );
        Simulation {
            rule: super::super::ztpf::AVL_SIZE,
            subject: population.name.clone(),
            what: "sizes of the available lists",
            requests: population.all(),
            evidence,
            arms,
            notes,
        }
    };
    populations(collected).iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(from: u64, limit: u64, count: u64) -> Class {
        Class { from, limit, count }
    }

    /// Checks the totals of requests, bytes and waste, and the requests that no list holds.
    fn check(classes: &[Class], sizes: &[u64], expect: [(u64, u64); 4]) {
        let arm = serve("now", classes, sizes);
        let pair = |span: Span| (span.least, span.most);
        let got =
            [arm.together.requests, arm.together.bytes, arm.together.wasted, arm.beyond.requests].map(pair);
        assert_eq!(got, expect, "{arm:#?}");
    }

    #[test]
    fn waste_is_what_a_list_has_beyond_the_request() {
        check(&[class(32, 64, 10)], &[64], [(10, 10), (640, 640), (0, 310), (0, 0)]);
        check(&[class(32, 64, 10)], &[128], [(10, 10), (1280, 1280), (640, 950), (0, 0)]);
        check(&[class(32, 64, 10)], &[32], [(0, 0), (0, 0), (0, 0), (10, 10)]);
    }

    #[test]
    fn a_size_within_a_class_makes_spans() {
        // 33 to 48 go to the list of 48, 49 to 64 to that of 256.
        check(&[class(32, 64, 10)], &[48, 256], [(10, 10), (480, 2560), (0, 2070), (0, 0)]);
        check(&[class(32, 64, 10)], &[48], [(0, 10), (0, 480), (0, 150), (0, 10)]);
    }

    #[test]
    fn spans_hold_every_possible_request() {
        let classes = [class(0, 8, 1), class(8, 24, 1), class(24, 40, 1)];
        for sizes in [&[8, 24][..], &[4, 20, 40], &[10, 11, 30], &[40], &[1, 2, 3]] {
            let arm = serve("now", &classes, sizes);
            for a in 1..=8_u64 {
                for b in 9..=24 {
                    for c in 25..=40 {
                        let served = [a, b, c]
                            .map(|r| sizes.iter().find(|size| **size >= r).map(|size| (*size, size - r)));
                        let bytes: u64 = served.iter().flatten().map(|one| one.0).sum();
                        let wasted: u64 = served.iter().flatten().map(|one| one.1).sum();
                        let count = served.iter().flatten().count() as u64;
                        let within = |span: Span, value: u64| span.least <= value && value <= span.most;
                        assert!(within(arm.together.bytes, bytes), "{sizes:?} {a} {b} {c}");
                        assert!(within(arm.together.wasted, wasted), "{sizes:?} {a} {b} {c}");
                        assert!(
                            within(arm.together.requests, count) && within(arm.beyond.requests, 3 - count)
                        );
                    }
                }
            }
        }
    }
}
