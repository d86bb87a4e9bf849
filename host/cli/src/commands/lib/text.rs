//! Lists of libraries as text: columns, times, counts.

use std::fmt::Display;
use std::fmt::Write as _;
use std::path::Path;
use underbar_shown::Shown;

/// Rows under a heading; columns of numbers are aligned to the right.
///
/// ```text
/// cells:  NAME SIZE OF LONGER 5 . A 12345 B     one text after the other, and how long each is
/// ```
pub struct Columns {
    /// Whether it has numbers, and its width in characters.
    columns: Vec<(bool, usize)>,
    cells: String,
    /// Bytes of each cell.
    lengths: Vec<u32>,
}

impl Columns {
    /// With these headings; true means numbers.
    pub fn new(heading: &[(&'static str, bool)]) -> Columns {
        let columns = heading.iter().map(|(_, is_number)| (*is_number, 0)).collect();
        let mut columns = Columns { columns, cells: String::new(), lengths: Vec::new() };
        heading.iter().for_each(|(text, _)| columns.cell(text));
        columns
    }

    /// A row of texts. If there are fewer texts than columns, the other cells are empty.
    pub fn row(&mut self, row: impl IntoIterator<Item = impl Display>) {
        row.into_iter().for_each(|text| self.cell(text));
        while !self.lengths.len().is_multiple_of(self.columns.len()) {
            self.cell("");
        }
    }

    /// The next text of a row.
    pub fn cell(&mut self, text: impl Display) {
        let from = self.cells.len();
        // Writing to a string cannot fail.
        let _ = write!(self.cells, "{}", underbar_shown::line(&text.to_string()));
        let cell = self.cells.get(from..).unwrap_or_default();
        let (width, column) = (cell.chars().count(), self.lengths.len() % self.columns.len());
        if let Some((_, widest)) = self.columns.get_mut(column) {
            *widest = width.max(*widest);
        }
        // No cell has 4 GiB.
        self.lengths.push((self.cells.len() - from) as u32);
    }

    /// The next text of a row; an empty cell for None.
    pub fn known(&mut self, text: Option<impl Display>) {
        match text {
            Some(text) => self.cell(text),
            None => self.cell(""),
        }
    }

    /// The table, each column as wide as its widest text, without blanks after the last.
    pub fn text(&self) -> String {
        let (mut lines, mut from) = (String::with_capacity(self.cells.len() * 2), 0);
        for row in self.lengths.chunks(self.columns.len()) {
            // Blanks are written before the next cell, not after a cell.
            let mut blanks = 0;
            for (&length, &(is_number, widest)) in row.iter().zip(&self.columns) {
                let end = from + length as usize;
                let cell = self.cells.get(from..end).unwrap_or_default();
                let width = cell.chars().count();
                let before = if is_number { widest - width } else { 0 };
                if width > 0 {
                    lines.extend(std::iter::repeat_n(' ', blanks + before));
                    lines.push_str(cell);
                    blanks = 0;
                }
                blanks += widest + 2 - if width > 0 { before + width } else { 0 };
                from = end;
            }
            lines.push('\n');
        }
        lines
    }
}

/// A time as lists of members show it: `2026/11/21 16:10`, UTC.
pub fn time(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of the year 0, in eras of 400 years, of which each is as long as the others.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + later;
    format!("{year:04}/{month:02}/{day:02} {:02}:{:02}", second / 3600, second / 60 % 60)
}

/// A number with its noun: `1 member`, `2 libraries`.
pub fn many(number: impl Into<u64>, one: &str) -> String {
    let number = number.into();
    match one {
        _ if number == 1 => format!("1 {one}"),
        "alias" => format!("{number} aliases"),
        _ => match one.strip_prefix("library") {
            Some(rest) => format!("{number} libraries{rest}"),
            None => format!("{number} {one}s"),
        },
    }
}

/// A message with its file before it, unless the message already begins with the file, as those of the system do.
pub fn about(path: &Path, message: impl Display) -> String {
    let (path, message) = (path.shown().to_string(), message.to_string());
    if message.starts_with(&format!("{path}: ")) { message } else { format!("{path}: {message}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (seconds, text) in [
            (0, "1970/01/01 00:00"),
            (951_827_696, "2000/02/29 12:34"),
            (951_868_800, "2000/03/01 00:00"),
            (1_798_761_599, "2026/12/31 23:59"),
            (4_107_542_400, "2100/03/01 00:00"),
        ] {
            assert_eq!(time(seconds), text);
        }
    }

    #[test]
    fn one_or_several() {
        assert_eq!(many(1u32, "alias") + &many(0u32, "alias"), "1 alias0 aliases");
        assert_eq!(
            many(1u32, "library of data") + &many(2u32, "library of data"),
            "1 library of data2 libraries of data"
        );
        assert_eq!(many(1u32, "page") + &many(3u32, "page"), "1 page3 pages");
    }

    #[test]
    fn columns() {
        let mut columns = Columns::new(&[("NAME", false), ("SIZE", true), ("OF", false)]);
        columns.row(["LÄNGER", "5", ""]);
        columns.row(["A"]);
        columns.row(["A", "12345", "B"]);
        columns.row(["", "", "C"]);
        assert_eq!(
            columns.text(),
            "NAME     SIZE  OF\nLÄNGER      5\nA\nA       12345  B\n               C\n"
        );
    }
}
