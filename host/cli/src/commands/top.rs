//! `underbar top [NAME]`: a live view of the programs that keep accounts; one table, JSON lines, recordings.
//!
//! Not here: looks, tables and the terminal (`underbar_top`).

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use clap::{Args, ValueEnum};
use underbar_launch::ledger::found::Whose;
use underbar_shown::Shown;
use underbar_shown::door::{self, Form};
use underbar_top::columns::Field;
use underbar_top::live::{self, Left, Replayed, Running};
use underbar_top::record::{self, Recorder, Recording};
use underbar_top::view::Setup;
use underbar_top::{Look, Watch, lines};

use super::ls::whose;
use crate::exit::ExitCode;
use crate::printing::Printing;
use crate::saved::word_for_a_program;
use crate::say::{Kind, say};
use crate::shared::glyphs;
use crate::trial::flags::duration;

/// The time between the two looks of `--once`, from which it has its rates.
const BETWEEN: Duration = Duration::from_millis(250);
const SHORTEST: Duration = Duration::from_millis(50);

/// The flags of `top`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar top                             all programs that keep accounts; ? shows the keys
  underbar top server                      one run, by the name of its program
  underbar top 4711                        the same, by the number of a process of it
  underbar top accounts.ledger             the same, by the file of `run --exec -o FILE`
  underbar top --once --sort cpu           one table, also for a pipe
  underbar top --json --every 10s          a line of JSON for each look, schema underbar.top/1
  underbar top --record night.jsonl        the live view, with every look kept in a file
  underbar top --replay night.jsonl        the same view again; the arrows go back and on

Programs notice nothing of it. A table has the columns for which the terminal has room.

Exit status: 0 ended by q, or printed; 2 wrong usage, or there is no such program; if a signal ends it, that signal.")]
pub struct Top {
    /// Only the run that this means: the name of a program, the number of a process, a name of `underbar ls`, or a ledger file
    name: Option<String>,

    /// Print one table, or with --json one line, and end
    #[arg(long)]
    once: bool,

    /// Keep each look in FILE, as lines of JSON
    #[arg(long, value_name = "FILE", conflicts_with = "once")]
    record: Option<PathBuf>,

    /// Show a recording again; programs that run are not looked at
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "record", "all_users"])]
    replay: Option<PathBuf>,

    /// How often to look; with --replay, how long each look stays
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1s")]
    every: Duration,

    /// The column to sort by at first
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t = Sort::Heap)]
    sort: Sort,

    /// Watch over the programs of all users: for root
    #[arg(long)]
    all_users: bool,

    #[command(flatten)]
    printing: Printing,
}

/// Columns to sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Heap storage in use
    Heap,
    /// Resident memory
    Resident,
    /// Requests for storage in a second
    Requests,
    /// Waits for locks in a second
    Waits,
    /// Entries to the kernel in a second
    Switches,
    /// CPU time
    Cpu,
    /// Number of the process
    Process,
    /// Name of the program
    Name,
    /// Age
    Since,
}

impl Sort {
    fn field(self) -> Field {
        match self {
            Sort::Heap => Field::Heap,
            Sort::Resident => Field::Resident,
            Sort::Requests => Field::Requests,
            Sort::Waits => Field::Waits,
            Sort::Switches => Field::Switches,
            Sort::Cpu => Field::Cpu,
            Sort::Process => Field::Process,
            Sort::Name => Field::Program,
            Sort::Since => Field::Since,
        }
    }
}

