//! `underbar fleet FILES...`: saved reports become lines for a database.
//!
//! ```text
//! file, folder, standard input ── packed by gzip? ── documents ── lines, each run once ──> NDJSON
//! ```
//!
//! Invariant: what is broken is named with file and line, and the rest goes on; memory does not grow with the files' length.
//! Not here: the lines (`underbar_fleet`), and queries of them (`share/fleet`).

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use underbar_fleet::{Collector, Gzip, Summary, gzip, input};
use underbar_ledger::layout::MAGIC;
use underbar_report::units::{count, counted};
use underbar_shown::Shown;
use underbar_shown::door::{self, Form, Pieces};

use crate::exit::ExitCode;
use crate::printing::NO_ANSWER;
use crate::say::{Color, Kind, say};

/// Endings of files that are read in folders, each also with `.gz`.
const ENDINGS: [&str; 4] = [".json", ".ndjson", ".jsonl", ".report"];
/// Lines are written when there are so many bytes.
const PIECE: usize = 1 << 20;

/// The flags of `fleet`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar fleet -o fleet.ndjson reports/      all .json, .ndjson, .jsonl and .report in a folder, also packed (.gz)
  underbar fleet host1.json host2.json > fleet.ndjson
  underbar fleet - < all.ndjson > fleet.ndjson
  underbar fleet yesterday.ndjson new.json > both.ndjson

Each line is one program of one run: host, time, program, options, counters, suggestions with their values and evidence. A run
that is in several files is written once. docs/fleet.md has the columns, and share/fleet queries for DuckDB and ClickHouse.

Exit status: 0 all files were read, 1 something was refused and the rest was written, 2 wrong usage, or the lines cannot be
written.")]
pub struct Fleet {
    /// Reports saved with --json, lines of an earlier `underbar fleet`, or folders of them; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The machine of reports that do not name theirs
    #[arg(long, value_name = "NAME")]
    host: Option<String>,

    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print no summary and no differences; errors only
    #[arg(short, long)]
    quiet: bool,

    /// When messages are coloured
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,
}

/// Lines on their way out.
struct Lines {
    pieces: Pieces,
    text: String,
}

impl Lines {
    fn flush(&mut self) -> io::Result<()> {
        let written = self.pieces.write(&self.text);
        self.text.clear();
        written
    }
}

