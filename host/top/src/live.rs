//! The live view: looks, keys and signals, one after another, until the user leaves.
//!
//! ```text
//! Source (programs, or a recording) ── look ─> View ── draw ─> Screen ── changes ─> Terminal
//!                                      keys, signals ─^                                │
//!                                        └──────────────────────── Event <─────────────┘
//! ```
//!
//! Invariant: between two looks it sleeps; a key is answered at once, from the last look. Whatever happens, the terminal is left as it was.

use std::io;
use std::time::{Duration, Instant};

use underbar_shown::door;
use underbar_sys::signal::name;

use crate::details::{Chapter, Details};
use crate::glyphs::Glyphs;
use crate::keys::keys;
use crate::look::{Look, Row};
use crate::record::{Recorder, Recording};
use crate::screen::Screen;
use crate::terminal::{Event, Terminal};
use crate::view::{Act, Setup, View};
use crate::watch::Watch;

/// Looks for which the chapters of a page stay: a report of a process takes longer than a look.
const CHAPTERS_EVERY: Duration = Duration::from_secs(2);
const IDLE: Duration = Duration::from_secs(3_600);

/// Where looks come from.
pub trait Source {
    /// The next look; None: there is none any more.
    fn next(&mut self) -> Option<Look>;

    /// The chapters of a process; None: not known here.
    fn chapters(&mut self, _row: &Row, _glyphs: Glyphs) -> Option<Vec<Chapter>> {
        None
    }

    /// Is there another look than the last one?
    fn has_next(&self) -> bool {
        true
    }

    /// Goes on or back by so many looks; false: it has no other looks than the next one.
    fn step(&mut self, _by: isize) -> bool {
        false
    }

    /// The place of the last look, and how many there are; None: they never end.
    fn place(&self) -> Option<(usize, usize)> {
        None
    }
}

/// Programs that run, recorded meanwhile if that is wanted.
pub struct Running {
    watch: Watch,
    recorder: Option<Recorder>,
    details: Details,
    /// The recording could not be written, and why.
    failure: Option<io::Error>,
}

impl Running {
    /// The programs of a watch.
    #[must_use]
    pub fn new(watch: Watch, recorder: Option<Recorder>) -> Running {
        Running { watch, recorder, details: Details::default(), failure: None }
    }

    /// Why the recording could not be written.
    #[must_use]
    pub fn failure(self) -> Option<io::Error> {
        self.failure
    }
}

impl Source for Running {
    fn next(&mut self) -> Option<Look> {
        let look = self.watch.look();
        if let Some(recorder) = &mut self.recorder
            && let Err(error) = recorder.add(&look)
        {
            (self.failure, self.recorder) = (Some(error), None);
            return None;
        }
        Some(look)
    }

    fn chapters(&mut self, row: &Row, glyphs: Glyphs) -> Option<Vec<Chapter>> {
        self.details.of(self.watch.ledger_of(row)?, row, glyphs)
    }
}

/// A recording that is replayed.
pub struct Replayed {
    recording: Recording,
    next: usize,
}

impl Replayed {
    /// From its first look on.
    #[must_use]
    pub fn new(recording: Recording) -> Replayed {
        Replayed { recording, next: 0 }
    }
}

impl Source for Replayed {
    fn next(&mut self) -> Option<Look> {
        let look = self.recording.look(self.next);
        self.next = (self.next + 1).min(self.recording.looks());
        look
    }

    fn has_next(&self) -> bool {
        // The last look stays.
        self.next < self.recording.looks()
    }

    fn step(&mut self, by: isize) -> bool {
        let here = self.next.saturating_sub(1);
        self.next = here.saturating_add_signed(by).min(self.recording.looks() - 1);
        true
    }

    fn place(&self) -> Option<(usize, usize)> {
        Some((self.next.saturating_sub(1), self.recording.looks()))
    }
}

/// How a view ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The user left, or the terminal is gone.
    Quit,
    /// There is no look any more: the source knows why.
    Exhausted,
}

/// Shows looks until the user leaves. A signal that ends it ends this process.
///
/// # Errors
/// If standard output is no terminal, or its mode cannot be set.
pub fn run(source: &mut dyn Source, setup: Setup, about: &str, message: &str) -> io::Result<Left> {
    let size = || door::output_size().map_or((80, 24), |(columns, rows)| (columns.into(), rows.into()));
    let (columns, rows) = size();
    let mut screen = Screen::new(columns, rows, setup.colours);
    let mut view = View::new(setup, about.to_owned());
    view.say(message.to_owned());
    let terminal = Terminal::enter()?;
    let mut due = Instant::now();
    let (mut chapters_due, mut detailed) = (Instant::now(), None);
    loop {
        if view.every().is_some() && source.has_next() && Instant::now() >= due {
            let Some(look) = source.next() else { return Ok(Left::Exhausted) };
            show(&mut view, source, look);
            due = (due + view.every().unwrap_or(IDLE)).max(Instant::now());
        }
        if let Some(row) = view.detailed().cloned()
            && (detailed.as_ref() != Some(&row.who()) || Instant::now() >= chapters_due)
        {
            detailed = Some(row.who());
            let chapters = source.chapters(&row, setup.glyphs);
            view.fill(chapters.unwrap_or_default());
            chapters_due = Instant::now() + CHAPTERS_EVERY;
        }
        view.draw(&mut screen);
        if terminal.write(&screen.changes()).is_err() {
            return Ok(Left::Quit);
        }
        let pace = view.every().filter(|_| source.has_next());
        let patience = pace.map_or(IDLE, |_| due.saturating_duration_since(Instant::now()));
        let acts: Vec<Act> = match terminal.event(patience) {
            None => continue,
            Some(Event::Closed) => return Ok(Left::Quit),
            Some(Event::Typed(bytes)) => keys(&bytes).into_iter().map(|key| view.press(key)).collect(),
            Some(Event::Signal(name::WINCH)) => {
                let (columns, rows) = size();
                screen.resize(columns, rows);
                continue;
            }
            Some(Event::Signal(name::TSTP)) => vec![Act::Suspend],
            Some(Event::Signal(name::CONT)) => vec![Act::Redraw],
            Some(Event::Signal(signal)) => terminal.die_by(signal),
        };
        for act in acts {
            match act {
                Act::Draw => {}
                Act::Quit => return Ok(Left::Quit),
                Act::Interrupt => terminal.die_by(name::INT),
                Act::Suspend => {
                    terminal.suspend()?;
                    let (columns, rows) = size();
                    screen.resize(columns, rows);
                    screen.forget();
                }
                Act::Redraw => {
                    terminal.again()?;
                    screen.forget();
                }
                Act::Step(by) => {
                    if source.step(by)
                        && let Some(look) = source.next()
                    {
                        show(&mut view, source, look);
                    }
                }
            }
        }
        // A pause that has ended, or a faster pace.
        due = due.min(Instant::now() + view.every().unwrap_or(IDLE));
    }
}

fn show(view: &mut View, source: &dyn Source, look: Look) {
    if let Some((place, of)) = source.place() {
        view.at(place, of);
    }
    view.take(look);
}
