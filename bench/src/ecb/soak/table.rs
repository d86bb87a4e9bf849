//! A soak for a person, and for programs: parts of the run, the line of the memory, and what would have stayed.

use super::{LEAK, Run};
use crate::goal::Goal;
use crate::memory_line::{between, flat, length, quarters};
use serde_json::{Value, json};
use std::fmt::Write as _;
use underbar_verdict::ratios::median;

/// Parts of the run that the text has a line for, at most.
const PARTS: u64 = 12;
/// The report that a person reads.
pub fn text(run: &Run) -> String {
    let mut out = String::new();
    let requests = requests(run);
    let _ = writeln!(
        out,
        "underbar bench ecb --soak {}: a server on hyper under load by {}, {}\n\
         The work of each request forgets {LEAK} bytes, and each request has an ECB. {requests} requests were answered.\n\
         Others used {:.0} % of the processors meanwhile.\n",
        run.minutes,
        run.wrk,
        run.host,
        run.others * 100.0
    );
    let _ = writeln!(
        out,
        "  {:>15} {:>10} {:>10} {:>9} {:>9}  {:>18} {:>12}",
        "seconds", "requests", "a second", "p50 us", "p99 us", "resident KiB", "ECBs ended"
    );
    let length = length(&run.seconds);
    let parts = PARTS.min(run.windows.len() as u64);
    for part in 0..parts {
        let (from, to) = (length * part / parts, length * (part + 1) / parts);
        let windows: Vec<_> = run.windows.iter().filter(|one| from < one.end && one.end <= to).collect();
        let memory = between(&run.seconds, from, to);
        let (Some(least), Some(most)) = (memory.first(), memory.last()) else { continue };
        let Some(last) = windows.last() else { continue };
        let answered: u64 = windows.iter().map(|one| one.load.requests).sum();
        let seconds: f64 = windows.iter().map(|one| one.load.seconds).sum();
        let of = |figure: fn(&super::Window) -> f64| {
            median(&windows.iter().map(|one| figure(one)).collect::<Vec<_>>())
        };
        let _ = writeln!(
            out,
            "  {:>15} {answered:>10} {:>10.0} {:>9.0} {:>9.0}  {:>18} {:>12}",
            format!("{from} to {to}"),
            answered as f64 / seconds,
            of(|one| one.load.p50_us),
            of(|one| one.load.p99_us),
            format!("{least:.0} to {most:.0}"),
            last.ecbs[1]
        );
    }
    let (answered, grown) = run.without;
    let per_request = grown as f64 * 1_024.0 / answered.max(1) as f64;
    let _ = writeln!(
        out,
        "\n  without ECBs: {grown} KiB more after {answered} requests, {per_request:.0} bytes each; for all those above, {:.1} GiB\n\nGoals",
        per_request * requests as f64 / (1u64 << 30) as f64
    );
    for goal in goals(run) {
        let _ = write!(out, "{goal}");
    }
    out
}

/// The goals.
fn goals(run: &Run) -> Vec<Goal> {
    let [created, ended] = ["created", "ended"].map(|key| run.class[key].as_u64().unwrap_or(0));
    vec![
        flat(&run.seconds, ""),
        Goal {
            wanted: "every ECB ended, one for each request".to_owned(),
            held: created == ended && ended >= run.answered,
            found: vec![format!("{created} created, {ended} ended, {} requests answered", run.answered)],
        },
    ]
}

fn requests(run: &Run) -> u64 {
    run.windows.iter().map(|one| one.load.requests).sum()
}

/// The memory of every second, and the figures of a window in the line of its last second.
pub fn csv(run: &Run) -> String {
    let mut out =
        String::from("second,resident_kib,requests,seconds,p50_us,p99_us,ecbs_created,ecbs_ended\n");
    let mut windows = run.windows.iter().peekable();
    for one in &run.seconds {
        let _ = write!(out, "{},{}", one.second, one.resident_kib);
        if let Some(window) = windows.next_if(|window| window.end <= one.second) {
            let (load, [created, ended]) = (&window.load, window.ecbs);
            let _ = writeln!(
                out,
                ",{},{:.2},{:.0},{:.0},{created},{ended}",
                load.requests, load.seconds, load.p50_us, load.p99_us
            );
        } else {
            out.push_str(",,,,,,\n");
        }
    }
    out
}

/// The summary.
pub fn json(run: &Run) -> String {
    let [second, last] = quarters(&run.seconds);
    let p99: Vec<f64> = run.windows.iter().map(|one| one.load.p99_us).collect();
    let p50: Vec<f64> = run.windows.iter().map(|one| one.load.p50_us).collect();
    let goals: Vec<Value> = goals(run).iter().map(Goal::json).collect();
    let document = json!({
        "schema": "underbar.bench.ecb.soak/1",
        "host": run.host.json(),
        "minutes": run.minutes, "wrk": run.wrk, "leak": LEAK, "others_used": run.others,
        "requests": requests(run), "answered": run.answered,
        "p50_us": median(&p50), "p99_us": median(&p99),
        "resident_kib": { "second_quarter": second, "last_quarter": last },
        "ecbs": run.class,
        "without_ecbs": { "requests": run.without.0, "grown_kib": run.without.1 },
        "goals": goals,
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::super::wrk::Load;
    use super::super::{Run, Window};
    use super::{csv, goals, json, text};
    use crate::host::Host;
    use crate::memory_line::Second;

    /// A minute in which the memory grows by so many KiB a second, after the first ten.
    fn run(grows: u64) -> Run {
        let load = Load { requests: 50_000, seconds: 10.0, p50_us: 800.0, p99_us: 4_000.0 };
        let windows = (1..=6).map(|at| Window { end: at * 10, load, ecbs: [at * 50_000 + 9, at * 50_000] });
        let resident = |second: u64| 6_000 + second.min(10) * 100 + second.saturating_sub(10) * grows;
        Run {
            host: Host::here(),
            minutes: 1,
            wrk: "wrk 4.1.0".to_owned(),
            windows: windows.collect(),
            seconds: (0..=60).map(|second| Second { second, resident_kib: resident(second) }).collect(),
            answered: 300_000,
            class: json!({ "name": "HTTP", "created": 300_000, "ended": 300_000 }),
            without: (10_000, 20_480),
            others: 0.1,
        }
    }

    #[test]
    fn a_line_that_grows_is_not_flat() {
        assert!(goals(&run(0)).iter().all(|goal| goal.held));
        let growing = goals(&run(20));
        assert_eq!(growing.iter().map(|goal| goal.held).collect::<Vec<_>>(), [false, true]);
        let mut lost = run(0);
        lost.class["ended"] = json!(299_999);
        assert!(!goals(&lost)[1].held);
    }

    #[test]
    fn each_second_and_each_window_is_in_the_files() {
        let run = run(0);
        let csv = csv(&run);
        assert_eq!(csv.lines().count(), 1 + 61);
        assert!(csv.contains("\n10,7000,50000,10.00,800,4000,50009,50000\n11,7000,,,,,,\n"), "{csv}");
        assert_eq!(csv.matches(",50000,10.00,").count(), 6);
        let text = text(&run);
        assert!(text.contains("20480 KiB more after 10000 requests, 2097 bytes each"), "{text}");
        assert!(text.contains("held    flat memory") && text.contains("7000 to 7000"), "{text}");
        let document: serde_json::Value = serde_json::from_str(&json(&run)).expect("valid JSON");
        assert_eq!(document["requests"], json!(300_000));
    }
}