impl Fleet {
    /// Reads the files.
    pub fn run(self) -> ExitCode {
        let place =
            self.output.as_deref().map_or("standard output".to_owned(), |path| path.shown().to_string());
        let broken = |error: io::Error| {
            say(self.color, Kind::Error, format_args!("{place}: {error}"));
            ExitCode::from(NO_ANSWER)
        };
        let pieces = match Pieces::open(self.output.as_deref(), Form::Json) {
            Ok(pieces) => pieces,
            Err(error) => return broken(error),
        };
        let mut lines = Lines { pieces, text: String::with_capacity(2 * PIECE) };
        let mut collector = Collector::new(self.host.clone());
        for path in &self.files {
            if let Err(error) = self.walk(path, &mut collector, &mut lines) {
                return broken(error);
            }
        }
        if let Err(error) = lines.flush() {
            return broken(error);
        }
        let summary = collector.finish();
        if !self.quiet {
            self.tell(&summary);
        }
        if summary.refused > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    /// Reads a file, or the files of a folder and of the folders in it, by name.
    ///
    /// # Errors
    /// Lines cannot be written. What cannot be read is told and counted.
    fn walk(&self, path: &Path, collector: &mut Collector, lines: &mut Lines) -> io::Result<()> {
        let mut paths = vec![path.to_owned()];
        while let Some(path) = paths.pop() {
            match folder(&path) {
                Ok(Some(within)) => paths.extend(within),
                Ok(None) => self.file(&path, collector, lines)?,
                Err(error) => self.refuse(&path.shown().to_string(), &error.to_string(), collector),
            }
        }
        Ok(())
    }

    fn file(&self, path: &Path, collector: &mut Collector, lines: &mut Lines) -> io::Result<()> {
        let name = path.shown().to_string();
        let stream: io::Result<Box<dyn Read>> = if path == Path::new("-") {
            Ok(Box::new(io::stdin().lock()))
        } else {
            File::open(path).map(|file| Box::new(file) as Box<dyn Read>)
        };
        let read = stream.and_then(|stream| unpacked(BufReader::with_capacity(256 << 10, stream)));
        let stream = match read {
            Ok(Ok(stream)) => stream,
            Ok(Err(why)) => {
                self.refuse(&name, why, collector);
                return Ok(());
            }
            Err(error) => {
                self.refuse(&name, &error.to_string(), collector);
                return Ok(());
            }
        };
        let mut written = Ok(());
        let mut none = true;
        // A binary file has thousands of lines that are none.
        let mut first: Option<(u64, String)> = None;
        let mut more = 0;
        let read = input::each(stream, |line, piece| {
            none = false;
            if let Err(why) = collector.take(&name, line, &piece, &mut lines.text) {
                if first.is_some() {
                    more += 1;
                } else {
                    first = Some((line, why));
                }
            }
            if lines.text.len() >= PIECE && written.is_ok() {
                written = lines.flush();
            }
        });
        if let Some((line, why)) = first {
            let more = match more {
                0 => String::new(),
                _ => format!(
                    "; {} refused",
                    counted(more, "more document of this file is", "more documents of this file are")
                ),
            };
            say(self.color, Kind::Error, format_args!("{name}:{line}: {why}{more}"));
        }
        if let Err(error) = read {
            self.refuse(&name, &error.to_string(), collector);
        } else if none {
            self.refuse(&name, "the file is empty; has its run ended?", collector);
        }
        written
    }

    fn refuse(&self, name: &str, why: &str, collector: &mut Collector) {
        collector.unreadable();
        say(self.color, Kind::Error, format_args!("{name}: {why}"));
    }

    /// The summary, on standard error. A closed standard error is no failure.
    fn tell(&self, summary: &Summary) {
        for difference in &summary.differences {
            let _ = door::to_error(Form::Text, &format!("underbar: {difference}\n"));
        }
        let reports = counted(summary.reports, "report", "reports");
        let mut words = format!("{reports}, {}", counted(summary.lines, "line", "lines"));
        for (number, what) in [
            (summary.earlier, "of an earlier collection"),
            (summary.repeated, "left out, since they were there before"),
            (summary.refused, "refused"),
        ] {
            if number > 0 {
                words += &format!("; {} {what}", count(number));
            }
        }
        let _ = door::to_error(Form::Text, &format!("underbar: {words}\n"));
    }
}

/// The files and folders in a folder, the last one first; None: it is no folder.
fn folder(path: &Path) -> io::Result<Option<Vec<PathBuf>>> {
    if path == Path::new("-") || !fs::metadata(path)?.is_dir() {
        return Ok(None);
    }
    let mut within = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let (kind, name) = (entry.file_type()?, entry.file_name());
        let name = name.to_string_lossy();
        // Links are followed to files only: a link to a folder could begin a circle.
        let is_file = kind.is_file() || kind.is_symlink() && entry.path().is_file();
        if !name.starts_with('.') && (kind.is_dir() || is_file && is_report(&name)) {
            within.push(entry.path());
        }
    }
    within.sort_unstable_by(|a, b| b.cmp(a));
    Ok(Some(within))
}

fn is_report(name: &str) -> bool {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The bytes of a stream, or why they are no reports.
fn unpacked(mut stream: impl BufRead + 'static) -> io::Result<Result<Box<dyn BufRead>, &'static str>> {
    let start = stream.fill_buf()?;
    if start.starts_with(&gzip::MAGIC) {
        return Ok(Ok(Box::new(BufReader::with_capacity(256 << 10, Gzip::new(stream)))));
    }
    if start.starts_with(&MAGIC.to_le_bytes()) {
        return Ok(Err("a ledger file; `underbar report --json -o REPORT FILE` makes a report of it"));
    }
    for (magic, why) in [
        (&b"\x28\xb5\x2f\xfd"[..], "packed by zstd: unzstd -c FILE | underbar fleet -"),
        (b"\xfd7zXZ\0", "packed by xz: xzcat FILE | underbar fleet -"),
        (b"BZh", "packed by bzip2: bzcat FILE | underbar fleet -"),
        (b"PAR1", "a Parquet file: a database reads it, `underbar fleet` reads lines"),
    ] {
        if start.starts_with(magic) {
            return Ok(Err(why));
        }
    }
    Ok(Ok(Box::new(stream)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_in_folders_are_known_by_their_names() {
        for name in ["a.json", "a.ndjson.gz", "a.jsonl", "a.report"] {
            assert!(is_report(name), "{name}");
        }
        for name in ["a.txt", "json", "a.json.bz2", "a.gz", "README"] {
            assert!(!is_report(name), "{name}");
        }
    }
}
