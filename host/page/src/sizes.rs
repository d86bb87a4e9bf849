//! Requests by size: how many of each, the sizes of cells that serve them today, and those that would waste least.
//!
//! ```text
//!         ▆
//!  ▂   ▁  █  ▃                 requests of each row
//! 16 B   64 B  256 B  1 KiB    sizes double from mark to mark
//! ||||||||||||||||||||||||     cells today
//!  |     |   |   |      |      cells that waste least
//! ```

use underbar_ledger::Unit;
use underbar_ledger::sizes::{LARGEST_CELL, TABLE};
use underbar_report::Report;
use underbar_report::request_sizes::fitting_cells;
use underbar_report::sizes::Sizes;
use underbar_report::units::{bytes, counted, share};

use crate::markup::{Column, Kind, bar, figure, table};
use crate::scale::short;

/// A longer table is closed at first: the picture shows the same.
const FEW: usize = 12;
/// Height of the bars.
const HEIGHT: f64 = 150.0;

/// The section; None without requests.
pub fn section(report: &Report) -> Option<String> {
    let programs = report.programs();
    let leading = programs.first()?;
    let sizes = leading.sizes.as_ref().filter(|sizes| sizes.total() > 0)?;
    let fitting = fitting_cells(sizes, !leading.unfinished);
    let all = sizes.total();
    let mut html = format!(
        "<p>{} made {}{}.</p>\n",
        crate::markup::text(&leading.name),
        if leading.unfinished { "at least " } else { "" },
        counted(all, "request", "requests")
    );
    html += &picture(sizes, &fitting);
    if !fitting.is_empty() {
        let words: Vec<String> = fitting.iter().map(u64::to_string).collect();
        html += &format!(
            "<p>These {} cell sizes would waste the least for requests of up to 64 KiB: <code>{}</code></p>\n",
            fitting.len(),
            words.join(", ")
        );
    }
    let columns = [
        Column::new("up to", Kind::Figure),
        Column::new("requests", Kind::Figure),
        Column::new("share", Kind::Figure),
        Column::new("<span class=\"unseen\">picture</span>", Kind::Picture),
    ];
    let most = sizes.rows().map(|(_, requests)| requests).max().unwrap_or(1);
    let rows: Vec<Vec<String>> = sizes
        .rows()
        .map(|(row, requests)| {
            let more = if row.key == TABLE[TABLE.len() - 1].key { " or more" } else { "" };
            vec![
                format!("{}{more}", bytes(row.limit)),
                figure(row.key, Unit::Count, requests),
                share(requests, all),
                bar(requests, most),
            ]
        })
        .collect();
    html += &format!(
        "<details{}><summary>Each size</summary>\n{}</details>\n",
        if rows.len() <= FEW { " open" } else { "" },
        table("Requests by size", &columns, &rows)
    );
    Some(html)
}

fn picture(sizes: &Sizes, fitting: &[u64]) -> String {
    let largest = sizes.rows().last().map_or(LARGEST_CELL as u64, |(row, _)| row.limit).max(1024);
    let least = TABLE[0].limit as f64 / 2.0;
    let doublings = libm::log2(largest as f64 / least);
    let x = |size: f64| short(100.0 * (libm::log2(size.max(least) / least) / doublings).clamp(0.0, 1.0));
    let most = sizes.rows().map(|(_, requests)| requests).max().unwrap_or(1).max(1);
    let mut html = "<figure>\n<svg class=\"sizes\" role=\"img\" aria-label=\"Requests by size, on a scale that doubles; the table below has the figures\">\n".to_owned();
    let mut mark = TABLE[0].limit;
    let mut at = 0;
    // As many marks as have room on a narrow page.
    let every = (doublings / 7.0) as u32 + 1;
    while mark <= largest {
        if at % every == 0 {
            let place = x(mark as f64);
            let anchor = if mark.saturating_mul(2) > largest { "end" } else { "middle" };
            html += &format!(
                "<line class=\"grid\" x1=\"{place}%\" x2=\"{place}%\" y1=\"0\" y2=\"155\"/><text x=\"{place}%\" y=\"169\" text-anchor=\"{anchor}\">{}</text>\n",
                bytes(mark)
            );
        }
        (mark, at) = (mark.saturating_mul(2), at + 1);
        if mark == u64::MAX {
            break;
        }
    }
    for (row, requests) in sizes.rows() {
        let (from, to) = (x(row.from as f64), x(row.limit as f64));
        let width: f64 = to.parse::<f64>().unwrap_or(0.0) - from.parse::<f64>().unwrap_or(0.0);
        let height = (HEIGHT * requests as f64 / most as f64).max(1.0);
        html += &format!(
            "<rect class=\"part\" x=\"{from}%\" width=\"{}%\" y=\"{}\" height=\"{}\"><title>up to {}: {}</title></rect>\n",
            short((width - 0.15).max(0.2)),
            short(HEIGHT + 5.0 - height),
            short(height),
            bytes(row.limit),
            counted(requests, "request", "requests")
        );
    }
    html += "<line class=\"axis\" x1=\"0\" x2=\"100%\" y1=\"155\" y2=\"155\"/>\n";
    for row in TABLE.iter().filter(|row| row.limit <= LARGEST_CELL as u64 && row.limit <= largest) {
        let place = x(row.limit as f64);
        html += &format!("<line class=\"now\" x1=\"{place}%\" x2=\"{place}%\" y1=\"178\" y2=\"188\"/>");
    }
    for size in fitting {
        let place = x(*size as f64);
        html += &format!(
            "<line class=\"new\" x1=\"{place}%\" x2=\"{place}%\" y1=\"192\" y2=\"204\"><title>{size}</title></line>"
        );
    }
    html += "</svg>\n<figcaption><span class=\"key\"><svg class=\"swatch\" aria-hidden=\"true\"><line class=\"now\" x1=\"9\" x2=\"9\" y1=\"1\" y2=\"11\"/></svg>cell sizes now</span>\n";
    if !fitting.is_empty() {
        html += "<span class=\"key\"><svg class=\"swatch\" aria-hidden=\"true\"><line class=\"new\" x1=\"9\" x2=\"9\" y1=\"1\" y2=\"11\"/></svg>cell sizes that would waste the least</span>\n";
    }
    html + "</figcaption>\n</figure>\n"
}
