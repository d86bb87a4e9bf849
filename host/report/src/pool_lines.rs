//! Heap pools for people: a line of the summary, and a section of the view with every figure.
//!
//! ```text
//! pools     6 sizes of cells served 98 % of the requests; most extents: 5 for 128 B
//!
//! getfree, process 4711, heap pools
//!   cells of 128          5,000 in 5 extents, 900 cells at most, 0 in use
//! ```
//!
//! Not here: the pools ([`crate::pools`]), and the storage report ([`crate::le`]).

use underbar_ledger::Key;

use crate::model::Report;
use crate::page::{Line, Tone, clean, labelled};
use crate::pools::Pool;
use crate::units::{count, counted, share};

/// The line of the summary: the pools of the first process that has some, and the one with the most extents.
pub(crate) fn line(report: &Report) -> Option<Line> {
    let process = report.processes.iter().find(|process| process.pools.is_some())?;
    let pools = process.pools.as_ref()?;
    let sizes: Vec<Pool> = pools.by_size().collect();
    let gets = sizes.iter().fold(0_u64, |sum, pool| sum.saturating_add(pool.gets));
    let served = share(gets, process.counters.get(Key::HeapGets));
    let most = sizes.iter().max_by_key(|pool| pool.extents)?;
    Some(labelled(
        "pools",
        format!(
            "{} of cells served {served} of the requests; most extents: {} for {} B",
            counted(sizes.len() as u64, "size", "sizes"),
            count(most.extents),
            most.cell
        ),
    ))
}

/// The pools of each process that has some, with a heading: for the view with every figure.
pub(crate) fn sections(report: &Report) -> Vec<Line> {
    let mut lines = Vec::new();
    for process in &report.processes {
        let Some(pools) = &process.pools else { continue };
        let head = format!("{}, process {}, heap pools", clean(process.name()), process.process);
        lines.push(Line(vec![(Tone::Label, head)]));
        for pool in &pools.each {
            let text = format!(
                "{:>12} in {}, {} cells at most, {} in use",
                count(pool.gets),
                counted(pool.extents, "extent", "extents"),
                count(pool.used_peak),
                count(pool.used)
            );
            lines.push(Line(vec![
                (Tone::Label, format!("  cells of {:<16}", pool.cell)),
                (Tone::Plain, text),
            ]));
        }
        let larger = format!("{:>12}", count(pools.larger_requests));
        lines.push(Line(vec![(Tone::Label, format!("  {:<25}", "larger requests")), (Tone::Plain, larger)]));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Page, paint};
    use crate::sample;

    #[test]
    fn people_see_the_pools_of_a_process() {
        let mut report = sample::getfree();
        assert!(line(&report).is_none() && sections(&report).is_empty());
        report.processes[0].pools = Some(sample::pools());
        let page = Page::of_terminal(None, false);
        let text = paint(&[line(&report).expect("pools")], page, 9);
        assert_eq!(
            text,
            "  pools     2 sizes of cells served 10 % of the requests; most extents: 5 for 8 B\n"
        );
        let text = paint(&sections(&report), page, 99);
        assert!(text.contains("heap pools\n  cells of 8                      5,000 in 5 extents, 900 cells at most, 0 in use\n"), "{text}");
        assert!(text.ends_with("  larger requests                     2\n"), "{text}");
    }
}
