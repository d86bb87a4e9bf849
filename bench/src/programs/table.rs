//! The page `docs/programs-tried.md`, and the samples as CSV.
//!
//! Invariant: every chosen program of the catalog has its row, losses like gains, and missing ones with the reason.

use super::arms::{Arm, UNDER};
use super::catalog::Work;
use super::{Run, Sample, Tried};
use std::fmt::Write as _;

/// The whole page.
#[must_use]
pub fn page(run: &Run) -> String {
    let mut text = format!(
        "# Programs that were tried\n\n\
         Real programs, plain and under `underbar run{}`, in {} rounds side by side. A ratio is underbar's figure divided by\n\
         the plain one, with its 95 % interval: below 1 underbar needs less. `cargo xtask bench programs` makes this page anew.\n\n\
         - Machine: {}; others used {:.0} % of its processors meanwhile.\n\
         - CPU: everything that was started, underbar's command among it. Of a server: its processes while they were loaded.\n\
         - Memory: the most of the program's largest process.\n\
         - Not in it: underbar's command, 4 MB meanwhile (0.2 MB of its own, the rest its file), 6 MB or more for the report.\n\
         - Memory of a server: of all its processes together, and two seconds after the load.\n\
         - Output: whether exit status and everything printed were the same in every run.\n",
        run.request.options.iter().fold(String::new(), |all, word| all + " " + word),
        run.request.rounds,
        run.host,
        run.others * 100.0,
    );
    let is_server = |one: &&Tried| matches!(one.program.work, Work::Server { .. });
    let (servers, batch): (Vec<&Tried>, Vec<&Tried>) = run.tried.iter().partition(is_server);
    text.push_str("\n## Programs\n\n| program | what it does | CPU | | time | peak memory | | output |\n|---|---|--:|---|--:|--:|--:|---|\n");
    for one in batch {
        let _ = writeln!(text, "{}", row(one));
    }
    text.push_str("\n## Servers\n\n| server | what it is asked | CPU | | requests | peak memory | | afterwards | ends |\n|---|---|--:|---|--:|--:|--:|--:|---|\n");
    for one in &servers {
        let _ = writeln!(text, "{}", row(one));
    }
    let faults: Vec<String> = servers.iter().filter_map(|one| faults(one)).collect();
    if !faults.is_empty() {
        let _ = writeln!(text, "\nPage faults for each request, plain → underbar: {}.", faults.join(", "));
    }
    text.push_str(&peers(run));
    text
}

/// A server's page faults for each request.
fn faults(one: &Tried) -> Option<String> {
    let Work::Server { operations, .. } = one.program.work else { return None };
    let (plain, under) = one.medians(|sample| sample.faults / operations as f64);
    one.missing.is_none().then(|| format!("{} {plain:.2} → {under:.2}", one.program.name))
}

/// Underbar and the other allocators, if they were tried: each divided by plain.
fn peers(run: &Run) -> String {
    let arms: Vec<(usize, &Arm)> = run.arms.iter().enumerate().skip(UNDER).collect();
    if arms.len() < 2 {
        return String::new();
    }
    let mut text = "\n## Next to other allocators\n\n\
         Each is preloaded from Debian's package. Figures are divided by the plain ones of the same round: CPU of a program,\n\
         time of a server's requests, and peak memory behind the stroke.\n\n| program |"
        .to_owned();
    for (_, arm) in &arms {
        let _ = write!(text, " {} |", arm.name);
    }
    text.push_str("\n|---|");
    text.push_str(&"--:|".repeat(arms.len()));
    for one in run.tried.iter().filter(|one| one.missing.is_none()) {
        let is_server = matches!(one.program.work, Work::Server { .. });
        let _ = write!(text, "\n| {} |", one.program.name);
        for (arm, _) in &arms {
            // A program that crashes at once takes little time: that is no gain.
            if one.failed[*arm] || !one.is_same_in(*arm) {
                text.push_str(if one.failed[*arm] { " does not run |" } else { " **not the same** |" });
                continue;
            }
            let cost = one.ratio_of(*arm, |sample| if is_server { sample.elapsed_us } else { sample.cpu_us });
            let peak = one.ratio_of(*arm, |sample| sample.peak_kib).value;
            let _ = write!(text, " {cost} / {peak:.2} |");
        }
    }
    text + "\n"
}

