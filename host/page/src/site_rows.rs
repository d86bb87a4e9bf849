//! The largest call sites as a table: bytes and shares, each estimate with its interval.
//!
//! ```text
//! site                        bytes     interval               share  interval   picture: the bar is the estimate, the line its interval
//! parse_record at reader.c    35.2 MiB  27.1 MiB to 45.0 MiB   68 %   58 to 77   ████████──├──
//! ```
//!
//! Invariant: each figure is one of the JSON of the call sites, with the path to it there.
//! Not here: which sites these are.

use underbar_ledger::Unit;
use underbar_report::units;

use crate::markup::{Column, Kind, table as table_of, text};
use crate::scale::{one_digit, percent};

/// A site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Function and line, in words.
    pub name: String,
    /// Its callers in words, the innermost first; empty if they are not known.
    pub callers: String,
    /// The path of its figures in the JSON, such as `sites.3.most_in_use`.
    pub path: String,
    /// The estimate, such as bytes in use.
    pub value: u64,
    /// The low and the high end of its interval.
    pub range: [u64; 2],
    /// Its share in that of all sites, percent.
    pub percent: f64,
    /// The low and the high end of its interval.
    pub percent_range: [f64; 2],
}

/// The table.
pub fn table(title: &str, unit: Unit, rows: &[Row]) -> String {
    let most = rows.iter().map(|row| row.range[1].max(row.value)).max().unwrap_or(1);
    let columns = [
        Column::new("site", Kind::LongName),
        Column::new("estimate", Kind::Figure),
        Column::new("interval", Kind::Figure),
        Column::new("share", Kind::Figure),
        Column::new("interval", Kind::Figure),
        Column::new("<span class=\"unseen\">picture</span>", Kind::Picture),
    ];
    let cells = |row: &Row| {
        let [low, high] = row.range;
        let [least, largest] = row.percent_range;
        let callers = if row.callers.is_empty() {
            String::new()
        } else {
            format!("<br><span class=\"small\">{}</span>", text(&row.callers))
        };
        let figure = |key: &str, value: u64| {
            let words = units::figure(unit, value);
            format!("<data data-path=\"{}.{key}\" value=\"{value}\">{words}</data>", text(&row.path))
        };
        let share = |key: &str, value: f64| {
            let words = one_digit(value);
            format!("<data data-path=\"{}.{key}\" value=\"{value}\">{words}</data>", text(&row.path))
        };
        vec![
            text(&row.name) + &callers,
            figure("bytes", row.value),
            format!("{} to {}", figure("bytes_low", low), figure("bytes_high", high)),
            share("percent", row.percent) + " %",
            format!("{} to {}", share("percent_low", least), share("percent_high", largest)),
            picture(row, most),
        ]
    };
    table_of(&format!("{}, by site", title), &columns, &rows.iter().map(cells).collect::<Vec<_>>())
}

/// The estimate as a bar, and its interval as a line over it. The figures are next to it.
fn picture(row: &Row, most: u64) -> String {
    let [value, low, high] =
        [row.value, row.range[0], row.range[1]].map(|value| percent(value as f64, most as f64));
    format!(
        "<svg class=\"whisker\" aria-hidden=\"true\"><rect class=\"track\" y=\"6\" width=\"100%\" height=\"10\"/>\
         <rect class=\"part\" y=\"6\" width=\"{value}%\" height=\"10\"/><line x1=\"{low}%\" x2=\"{high}%\" y1=\"11\" y2=\"11\"/>\
         <line x1=\"{low}%\" x2=\"{low}%\" y1=\"7\" y2=\"15\"/><line x1=\"{high}%\" x2=\"{high}%\" y1=\"7\" y2=\"15\"/></svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_has_its_path_and_names_stay_text() {
        let row = Row {
            name: "<b>".to_owned(),
            callers: "called by <i>".to_owned(),
            path: "sites.3.most_in_use".to_owned(),
            value: 2048,
            range: [1024, 4096],
            percent: 61.5,
            percent_range: [57.0, 65.25],
        };
        let html = table("In use", Unit::Bytes, &[row]);
        for expected in [
            "&lt;b&gt;<br><span class=\"small\">called by &lt;i&gt;</span>",
            "<data data-path=\"sites.3.most_in_use.bytes\" value=\"2048\">2 KiB</data>",
            "<data data-path=\"sites.3.most_in_use.bytes_high\" value=\"4096\">4 KiB</data>",
            "<data data-path=\"sites.3.most_in_use.percent\" value=\"61.5\">61.5</data> %",
            "<line x1=\"25%\" x2=\"100%\"",
            "width=\"50%\"",
        ] {
            assert!(html.contains(expected), "{expected}: {html}");
        }
    }
}
