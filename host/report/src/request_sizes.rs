//! Requests by size for people: a line of the summary, and a section of the view with every figure.
//!
//! ```text
//! sizes     16 B ▂▁█▅▁ ▁ 1 MiB; up to 64 B 61 %, 128 B 30 %, 1 MiB 2 %, 16 B 2 %, 256 B 1 %, others 4 %
//!
//! getfree, request sizes: 50,002 requests, exact
//!   sizes.up_to_64                        4,500 8 %       up to 64 B     ██▎
//!   cells     12 sizes waste least ...
//! ```
//!
//! A picture has a column for each power of two. Pictures need a page that can show them ([`Page::pictures`]); without one there
//! are the same numbers.
//!
//! Invariant: every row with requests is in the section, and its shares are of all requests.
//! Not here: the rows ([`crate::sizes`]), and how well sizes fit (`underbar_model::Requests`).

use underbar_ledger::sizes::{ROWS, Row, TABLE};
use underbar_model::Figure;
use underbar_model::requests::RARE;

use crate::page::{LABEL_COLUMNS, Line, Page, Tone, labelled};
use crate::sizes::Sizes;
use crate::supply;
use crate::units::{bytes, count, counted, share};

/// The most rows in the summary.
const TOP: usize = 5;
/// The most columns of a picture. The last one also has what is larger.
const COLUMNS: usize = 24;
/// Columns of the longest bar of a section, and of what is before it.
const BAR: usize = 20;
const BEFORE_BAR: usize = 70;
/// The most sizes of cells that HEAPPOOLS can have, and their unit.
const CELLS: (usize, u64) = (12, 8);
/// The largest cell that HEAPPOOLS can have.
const LARGEST_CELL: u64 = 65_536;
/// With fewer requests no sizes of cells are chosen.
const FEW: u64 = 100;

/// The requests of a program, and whether some may be missing.
#[derive(Clone, Copy)]
pub(crate) struct Counted<'a> {
    pub sizes: &'a Sizes,
    /// True while a process runs, and after one was killed.
    pub unfinished: bool,
}

impl Counted<'_> {
    fn at_least(self) -> &'static str {
        if self.unfinished { "at least " } else { "" }
    }

    /// What the shares are of, if some requests may be missing.
    fn base(self) -> String {
        if self.unfinished { format!("of at least {}: ", count(self.sizes.total())) } else { String::new() }
    }
}

/// The line of the summary. None without requests.
pub(crate) fn line(counted: Counted<'_>, page: Page<'_>) -> Option<Line> {
    let all = counted.sizes.total();
    let mut rows: Vec<(&Row, u64)> = counted.sizes.rows().collect();
    let largest = rows.last()?.0.limit;
    // Of equally many requests the smaller ones come first.
    rows.sort_by_key(|(_, requests)| std::cmp::Reverse(*requests));
    let picture = if page.pictures {
        format!("{} {} {}; ", bytes(TABLE[0].limit), picture(counted.sizes), bytes(doubled(largest)))
    } else {
        String::new()
    };
    // The largest number of rows that fit into the line.
    let room = page.columns.saturating_sub(LABEL_COLUMNS);
    let texts =
        (1..=TOP).rev().map(|most| format!("{picture}{}{}", counted.base(), shares(&rows, most, all)));
    let mut text = String::new();
    for shorter in texts {
        text = shorter;
        if text.chars().count() <= room {
            break;
        }
    }
    Some(labelled("sizes", text))
}

/// The shares of the first rows, and of all others.
fn shares(rows: &[(&Row, u64)], most: usize, all: u64) -> String {
    let one = |(row, requests): &(&Row, u64)| format!("{} {}", bytes(row.limit), share(*requests, all));
    let mut words: Vec<String> = rows.iter().take(most).map(one).collect();
    let others = rows.iter().skip(most).fold(0_u64, |sum, (_, requests)| sum.saturating_add(*requests));
    if others > 0 {
        words.push(format!("others {}", share(others, all)));
    }
    format!("up to {}", words.join(", "))
}

