//! The programs of the tree, the one with the most memory first.

use underbar_ledger::Key;
use underbar_report::units::{count, counted};
use underbar_report::{Program, Report};

use crate::markup::{Column, Kind, bar, figure_or, table, text};

/// The most rows.
const MOST: usize = 40;

/// The section; None without programs, or with one process alone.
pub fn section(report: &Report) -> Option<String> {
    let programs = report.programs();
    if programs.len() <= 1 && report.tree.processes <= 1 {
        return None;
    }
    let most =
        programs.iter().map(|program| program.counters.get(Key::HeapUsedPeak)).max().unwrap_or(1).max(1);
    let columns = [
        Column::new("program", Kind::Name),
        Column::new("processes", Kind::Figure),
        Column::new("heap, at most", Kind::Figure),
        Column::new("<span class=\"unseen\">picture</span>", Kind::Picture),
        Column::new("gets", Kind::Figure),
        Column::new("frees", Kind::Figure),
        Column::new("segments", Kind::Figure),
    ];
    let row = |program: &Program| {
        let of =
            |key: Key| figure_or(key.entry().key, key.entry().unit, program.counters.known(key), "not known");
        vec![
            text(&program.name),
            count(program.processes),
            of(Key::HeapUsedPeak),
            bar(program.counters.get(Key::HeapUsedPeak), most),
            of(Key::HeapGets),
            of(Key::HeapFrees),
            of(Key::HeapSegmentsAllocated),
        ]
    };
    let rows: Vec<Vec<String>> = programs.iter().take(MOST).map(row).collect();
    let more = programs.len().saturating_sub(MOST);
    let more = if more > 0 {
        format!(
            "<p class=\"note\">{} not shown.</p>\n",
            counted(more as u64, "program with less memory is", "programs with less memory are")
        )
    } else {
        String::new()
    };
    Some(table("Programs of the run", &columns, &rows) + &more)
}
