//! A soak of servers for a person, and for programs: parts of the run, and the line of each memory.

use super::{Run, Soaked};
use crate::goal::Goal;
use crate::memory_line::{between, flat, length};
use std::fmt::Write as _;

/// Parts of the run that the text has a line for, at most.
const PARTS: u64 = 12;

/// The report that a person reads.
pub fn text(run: &Run) -> String {
    let mut out = String::new();
    let words = match &run.request.options[..] {
        [] => String::new(),
        words => format!(" {}", words.join(" ")),
    };
    let _ = writeln!(
        out,
        "underbar bench programs --soak {}: servers under underbar run{words}, all at the same time, {}\n\
         Memory: of all processes of a server, each page once. {:.0} % of the processors' time went to other programs.",
        run.request.minutes,
        run.host,
        run.others * 100.0
    );
    for server in &run.servers {
        part_lines(&mut out, server, run.request.minutes);
    }
    out.push_str("\nGoals\n");
    for goal in goals(run) {
        let _ = write!(out, "{goal}");
    }
    out
}

/// A server's parts.
fn part_lines(out: &mut String, server: &Soaked, minutes: u64) {
    let operations: u64 = server.loads.iter().map(|load| load.operations).sum();
    let _ = writeln!(
        out,
        "\n{}: {}; {operations} operations\n  {:>15} {:>12} {:>10} {:>20}",
        server.name, server.about, "seconds", "operations", "a second", "resident KiB"
    );
    let length = length(&server.seconds);
    let parts = PARTS.min(minutes).max(1);
    for part in 0..parts {
        let (from, to) = (length * part / parts, length * (part + 1) / parts);
        let loads: Vec<_> = server.loads.iter().filter(|one| from < one.end && one.end <= to).collect();
        let memory = between(&server.seconds, from, to);
        let (Some(least), Some(most)) = (memory.first(), memory.last()) else { continue };
        let done: u64 = loads.iter().map(|load| load.operations).sum();
        let took: f64 = loads.iter().map(|load| load.seconds).sum();
        let _ = writeln!(
            out,
            "  {:>15} {done:>12} {:>10.0} {:>20}",
            format!("{from} to {to}"),
            done as f64 / took.max(f64::MIN_POSITIVE),
            format!("{least:.0} to {most:.0}")
        );
    }
}

/// A flat line of each server, and work to the end: the memory of a server that does nothing is flat, too.
fn goals(run: &Run) -> Vec<Goal> {
    let of = |server: &Soaked| [flat(&server.seconds, &format!("{}: ", server.name)), at_work(server)];
    run.servers.iter().flat_map(of).collect()
}

/// As many operations in the last quarter as in the second, or half of them.
fn at_work(server: &Soaked) -> Goal {
    let length = length(&server.seconds);
    let in_quarter = |quarter: u64| -> u64 {
        let (from, to) = (length * (quarter - 1) / 4, length * quarter / 4);
        server.loads.iter().filter(|load| from < load.end && load.end <= to).map(|load| load.operations).sum()
    };
    let (second, last) = (in_quarter(2), in_quarter(4));
    Goal {
        wanted: format!(
            "{}: at work to the end: in the last quarter at least half of the operations of the second",
            server.name
        ),
        held: second > 0 && last >= second / 2,
        found: vec![format!("{second} operations, then {last}")],
    }
}

/// The memory of every second of each server, and a load in the line of its last second.
pub fn csv(run: &Run) -> String {
    let mut out = String::from("server,second,resident_kib,operations,seconds\n");
    for server in &run.servers {
        let mut loads = server.loads.iter().peekable();
        for one in &server.seconds {
            let (mut operations, mut took) = (0, 0.0);
            while let Some(load) = loads.next_if(|load| load.end <= one.second) {
                operations += load.operations;
                took += load.seconds;
            }
            let _ = write!(out, "{},{},{}", server.name, one.second, one.resident_kib);
            let _ =
                if operations > 0 { writeln!(out, ",{operations},{took:.2}") } else { writeln!(out, ",,") };
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Loaded, Request, Run, Soaked};
    use super::{csv, text};
    use crate::host::Host;
    use crate::memory_line::Second;

    #[test]
    fn each_server_has_its_parts_its_goal_and_its_seconds() {
        let server = |name: &str, grows: u64, last_end: u64| Soaked {
            name: name.to_owned(),
            about: "a load".to_owned(),
            loads: vec![
                Loaded { end: 20, operations: 100, seconds: 20.0 },
                Loaded { end: last_end, operations: 300, seconds: 39.0 },
            ],
            seconds: (0..60).map(|second| Second { second, resident_kib: 50_000 + second * grows }).collect(),
        };
        let request = Request { minutes: 1, programs: Vec::new(), options: Vec::new(), record: false };
        let servers = vec![server("steady", 0, 59), server("growing", 100, 40)];
        let run = Run { host: Host::here(), request, servers, others: 0.0 };
        let text = text(&run);
        assert!(text.contains("held    steady: flat memory"), "{text}");
        assert!(text.contains("MISSED  growing: flat memory"), "{text}");
        assert!(text.contains("held    steady: at work to the end"), "{text}");
        assert!(text.contains("MISSED  growing: at work to the end"), "{text}");
        assert!(text.contains("steady: a load; 400 operations"), "{text}");
        let csv = csv(&run);
        assert_eq!(csv.lines().count(), 1 + 120);
        assert!(csv.contains("\nsteady,20,50000,100,20.00\nsteady,21,50000,,\n"), "{csv}");
    }
}
