//! Figures over time: one picture of all processes, and a small one for each process.
//!
//! ```text
//! 64 MiB ─────────────────────────    heap: a band from lowest to highest, and a line of the last values
//!           ╱▔▔▔╲___╱▔▔               resident and segments: lines
//! 32 MiB ──╱──────────────────────
//!        1 s        2 s       3 s
//! ```
//!
//! A slider below the picture, and a pointer over it, show the figures of one moment (`page.js` reads them from the table).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use underbar_ledger::Unit;
use underbar_report::Report;
use underbar_report::over_time::{Column as Values, Course, OfProcess, OverTime, TABLE};
use underbar_report::units::{bytes, counted, nanoseconds};

use crate::markup::{Column, Kind, figure, table, text};
use crate::scale::{byte_steps, one_digit, percent, short, time_steps};

/// The most rows with a picture.
const MOST: usize = 40;
/// Processes of one program that have rows of their own; more are one row.
const APART: usize = 4;
/// Units of the inner picture.
const UNITS: f64 = 1000.0;

/// Another run of the program, to be seen next to the first.
pub struct OtherRun<'a> {
    /// What the first run is next to it.
    pub before: &'a str,
    /// What this run is.
    pub title: &'a str,
    /// Its accounts.
    pub report: &'a Report,
}

/// A line of the picture.
struct Drawn<'a> {
    class: &'static str,
    label: &'static str,
    values: &'a Values,
}

/// The section; None without looks. With another run, such as that under a set that was kept, its picture has the same scales.
pub fn section(report: &Report, other: Option<&OtherRun<'_>>) -> Option<String> {
    let over = looked_at(report)?;
    let other = other.and_then(|other| Some((other, &looked_at(other.report)?.all)));
    let course = &over.all;
    let mut scales = Scales::of(course);
    if let Some((_, course)) = other {
        scales = scales.joined(&Scales::of(course));
    }
    let mut html = format!(
        "<p>underbar looked at the processes {}, once every {}. {}</p>\n",
        counted(over.looks, "time", "times"),
        nanoseconds(over.every_ns),
        match course.looks_per_point {
            0 | 1 => String::new(),
            several => format!(
                "Each point is made of up to {several} looks: the band is from their lowest to their highest value."
            ),
        }
    );
    if let Some((other, _)) = other {
        html += &format!("<h3>{}</h3>\n", text(other.before));
    }
    html += &picture(course, &scales, true);
    html += &figures_of(course);
    if let Some((other, course)) = other {
        html += &format!("<h3>{}</h3>\n", text(other.title));
        html += &picture(course, &scales, false);
    }
    if over.processes.len() > 1 {
        html += &processes(&over.processes);
    }
    if over.left_out > 0 {
        html += &format!(
            "<p class=\"note\">The first picture includes {} without a picture here.</p>\n",
            counted(over.left_out, "short process", "short processes")
        );
    }
    Some(html)
}

/// The courses of a report that has looks.
fn looked_at(report: &Report) -> Option<&OverTime> {
    report.over_time.as_ref().filter(|over| over.all.points() > 0 && over.all.is_even())
}

fn lines_of(course: &Course) -> [Drawn<'_>; 3] {
    [
        Drawn { class: "held", label: "in segments", values: &course.segment_bytes },
        Drawn { class: "resident", label: "resident", values: &course.resident },
        Drawn { class: "heap", label: "heap in use", values: &course.heap },
    ]
}

/// The ends of both scales of a picture.
struct Scales {
    most: u64,
    end: u64,
}

impl Scales {
    fn of(course: &Course) -> Scales {
        let most = lines_of(course).iter().filter_map(|line| line.values.highest()).max();
        Scales { most: most.unwrap_or(0).max(1), end: course.at_ns.last().copied().unwrap_or(1).max(1) }
    }

    fn joined(&self, other: &Scales) -> Scales {
        Scales { most: self.most.max(other.most), end: self.end.max(other.end) }
    }
}

