//! `lib survey`: all libraries below some folders, with the figures of their block sizes, tracks and loads.
//!
//! Invariant: a library that is damaged is named and skipped; the others are surveyed. One with a doubtful label is also named.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use underbar_shown::Shown;

use clap::Args;
use serde::Serialize;
use underbar_mainframe::ebcdic::CodePage;
use underbar_mainframe::lists;
use underbar_mainframe::view::choose::Carrier;
use underbar_mainframe::view::survey;
use underbar_store::library::{Library, Organisation};
use underbar_store::survey::{At, Source, Survey, Surveyed, measure};

use super::any_library::is_ours;
use super::list::json;
use super::progress::Progress;
use super::text::{Columns, about, many};
use crate::exit::ExitCode;
use crate::printing::{NO_ANSWER, Printing};
use crate::say::{Kind, say};

/// The flags of `lib survey`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib survey /srv/libraries
  underbar lib survey --json /srv/libraries more.pds
  underbar lib survey backups/*.xmi disk.cckd
  underbar lib survey dslist.txt

Program libraries are surveyed: underbar's, and mainframes' in XMIT, IEBCOPY, AMATERSE, AWS, HET, CKD and CCKD files. Libraries
of data are only counted. Lists are read, too: ISPF 3.4 as printed or saved, LISTDS, LISTCAT (names only), DCOLLECT records. A
library known from a list counts in the shares and gets advice, but nothing is computed for it. Its tracks are those
allocated, or the KB in use of DCOLLECT as tracks.

Tracks are those of a 3390. The tracks at another block size are computed, not observed, by the rule that the binder fills
tracks with short blocks. Members that are not programs are cut into whole blocks of that size, if they are in whole blocks
now; a copy keeps other blocks. Channel programs load each member once, by the article's count: one for the search of the
directory, one for each block of text, one for each control record that has to be read.

Exit status: 0 surveyed, 2 wrong usage, or something could not be read; it is named, and the rest is surveyed.")]
pub struct SurveyFlags {
    #[command(flatten)]
    printing: Printing,

    /// Folders, searched with all their folders, or libraries
    #[arg(required = true, value_name = "DIR")]
    places: Vec<PathBuf>,

    /// The EBCDIC code page of names in mainframes' libraries
    #[arg(long, value_name = "PAGE", default_value = "037")]
    codepage: CodePage,
}

/// `lib survey --json`.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    survey: Survey,
    lists: Vec<ListRead>,
    data_libraries: Vec<String>,
    programs_alone: Vec<String>,
    unreadable: Vec<Wrong>,
    /// Surveyed, with a damaged label.
    doubtful: Vec<Wrong>,
    contradictions: Vec<String>,
}

/// A list of data sets that was read.
#[derive(Serialize)]
struct ListRead {
    list: String,
    kind: &'static str,
    data_sets: usize,
    program_libraries: usize,
    names_only: usize,
}

/// Everything that was found.
#[derive(Default)]
struct Found {
    libraries: Vec<Surveyed>,
    lists: Vec<ListRead>,
    data_libraries: Vec<String>,
    programs_alone: Vec<String>,
    unreadable: Vec<Wrong>,
    doubtful: Vec<Wrong>,
    /// The data sets of all lists, each once, and the places of each name in it.
    data_sets: Vec<lists::Listed>,
    places: HashMap<String, Vec<usize>>,
    contradictions: Vec<String>,
}

/// A library that could not be surveyed, or whose last change may be missing.
#[derive(Serialize)]
struct Wrong {
    library: String,
    why: String,
}

impl Wrong {
    fn of(library: String, why: &dyn std::fmt::Display) -> Wrong {
        Wrong { library, why: why.to_string() }
    }
}

impl SurveyFlags {
    /// Surveys.
    pub fn run(self) -> ExitCode {
        let (mut files, mut found) = (Vec::new(), Found::default());
        for place in &self.places {
            if let Err(error) = find(place, &mut files) {
                return self.printing.fail(format_args!("{}: {error}", place.shown()));
            }
        }
        files.sort();
        // One file counts once, by whatever names it was given.
        let mut seen = HashSet::new();
        files.retain(|file| fs::metadata(file).map_or(true, |of| seen.insert((of.dev(), of.ino()))));
        let mut progress = Progress::new("files", Some(files.len() as u64));
        for (done, file) in (1..).zip(&files) {
            found.read(file, self.codepage, self.places.contains(file));
            progress.done(done);
        }
        drop(progress);
        // Faults in lines of a list that was read are printed, but do not change the exit status.
        let code = if found.unreadable.is_empty() { 0 } else { NO_ANSWER };
        found.measure_listed();
        let survey = Survey::of(found.libraries);
        let Found { lists, data_libraries, programs_alone, unreadable, doubtful, contradictions, .. } = found;
        if self.printing.json {
            let document = Document {
                survey,
                lists,
                data_libraries,
                programs_alone,
                unreadable,
                doubtful,
                contradictions,
            };
            return self.printing.print(&json(&document), None, code);
        }
        for one in unreadable.iter().chain(&doubtful) {
            say(self.printing.color, Kind::Warning, about(Path::new(&one.library), &one.why));
        }
        for one in &contradictions {
            say(self.printing.color, Kind::Warning, format_args!("lists contradict each other: {one}"));
        }
        let mut text = text(&survey);
        text += &left_out_text(data_libraries.len(), programs_alone.len());
        text += &lists_text(&lists);
        self.printing.print(&text, None, code)
    }
}

/// The most bytes of a file that is read as a list.
const LIST_MOST: u64 = 256 << 20;

impl Found {
    /// Reads a file. One that holds nothing is only reported if it was named.
    fn read(&mut self, file: &Path, page: CodePage, is_named: bool) {
        let name = file.shown().to_string();
        if is_ours(file).unwrap_or(false) {
            return match Library::open(file).and_then(|library| Ok((Source::of(&library)?, library.doubt())))
            {
                Ok((source, doubt)) => {
                    self.libraries.push(measure(&source));
                    self.doubtful.extend(doubt.map(|doubt| Wrong::of(name, &doubt)));
                }
                Err(error) => self.unreadable(name, &error),
            };
        }
        let carrier = match Carrier::open(file, page) {
            Ok(carrier) => carrier,
            Err(trouble) => return self.unreadable(name, &trouble.fault),
        };
        for held in &carrier.libraries {
            let name = match carrier.libraries.len() {
                1 => name.clone(),
                _ => format!("{name}({})", held.name()),
            };
            if held.alone {
                self.programs_alone.push(name);
                continue;
            }
            if !held.library.label.programs {
                self.data_libraries.push(name);
                continue;
            }
            match survey::source(&held.library, name.clone()) {
                Ok(source) => self.libraries.push(measure(&source)),
                Err(error) => self.unreadable(name, &error),
            }
        }
        let is_carrier = carrier.holds.iter().any(|thing| thing.depth > 0) || !carrier.libraries.is_empty();
        if is_carrier {
            return self
                .unreadable
                .extend(carrier.troubles.iter().map(|trouble| Wrong::of(name.clone(), trouble)));
        }
        let list = (carrier.bytes <= LIST_MOST)
            .then(|| fs::read(file).ok().and_then(|bytes| lists::read(&bytes, page)))
            .flatten();
        match list {
            Some(list) => self.list(name, &list),
            None => self.no_library(name, &carrier, is_named),
        }
    }

    /// A file that holds nothing is reported if it was named; a disk that cannot be read is always reported.
    fn no_library(&mut self, name: String, carrier: &Carrier, is_named: bool) {
        let faults = carrier.troubles.iter().map(|trouble| Wrong::of(name.clone(), &trouble.fault));
        let known = self.unreadable.len();
        self.unreadable.extend(faults);
        if is_named && self.unreadable.len() == known {
            let is = carrier.holds.first().filter(|_| !carrier.is_unknown());
            let is = is.map(|first| format!(": it is {}", first.is)).unwrap_or_default();
            self.unreadable(
                name,
                &format_args!("this is no library, holds none, and is no list of libraries{is}"),
            );
        }
    }

    fn list(&mut self, name: String, list: &lists::List) {
        if let Some(ended) = &list.ended {
            self.unreadable(name.clone(), ended);
        }
        let sources: Vec<Source> = list.data_sets.iter().filter_map(lists::Listed::source).collect();
        for one in &list.data_sets {
            self.listed(one);
        }
        self.lists.push(ListRead {
            list: name,
            kind: list.kind,
            data_sets: list.data_sets.len(),
            program_libraries: sources.len(),
            names_only: list.data_sets.iter().filter(|one| one.is_name_only()).count(),
        });
    }

    /// A data set counts once, in however many lists, or screens of one list, it is.
    fn listed(&mut self, one: &lists::Listed) {
        let places = self.places.entry(one.name.clone()).or_default();
        match places.iter().find(|at| self.data_sets[**at].is_same(one)) {
            Some(at) => self.contradictions.extend(self.data_sets[*at].join(one.clone())),
            None => {
                places.push(self.data_sets.len());
                self.data_sets.push(one.clone());
            }
        }
    }

    /// Measures the data sets of all lists.
    fn measure_listed(&mut self) {
        for one in std::mem::take(&mut self.data_sets) {
            if let Some(size) = one.wrong_block_size() {
                self.unreadable(
                    one.name,
                    &format_args!("no data set has a block size of {size}; it is not counted"),
                );
            } else {
                self.libraries.extend(one.source().as_ref().map(measure));
            }
        }
    }

    fn unreadable(&mut self, library: String, why: &dyn std::fmt::Display) {
        self.unreadable.push(Wrong::of(library, why));
    }
}

fn left_out_text(data_libraries: usize, programs_alone: usize) -> String {
    let mut text = String::new();
    for (number, what) in [(data_libraries, "library of data"), (programs_alone, "program")] {
        if number > 0 {
            let alone = if what == "program" { " alone in a file" } else { "" };
            let _ = writeln!(text, "\nLeft out: {}{alone}", many(number as u64, what));
        }
    }
    text
}

fn lists_text(lists: &[ListRead]) -> String {
    let mut text = String::new();
    for list in lists {
        let _ = writeln!(
            text,
            "\n{}: a list of {}, {}, libraries of programs: {}, only the name is known: {}",
            list.list,
            list.kind,
            many(list.data_sets as u64, "data set"),
            list.program_libraries,
            list.names_only
        );
    }
    text
}

/// All files. Links in folders are not followed.
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
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn text(survey: &Survey) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{}: {} PDS, {} PDSE\n",
        many(survey.libraries.len() as u64, "library"),
        survey.pds,
        survey.pdse
    );
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
    }
    if survey.pds_listed > 0 {
        let _ = writeln!(
            text,
            "{} of the PDS libraries are known from lists only, and in no sum of tracks\n",
            survey.pds_listed
        );
    }
    if let Some(now) = &survey.now {
        let mut columns = Columns::new(&[("ALL PDS", false), ("TRACKS", true), ("CHANNEL PROGRAMS", true)]);
        let mut row = |name: String, at: &At| {
            columns.row(vec![name, at.tracks.to_string(), at.channel_programs.to_string()]);
        };
        row("now".to_owned(), now);
        survey.copied.iter().for_each(|at| row(format!("at {}", at.block_size), at));
        text += &columns.text();
        text.push('\n');
    }
    if !survey.libraries.is_empty() {
        text += &libraries(&survey.libraries);
    }
    let advised: Vec<&Surveyed> =
        survey.libraries.iter().filter(|library| !library.savings.is_empty()).collect();
    if !advised.is_empty() {
        text.push_str("\nAdvice\n");
    }
    for library in advised {
        for saving in &library.savings {
            let _ = writeln!(text, "{}: {} ({})", library.name, saving.text, saving.rule);
        }
    }
    text
}

/// Blank if a list does not have it.
fn known(figure: Option<u32>) -> String {
    figure.map(|figure| figure.to_string()).unwrap_or_default()
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
            known(library.members),
            known(library.directory_blocks),
            library.now.block_size.to_string(),
            known(library.now.tracks),
        ];
        if library.organisation == Organisation::Pds {
            // The first is for the library's own block size.
            row.extend(library.copied.iter().skip(1).map(|at| at.tracks.to_string()));
        }
        columns.row(row);
    }
    columns.text()
}

#[cfg(test)]
mod tests {
    use underbar_advise::{Apply, RULES};

    #[test]
    fn each_rule_of_a_survey_has_its_words_in_the_table() {
        let table: Vec<&str> =
            RULES.iter().filter(|rule| matches!(rule.apply, Apply::Survey)).map(|rule| rule.id).collect();
        assert_eq!(underbar_store::survey::rules().collect::<Vec<_>>(), table);
    }
}
