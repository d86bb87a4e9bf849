//! Requests by class, served by available lists of given sizes.
//!
//! ```text
//! class (from, limit]     a request of r bytes goes to the smallest list of r bytes or more
//! list sizes  s1 < s2 < s3     waste of a request = s - r, and r is only known to be in its class
//! ```
//!
//! Invariant: least and most cover all sizes that requests of a class can have: no other value is possible.
//! Not here: the best sizes (`ztpf::avl`), what-if (`simulate`).

use serde::Serialize;
use underbar_model::Class;
use underbar_report::units::count;

/// The bounds of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The lower bound.
    pub least: u64,
    /// The upper bound.
    pub most: u64,
}

/// One list, pool or kind of segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// `AVL1`.
    pub name: String,
    /// Its size in bytes; None for the requests that no list holds.
    pub size: Option<u64>,
    /// Requests that it serves.
    pub requests: Span,
    /// Bytes that it hands out for them.
    pub bytes: Span,
    /// The part of them beyond the requests.
    pub wasted: Span,
}

/// The result of one choice of values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Arm {
    /// `now`, `proposed`; `tried` if it is not advised.
    pub name: &'static str,
    /// Each list.
    pub rows: Vec<Row>,
    /// The requests that no list holds.
    pub beyond: Row,
    /// All lists together.
    pub together: Row,
}

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

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.least == self.most {
            f.pad(&count(self.least))
        } else {
            f.pad(&format!("{}..{}", count(self.least), count(self.most)))
        }
    }
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

    #[test]
    fn spans_are_written_short() {
        assert_eq!(Span { least: 5, most: 5 }.to_string(), "5");
        assert_eq!(Span { least: 0, most: 1_234_567 }.to_string(), "0..1,234,567");
        assert_eq!(count(100), "100");
    }
}
