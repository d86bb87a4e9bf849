//! Storage: the areas with what sets them, and memory next to what was requested.

use underbar_advise::Advice;
use underbar_ledger::{Key, Unit};
use underbar_report::summary::{AreaRow, area_rows};
use underbar_report::units::{parse_size, share};
use underbar_report::{Program, Report};

use crate::markup::{Column, Kind, bar, figure, figure_or, table, text};
use crate::scale::percent;

/// The areas of the program with the most memory.
pub fn areas(report: &Report, advice: &[Advice]) -> Option<String> {
    let programs = report.programs();
    let leading = programs.first()?;
    let rows = area_rows(report, leading);
    let suggested = |row: &AreaRow| {
        let of = |one: &&Advice| one.target == leading.name && one.area == Some(row.area);
        advice.iter().filter(of).find_map(Advice::suggested)
    };
    let first_size = |words: &str| words.split(['(', ',', ')', ' ']).find_map(parse_size);
    let sizes = |row: &AreaRow| {
        let used = row.used.map(|(_, used)| used);
        (used, first_size(&row.set), suggested(row).as_deref().and_then(first_size))
    };
    let most = rows
        .iter()
        .flat_map(|row| {
            let (a, b, c) = sizes(row);
            [a, b, c]
        })
        .flatten()
        .max()
        .unwrap_or(1)
        .max(1);
    let columns = [
        Column::new("area", Kind::Name),
        Column::new("set", Kind::Words),
        Column::new("used at most", Kind::Figure),
        Column::new("suggested", Kind::Words),
        Column::new("<span class=\"unseen\">picture</span>", Kind::Picture),
    ];
    let cells = |row: &AreaRow| {
        let used = row
            .used
            .map_or("not measured".to_owned(), |(key, used)| figure(key.entry().key, Unit::Bytes, used));
        let option = suggested(row)
            .map_or(String::new(), |option| format!("<code class=\"option\">{}</code>", text(&option)));
        vec![
            row.area.word().to_owned(),
            format!("<code>{}</code>", text(&row.set)),
            used,
            option,
            picture(sizes(row), most),
        ]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let of = format!("Storage areas of {}", leading.name);
    let key = "<p class=\"keys\"><span class=\"key\"><svg class=\"swatch\" aria-hidden=\"true\"><rect class=\"part\" y=\"3\" width=\"18\" height=\"6\"/></svg>used at most</span> \
               <span class=\"key\"><svg class=\"swatch\" aria-hidden=\"true\"><circle class=\"now\" cx=\"9\" cy=\"6\" r=\"4\"/></svg>initial size now</span> \
               <span class=\"key\"><svg class=\"swatch\" aria-hidden=\"true\"><circle class=\"new\" cx=\"9\" cy=\"6\" r=\"4.5\"/></svg>suggested</span></p>\n";
    Some(table(&of, &columns, &rows) + key)
}

fn picture((used, set, suggested): (Option<u64>, Option<u64>, Option<u64>), most: u64) -> String {
    let place = |bytes: u64| percent(bytes as f64, most as f64 * 1.04);
    let mut html = "<svg class=\"area\" aria-hidden=\"true\"><line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"11\" y2=\"11\"/>".to_owned();
    if let Some(used) = used {
        html += &format!("<rect class=\"part\" y=\"8\" height=\"6\" width=\"{}%\"/>", place(used));
    }
    for (class, bytes, radius) in [("now", set, "4"), ("new", suggested, "5")] {
        if let Some(bytes) = bytes {
            html += &format!("<circle class=\"{class}\" cx=\"{}%\" cy=\"11\" r=\"{radius}\"/>", place(bytes));
        }
    }
    html + "</svg>"
}

/// What was requested, what the heap held for it, and what was resident, of the program with the most memory.
pub fn memory(report: &Report) -> Option<String> {
    let programs = report.programs();
    let leading = programs.first()?;
    let of = |key: Key| (key.entry().key, leading.counters.known(key));
    let rows = [
        ("requested and in use, at most", of(Key::HeapUsedPeak)),
        ("held in segments, at most", of(Key::HeapSegmentBytesPeak)),
        ("resident in this heap", of(Key::CoverageHeap)),
        ("resident, all anonymous memory", of(Key::CoverageAnonymous)),
        (
            "peak resident of any process",
            ("steps.peak_resident_bytes", report.steps.as_ref().map(|steps| steps.peak_resident_bytes)),
        ),
    ];
    let most = rows.iter().filter_map(|(_, (_, value))| *value).max().unwrap_or(1).max(1);
    let columns = [
        Column::new("what", Kind::Words),
        Column::new("bytes", Kind::Figure),
        Column::new("<span class=\"unseen\">picture</span>", Kind::Picture),
    ];
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(words, (key, value))| {
            vec![
                words.to_owned(),
                figure_or(key, Unit::Bytes, value, "not measured"),
                value.map_or(String::new(), |value| bar(value, most)),
            ]
        })
        .collect();
    Some(table(&format!("Memory of {}", leading.name), &columns, &rows) + &owners(leading))
}

/// Who holds the memory that is not in the heap.
fn owners(program: &Program) -> String {
    let anonymous = program.counters.get(Key::CoverageAnonymous);
    let owners: Vec<_> = program.owners.iter().filter(|owner| owner.bytes > 0).take(24).collect();
    if owners.is_empty() || anonymous == 0 {
        return String::new();
    }
    let columns = [
        Column::new("owner", Kind::Name),
        Column::new("resident", Kind::Figure),
        Column::new("share", Kind::Figure),
        Column::new("<span class=\"unseen\">picture</span>", Kind::Picture),
    ];
    let rows: Vec<Vec<String>> = owners
        .iter()
        .map(|owner| {
            vec![
                text(&owner.name),
                figure("owners.bytes", Unit::Bytes, owner.bytes),
                share(owner.bytes, anonymous),
                bar(owner.bytes, anonymous),
            ]
        })
        .collect();
    table("Owners of memory outside this heap", &columns, &rows)
}
