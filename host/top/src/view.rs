//! The view: what is shown of the looks, and what keys change in it.
//!
//! ```text
//! look ── take ──┐                     table ── Enter ──> details
//! key  ── press ─┴─ View ── draw ──>     │ <── Esc ──────────┘        ? ──> help
//! ```
//!
//! Invariant: nothing here waits, reads or writes; the same looks and keys draw the same picture. The chosen row is a process, not a place:
//! it stays chosen when rows move.
//! Not here: where looks come from and where the picture goes ([`crate::live`]).

mod paint;
mod wrap;

use std::time::Duration;

use crate::columns::{COLUMNS, Column, Field};
use crate::details::Chapter;
use crate::glyphs::Glyphs;
use crate::history::History;
use crate::keys::Key;
use crate::lines::sorted;
use crate::look::{Look, Row, Who};

/// The paces that + and - go through.
const PACES: [u64; 9] = [100, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/// How a view begins.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// How often to look.
    pub every: Duration,
    /// The column to sort by.
    pub sort: Field,
    /// Are there colours?
    pub colours: bool,
    /// The characters of pictures.
    pub glyphs: Glyphs,
    /// Is the user of each process shown?
    pub with_user: bool,
}

/// What is on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// All processes.
    Table,
    /// One process.
    Details,
    /// The keys.
    Help,
}

/// What a key asks of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A new picture.
    Draw,
    /// All is written anew.
    Redraw,
    /// The end.
    Quit,
    /// To stop until continued.
    Suspend,
    /// The end by a signal.
    Interrupt,
    /// So many looks on, or back, in a recording.
    Step(isize),
}

/// The state.
pub struct View {
    setup: Setup,
    /// What is watched, in words; empty: all.
    about: String,
    /// Place in a recording and its length.
    place: Option<(usize, usize)>,
    /// A message at the end of the first line.
    message: String,
    look: Look,
    history: History,
    page: Page,
    is_upwards: bool,
    is_paused: bool,
    chosen: Option<Who>,
    /// The first row that is shown, of the table or of the page.
    first: usize,
    /// Rows of the last picture, for pages.
    height: usize,
    chapters: Vec<Chapter>,
}

impl View {
    /// A view without a look.
    #[must_use]
    pub fn new(setup: Setup, about: String) -> View {
        View {
            setup,
            about,
            place: None,
            message: String::new(),
            look: Look::default(),
            history: History::default(),
            page: Page::Table,
            is_upwards: false,
            is_paused: false,
            chosen: None,
            first: 0,
            height: 1,
            chapters: Vec::new(),
        }
    }

    /// Takes the next look.
    pub fn take(&mut self, look: Look) {
        self.history.add(&look);
        self.look = look;
    }

    /// Notes the place in a recording, and its length.
    pub fn at(&mut self, place: usize, of: usize) {
        self.place = Some((place, of));
    }

    /// Shows a message.
    pub fn say(&mut self, message: String) {
        self.message = message;
    }

    /// How often to look; None: not at all, since it is paused.
    #[must_use]
    pub fn every(&self) -> Option<Duration> {
        (!self.is_paused).then_some(self.setup.every)
    }

    /// The process whose details are shown.
    #[must_use]
    pub fn detailed(&self) -> Option<&Row> {
        if self.page == Page::Details { self.chosen_row() } else { None }
    }

    /// Takes the chapters of that process; empty: there are none.
    pub fn fill(&mut self, chapters: Vec<Chapter>) {
        self.chapters = chapters;
    }

