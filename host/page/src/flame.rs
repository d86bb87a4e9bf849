//! Call sites as a flame graph: a frame as wide as its value, its callees below it.
//!
//! ```text
//! ┌ all ──────────────────────────────────┐
//! ├ main ─────────────────────┬ worker ───┤    click, Enter: zoom       arrows: from frame to frame
//! ├ parse ────────┬ index ────┤ read ─────┤    Escape: all of it        search: frames by name
//! ```
//!
//! Frames too narrow to see are left out, and counted; a frame that calls itself is one frame with the number of its levels. A table
//! has the largest sites with their intervals (`site_rows`); without sites, the functions that are largest by their own value.
//!
//! Invariant: a graph has at most [`FRAMES`] frames and [`GRAPH_BYTES`] bytes of page, whatever the stacks are.
//! Not here: where the stacks are from.

use underbar_ledger::Unit;
use underbar_report::units;

use crate::markup::{Column, Kind, bar, table, text};
use crate::scale::{one_digit, short};
use crate::site_rows::{self, Row};

/// The most frames of a graph.
pub const FRAMES: usize = 3000;
/// The most bytes of a graph's frames. A page has up to three graphs.
pub const GRAPH_BYTES: usize = 320 << 10;
/// The most levels.
const LEVELS: usize = 80;
/// Height of a level.
const LEVEL: usize = 20;
/// Characters of a name that are shown: those of C++ templates are longer than a screen.
const NAME: usize = 160;
/// Rows of the table by function.
const ROWS: usize = 12;

/// A frame and its callees.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flame {
    /// Its function, or another name.
    pub name: String,
    /// Its value with all its callees, such as bytes in use.
    pub value: f64,
    /// Its callees.
    pub children: Vec<Flame>,
}

/// A graph with its words.
pub struct Sites {
    /// Its heading, such as `In use at the end`.
    pub title: String,
    /// A sentence about it, such as the rate of the samples and the error.
    pub note: String,
    /// The unit of the values.
    pub unit: Unit,
    /// All stacks.
    pub root: Flame,
    /// The largest sites, if it is known which frames are sites: the rows of its table.
    pub rows: Vec<Row>,
}

/// A frame to draw.
struct Frame<'a> {
    flame: &'a Flame,
    levels: usize,
    depth: usize,
    from: f64,
    width: f64,
}

/// The section; None without graphs. `notes` are about all of them.
pub fn section(notes: &[String], sites: &[Sites]) -> Option<String> {
    let notes: String = notes.iter().map(|note| format!("<p>{}</p>\n", text(note))).collect();
    let graphs: Vec<String> = sites.iter().enumerate().map(|(at, sites)| graph(at, sites)).collect();
    (!graphs.is_empty()).then(|| notes + &graphs.concat())
}

fn graph(number: usize, sites: &Sites) -> String {
    let mut html = format!("<h3>{}</h3>\n<p>{}</p>\n", text(&sites.title), text(&sites.note));
    let all = sites.root.value;
    if all.is_nan() || all <= 0.0 {
        return html + "<p>No samples.</p>\n";
    }
    let shown = |value: f64| units::figure(sites.unit, value.max(0.0) as u64);
    let (frames, drawn) = drawn(&sites.root, &shown);
    let depth = frames.iter().map(|frame| frame.depth).max().unwrap_or(0) + 1;
    html += &format!(
        "<div class=\"flame\" data-flame>\n<p class=\"tools\" hidden><label for=\"search-{number}\">Search</label> <input id=\"search-{number}\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\"> \
         <button type=\"button\">Show all</button> <output></output></p>\n\
         <svg class=\"frames\" height=\"{}\" role=\"tree\" aria-label=\"{}\">\n{drawn}",
        depth * LEVEL,
        text(&sites.title)
    );
    html += "</svg>\n</div>\n";
    let left = count_of(&sites.root).saturating_sub(frames.iter().map(|frame| frame.levels).sum());
    if left > 0 {
        html += &format!(
            "<p class=\"note\">{} too narrow to show.</p>\n",
            units::counted(left as u64, "frame is", "frames are")
        );
    }
    if sites.rows.is_empty() {
        html + &largest(sites, &shown)
    } else {
        html + &site_rows::table(&sites.title, sites.unit, &sites.rows)
    }
}

/// The frames to draw, which are those wide enough for the bounds, and their HTML.
fn drawn<'a>(root: &'a Flame, shown: &dyn Fn(f64) -> String) -> (Vec<Frame<'a>>, String) {
    let mut least = 0.0005;
    loop {
        let mut frames = Vec::new();
        collect(root, 0, 0.0, 1.0, least, &mut frames);
        if frames.len() <= FRAMES {
            let html: String = frames.iter().map(|frame| frame.html(root.value, shown)).collect();
            // Without frames it is empty, so this ends.
            if html.len() <= GRAPH_BYTES {
                return (frames, html);
            }
        }
        least *= 2.0;
    }
}

impl Frame<'_> {
    fn html(&self, all: f64, shown: &dyn Fn(f64) -> String) -> String {
        let Frame { flame, levels, depth, from, width } = self;
        let times = if *levels > 1 { format!(" × {levels}") } else { String::new() };
        let name = format!("{}{times}", name(&flame.name));
        let words = format!("{name}: {}, {} %", shown(flame.value), one_digit(100.0 * flame.value / all));
        format!(
            "<svg class=\"f h{}\" x=\"{}%\" y=\"{}\" width=\"{}%\" height=\"{}\" role=\"treeitem\" tabindex=\"{}\" aria-level=\"{}\" aria-label=\"{words}\" data-v=\"{}\">\
             <title>{words}</title><rect width=\"100%\" height=\"100%\"/><text x=\"5\" y=\"13\">{name}</text></svg>\n",
            hue(&flame.name),
            short(100.0 * from),
            depth * LEVEL,
            short(100.0 * width),
            LEVEL - 1,
            if *depth == 0 { "0" } else { "-1" },
            depth + 1,
            short(flame.value)
        )
    }
}