/// One row of one of the two tables.
fn row(one: &Tried) -> String {
    let program = one.program;
    let is_server = matches!(program.work, Work::Server { .. });
    if let Some(why) = &one.missing {
        let rest = if is_server { "| | | | | | |" } else { "| | | | | |" };
        return format!("| {} | {} | not tried: {why} {rest}", program.name, program.about);
    }
    let cpu = one.ratio(|sample| sample.cpu_us);
    let same = match (one.is_same(), is_server) {
        (true, _) => "same",
        (false, true) => "**another status**",
        (false, false) => "**not the same**",
    };
    let memory = |figure: fn(&Sample) -> f64| {
        let (plain, under) = one.medians(figure);
        format!("{} → {}", mebibytes(plain), mebibytes(under))
    };
    let peak = one.ratio(|sample| sample.peak_kib);
    // For a server: the factor of requests in the same time.
    let speed = if is_server {
        one.ratio(|sample| 1.0 / sample.elapsed_us)
    } else {
        one.ratio(|sample| sample.elapsed_us)
    };
    let (plain_final, under_final) = one.medians(|sample| sample.final_kib);
    let afterwards = if is_server {
        format!("{} → {} | ", mebibytes(plain_final), mebibytes(under_final))
    } else {
        String::new()
    };
    format!(
        "| {} | {} | {cpu} | {} | {:.2} | {} | {:.2} | {afterwards}{same} |",
        program.name,
        program.about,
        cpu.word(),
        speed.value,
        memory(|sample| sample.peak_kib),
        peak.value
    )
}

/// One program in a line, during the run.
#[must_use]
pub fn line(one: &Tried) -> String {
    match &one.missing {
        Some(why) => format!("{}: not tried: {why}", one.program.name),
        None => format!(
            "{}: CPU {}, time {:.3}, peak {:.3}, {}",
            one.program.name,
            one.ratio(|sample| sample.cpu_us),
            one.ratio(|sample| sample.elapsed_us).value,
            one.ratio(|sample| sample.peak_kib).value,
            if one.is_same() { "same" } else { "NOT THE SAME" }
        ),
    }
}

/// Every sample.
#[must_use]
pub fn csv(run: &Run) -> String {
    let mut text = "program,arm,round,cpu_us,elapsed_us,peak_kib,final_kib,faults,status\n".to_owned();
    for one in &run.tried {
        for (arm, samples) in run.arms.iter().map(|arm| arm.name).zip(&one.samples) {
            for (round, sample) in samples.iter().enumerate() {
                let Sample { cpu_us, elapsed_us, peak_kib, final_kib, faults, outcome, .. } = sample;
                let _ = writeln!(
                    text,
                    "{},{arm},{round},{cpu_us:.0},{elapsed_us:.0},{peak_kib:.0},{final_kib:.0},{faults:.0},{}",
                    one.program.name, outcome.0
                );
            }
        }
    }
    text
}

/// KiB as MiB, one decimal below 100.
fn mebibytes(kib: f64) -> String {
    let mib = kib / 1024.0;
    if mib < 100.0 { format!("{mib:.1} MiB") } else { format!("{mib:.0} MiB") }
}

#[cfg(test)]
mod tests {
    use super::super::arms::Arm;
    use super::super::catalog::PROGRAMS;
    use super::super::{Request, Run, Sample, Tried};
    use super::{csv, page};
    use crate::host::Host;

    #[test]
    fn every_row_has_as_many_cells_as_its_head_and_losses_are_named() {
        let sample = |cpu_us| Sample {
            cpu_us,
            elapsed_us: 1.0,
            peak_kib: 2048.0,
            final_kib: 9.0,
            ..Sample::default()
        };
        let tried = PROGRAMS
            .iter()
            .enumerate()
            .map(|(place, program)| Tried {
                program,
                samples: vec![
                    vec![sample(1.0); 6],
                    vec![sample(1.5); 6],
                    vec![Sample { outcome: (if place == 4 { 139 } else { 0 }, 0), ..sample(0.5) }; 6],
                ],
                failed: vec![false, false, place == 2],
                missing: (place % 2 == 1).then(|| "absent".to_owned()),
            })
            .collect();
        let request = Request { rounds: 6, record: false, ..Request::default() };
        let arm = |name| Arm { name, before: Vec::new() };
        let arms = ["plain", "underbar", "other"].map(arm).to_vec();
        let run = Run { host: Host::here(), request, arms, tried, others: 0.1 };
        let page = page(&run);
        let mut cells = 0;
        for line in page.lines().filter(|line| line.starts_with('|')) {
            let count = line.matches('|').count();
            if line.starts_with("| program") || line.starts_with("| server") {
                cells = count;
            }
            assert_eq!(count, cells, "{line}");
        }
        assert!(page.contains("loss") && page.contains("not tried: absent"));
        assert_eq!(page.matches("does not run").count(), 1, "{page}");
        assert_eq!(page.matches("**not the same**").count(), 1, "a crash is no gain: {page}");
        assert_eq!(csv(&run).lines().count(), 1 + PROGRAMS.len() * 18);
    }
}