    /// A key was pressed.
    pub fn press(&mut self, key: Key) -> Act {
        match (key, self.page) {
            (Key::Letter('q' | 'Q'), _) => return Act::Quit,
            (Key::Interrupt, _) => return Act::Interrupt,
            (Key::Suspend, _) => return Act::Suspend,
            (Key::Redraw, _) => return Act::Redraw,
            (Key::Letter('?'), Page::Help) | (Key::Back | Key::Enter, Page::Help | Page::Details) => {
                self.turn_to(Page::Table);
            }
            (Key::Letter('?'), _) => self.turn_to(Page::Help),
            (Key::Letter(' '), _) => self.is_paused = !self.is_paused,
            (Key::Letter('+'), _) => self.pace(false),
            (Key::Letter('-'), _) => self.pace(true),
            (Key::Left, _) if self.place.is_some() => return Act::Step(-1),
            (Key::Right, _) if self.place.is_some() => return Act::Step(1),
            (Key::Up | Key::Letter('k'), _) => self.move_by(-1),
            (Key::Down | Key::Letter('j'), _) => self.move_by(1),
            (Key::PageUp, _) => self.move_by(-self.page_rows()),
            (Key::PageDown, _) => self.move_by(self.page_rows()),
            (Key::Home, _) => self.move_by(isize::MIN),
            (Key::End, _) => self.move_by(isize::MAX),
            (_, Page::Details | Page::Help) => {}
            (Key::Enter, Page::Table) => {
                if let Some(row) = self.chosen_row() {
                    self.chosen = Some(row.who());
                    self.chapters.clear();
                    self.turn_to(Page::Details);
                }
            }
            (Key::Letter('i'), Page::Table) => self.is_upwards = !self.is_upwards,
            (Key::Left, Page::Table) => self.sort_beside(-1),
            (Key::Right, Page::Table) => self.sort_beside(1),
            (Key::Letter(letter), Page::Table) => {
                if let Some(column) = Column::of_key(letter) {
                    self.sort_by(column.field);
                }
            }
            (Key::Back, Page::Table) => {}
        }
        Act::Draw
    }

    /// Sorts by a column; the one of now is turned round.
    fn sort_by(&mut self, field: Field) {
        self.is_upwards = field == self.setup.sort && !self.is_upwards;
        self.setup.sort = field;
    }

    fn sort_beside(&mut self, by: isize) {
        let with_key: Vec<Field> =
            COLUMNS.iter().filter(|column| column.key != ' ').map(|column| column.field).collect();
        let here = with_key.iter().position(|&field| field == self.setup.sort).unwrap_or(0);
        let next = (here.cast_signed() + by).rem_euclid(with_key.len().cast_signed());
        self.setup.sort = with_key[next.unsigned_abs()];
        self.is_upwards = false;
    }

    /// The next slower or faster pace.
    fn pace(&mut self, is_slower: bool) {
        let now = u64::try_from(self.setup.every.as_millis()).unwrap_or(u64::MAX);
        let next = if is_slower {
            PACES.iter().copied().find(|&pace| pace > now)
        } else {
            PACES.iter().rev().copied().find(|&pace| pace < now)
        };
        self.setup.every = next.map_or(self.setup.every, Duration::from_millis);
    }

    fn turn_to(&mut self, page: Page) {
        (self.page, self.first) = (page, 0);
    }

    fn page_rows(&self) -> isize {
        self.height.saturating_sub(1).max(1).cast_signed()
    }

    fn move_by(&mut self, rows: isize) {
        if self.page != Page::Table {
            // What is too far is corrected when the page is drawn.
            self.first = self.first.saturating_add_signed(rows);
            return;
        }
        let all = self.rows();
        let place = self.place_of_chosen(&all).saturating_add_signed(rows).min(all.len().saturating_sub(1));
        let who = all.get(place).map(|row| row.who());
        self.chosen = who;
    }

    fn rows(&self) -> Vec<&Row> {
        sorted(&self.look, self.setup.sort, self.is_upwards)
    }

    /// The place of the chosen process among the rows; the first if none is chosen, or if it is gone.
    fn place_of_chosen(&self, rows: &[&Row]) -> usize {
        let chosen = self.chosen.as_ref();
        chosen.and_then(|who| rows.iter().position(|row| row.who() == *who)).unwrap_or(0)
    }

