//! A fleet for tests: any number of hosts, each with a report, the same on every machine; and what is broken among them.
//!
//! ```text
//! host 0, 1, 2 ... ── program: number mod 8 ── version: number mod 3 ── options: A if number mod 2 is 0, else B
//!                     heap and time: scattered by the number; B takes nine tenths of the CPU time of A
//! ```
//!
//! Not in releases: only tests have it (and the feature `sample`, for the tests of other crates).

use underbar_ledger::Key;
use underbar_report::Report;
use underbar_report::model::{End, OptionInForce};
use underbar_report::sample as reports;
use underbar_verdict::random::Random;

/// The programs of the fleet. The last but one tries to leave its place in each form that it passes.
pub const PROGRAMS: [&str; 8] = [
    "nginx",
    "postgres",
    "python3",
    "cc1plus",
    "java",
    "redis-server",
    "'); DROP TABLE fleet; -- \"\\\n\u{202e}\u{1b}[2J<b>",
    "sort",
];

/// The versions of underbar that made the reports.
pub const VERSIONS: [&str; 3] = ["0.1.0", "0.2.0", "0.10.0"];

/// The options of one half of the hosts; the other half has none.
pub const OPTIONS: &str = "HUGEPAGES(ON)";

/// The report of a host.
#[must_use]
pub fn host(number: u64) -> Report {
    let mut random = Random::new(number);
    let name = PROGRAMS[(number % 8) as usize];
    // From 16 to 272 MiB, in segments of 32 KiB: far more than the rule for sizes allows.
    let used = (16 << 20) + random.below(256 << 20);
    let held = used + used / 10;
    let mut process =
        reports::heap(&format!("/usr/bin/{name}"), used, held >> 15, held, (32 << 10, 32 << 10));
    process.counters.set(Key::HeapGets, 1_000 + random.below(1_000_000));
    process.counters.set(Key::ProcessFaults, held >> 12);
    let mut report = reports::report(vec![process]);
    report.host.name = Some(format!("host-{number:05}"));
    report.host.cores = 1 << random.below(6);
    report.underbar = VERSIONS[(number % 3) as usize].to_owned();
    report.run.program = format!("/usr/bin/{name}");
    report.run.arguments = Vec::new();
    report.run.process = 1_000 + (number % 30_000) as u32;
    // Within 30 days.
    report.run.started_unix_ns += random.below(30 * 86_400) * 1_000_000_000;
    if number.is_multiple_of(17) {
        report.run.end = Some(End::Signal(9));
    }
    // From 0.9 to 1.1 seconds; half of the hosts take a tenth less.
    let cpu = 900_000_000 + random.below(200_000_000);
    let is_b = has_options(number);
    if let Some(steps) = &mut report.steps {
        steps.user_ns = if is_b { cpu / 10 * 9 } else { cpu };
        steps.elapsed_ns = cpu + random.below(50_000_000);
        steps.peak_resident_bytes = held + (4 << 20);
    }
    if is_b {
        report.options.in_force =
            vec![OptionInForce { option: OPTIONS.to_owned(), where_set: "command line (--opts)".to_owned() }];
    }
    report
}

/// Whether a host has [`OPTIONS`].
#[must_use]
pub fn has_options(number: u64) -> bool {
    number / 8 % 2 == 1
}

/// Files that are no reports: a name, and bytes.
#[must_use]
pub fn broken() -> Vec<(&'static str, Vec<u8>)> {
    let whole = host(1).to_json();
    vec![
        ("cut.json", whole.as_bytes()[..whole.len() / 3].to_vec()),
        ("empty.json", Vec::new()),
        ("words.json", b"underbar: nginx: exit 0\n".to_vec()),
        ("later.json", whole.replace("underbar.report/1", "underbar.report/7").into_bytes()),
        ("other.json", b"{\"schema\":\"underbar.tune/1\"}\n".to_vec()),
        ("ledger.json", b"UNDERBAR\0\0\0\0\0\0\0\0".to_vec()),
        ("bytes.json", (0..=255).collect()),
        ("packed.json.gz", vec![0x1f, 0x8b, 8, 0, 1, 2, 3]),
        ("negative.json", whole.replace("\"gets\":", "\"gets\":-").into_bytes()),
        ("deep.json", b"[".repeat(200_000)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_the_same_each_time_and_has_a_suggestion() {
        for number in 0..16 {
            let report = host(number);
            assert_eq!(report, host(number));
            let suggestions = underbar_advise::advise(&report);
            assert!(
                suggestions.iter().any(|advice| advice.rule == "heap-size" && advice.option.is_some()),
                "{number}"
            );
        }
        assert_ne!(host(1).run.started_unix_ns, host(2).run.started_unix_ns);
    }
}