/// Lines over time; with a slider that shows the figures of a moment.
fn picture(course: &Course, scales: &Scales, has_slider: bool) -> String {
    let lines = lines_of(course);
    let (most, end) = (scales.most, scales.end);
    let top = most as f64 * 1.06;
    let mut html = "<figure class=\"course\">\n<svg class=\"plot\" data-end=\"".to_owned();
    html += &format!(
        "{end}\" role=\"img\" aria-label=\"Heap in use, resident memory and storage in segments over time{}\">\n",
        if has_slider { "; the table below has the figures" } else { "" }
    );
    let height = 240.0;
    let y = |value: f64| short(height * (1.0 - value / top));
    let mut labels = String::new();
    for step in byte_steps(most) {
        let y = y(step as f64);
        html += &format!("<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{y}\" y2=\"{y}\"/>\n");
        labels += &format!("<text class=\"over\" x=\"0\" y=\"{y}\" dy=\"-4\">{}</text>\n", bytes(step));
    }
    html += "<line class=\"axis\" x1=\"0\" x2=\"100%\" y1=\"240\" y2=\"240\"/>\n";
    for step in time_steps(end) {
        let x = percent(step as f64, end as f64);
        let anchor = if step * 20 > end * 19 { "end" } else { "middle" };
        html += &format!(
            "<line class=\"axis\" x1=\"{x}%\" x2=\"{x}%\" y1=\"240\" y2=\"245\"/><text x=\"{x}%\" y=\"259\" text-anchor=\"{anchor}\">{}</text>\n",
            nanoseconds(step)
        );
    }
    html += "<svg class=\"lines\" width=\"100%\" height=\"240\" viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\">\n";
    for line in &lines {
        if line.class == "heap" {
            html += &format!("<path class=\"band\" d=\"{}\"/>\n", band(course, line.values, top, end));
        }
        html += &format!(
            "<path class=\"{}\" d=\"{}\"/>\n",
            line.class,
            path(course, &line.values.last, top, end)
        );
    }
    html += &format!("</svg>\n{labels}");
    html += "<line class=\"cursor\" x1=\"0\" x2=\"0\" y1=\"0\" y2=\"240\" visibility=\"hidden\"/>\n</svg>\n<figcaption>";
    for line in lines.iter().rev() {
        if let Some(highest) = line.values.highest() {
            let highest = bytes(highest);
            html += &format!(
                "<span class=\"key\"><svg class=\"swatch\" aria-hidden=\"true\"><line class=\"{}\" x1=\"0\" x2=\"18\" y1=\"6\" y2=\"6\"/></svg>{}, at most {highest}</span>\n",
                line.class, line.label
            );
        }
    }
    html += "</figcaption>\n";
    if !has_slider {
        return html + "</figure>\n";
    }
    let last = course.points() - 1;
    html += &format!(
        "<p class=\"moment\" hidden><label for=\"moment\">Moment</label> <input id=\"moment\" type=\"range\" min=\"0\" max=\"{last}\" value=\"{last}\"> \
         <output for=\"moment\"></output></p>\n</figure>\n"
    );
    html
}

/// The line of the last values; parts where they are not known are left out.
fn path(course: &Course, values: &[Option<u64>], top: f64, end: u64) -> String {
    let mut path = String::new();
    let mut is_drawn = false;
    for (at, value) in course.at_ns.iter().zip(values) {
        match value {
            Some(value) => {
                let letter = if is_drawn { 'L' } else { 'M' };
                path += &format!("{letter}{} {}", x(*at, end), y(*value, top));
                if !is_drawn {
                    // A point alone is seen as a short line.
                    path += "h.1";
                }
                is_drawn = true;
            }
            None => is_drawn = false,
        }
    }
    path
}

/// The area between lowest and highest values.
fn band(course: &Course, values: &Values, top: f64, end: u64) -> String {
    let of = |values: &[Option<u64>]| -> Vec<String> {
        let both = course.at_ns.iter().zip(values);
        both.map(|(at, value)| format!("{} {}", x(*at, end), y(value.unwrap_or(0), top))).collect()
    };
    let (high, mut low) = (of(&values.high), of(&values.low));
    low.reverse();
    format!("M{}L{}Z", high.join("L"), low.join("L"))
}

fn x(at: u64, end: u64) -> String {
    one_digit(UNITS * at as f64 / end as f64)
}

fn y(value: u64, top: f64) -> String {
    one_digit(UNITS * (1.0 - value as f64 / top))
}

/// All points of the course, for those who want the figures, and for the script.
fn figures_of(course: &Course) -> String {
    let mut columns = vec![Column::new("until", Kind::Figure), Column::new("heap, highest", Kind::Figure)];
    columns.extend(TABLE.iter().map(|entry| Column::new(entry.label, Kind::Figure)));
    let cell = |key: &str, unit: Unit, value: Option<u64>| {
        value.map_or("–".to_owned(), |value| figure(key, unit, value))
    };
    let rows: Vec<Vec<String>> = (0..course.points())
        .map(|at| {
            let mut row = vec![
                figure("over_time.at_ns", Unit::Nanoseconds, course.at_ns[at]),
                cell("over_time.heap.high", Unit::Bytes, course.heap.high[at]),
            ];
            row.extend(TABLE.iter().map(|entry| {
                cell(&format!("over_time.{}.last", entry.key), entry.unit, (entry.column)(course).last[at])
            }));
            row
        })
        .collect();
    format!(
        "<details class=\"points\"><summary>The figures as a table</summary>\n{}</details>\n",
        table("All processes over time", &columns, &rows)
    )
}

