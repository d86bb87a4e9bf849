//! The results of a run, for a person: medians of each cell, and ratios to its best peer with intervals.
//!
//! The best peer of a cell is the one with the lowest median; ours never counts as the best. Losses have the
//! same words as gains.

use super::figure::{CPU, Figure, PAIR, TIME, figures};
use super::{Arm, Cell, OPEN, Run, UNCONTENDED};
use std::fmt::Write as _;
use underbar_contention::contend;
use underbar_contention::locks::Role;
use underbar_verdict::ratios::{LogRatios, geometric_mean, median, paired};

/// The peer with the lowest median of that figure, and the median.
pub fn best(run: &Run, cell: usize, figure: &Figure) -> Option<(usize, f64)> {
    (0..run.locks.len())
        .filter(|lock| run.locks[*lock].role == Role::Peer)
        .map(|lock| (lock, run.values(cell, lock, figure)))
        .filter(|(_, values)| !values.is_empty())
        .map(|(lock, values)| (lock, median(&values)))
        .min_by(|one, other| one.1.total_cmp(&other.1))
}

/// Log ratios of a lock to another, round by round.
pub fn against(run: &Run, cell: usize, lock: usize, other: usize, figure: &Figure) -> LogRatios {
    paired(&run.values(cell, lock, figure), &run.values(cell, other, figure))
}

/// Log ratios of a lock to the cell's best peer.
pub fn to_best(run: &Run, cell: usize, lock: usize, figure: &Figure) -> Option<LogRatios> {
    best(run, cell, figure).map(|(peer, _)| against(run, cell, lock, peer, figure))
}

/// The geometric mean of a lock's ratios over the contended cells.
pub fn overall(run: &Run, lock: usize, figure: &Figure) -> Option<LogRatios> {
    let parts: Vec<LogRatios> = run.contended().filter_map(|cell| to_best(run, cell, lock, figure)).collect();
    (!parts.is_empty()).then(|| geometric_mean(&parts))
}

/// The report that a person reads.
pub fn text(run: &Run) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "underbar bench lock: {} rounds of {} ms (more than 8 threads: longer in proportion), {}",
        run.request.rounds, run.request.milliseconds, run.host
    );
    let _ = writeln!(
        out,
        "Medians. For each operation: CPU, queued ns (from wanting the lock to having it), runnable (could run, and had\n\
         no processor; part of it may be queued too). worst: from wanting the lock to having it; queued: the same without\n\
         the time in which that thread could run and had no processor. sleeps/k: for a thousand operations. min, max: of\n\
         the threads."
    );
    let _ = writeln!(out, "Others used {:.0} % of the processors meanwhile.", run.others * 100.0);
    for arm in run.locks.iter().filter(|arm| !arm.before.is_empty()) {
        let _ = writeln!(out, "{}: {} through {}", arm.name, arm.entry.name, arm.before.join(" "));
    }
    for cell in 0..run.cells.len() {
        grid(&mut out, run, cell);
    }
    if run.contended().next().is_none() {
        return out;
    }
    let is_judged = |arm: &Arm| matches!(arm.role, Role::Ours | Role::Experiment);
    for (lock, arm) in run.locks.iter().enumerate().filter(|(_, arm)| is_judged(arm)) {
        detail(&mut out, run, lock, &arm.name);
    }
    let _ = writeln!(
        out,
        "\nGeometric mean over the contended cells, ratio to the best peer of each, 95 % interval"
    );
    for (lock, arm) in run.locks.iter().enumerate() {
        let of =
            |figure| overall(run, lock, figure).map_or_else(String::new, |mean| mean.ratio().to_string());
        let _ = writeln!(out, "  {:<17} CPU {}   time {}", arm.name, of(&CPU), of(&TIME));
    }
    out
}

/// One cell: locks down, figures across.
fn grid(out: &mut String, run: &Run, cell: usize) {
    let Cell { section, threads } = run.cells[cell];
    let about = match section {
        UNCONTENDED => "one thread, in a process that has another",
        OPEN => "tasks, 10 records a second each, one in eight waits 2 ms for a device",
        _ => contend::find(section).map_or("", |cell| cell.about),
    };
    let _ = write!(out, "\n{section} {threads}: {about}\n  {:<16}", "");
    let figures = figures(section);
    let width = |figure: &Figure| figure.heading.len().max(8) + 1;
    for figure in figures {
        let _ = write!(out, "{:>1$}", figure.heading, width(figure));
    }
    let is_uncontended = section == UNCONTENDED;
    let _ = writeln!(out, "{}", if is_uncontended { "   to std, 95 % interval" } else { "" });
    for (lock, arm) in run.locks.iter().enumerate() {
        if run.values(cell, lock, figures[0]).is_empty() {
            continue;
        }
        let _ = write!(out, "  {:<16}", arm.name);
        for figure in figures {
            let value = median(&run.values(cell, lock, figure));
            let _ = write!(out, "{:>1$}", shown(figure, value), width(figure));
        }
        if let Some(std) = run.lock("std").filter(|_| is_uncontended) {
            let _ = write!(out, "   {}", against(run, cell, lock, std, &PAIR).ratio());
        }
        out.push('\n');
    }
}

/// One of ours, cell by cell, gains and losses alike.
fn detail(out: &mut String, run: &Run, lock: usize, name: &str) {
    let _ = writeln!(out, "\n{name}, cell by cell, ratio to the best peer (lower is better), 95 % interval");
    for cell in run.contended() {
        let label = format!("{} {}", run.cells[cell].section, run.cells[cell].threads);
        let _ = write!(out, "  {label:<12}");
        for figure in [&CPU, &TIME] {
            let Some((peer, _)) = best(run, cell, figure) else { continue };
            let ratio = against(run, cell, lock, peer, figure).ratio();
            let word = ratio.word();
            let rival = &run.locks[peer].name;
            let heading = if figure.key == CPU.key { "CPU" } else { "time" };
            let _ = write!(out, "  {heading} {ratio} {word:<13} vs {rival:<16}");
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
}

/// A figure in the unit of its heading.
fn shown(figure: &Figure, value: f64) -> String {
    match figure.heading {
        heading if heading.contains(" us") => format!("{:.1}", value / 1e3),
        "Jain" => format!("{value:.3}"),
        "sleeps/k" | "CPU %" => format!("{value:.1}"),
        "ns/pair" => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::text;
    use crate::lock::tests::run;

    #[test]
    fn the_best_is_the_best_peer_never_ours_nor_the_floor() {
        // CPU per operation of std, naive, simple, fifo over two rounds.
        let text = text(&run([[300, 200, 100, 50], [600, 400, 200, 100]]));
        assert!(text.contains("long 8        CPU 0.500 [0.500, 0.500] gain          vs naive"), "{text}");
        assert!(text.contains("naive             CPU 1.000 [1.000, 1.000]"), "{text}");
    }

    #[test]
    fn a_loss_is_printed_like_a_gain() {
        let text = text(&run([[300, 200, 400, 50], [600, 400, 800, 100]]));
        assert!(text.contains("long 8        CPU 2.000 [2.000, 2.000] loss          vs naive"), "{text}");
    }
}
