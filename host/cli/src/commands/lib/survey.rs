//! `lib survey`: all libraries below some folders, with the figures of their block sizes, tracks and loads.
//!
//! Invariant: a library that is damaged is named and left out; the others are surveyed.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use underbar_partitioned::read::{PDS_BEGINS, PDSE_BEGINS};
use underbar_store::library::{Library, Organisation};
use underbar_store::survey::{At, Source, Survey, Surveyed, measure};

use super::list::json;
use super::progress::Progress;
use super::text::Columns;
use crate::printing::Printing;
use crate::say::{Kind, say};

/// The flags of `lib survey`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib survey /srv/libraries
  underbar lib survey --json /srv/libraries more.pds

Tracks are those of a 3390. What another block size would take is computed by the rule by which the binder fills tracks with
short blocks, not observed. Channel programs are those that load each member once, by the article's count: one for the
search of the directory, one for each block of text, one for each control record that has to be read.

Exit status: 0 surveyed, 2 wrong usage, or what could not be read.")]
pub struct SurveyFlags {
    #[command(flatten)]
    printing: Printing,

    /// Folders, searched to their depths, or libraries
    #[arg(required = true, value_name = "DIR")]
    places: Vec<PathBuf>,
}

/// `lib survey --json`.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    survey: Survey,
    unreadable: Vec<Unreadable>,
}

/// A library that could not be surveyed.
#[derive(Serialize)]
struct Unreadable {
    library: String,
    why: String,
}

impl SurveyFlags {
    /// Surveys.
    pub fn run(self) -> ExitCode {
        let mut files = Vec::new();
        for place in &self.places {
            if let Err(error) = find(place, &mut files) {
                return self.printing.fail(format_args!("{}: {error}", place.display()));
            }
        }
        files.sort();
        let (mut libraries, mut unreadable) = (Vec::new(), Vec::new());
        let mut progress = Progress::new("libraries", Some(files.len() as u64));
        for (done, file) in (1..).zip(&files) {
            match Library::open(file).and_then(|library| Source::of(&library)) {
                Ok(source) => libraries.push(measure(&source)),
                Err(error) => {
                    unreadable
                        .push(Unreadable { library: file.display().to_string(), why: error.to_string() });
                }
            }
            progress.done(done);
        }
        drop(progress);
        let survey = Survey::of(libraries);
        if self.printing.json {
            return self.printing.print(&json(&Document { survey, unreadable }), None, 0);
        }
        for one in &unreadable {
            say(self.printing.color, Kind::Warning, format_args!("{}: {}", one.library, one.why));
        }
        self.printing.print(&text(&survey), None, 0)
    }
}

/// Files that begin as libraries do. Links in folders are not followed.
fn find(place: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !fs::metadata(place)?.is_dir() {
        files.push(place.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            find(&entry.path(), files)?;
        } else if kind.is_file() && is_library(&entry.path()) {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Has it the first bytes of one? What cannot be read is none.
fn is_library(path: &Path) -> bool {
    let mut first = [0; 7];
    File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok()
        && [PDS_BEGINS, PDSE_BEGINS].contains(&first)
}

fn text(survey: &Survey) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ =
        writeln!(text, "{} libraries: {} PDS, {} PDSE\n", survey.libraries.len(), survey.pds, survey.pdse);
    if survey.pds > 0 {
        let mut columns = Columns::new(&[("BLOCK SIZE", true), ("PDS LIBRARIES", true), ("SHARE", true)]);
        for share in &survey.block_sizes {
            columns.row(vec![
                share.block_size.to_string(),
                share.libraries.to_string(),
                percent(share.per_mille),
            ]);
        }
        text += &columns.text();
        let _ = writeln!(
            text,
            "\n{} of the PDS libraries have a block size of 32,000 or more, {} have 8K or less\n",
            percent(survey.large_per_mille),
            percent(survey.small_per_mille)
        );
        let mut columns = Columns::new(&[("ALL PDS", false), ("TRACKS", true), ("CHANNEL PROGRAMS", true)]);
        let mut row = |name: String, at: &At| {
            columns.row(vec![name, at.tracks.to_string(), at.channel_programs.to_string()]);
        };
        row("now".to_owned(), &survey.now);
        survey.copied.iter().for_each(|at| row(format!("at {}", at.block_size), at));
        text += &columns.text();
        text.push('\n');
    }
    if !survey.libraries.is_empty() {
        text += &libraries(&survey.libraries);
    }
    let advised: Vec<&Surveyed> =
        survey.libraries.iter().filter(|library| !library.advice.is_empty()).collect();
    if !advised.is_empty() {
        text.push_str("\nAdvice\n");
    }
    for library in advised {
        for advice in &library.advice {
            let _ = writeln!(text, "{}: {} ({})", library.name, advice.text, advice.rule);
        }
    }
    text
}

fn percent(per_mille: u32) -> String {
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}

fn libraries(libraries: &[Surveyed]) -> String {
    let mut heading = vec![
        ("LIBRARY", false),
        ("ORG", false),
        ("MEMBERS", true),
        ("DIRECTORY", true),
        ("BLKSIZE", true),
        ("TRACKS", true),
    ];
    heading.extend(["6144", "18452", "23440", "27998", "32760"].map(|size| (size, true)));
    let mut columns = Columns::new(&heading);
    for library in libraries {
        let mut row = vec![
            library.name.clone(),
            library.organisation.text().to_owned(),
            library.members.to_string(),
            library.directory_blocks.to_string(),
            library.now.block_size.to_string(),
            library.now.tracks.to_string(),
        ];
        if library.organisation == Organisation::Pds {
            // The first is that of its own block size.
            row.extend(library.copied.iter().skip(1).map(|at| at.tracks.to_string()));
        }
        columns.row(row);
    }
    columns.text()
}
