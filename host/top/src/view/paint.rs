//! The pictures of a view: table, details, keys.
//!
//! ```text
//!  underbar top  server                              every 1 s  13:05:07
//!  12 processes in 3 runs
//!  HEAP 1.21 GiB ▁▂▃▄▅   REQ/S 1.21M ▁▂▇█▂   CPU 34.0 % ▁▂▁▂
//!
//!  PROCESS PROGRAM       HEAP▼ ...
//!     4711 server     512 MiB ...
//!  h heap  r resident  ...  Enter details  ? help  q quit
//! ```
//!
//! Invariant: every size of a terminal gives a picture; what has no room is left out, the least important first.

use underbar_report::units;
use underbar_sys::zone::utc_offset_seconds;

use super::wrap::wrapped;
use super::{Page, View};
use crate::cells::{cells, clipped, fitted, plain};
use crate::columns::{COLUMNS, Column, Field, percent, rate};
use crate::details::Line;
use crate::glyphs::Glyphs;
use crate::history::Trend;
use crate::layout::{GAP, widths};
use crate::look::Row;
use crate::screen::{Screen, Style};

/// Rows above the table and below it, where there is room for them.
const ABOVE: usize = 5;
/// A terminal with fewer rows shows the table alone.
const LOW: usize = 9;

/// The keys that are no column's.
const KEYS: [(&str, &str); 10] = [
    ("Up Down", "choose a process; also j, k, PgUp, PgDn, Home, End"),
    ("Enter", "the details of the chosen process; Esc or Enter goes back"),
    ("Left Right", "sort by the column beside; in a recording one look back or on"),
    ("i", "turn the order round; so does the key of the column"),
    ("Space", "pause, and go on"),
    ("+ -", "look more or less often"),
    ("Ctrl-L", "write the screen anew"),
    ("Ctrl-Z", "stop, and leave the terminal to the shell"),
    ("?", "this page"),
    ("q", "leave; the programs notice nothing"),
];

impl View {
    /// Draws it.
    pub fn draw(&mut self, screen: &mut Screen) {
        screen.clear();
        let (columns, rows) = screen.size();
        if columns == 0 || rows == 0 {
            return;
        }
        match self.page {
            Page::Table => self.draw_table(screen),
            Page::Details => {
                let lines = self.details(columns);
                self.draw_lines(screen, &lines, "Esc back  Up Down scroll  Space pause  q quit");
            }
            Page::Help => {
                let lines = help();
                self.draw_lines(screen, &lines, "Esc back  q quit");
            }
        }
    }

    fn glyphs(&self) -> Glyphs {
        self.setup.glyphs
    }

    fn draw_table(&mut self, screen: &mut Screen) {
        let (columns, rows) = screen.size();
        let is_low = rows < LOW;
        let top = if is_low { 0 } else { ABOVE - 1 };
        let height = rows - top - 1 - usize::from(!is_low);
        self.height = height.max(1);
        if !is_low {
            self.draw_title(screen);
            self.draw_sums(screen);
            self.draw_gauges(screen, 2);
            draw_keys(screen, rows - 1, columns);
        }
        let all: Vec<Row> = self.rows().into_iter().cloned().collect();
        let refs: Vec<&Row> = all.iter().collect();
        let chosen = self.place_of_chosen(&refs);
        self.first = self.first.min(chosen).max((chosen + 1).saturating_sub(height));
        self.first = self.first.min(all.len().saturating_sub(height));
        let shown = &all[self.first.min(all.len())..][..height.min(all.len() - self.first.min(all.len()))];
        let columns_shown: Vec<&Column> =
            COLUMNS.iter().filter(|column| column.field != Field::User || self.setup.with_user).collect();
        let glyphs = self.glyphs();
        let texts: Vec<Vec<String>> = shown
            .iter()
            .map(|row| {
                let text =
                    |column: &&Column| plain(&column.field.text(row, self.look.at_ns), glyphs.is_unicode);
                columns_shown.iter().map(text).collect()
            })
            .collect();
        let needs: Vec<_> = columns_shown
            .iter()
            .enumerate()
            .map(|(at, column)| {
                let longest = texts.iter().map(|texts| cells(&texts[at])).max().unwrap_or(0);
                column.need(if column.field == Field::Trend { usize::MAX } else { longest })
            })
            .collect();
        let widths = widths(&needs, Some(columns.saturating_sub(1)));
        self.draw_heads(screen, top, &columns_shown, &widths);
        if all.is_empty() && rows > top + 2 {
            let about = if self.about.is_empty() {
                "No program keeps accounts now. Start one with: underbar run -- PROGRAM"
            } else {
                "No program of this name keeps accounts now."
            };
            screen.put(top + 2, 1, Style::Dim, &clipped(about, columns.saturating_sub(1), glyphs.more));
        }
        for (at, (row, texts)) in shown.iter().zip(&texts).enumerate() {
            let y = top + 1 + at;
            let mut x = 0;
            let is_chosen = self.first + at == chosen;
            for ((column, width), text) in columns_shown.iter().zip(&widths).zip(texts) {
                let Some(width) = *width else { continue };
                x += GAP;
                let trend;
                let text = if column.field == Field::Trend {
                    let figures = self.history.of(row).map_or(&[][..], |trend| &trend.heap);
                    trend = glyphs.trend(figures, width);
                    &trend
                } else {
                    text
                };
                let style = self.style_of(column, row, text);
                screen.put(y, x, style, &fitted(text, width, column.is_figure, glyphs.more));
                x += width;
            }
            if is_chosen {
                screen.paint_row(y, Style::Chosen);
            }
        }
    }