fn collect<'a>(
    flame: &'a Flame,
    depth: usize,
    from: f64,
    width: f64,
    least: f64,
    frames: &mut Vec<Frame<'a>>,
) {
    if depth >= LEVELS || width < least || frames.len() > FRAMES {
        return;
    }
    // A frame whose only callee has its name is a recursion.
    let (mut levels, mut inner) = (1, flame);
    while let [only] = &inner.children[..]
        && only.name == flame.name
    {
        (levels, inner) = (levels + 1, only);
    }
    frames.push(Frame { flame, levels, depth, from, width });
    let mut at = from;
    for child in &inner.children {
        let share = if flame.value > 0.0 { (child.value / flame.value).clamp(0.0, 1.0) * width } else { 0.0 };
        // Values that do not add up never leave the frame.
        let share = share.min(from + width - at).max(0.0);
        collect(child, depth + 1, at, share, least, frames);
        at += share;
    }
}

/// Frames of a graph, without recursion: stacks may be deep.
fn count_of(root: &Flame) -> usize {
    let (mut count, mut open) = (0, vec![root]);
    while let Some(flame) = open.pop() {
        count += 1;
        open.extend(&flame.children);
    }
    count
}

/// A name that is not too long, as HTML.
fn name(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}...", text(&name[..end])),
        None => text(name),
    }
}

/// One of five shades, always the same for a name.
fn hue(name: &str) -> u32 {
    name.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % 5
}

/// The functions with the largest values of their own.
fn largest(sites: &Sites, shown: &dyn Fn(f64) -> String) -> String {
    let mut own: std::collections::BTreeMap<&str, f64> = std::collections::BTreeMap::new();
    let mut open = vec![&sites.root];
    while let Some(flame) = open.pop() {
        let below: f64 = flame.children.iter().map(|child| child.value).sum();
        *own.entry(&flame.name).or_default() += (flame.value - below).max(0.0);
        open.extend(&flame.children);
    }
    let mut rows: Vec<(&str, f64)> = own.into_iter().filter(|(_, value)| *value >= 1.0).collect();
    rows.sort_by(|one, other| other.1.total_cmp(&one.1));
    let most = rows.first().map_or(1.0, |row| row.1) as u64;
    let columns = [
        Column::new("function", Kind::Name),
        Column::new("own", Kind::Figure),
        Column::new("share", Kind::Figure),
        Column::new("<span class=\"unseen\">picture</span>", Kind::Picture),
    ];
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .take(ROWS)
        .map(|(function, value)| {
            let share = one_digit(100.0 * value / sites.root.value);
            vec![name(function), shown(value), format!("{share} %"), bar(value as u64, most)]
        })
        .collect();
    table(&format!("{}, by function", sites.title), &columns, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flame(name: &str, value: f64, children: Vec<Flame>) -> Flame {
        Flame { name: name.to_owned(), value, children }
    }

    fn frames(root: &Flame) -> Vec<Frame<'_>> {
        drawn(root, &|value| value.to_string()).0
    }

    fn sites(root: Flame) -> Sites {
        Sites { title: "t".into(), note: "n".into(), unit: Unit::Bytes, root, rows: Vec::new() }
    }

    #[test]
    fn frames_stay_within_their_callers() {
        // The callees have more than the caller: noise.
        let root = flame("all", 10.0, vec![flame("a", 8.0, vec![]), flame("b", 8.0, vec![])]);
        let frames = frames(&root);
        assert_eq!(frames.len(), 3);
        assert!((frames[2].from - 0.8).abs() < 1e-9 && (frames[2].width - 0.2).abs() < 1e-9);
    }

    #[test]
    fn a_recursion_is_one_frame_with_its_levels() {
        let mut deep = flame("leaf", 5.0, vec![]);
        for _ in 0..200 {
            deep = flame("walk", 5.0, vec![deep]);
        }
        let root = flame("all", 5.0, vec![deep]);
        let frames = frames(&root);
        assert_eq!(
            frames.iter().map(|frame| (frame.levels, frame.depth)).collect::<Vec<_>>(),
            [(1, 0), (200, 1), (1, 2)]
        );
        let html = graph(0, &sites(root));
        assert!(html.contains("walk × 200: 5 B, 100 %") && !html.contains("too narrow"), "{html}");
    }

    #[test]
    fn a_graph_is_bounded_and_says_what_it_leaves_out() {
        let many = (0..20_000).map(|at| flame(&format!("f{at}"), 1.0, vec![])).collect();
        let root = flame("all", 20_000.0, many);
        assert!(frames(&root).len() <= FRAMES);
        let html = graph(0, &sites(root));
        assert!(html.contains("20,000 frames are too narrow to show"), "{:.400}", html);
    }

    #[test]
    fn long_names_make_no_long_page() {
        let many = (0..2_500).map(|at| flame(&format!("{at}{}", "<&>".repeat(4_000)), 1.0, vec![])).collect();
        let root = flame("all", 2_500.0, many);
        let html = graph(0, &sites(root));
        assert!(html.len() < GRAPH_BYTES + (64 << 10), "{}", html.len());
        assert!(html.contains("frames are too narrow to show"), "{:.400}", html);
    }

    #[test]
    fn no_samples_are_no_graph() {
        for value in [0.0, f64::NAN, -1.0] {
            assert!(graph(0, &sites(flame("all", value, vec![]))).contains("No samples."));
        }
        assert!(section(&["note".to_owned()], &[]).is_none());
    }
}