impl Top {
    /// Shows them until the user leaves.
    pub fn run(self) -> ExitCode {
        if let Some(path) = &self.replay {
            return match Recording::open(path) {
                Ok(recording) => self.replay(recording),
                Err(why) => self.printing.fail(format_args!("{}: {why}", path.shown())),
            };
        }
        let watch = whose(self.all_users).map_err(str::to_owned).and_then(|whose| self.watch(whose));
        let mut watch = match watch {
            Ok(watch) => watch,
            Err(why) => return self.printing.fail(why),
        };
        let first = watch.look();
        if let Some(name) = self.name.as_ref().filter(|_| first.processes.is_empty()) {
            let about =
                "no running program of this name or number keeps accounts; `underbar ls` lists those that do";
            return self.printing.fail(format_args!("{}: {about}", name.shown()));
        }
        let recorder = match self.record.as_ref().map(|path| (path, Recorder::new(path))) {
            None => None,
            Some((_, Ok(recorder))) => Some(recorder),
            Some((path, Err(error))) => return self.cannot_record(path, &error),
        };
        if !self.once && (self.printing.json || self.is_still() && recorder.is_some()) {
            return self.lines(&mut watch, first, recorder);
        }
        if self.is_still() {
            return self.one_look(&mut watch);
        }
        let about = self.name.as_ref().map_or(String::new(), |name| name.shown().to_string());
        let mut source = Running::new(watch, recorder);
        match live::run(&mut source, self.setup(), &about, "") {
            Ok(Left::Quit) => ExitCode::SUCCESS,
            Ok(Left::Exhausted) => match (source.failure(), &self.record) {
                (Some(error), Some(path)) => self.cannot_record(path, &error),
                _ => ExitCode::SUCCESS,
            },
            Err(error) => self.printing.fail(error),
        }
    }

    /// Is one table asked for, or all that the output can show?
    fn is_still(&self) -> bool {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        self.once || !door::output_is_terminal() || is_dumb
    }

    fn setup(&self) -> Setup {
        Setup {
            every: self.every.max(SHORTEST),
            sort: self.sort.field(),
            colours: self.printing.color.is_on_output(),
            glyphs: glyphs(),
            with_user: self.all_users,
        }
    }

    fn cannot_record(&self, path: &Path, error: &std::io::Error) -> ExitCode {
        self.printing.fail(format_args!("{}: {error}", path.shown()))
    }

    /// Shows a recording, or prints it.
    fn replay(&self, mut recording: Recording) -> ExitCode {
        let cut = recording.cut().map(str::to_owned);
        let say_cut = || {
            if let Some(cut) = &cut {
                say(self.printing.color, Kind::Warning, cut);
            }
        };
        if self.printing.json || self.is_still() {
            let last = recording.looks() - 1;
            for number in if self.printing.json && !self.once { 0..=last } else { last..=last } {
                let Some(look) = recording.look(number) else { break };
                let code = self.print_look(&look);
                if code != ExitCode::SUCCESS {
                    return code;
                }
            }
            say_cut();
            return ExitCode::SUCCESS;
        }
        let mut source = Replayed::new(recording);
        let left = live::run(&mut source, self.setup(), "", cut.as_deref().unwrap_or_default());
        say_cut();
        match left {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => self.printing.fail(error),
        }
    }

    fn watch(&self, whose: Whose) -> Result<Watch, String> {
        let Some(path) = self.name.as_deref().map(Path::new) else { return Ok(Watch::new(whose, None)) };
        match word_for_a_program(path) {
            None => Watch::of_file(path).map_err(|error| format!("{}: {error}", path.shown())),
            word => Ok(Watch::new(whose, word)),
        }
    }

    /// One table, or one line. Its rates are those of a short time.
    fn one_look(&self, watch: &mut Watch) -> ExitCode {
        sleep(BETWEEN.min(self.every.max(SHORTEST)));
        self.print_look(&watch.look())
    }

    fn print_look(&self, look: &Look) -> ExitCode {
        if self.printing.json {
            return self.printing.print(&record::line(look), None, 0);
        }
        let limit = door::output_columns().map(usize::from);
        let text = lines::render(look, self.sort.field(), self.all_users, limit, glyphs());
        self.printing.print(&text, None, 0)
    }

    /// JSON lines, or a recording without a view, until the reader goes or a signal comes.
    fn lines(&self, watch: &mut Watch, first: Look, mut recorder: Option<Recorder>) -> ExitCode {
        let mut look = first;
        loop {
            if let (Some(recorder), Some(path)) = (&mut recorder, &self.record)
                && let Err(error) = recorder.add(&look)
            {
                return self.cannot_record(path, &error);
            }
            let text = if self.printing.json { record::line(&look) } else { String::new() };
            match door::is_read(Form::Json, &text) {
                Ok(true) => {}
                Ok(false) => return ExitCode::SUCCESS,
                Err(error) => return self.printing.fail(format_args!("standard output: {error}")),
            }
            sleep(self.every.max(SHORTEST));
            look = watch.look();
        }
    }
}