    fn style_of(&self, column: &Column, row: &Row, text: &str) -> Style {
        const YOUNG_NS: u64 = 3_000_000_000;
        if !row.runs() {
            return if column.field == Field::Since { Style::Warm } else { Style::Dim };
        }
        match column.field {
            Field::Trend => Style::Accent,
            _ if text == "-" || text == "0" || text == "0.0 %" => Style::Dim,
            field if field == self.setup.sort => Style::Bold,
            Field::Since if self.look.at_ns.saturating_sub(row.began_ns) < YOUNG_NS => Style::Fresh,
            Field::Waits if row.lock_waits_per_s > Some(0) => Style::Warm,
            Field::Options | Field::Command | Field::Since => Style::Dim,
            _ => Style::Plain,
        }
    }

    fn draw_heads(&self, screen: &mut Screen, y: usize, columns: &[&Column], widths: &[Option<usize>]) {
        let glyphs = self.glyphs();
        screen.paint_row(y, Style::Head);
        let (wide, _) = screen.size();
        screen.put(y, 0, Style::Head, &" ".repeat(wide));
        let mut x = 0;
        for (column, width) in columns.iter().zip(widths) {
            let Some(width) = *width else { continue };
            x += GAP;
            let is_sorted = column.field == self.setup.sort;
            let marker = if is_sorted {
                glyphs.sorted[usize::from(self.is_upwards)].to_string()
            } else {
                String::new()
            };
            let head = if is_sorted && cells(column.head) + 1 > width {
                // Full columns keep the marker, and lose a letter.
                clipped(column.head, width.saturating_sub(1), '.') + &marker
            } else if column.is_figure {
                marker + column.head
            } else {
                column.head.to_owned() + &marker
            };
            screen.put(y, x, Style::Head, &fitted(&head, width, column.is_figure, glyphs.more));
            x += width;
        }
    }

    fn draw_title(&self, screen: &mut Screen) {
        let (columns, _) = screen.size();
        let glyphs = self.glyphs();
        let seconds = i64::try_from(self.look.at_unix_ns / 1_000_000_000).unwrap_or(0);
        let local = seconds.saturating_add(utc_offset_seconds(seconds.unsigned_abs())).rem_euclid(86_400);
        let time = format!("{:02}:{:02}:{:02}", local / 3_600, local / 60 % 60, local % 60);
        let pace = match (self.is_paused, self.place) {
            (true, Some((at, of))) => format!("paused  look {} of {of}", at + 1),
            (true, None) => "paused".to_owned(),
            (false, Some((at, of))) => format!("look {} of {of}", at + 1),
            (false, None) => format!("every {}", every(self.setup.every)),
        };
        let right = format!("{pace}  {time} ");
        let room = columns.saturating_sub(cells(&right) + 2);
        let x = screen.put(0, 1, Style::Bold, &clipped("underbar top", room, glyphs.more));
        let about = if self.message.is_empty() { &self.about } else { &self.message };
        let style = if self.message.is_empty() { Style::Plain } else { Style::Warm };
        screen.put(
            0,
            x + 2,
            style,
            &clipped(&plain(about, glyphs.is_unicode), room.saturating_sub(x + 1), glyphs.more),
        );
        let is_style = if self.is_paused { Style::Warm } else { Style::Dim };
        screen.put(0, columns.saturating_sub(cells(&right)), is_style, &right);
    }

