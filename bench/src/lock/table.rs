//! What a run means, for a person: medians of each cell, and ratios to its best peer with intervals.
//!
//! The best peer of a cell is the one with the lowest median; ours never counts as the best. Losses are printed in the
//! same words as gains.

use super::{CPU, Cell, FIGURES, Figure, PAIR, Run, TIME, UNCONTENDED};
use crate::statistics::{LogMean, Ratio, geometric_mean, median, paired};
use std::fmt::Write as _;
use underbar_contention::contend;
use underbar_contention::locks::Role;

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
pub fn against(run: &Run, cell: usize, lock: usize, other: usize, figure: &Figure) -> LogMean {
    paired(&run.values(cell, lock, figure), &run.values(cell, other, figure))
}

/// Log ratios of a lock to the cell's best peer.
pub fn to_best(run: &Run, cell: usize, lock: usize, figure: &Figure) -> Option<LogMean> {
    best(run, cell, figure).map(|(peer, _)| against(run, cell, lock, peer, figure))
}

/// The geometric mean of a lock's ratios over the contended cells.
pub fn overall(run: &Run, lock: usize, figure: &Figure) -> Option<LogMean> {
    let parts: Vec<LogMean> = run.contended().filter_map(|cell| to_best(run, cell, lock, figure)).collect();
    (!parts.is_empty()).then(|| geometric_mean(&parts))
}

/// The report that a person reads.
pub fn text(run: &Run) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "underbar bench lock: {} rounds of {} ms, {}",
        run.request.rounds, run.request.milliseconds, run.host
    );
    let _ =
        writeln!(out, "medians; x best: to the cell's best peer, 95 % interval; queued and runnable overlap");
    for cell in 0..run.cells.len() {
        if run.cells[cell].section == UNCONTENDED {
            uncontended(&mut out, run, cell);
        } else {
            contended(&mut out, run, cell);
        }
    }
    if run.contended().next().is_some() {
        let _ = writeln!(
            out,
            "\nGeometric mean over the contended cells, ratio to the best peer of each, 95 % interval"
        );
        for (lock, entry) in run.locks.iter().enumerate() {
            let of =
                |figure| overall(run, lock, figure).map_or_else(String::new, |mean| interval(mean.ratio()));
            let _ = writeln!(out, "  {:<17} CPU {}   time {}", entry.name, of(&CPU), of(&TIME));
        }
    }
    out
}

fn uncontended(out: &mut String, run: &Run, cell: usize) {
    let _ = writeln!(out, "\nuncontended: one thread, in a process that has another");
    let std = run.lock("std");
    for (lock, entry) in run.locks.iter().enumerate() {
        let ratio = std.map(|std| against(run, cell, lock, std, &PAIR).ratio());
        let words = ratio.map_or_else(String::new, |ratio| format!("   x std {}", interval(ratio)));
        let _ = writeln!(
            out,
            "  {:<17}{:>9.2} ns/pair{words}",
            entry.name,
            median(&run.values(cell, lock, &PAIR))
        );
    }
}

fn contended(out: &mut String, run: &Run, cell: usize) {
    let Cell { section, threads } = run.cells[cell];
    let about = contend::find(section).map_or("", |cell| cell.about);
    let _ = writeln!(out, "\n{section}, {threads} threads: {about}");
    let _ = write!(out, "  {:<17}", "");
    for figure in FIGURES {
        let _ = write!(out, "{:>15}", figure.heading);
    }
    let _ = writeln!(out, "  {:<24}x best time", "x best CPU");
    for (lock, entry) in run.locks.iter().enumerate() {
        let _ = write!(out, "  {:<17}", entry.name);
        for figure in FIGURES {
            let _ = write!(out, "{:>15}", shown(figure, median(&run.values(cell, lock, figure))));
        }
        let of =
            |figure| to_best(run, cell, lock, figure).map_or_else(String::new, |mean| interval(mean.ratio()));
        let _ = writeln!(out, "  {:<24}{}", of(&CPU), of(&TIME));
    }
}

/// A figure in the unit of its heading.
fn shown(figure: &Figure, value: f64) -> String {
    match figure.heading {
        heading if heading.ends_with(" us") => format!("{:.1}", value / 1e3),
        "Jain" => format!("{value:.3}"),
        "sleeps/1000" => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// `1.03 [1.01, 1.05]`.
pub fn interval(ratio: Ratio) -> String {
    format!("{:.3} [{:.3}, {:.3}]", ratio.value, ratio.low, ratio.high)
}