/// The section of the view with every figure, with its heading. Empty if there are no requests.
pub(crate) fn section(name: &str, counted_requests: Counted<'_>, page: Page<'_>) -> Vec<Line> {
    let sizes = counted_requests.sizes;
    let all = sizes.total();
    if all == 0 {
        return Vec::new();
    }
    let exactness =
        if counted_requests.unfinished { "; a process was running or was killed" } else { ", exact" };
    let heading = format!(
        "{name}, request sizes: {}{}{exactness}",
        counted_requests.at_least(),
        counted(all, "request", "requests")
    );
    let mut lines = vec![Line(vec![(Tone::Label, heading)])];
    let most = sizes.rows().map(|(_, requests)| requests).max().unwrap_or(1);
    let width = page.columns.saturating_sub(BEFORE_BAR).min(BAR);
    for (row, requests) in sizes.rows() {
        let bar = if page.pictures { bar(requests, most, width) } else { String::new() };
        let more = if row.key == TABLE[ROWS - 1].key { " or more" } else { "" };
        let limit = format!("up to {}{more}", bytes(row.limit));
        lines.push(Line(vec![
            (Tone::Label, format!("  {:<26}", row.key)),
            (Tone::Plain, format!("{:>16} {:<9} {limit:<14} {bar}", count(requests), share(requests, all))),
        ]));
    }
    lines.extend(cells(counted_requests));
    lines
}

/// The sizes of cells that waste least, if they are not simply the rows.
fn cells(counted: Counted<'_>) -> Option<Line> {
    let sizes: Vec<String> =
        fitting_cells(counted.sizes, !counted.unfinished).iter().map(u64::to_string).collect();
    let text = format!(
        "{} sizes waste least for requests of up to {}, all but one in {}: {}",
        sizes.len(),
        bytes(LARGEST_CELL),
        count(RARE),
        sizes.join(", ")
    );
    (!sizes.is_empty()).then(|| labelled("cells", text))
}

/// The sizes of cells that would waste least for these requests of up to 64 KiB. Empty if they are simply the rows, or if there are few
/// requests. `is_settled`: no process runs, and none was killed.
#[must_use]
pub fn fitting_cells(sizes: &Sizes, is_settled: bool) -> Vec<u64> {
    let mut requests = supply::requests(sizes, Figure::absent("not needed"), 1, is_settled);
    requests.rows.retain(|row| row.limit <= LARGEST_CELL);
    let used = requests.rows.iter().filter(|row| row.count.value > 0).count();
    if used <= CELLS.0 || requests.counted() < FEW {
        return Vec::new();
    }
    requests.fitting(CELLS.0, CELLS.1)
}

/// The power of two that holds a size, as far as the columns of a picture go.
fn doubled(size: u64) -> u64 {
    let most = TABLE[0].limit << (COLUMNS - 1);
    if size > most { size } else { size.next_power_of_two() }
}

/// Requests by powers of two: a column for each, from the smallest row to the largest one with requests.
fn picture(sizes: &Sizes) -> String {
    let mut columns = vec![0_u64];
    for (row, requests) in sizes.rows() {
        let power = row.limit.next_power_of_two().ilog2() - TABLE[0].limit.ilog2();
        let at = (power as usize).min(COLUMNS - 1);
        columns.resize(columns.len().max(at + 1), 0);
        columns[at] = columns[at].saturating_add(requests);
    }
    let most = columns.iter().max().copied().unwrap_or(0).max(1);
    columns.iter().map(|requests| block(eighths(*requests, most, 8), '\u{2581}')).collect()
}

/// A bar of up to `width` columns, to the eighth of a column.
pub(crate) fn bar(requests: u64, most: u64, width: usize) -> String {
    let eighths = eighths(requests, most, 8 * width as u64);
    let mut bar = "\u{2588}".repeat((eighths / 8) as usize);
    // Left blocks: seven eighths are U+2589, one eighth is U+258F.
    let rest = (eighths % 8) as u32;
    bar.extend(char::from_u32(0x2590 - rest).filter(|_| rest > 0));
    bar
}

/// A block of that many eighths of its height; the first block of one eighth is given. A space for none.
fn block(eighths: u64, first: char) -> char {
    let code = u32::try_from(eighths).ok().and_then(|eighths| eighths.checked_sub(1));
    code.and_then(|code| char::from_u32(u32::from(first) + code)).unwrap_or(' ')
}