    fn draw_sums(&self, screen: &mut Screen) {
        let (columns, _) = screen.size();
        let running = self.look.running().count() as u64;
        let ended = self.look.processes.len() as u64 - running;
        let mut text = format!(
            "{} in {}, {}, resident {}",
            units::counted(running, "process", "processes"),
            units::counted(self.look.ledgers, "run", "runs"),
            units::counted(self.look.sum(|row| row.threads), "thread", "threads"),
            units::bytes(self.look.sum(|row| row.resident_bytes))
        );
        if ended > 0 {
            text += &format!(", {ended} ended");
        }
        if self.look.unreadable > 0 {
            let ledgers = units::counted(self.look.unreadable, "ledger", "ledgers");
            text += &format!(", {ledgers} of another version");
        }
        screen.put(1, 1, Style::Dim, &clipped(&text, columns.saturating_sub(2), self.glyphs().more));
    }

    fn draw_gauges(&self, screen: &mut Screen, y: usize) {
        let (columns, _) = screen.size();
        let sum = |figure: fn(&Row) -> Option<u64>| self.look.sum(figure);
        let whole = &self.history.whole;
        let all: [(&str, String, &[u64]); 3] = [
            ("heap", units::bytes(sum(|row| Some(row.heap_used_bytes))), &whole.heap),
            ("requests/s", rate(sum(|row| row.requests_per_s)), &whole.requests),
            ("CPU", percent(sum(|row| row.cpu_per_mille)), &whole.cpu),
        ];
        let count = if columns >= 72 { 3 } else { 2 };
        let all = if count == 3 { &all[..] } else { &[all[0].clone(), all[2].clone()][..] };
        let room = columns.saturating_sub(2) / count;
        for (at, (label, figure, figures)) in all.iter().enumerate() {
            self.draw_gauge(screen, (y, 1 + at * room), room, (label, figure, figures));
        }
    }

    /// A label, a figure, and the trend in what is left of the room, but for two blanks.
    fn draw_gauge(
        &self,
        screen: &mut Screen,
        (y, x): (usize, usize),
        room: usize,
        (label, figure, figures): (&str, &str, &[u64]),
    ) {
        let end = x + room;
        let x = screen.put(y, x, Style::Dim, label) + 1;
        let x = screen.put(y, x, Style::Bold, &format!("{figure:<8}")) + 1;
        let width = end.saturating_sub(x + 2);
        if width >= 4 {
            screen.put(y, x, Style::Accent, &self.glyphs().trend(figures, width));
        }
    }

    /// Lines of a page, from the first one that is shown.
    fn draw_lines(&mut self, screen: &mut Screen, lines: &[Line], keys: &str) {
        let (columns, rows) = screen.size();
        let glyphs = self.glyphs();
        let lines = wrapped(lines, columns.saturating_sub(1));
        let height = rows.saturating_sub(usize::from(rows > 2)).max(1);
        self.height = height;
        self.first = self.first.min(lines.len().saturating_sub(height));
        for (y, line) in lines.iter().skip(self.first).take(height).enumerate() {
            let mut x = 1;
            for (style, text) in line {
                let room = columns.saturating_sub(x);
                x = screen.put(y, x, *style, &clipped(text, room, glyphs.more));
            }
        }
        if rows > 2 {
            let more = lines.len().saturating_sub(self.first + height);
            let more = if more > 0 { format!("  {more} more lines") } else { String::new() };
            let text = clipped(&format!("{keys}{more}"), columns.saturating_sub(1), glyphs.more);
            screen.put(rows - 1, 1, Style::Dim, &text);
        }
    }

