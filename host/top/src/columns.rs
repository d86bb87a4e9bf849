//! The one table of columns: heading, key, width, meaning, and the figure of a row.
//!
//! Invariant: each key is used once, and a figure has one form on the terminal, in `--once` and in the help.

use std::cmp::{Ordering, Reverse};

use underbar_report::units;

use crate::layout::Need;
use crate::look::Row;

/// One column.
pub struct Column {
    /// What it shows.
    pub field: Field,
    /// Its heading.
    pub head: &'static str,
    /// The key that sorts by it; a blank: none.
    pub key: char,
    /// 0: in the narrowest table.
    importance: u8,
    /// The width of figures; the least width of texts.
    least: usize,
    /// The most width of texts.
    most: usize,
    /// Is it a figure, at the right of its column?
    pub is_figure: bool,
    /// Its meaning.
    pub meaning: &'static str,
}

/// What columns show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Number of the process.
    Process,
    /// Name of the program.
    Program,
    /// Heap in use.
    Heap,
    /// How the heap grew.
    Trend,
    /// Resident memory.
    Resident,
    /// Requests in a second.
    Requests,
    /// CPU time.
    Cpu,
    /// Waits for locks in a second.
    Waits,
    /// Entries to the kernel in a second.
    Switches,
    /// Age.
    Since,
    /// User.
    User,
    /// Options.
    Options,
    /// Command line.
    Command,
}

const fn figure(
    field: Field,
    head: &'static str,
    key: char,
    importance: u8,
    width: usize,
    meaning: &'static str,
) -> Column {
    Column { field, head, key, importance, least: width, most: width, is_figure: true, meaning }
}

const fn words(
    field: Field,
    head: &'static str,
    key: char,
    importance: u8,
    (least, most): (usize, usize),
    meaning: &'static str,
) -> Column {
    Column { field, head, key, importance, least, most, is_figure: false, meaning }
}

/// The table, from left to right.
pub static COLUMNS: [Column; 13] = [
    figure(Field::Process, "PROCESS", 'p', 0, 7, "the number of the process"),
    words(Field::Program, "PROGRAM", 'n', 1, (8, 24), "the name of the program"),
    figure(Field::Heap, "HEAP", 'h', 2, 9, "heap storage in use"),
    words(
        Field::Trend,
        "TREND",
        ' ',
        9,
        (12, 16),
        "the heap in use over the last looks, against the most of them",
    ),
    figure(Field::Resident, "RESIDENT", 'r', 4, 9, "resident memory of the process, all of it"),
    figure(Field::Requests, "REQ/S", 'g', 5, 7, "requests for heap storage in a second"),
    figure(Field::Cpu, "CPU", 'c', 3, 7, "CPU time; 100 % is one processor"),
    figure(Field::Waits, "WAITS/S", 'w', 6, 7, "waits for locks in a second"),
    figure(Field::Switches, "SWITCH/S", 's', 7, 8, "entries to the kernel in a second, under SWITCHES(ON)"),
    figure(Field::Since, "SINCE", 'a', 8, 6, "how long ago the program began"),
    figure(Field::User, "USER", 'u', 12, 6, "the number of the user"),
    words(Field::Options, "OPTIONS", ' ', 11, (14, 32), "the options of its run"),
    words(Field::Command, "COMMAND", ' ', 10, (16, 120), "its command line"),
];

impl Column {
    /// The column of a field.
    #[must_use]
    pub fn of(field: Field) -> &'static Column {
        let column = COLUMNS.iter().find(|column| column.field == field);
        column.unwrap_or(&COLUMNS[0])
    }

    /// The column that a key sorts by.
    #[must_use]
    pub fn of_key(key: char) -> Option<&'static Column> {
        COLUMNS.iter().find(|column| column.key == key && key != ' ')
    }

    /// What it needs, if its longest text has so many cells.
    #[must_use]
    pub fn need(&self, longest: usize) -> Need {
        if self.is_figure {
            return Need { importance: self.importance, least: self.least, most: self.most };
        }
        let most = longest.max(self.head.len()).min(self.most);
        Need { importance: self.importance, least: self.least.min(most), most }
    }
}

impl Field {
    /// The figure or the words for a row; `now_ns` is the moment of its look. A trend has none: it is of several looks.
    #[must_use]
    pub fn text(self, row: &Row, now_ns: u64) -> String {
        let known = |figure: Option<u64>, form: fn(u64) -> String| figure.map_or("-".to_owned(), form);
        match self {
            Field::Process => row.process.to_string(),
            Field::Program => row.program.clone(),
            Field::Heap => units::bytes(row.heap_used_bytes),
            Field::Trend => String::new(),
            Field::Resident => known(row.resident_bytes, units::bytes),
            _ if !row.runs() && self.is_rate() => String::new(),
            Field::Requests => known(row.requests_per_s, rate),
            Field::Cpu => known(row.cpu_per_mille, percent),
            Field::Waits => known(row.lock_waits_per_s, rate),
            Field::Switches => known(row.switches_per_s, rate),
            Field::Since if !row.runs() => "ended".to_owned(),
            Field::Since => age(now_ns.saturating_sub(row.began_ns)),
            Field::User => row.user.to_string(),
            Field::Options => row.options.clone(),
            Field::Command => row.command.join(" "),
        }
    }