/// A part of the most, in parts of `whole`, rounded up: nothing is left out.
fn eighths(part: u64, most: u64, whole: u64) -> u64 {
    let parts = (u128::from(part) * u128::from(whole)).div_ceil(u128::from(most.max(1)));
    u64::try_from(parts).unwrap_or(whole).min(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::paint;
    use crate::sample::sizes as of;

    fn page(pictures: bool) -> Page<'static> {
        Page { pictures, ..Page::of_terminal(None, false) }
    }

    fn summary(sizes: &Sizes, unfinished: bool, pictures: bool) -> Option<String> {
        line(Counted { sizes, unfinished }, page(pictures)).map(|line| paint(&[line], page(pictures), 1))
    }

    const ROWS_OF: [(u64, u64); 7] =
        [(16, 20), (64, 610), (128, 300), (256, 10), (1 << 20, 20), (2048, 5), (80, 35)];

    #[test]
    fn the_line_has_the_five_most_frequent() {
        let sizes = of(&ROWS_OF);
        let words = "up to 64 B 61 %, 128 B 30 %, 80 B 3 %, 16 B 2 %, 1 MiB 2 %, others 1 %\n";
        assert_eq!(summary(&sizes, false, false), Some(format!("  sizes     {words}")));
        assert_eq!(summary(&Sizes::none(), false, true), None);
    }

    /// Rows that have no room in the line are among the others.
    #[test]
    fn a_line_has_as_many_as_fit() {
        let sizes = of(&ROWS_OF);
        let words = "up to 64 B 61 %, 128 B 30 %, 80 B 3 %, 16 B 2 %, others 3 %\n";
        assert_eq!(summary(&sizes, true, false), Some(format!("  sizes     of at least 1,000: {words}")));
        let words = "up to 64 B 61 %, 128 B 30 %, 80 B 3 %, others 5 %\n";
        let picture = "16 B \u{2581} \u{2588}\u{2585}\u{2581}  \u{2581}        \u{2581} 1 MiB; ";
        assert_eq!(summary(&sizes, false, true), Some(format!("  sizes     {picture}{words}")));
    }

    #[test]
    fn the_section_has_every_row() {
        let sizes = of(&ROWS_OF);
        let text = |unfinished, pictures| {
            let lines = section("x", Counted { sizes: &sizes, unfinished }, page(pictures));
            paint(&lines, page(pictures), usize::MAX)
        };
        let expect = "\
x, request sizes: 1,000 requests, exact
  sizes.up_to_16                          20 2 %       up to 16 B
  sizes.up_to_64                         610 61 %      up to 64 B
  sizes.up_to_80                          35 3 %       up to 80 B
  sizes.up_to_128                        300 30 %      up to 128 B
  sizes.up_to_256                         10 1 %       up to 256 B
  sizes.up_to_2048                         5 below 1 % up to 2 KiB
  sizes.up_to_1048576                     20 2 %       up to 1 MiB
";
        assert_eq!(text(false, false), expect);
        let bars = text(true, true);
        assert!(
            bars.starts_with(
                "x, request sizes: at least 1,000 requests; a process was running or was killed\n"
            )
        );
        assert!(
            bars.contains("61 %      up to 64 B     \u{2588}\u{2588}") && bars.contains("KiB    \u{258e}\n"),
            "{bars}"
        );
        assert!(section("x", Counted { sizes: &Sizes::none(), unfinished: false }, page(true)).is_empty());
    }

    /// Sizes of cells are of use where there are more rows than cells.
    #[test]
    fn sizes_of_cells_are_those_of_least_waste() {
        let rows: Vec<(u64, u64)> = (1..=13).map(|n| (n * 16, if n == 5 { 1 } else { 1_000 })).collect();
        let text = |rows: &[(u64, u64)]| {
            let sizes = of(rows);
            cells(Counted { sizes: &sizes, unfinished: false }).map(|line| paint(&[line], page(false), 9))
        };
        let expect = "  cells     12 sizes waste least for requests of up to 64 KiB, all but one in 1,000: 16, 32, 48, 64,\n            96, 112, 128, 144, 160, 176, 192, 208\n";
        assert_eq!(text(&rows).as_deref(), Some(expect));
        assert_eq!(text(&rows[1..]), None);
        let few: Vec<(u64, u64)> = rows.iter().map(|row| (row.0, 1)).collect();
        assert_eq!(text(&few), None);
    }

    #[test]
    fn any_figures_have_a_picture() {
        let most = of(&[(16, 1), (64, u64::MAX), (1 << 20, u64::MAX / 2), (u64::MAX, 3)]);
        for pictures in [false, true] {
            let text = summary(&most, true, pictures).expect("a line");
            assert!(text.chars().count() <= 101, "{text}");
        }
        assert_eq!(picture(&most).chars().count(), COLUMNS);
        assert_eq!(bar(u64::MAX, u64::MAX, BAR).chars().count(), BAR);
        assert_eq!((bar(1, u64::MAX, BAR).as_str(), bar(1, 1, 0).as_str()), ("\u{258f}", ""));
        let narrow = Page { columns: 72, ..page(true) };
        let text =
            paint(&section("x", Counted { sizes: &most, unfinished: false }, narrow), narrow, usize::MAX);
        assert!(text.contains('\u{2588}') && !text.contains("..."), "{text}");
    }
}