    /// The details of the chosen process.
    fn details(&self, columns: usize) -> Vec<Line> {
        let glyphs = self.glyphs();
        let Some(row) = self.detailed() else {
            return vec![vec![(Style::Warm, "The process has ended.".to_owned())]];
        };
        let seen = |text: &str| plain(text, glyphs.is_unicode);
        let none = Trend::default();
        let trend = self.history.of(row).unwrap_or(&none);
        let width = columns.saturating_sub(62).clamp(0, 60);
        let picture = |figures: &[u64]| {
            let text = if width >= 8 { glyphs.trend(figures, width) } else { String::new() };
            (Style::Accent, text)
        };
        let label = |name: &str| (Style::Dim, format!("{name:<10}"));
        let words = |text: String| (Style::Plain, format!("{text:<48} "));
        let rate_of = |figure: Option<u64>| figure.map_or("-".to_owned(), rate);
        let number = match row.number_here {
            Some(here) => format!("process {} ({here} here)", row.process),
            None => format!("process {}", row.process),
        };
        let state = match Field::Since.text(row, self.look.at_ns) {
            ended if !row.runs() => ended,
            age => format!("since {age}"),
        };
        let bytes = units::bytes;
        let known = |figure: Option<u64>, form: fn(u64) -> String| figure.map_or("-".to_owned(), form);
        let switches = match row.switches {
            Some(switches) => {
                format!("{} in a second, {} so far", rate_of(row.switches_per_s), units::count(switches))
            }
            None => "not counted; SWITCHES(ON) counts them".to_owned(),
        };
        let mut lines: Vec<Line> = vec![
            vec![(Style::Bold, seen(&row.program)), (Style::Plain, format!("  {number}, {state}"))],
            vec![(Style::Dim, glyphs.rule.to_string().repeat(columns.saturating_sub(2).min(118)))],
            vec![
                label("heap"),
                words(format!(
                    "{} in use, at most {}, in {}",
                    bytes(row.heap_used_bytes),
                    bytes(row.heap_peak_bytes),
                    bytes(row.segment_bytes)
                )),
                picture(&trend.heap),
            ],
            vec![
                label("memory"),
                words(format!(
                    "{} resident, {}",
                    known(row.resident_bytes, bytes),
                    known(row.threads, |threads| units::counted(threads, "thread", "threads"))
                )),
                picture(&trend.resident),
            ],
            vec![
                label("requests"),
                words(format!(
                    "{} in a second, {} so far",
                    rate_of(row.requests_per_s),
                    units::count(row.requests)
                )),
                picture(&trend.requests),
            ],
            vec![
                label("CPU"),
                words(format!(
                    "{}, {} so far",
                    known(row.cpu_per_mille, percent),
                    known(row.cpu_ns, units::nanoseconds)
                )),
                picture(&trend.cpu),
            ],
            vec![
                label("locks"),
                words(format!(
                    "{} waits in a second, {} so far, {}",
                    rate_of(row.lock_waits_per_s),
                    units::count(row.lock_waits),
                    units::nanoseconds(row.lock_wait_ns)
                )),
            ],
            vec![label("switches"), words(switches)],
            vec![label("report"), words(format!("underbar report {}", seen(&row.ledger)))],
        ];
        if !row.options.is_empty() {
            lines.push(vec![label("options"), (Style::Plain, seen(&row.options))]);
        }
        if !row.command.is_empty() {
            lines.push(vec![label("command"), (Style::Plain, seen(&row.command.join(" ")))]);
        }
        for chapter in &self.chapters {
            lines.push(Line::new());
            lines.push(vec![(Style::Bold, chapter.title.to_owned())]);
            lines.extend(chapter.lines.iter().cloned());
        }
        lines
    }
}

/// The keys of the columns and the others, as far as there is room.
fn draw_keys(screen: &mut Screen, y: usize, columns: usize) {
    const WORDS: [(&str, &str); 9] = [
        ("q", "quit"),
        ("?", "help"),
        ("Enter", "details"),
        ("h", "heap"),
        ("r", "resident"),
        ("c", "CPU"),
        ("g", "requests"),
        ("w", "waits"),
        ("s", "switches"),
    ];
    let mut x = 1;
    for (key, words) in WORDS {
        if x + key.len() + words.len() + 1 > columns {
            return;
        }
        x = screen.put(y, x, Style::Bold, key) + 1;
        x = screen.put(y, x, Style::Dim, words) + 2;
    }
}

/// The page of keys and columns.
fn help() -> Vec<Line> {
    let row = |key: &str, words: String| vec![(Style::Bold, format!("  {key:<11}")), (Style::Plain, words)];
    let mut lines = vec![vec![(Style::Bold, "Keys".to_owned())]];
    lines.extend(KEYS.iter().map(|(key, words)| row(key, (*words).to_owned())));
    lines.push(Line::new());
    lines.push(vec![(Style::Bold, "Columns, and the keys that sort by them".to_owned())]);
    lines.extend(COLUMNS.iter().map(|column| {
        let key = column.key.to_string();
        let words = format!("{:<9}{}", column.head, column.meaning);
        row(&key, words)
    }));
    lines
}

/// A pace in few characters.
fn every(pace: std::time::Duration) -> String {
    if pace.as_millis() < 1_000 {
        format!("{} ms", pace.as_millis())
    } else {
        format!("{} s", pace.as_secs())
    }
}