    fn chosen_row(&self) -> Option<&Row> {
        let rows = self.rows();
        match (&self.chosen, self.page) {
            // The details stay those of one process.
            (Some(who), Page::Details) => rows.into_iter().find(|row| row.who() == *who),
            _ => rows.get(self.place_of_chosen(&rows)).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glyphs::{ASCII, BLOCKS};
    use crate::look::State;
    use crate::screen::{Screen, Style};

    fn setup(glyphs: Glyphs) -> Setup {
        let every = Duration::from_secs(1);
        Setup { every, sort: Field::Heap, colours: false, glyphs, with_user: false }
    }

    fn row(process: u32, program: &str, heap: u64) -> Row {
        Row {
            ledger: "4711-5e3".to_owned(),
            process,
            program: program.to_owned(),
            heap_used_bytes: heap,
            heap_peak_bytes: heap * 2,
            resident_bytes: Some(heap * 3),
            threads: Some(4),
            cpu_ns: Some(5_000_000_000),
            requests: 1_000,
            requests_per_s: Some(u64::from(process)),
            lock_waits_per_s: Some(0),
            cpu_per_mille: Some(1_000 - u64::from(process)),
            began_ns: 1_000_000_000,
            options: "HEAP(1M)".to_owned(),
            command: vec![program.to_owned(), "--port".to_owned()],
            ..Row::default()
        }
    }

    fn view(glyphs: Glyphs) -> View {
        let mut view = View::new(setup(glyphs), String::new());
        let processes =
            vec![row(1, "small", 1 << 20), row(2, "large\u{1b}[2J\n", 1 << 30), row(3, "middle", 1 << 25)];
        view.take(Look { at_ns: 62_000_000_000, ledgers: 2, processes, ..Look::default() });
        view
    }

    fn drawn(view: &mut View, columns: usize, rows: usize) -> String {
        let mut screen = Screen::new(columns, rows, false);
        view.draw(&mut screen);
        screen.text()
    }

    /// The programs of the table, from above.
    fn programs(view: &mut View) -> Vec<&'static str> {
        let text = drawn(view, 100, 30);
        let names = ["small", "large", "middle"];
        text.lines()
            .skip_while(|line| !line.contains("PROGRAM"))
            .filter_map(|line| names.into_iter().find(|name| line.contains(name)))
            .collect()
    }

    #[test]
    fn keys_sort_and_the_same_key_turns_it_round() {
        let mut view = view(BLOCKS);
        assert_eq!(programs(&mut view), ["large", "middle", "small"]);
        for (key, order) in [
            ('h', ["small", "middle", "large"]),
            ('n', ["large", "middle", "small"]),
            ('p', ["small", "large", "middle"]),
            ('g', ["middle", "large", "small"]),
            ('c', ["small", "large", "middle"]),
            ('i', ["middle", "large", "small"]),
            ('r', ["large", "middle", "small"]),
        ] {
            assert_eq!(view.press(Key::Letter(key)), Act::Draw);
            assert_eq!(programs(&mut view), order, "{key}");
        }
    }

    #[test]
    fn every_picture_fits_and_nothing_steers() {
        for glyphs in [BLOCKS, ASCII] {
            let mut view = view(glyphs);
            for key in [Key::Redraw, Key::Enter, Key::Letter('?')] {
                view.press(key);
                for (columns, rows) in [(1, 1), (10, 3), (40, 12), (80, 24), (200, 60), (300, 5)] {
                    let text = drawn(&mut view, columns, rows);
                    assert_eq!(text.lines().count(), rows);
                    assert!(!text.contains('\u{1b}'), "{text}");
                    assert!(glyphs.is_unicode || text.is_ascii(), "{text}");
                }
            }
        }
        let mut view = view(ASCII);
        let text = drawn(&mut view, 40, 10);
        assert!(text.contains("large\\x1b") && text.contains("1 GiB"), "{text}");
        assert!(!text.contains("SWITCH/S") && drawn(&mut view, 120, 10).contains("SWITCH/S"));
    }

    #[test]
    fn details_are_of_the_chosen_process_until_one_goes_back() {
        let mut view = view(BLOCKS);
        view.press(Key::Down);
        assert!(view.detailed().is_none());
        view.press(Key::Enter);
        assert_eq!(view.detailed().map(|row| row.process), Some(3));
        let lines = (0..50).map(|line| vec![(Style::Plain, format!("line {line}"))]).collect();
        view.fill(vec![Chapter { title: "Chapter", lines }]);
        let text = drawn(&mut view, 80, 24);
        for words in ["middle", "underbar report 4711-5e3", "HEAP(1M)", "Chapter", "line 0"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let narrow = drawn(&mut view, 40, 40);
        let (above, _) = narrow.trim_end().rsplit_once('\n').expect("lines, and the keys below");
        assert!(above.contains("          MiB, in 0 B") && !above.contains('…'), "{narrow}");
        view.press(Key::End);
        assert!(drawn(&mut view, 80, 24).contains("line 49"));
        view.press(Key::Up);
        assert!(
            !drawn(&mut view, 80, 24).contains("line 49"),
            "one line back from the end, not from beyond it"
        );
        // Others may be larger now; the details are of the same one.
        view.take(Look { processes: vec![row(9, "new", 1 << 40), row(3, "middle", 1)], ..Look::default() });
        assert_eq!(view.detailed().map(|row| row.process), Some(3));
        view.take(Look { processes: vec![row(9, "new", 1 << 40)], ..Look::default() });
        assert!(view.detailed().is_none() && drawn(&mut view, 80, 24).contains("has ended"));
        view.press(Key::Back);
        assert!(drawn(&mut view, 80, 24).contains("new"));
    }

    #[test]
    fn the_chosen_process_stays_chosen_and_visible() {
        let mut view = view(BLOCKS);
        let many = |count: u32| {
            let rows = (1..=count).map(|process| row(process, "program", u64::from(process))).collect();
            Look { processes: rows, ..Look::default() }
        };
        view.take(many(100));
        view.press(Key::End);
        let text = drawn(&mut view, 80, 24);
        assert!(text.lines().any(|line| line.trim_start().starts_with("1 program")), "{text}");
        view.press(Key::Letter('h'));
        let text = drawn(&mut view, 80, 24);
        assert!(text.lines().any(|line| line.trim_start().starts_with("1 program")), "{text}");
        view.take(many(0));
        assert!(drawn(&mut view, 80, 24).contains("No program"));
        view.press(Key::Enter);
        assert_eq!(view.page, Page::Table, "there is nothing to show");
    }

    #[test]
    fn a_pause_a_pace_and_the_end() {
        let mut view = view(ASCII);
        assert_eq!(view.every(), Some(Duration::from_secs(1)));
        view.press(Key::Letter('-'));
        assert_eq!(view.every(), Some(Duration::from_secs(2)));
        for _ in 0..20 {
            view.press(Key::Letter('+'));
        }
        assert_eq!(view.every(), Some(Duration::from_millis(100)));
        view.press(Key::Letter(' '));
        assert_eq!(view.every(), None);
        assert!(drawn(&mut view, 80, 24).contains("paused"));
        assert_eq!(view.press(Key::Left), Act::Draw);
        view.at(3, 10);
        assert_eq!(view.press(Key::Left), Act::Step(-1));
        assert_eq!([view.press(Key::Letter('q')), view.press(Key::Interrupt)], [Act::Quit, Act::Interrupt]);
    }

    #[test]
    fn what_has_ended_is_said_and_is_the_last() {
        let mut view = view(ASCII);
        let ended = Row { state: State::Ended, ..row(5, "done", 1 << 40) };
        view.take(Look { processes: vec![ended, row(1, "small", 1)], ..Look::default() });
        let text = drawn(&mut view, 80, 24);
        let place = |name| text.find(name).expect(name);
        assert!(place("small") < place("done") && text.contains("ended"), "{text}");
    }
}
