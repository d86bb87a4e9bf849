//! Every figure by its key: of the run, and of each program, as `--report all` has them.

use underbar_ledger::Unit;
use underbar_ledger::table::KEYS;
use underbar_report::Report;
use underbar_report::figures::Figures;
use underbar_report::steps::STEPS;
use underbar_report::tree::TREE;
use underbar_report::units::counted;

use crate::markup::{Column, Kind, figure, table, text};

/// The most programs with a table.
const MOST: usize = 12;

/// The section.
pub fn section(report: &Report) -> Option<String> {
    let mut html = String::new();
    let steps = report.steps.as_ref();
    let run = STEPS.iter().map(|step| (step.key, step.label, step.unit, steps.and_then(step.get)));
    let tree = TREE.iter().map(|of| (of.key, of.label, Unit::Count, Some((of.get)(&report.tree))));
    html += &part("The run", &run.chain(tree).collect::<Vec<_>>());
    let programs = report.programs();
    for program in programs.iter().take(MOST) {
        html += &part(&program.name, &counters(&program.counters));
    }
    if programs.len() != 1 {
        html += &part("All programs together", &counters(&report.tree.counters));
    }
    if programs.len() > MOST {
        let more = counted((programs.len() - MOST) as u64, "more program", "more programs");
        html += &format!("<p class=\"note\">The JSON has the figures of {more}.</p>\n");
    }
    Some(html)
}

/// A figure: key, label, unit, value.
type Row = (&'static str, &'static str, Unit, Option<u64>);

fn counters(figures: &Figures) -> Vec<Row> {
    KEYS.into_iter()
        .map(|key| (key.entry().key, key.entry().label, key.entry().unit, figures.known(key)))
        .collect()
}

/// A table of the figures that are not 0, and the keys of the others.
fn part(title: &str, rows: &[Row]) -> String {
    let columns = [
        Column::new("key", Kind::Name),
        Column::new("exact", Kind::Figure),
        Column::new("figure", Kind::Figure),
        Column::new("meaning", Kind::Words),
    ];
    let shown = rows.iter().filter_map(|(key, label, unit, value)| {
        let value = value.filter(|value| *value > 0)?;
        Some(vec![(*key).to_owned(), value.to_string(), figure(key, *unit, value), text(label)])
    });
    let keys = |is_wanted: fn(&Option<u64>) -> bool| {
        let keys = rows.iter().filter(|row| is_wanted(&row.3)).map(|row| format!("<code>{}</code>", row.0));
        keys.collect::<Vec<_>>().join(", ")
    };
    let mut html = format!("<details><summary>{}</summary>\n", text(title));
    html += &table(title, &columns, &shown.collect::<Vec<_>>());
    for (words, keys) in [("0", keys(|value| *value == Some(0))), ("not known", keys(Option::is_none))] {
        if !keys.is_empty() {
            html += &format!("<p class=\"zero\"><b>{words}</b> {keys}</p>\n");
        }
    }
    html + "</details>\n"
}