    fn is_rate(self) -> bool {
        matches!(self, Field::Requests | Field::Cpu | Field::Waits | Field::Switches)
    }

    /// The order of two rows by this field: the largest figure first, names and numbers ascending. Processes that have ended are the last,
    /// and of equals the one that began first comes first.
    #[must_use]
    pub fn compare(self, a: &Row, b: &Row) -> Ordering {
        let figure = |row: &Row| match self {
            Field::Heap => Some(row.heap_used_bytes),
            Field::Resident => row.resident_bytes,
            // What is not known at a first look is sorted by what there was so far.
            Field::Requests => row.requests_per_s,
            Field::Cpu => row.cpu_per_mille,
            Field::Waits => row.lock_waits_per_s,
            Field::Switches => row.switches_per_s,
            _ => None,
        };
        let by = match self {
            Field::Process => a.process.cmp(&b.process),
            Field::Program => a.program.cmp(&b.program),
            Field::User => a.user.cmp(&b.user),
            Field::Since => Ordering::Equal,
            _ => Reverse(figure(a)).cmp(&Reverse(figure(b))),
        };
        let ended = (!a.runs()).cmp(&!b.runs());
        ended.then(by).then((a.began_ns, a.process).cmp(&(b.began_ns, b.process)))
    }
}

/// A count in a second, in at most six characters: `0`, `812`, `12.1K`, `3.40M`. K and M are powers of 1000.
#[must_use]
pub fn rate(count: u64) -> String {
    const UNITS: [&str; 6] = ["K", "M", "G", "T", "P", "E"];
    if count < 10_000 {
        return count.to_string();
    }
    let (mut value, mut unit) = (count as f64 / 1e3, 0);
    while value >= 999.5 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1e3, unit + 1);
    }
    let places = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.places$}{}", UNITS[unit])
}

/// Thousandths as percent: `0.4 %`, `98.2 %`, `1600 %`.
#[must_use]
pub fn percent(per_mille: u64) -> String {
    if per_mille < 10_000 {
        format!("{}.{} %", per_mille / 10, per_mille % 10)
    } else {
        format!("{} %", per_mille / 10)
    }
}

/// A time in at most six characters: `12 s`, `5m03`, `2h40`, `17d`.
#[must_use]
pub fn age(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{}m{:02}", seconds / 60, seconds % 60),
        3_600..172_800 => format!("{}h{:02}", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::State;

    #[test]
    fn each_key_and_heading_is_there_once() {
        for column in &COLUMNS {
            let same = COLUMNS
                .iter()
                .filter(|other| other.head == column.head || column.key != ' ' && other.key == column.key);
            assert_eq!(same.count(), 1, "{}", column.head);
            assert!(column.head.len() <= column.most && column.least <= column.most, "{}", column.head);
            assert!(std::ptr::eq(Column::of(column.field), column));
        }
        // Keys of the view itself.
        for key in ['q', '?', ' ', 'j', 'k', 'i', '+', '-'] {
            assert!(Column::of_key(key).is_none(), "{key}");
        }
    }

    #[test]
    fn figures_are_short() {
        let check = |text: String, expect: &str| assert_eq!(text, expect);
        check(rate(9_999), "9999");
        check(rate(12_100), "12.1K");
        check(rate(999_600), "1.00M");
        check(rate(u64::MAX), "18.4E");
        check(percent(4), "0.4 %");
        check(percent(982), "98.2 %");
        check(percent(16_000), "1600 %");
        check(age(59_999_999_999), "59 s");
        check(age(303_000_000_000), "5m03");
        check(age(9_600_000_000_000), "2h40");
        check(age(u64::MAX), "213503 d");
        for figure in [0, 999, 9_999, 10_000, 123_456, 9_999_999, 99_999_999_999] {
            assert!(rate(figure).len() <= 6, "{figure}");
        }
    }

    #[test]
    fn the_largest_comes_first_and_what_has_ended_last() {
        let row = |process, heap, state| Row { process, heap_used_bytes: heap, state, ..Row::default() };
        let mut rows = [
            row(1, 5, State::Running),
            row(2, 9, State::Running),
            row(3, 99, State::Ended),
            row(4, 9, State::Running),
        ];
        rows.sort_by(|a, b| Field::Heap.compare(a, b));
        assert_eq!(rows.iter().map(|row| row.process).collect::<Vec<_>>(), [2, 4, 1, 3]);
        rows.sort_by(|a, b| Field::Process.compare(a, b));
        assert_eq!(rows.iter().map(|row| row.process).collect::<Vec<_>>(), [1, 2, 4, 3]);
        rows[0].cpu_per_mille = Some(0);
        rows.sort_by(|a, b| Field::Cpu.compare(a, b));
        assert_eq!(rows[0].process, 1, "what is not known comes behind what is");
    }
}