/// A row of the table of processes.
struct Group<'a> {
    /// Its processes, the one with the most storage first.
    all: Vec<&'a OfProcess>,
}

impl Group<'_> {
    fn most(&self, of: fn(&Course) -> &Values) -> Option<u64> {
        self.all.iter().filter_map(|one| of(&one.course).highest()).max()
    }
}

/// The processes in the order of their storage. Those of one program are one row if there are more than [`APART`].
fn groups(all: &[OfProcess]) -> Vec<Group<'_>> {
    let mut by_program: BTreeMap<&str, Vec<&OfProcess>> = BTreeMap::new();
    for one in all.iter().filter(|one| one.course.is_even()) {
        by_program.entry(&one.program).or_default().push(one);
    }
    let mut groups = Vec::new();
    for mut all in by_program.into_values() {
        if all.len() > APART {
            all.sort_by_key(|one| Reverse(one.course.heap.highest()));
            groups.push(Group { all });
        } else {
            groups.extend(all.into_iter().map(|one| Group { all: vec![one] }));
        }
    }
    groups.sort_by_key(|group| {
        (Reverse(group.most(|course| &course.heap)), group.all.first().map(|one| one.started_ns))
    });
    groups
}

/// A small picture for each process, those with most storage first.
fn processes(all: &[OfProcess]) -> String {
    let columns = [
        Column::new("process", Kind::Name),
        Column::new("began", Kind::Figure),
        Column::new("heap, at most", Kind::Figure),
        Column::new("resident, at most", Kind::Figure),
        Column::new("heap over time", Kind::Picture),
    ];
    let end = all.iter().filter_map(|one| one.course.at_ns.last()).max().copied().unwrap_or(1).max(1);
    let groups = groups(all);
    let most = groups.first().and_then(|group| group.most(|course| &course.heap)).unwrap_or(1).max(1);
    let row = |group: &Group<'_>| {
        let one = group.all.first()?;
        let highest = |of: fn(&Course) -> &Values| group.most(of).map_or("–".to_owned(), bytes);
        let began = group.all.iter().map(|one| one.started_ns).min().unwrap_or(0);
        let number = match group.all.len() {
            1 => one.process.to_string(),
            several => format!("{several} processes"),
        };
        let small = format!(
            "<svg class=\"spark\" viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><path class=\"band\" d=\"{}\"/></svg>",
            filled(&one.course, most as f64, end)
        );
        Some(vec![
            format!("{} <span class=\"of\">{number}</span>", text(&one.program)),
            nanoseconds(began),
            highest(|course| &course.heap),
            highest(|course| &course.resident),
            small,
        ])
    };
    let rows: Vec<Vec<String>> = groups.iter().take(MOST).filter_map(row).collect();
    let mut notes = String::new();
    if groups.iter().any(|group| group.all.len() > 1) {
        notes += &format!(
            "<p class=\"note\">A program with more than {APART} processes has one row: the start of the first, the figures of the largest, \
             and the heap of the process that had the most in use.</p>\n"
        );
    }
    let more: usize = groups.iter().skip(MOST).map(|group| group.all.len()).sum();
    if more > 0 {
        let more = counted(more as u64, "process with less storage is", "processes with less storage are");
        notes += &format!("<p class=\"note\">{more} not shown.</p>\n");
    }
    table("Each process", &columns, &rows) + &notes
}

/// The highest values as an area above zero, from the begin of the course.
fn filled(course: &Course, top: f64, end: u64) -> String {
    let both = course.at_ns.iter().zip(&course.heap.high);
    let points: Vec<String> =
        both.map(|(at, value)| format!("{} {}", x(*at, end), y(value.unwrap_or(0), top))).collect();
    let (first, last) =
        (course.at_ns.first().copied().unwrap_or(0), course.at_ns.last().copied().unwrap_or(0));
    // A process that was seen once is a narrow column.
    format!("M{} 1000L{}h2L{} 1000Z", x(first, end), points.join("L"), x(last, end))
}
