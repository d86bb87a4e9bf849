//! `lib ls`, `lib info`, `lib verify`: what a library holds, what it is, whether it is sound.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use underbar_partitioned::name::Name;
use underbar_store::library::{Item, Label, Library, Organisation};
use underbar_store::verify::Verdict;

use super::name;
use super::progress::Progress;
use super::text::{Columns, time};
use crate::printing::Printing;

/// The flags of `lib ls`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib ls programs.pdse
  underbar lib ls -l programs.pdse
  underbar lib ls --json programs.pds

TTR is where a member of a PDS begins, track and record; a PDSE has a token instead, without order. BLOCKS are blocks of
text, of a PDSE pages; twelve pages count as a track.

Exit status: 0 listed, 2 wrong usage, or a library that cannot be read.")]
pub struct Ls {
    #[command(flatten)]
    printing: Printing,

    /// The library
    library: PathBuf,

    /// Sizes, places, blocks, tracks, aliases, attributes
    #[arg(short, long)]
    long: bool,
}

/// `lib ls --json`.
#[derive(Serialize)]
struct Listing {
    library: String,
    label: Label,
    members: Vec<Item>,
}

impl Ls {
    /// Lists.
    pub fn run(self) -> ExitCode {
        match self.text() {
            Ok(text) => self.printing.print(&text, None, 0),
            Err(error) => self.printing.fail(format_args!("{}: {error}", self.library.display())),
        }
    }

    fn text(&self) -> underbar_store::Result<String> {
        let library = Library::open(&self.library)?;
        if self.printing.json {
            let members = library.list(self.long)?;
            let name = self.library.display().to_string();
            return Ok(json(&Listing { library: name, label: library.label()?, members }));
        }
        if self.long {
            return Ok(long(&library.list(true)?, library.organisation()));
        }
        let mut text = String::new();
        for (name, _) in library.names()? {
            text.push_str(name.as_str());
            text.push('\n');
        }
        Ok(text)
    }
}

/// One JSON value on a line.
pub fn json(value: &impl Serialize) -> String {
    // The structures have no maps with keys that are no text, and no numbers that JSON lacks.
    serde_json::to_string(value).map(|text| text + "\n").unwrap_or_default()
}

fn long(items: &[Item], organisation: Organisation) -> String {
    let mut columns = Columns::new(&[
        ("NAME", false),
        ("SIZE", true),
        ("TTR", false),
        ("ALIAS-OF", false),
        (if organisation == Organisation::Pds { "BLOCKS" } else { "PAGES" }, true),
        ("TRACKS", true),
        ("CHANGED", false),
        ("ATTRIBUTES", false),
        ("ENTRY", false),
        ("ALIASES", false),
    ]);
    for item in items {
        let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        columns.row(vec![
            item.name.clone(),
            item.size.to_string(),
            item.ttr.clone(),
            item.alias_of.clone().unwrap_or_default(),
            number(item.blocks),
            number(item.tracks),
            item.modified.map(time).unwrap_or_default(),
            item.attributes.join(" "),
            entry(item),
            item.aliases.join(" "),
        ]);
    }
    columns.text()
}

/// The function that is an entry point, or its address.
fn entry(item: &Item) -> String {
    match (&item.function, item.entry_point) {
        (Some(function), _) => function.clone(),
        (None, Some(address)) => format!("{address:X}"),
        (None, None) => String::new(),
    }
}

/// The flags of `lib info`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib info programs.pdse
  underbar lib info programs.pdse IEFBR14
  underbar lib info --json programs.pds

Exit status: 0 said, 2 wrong usage, a library that cannot be read, or no such member.")]
pub struct Info {
    #[command(flatten)]
    printing: Printing,

    /// The library
    library: PathBuf,

    /// Members; without one, the library
    #[arg(value_parser = name, value_name = "MEMBER")]
    members: Vec<Name>,
}

/// `lib info --json`.
#[derive(Serialize)]
struct Said {
    library: String,
    label: Label,
    members: Vec<Item>,
}

impl Info {
    /// Says it.
    pub fn run(self) -> ExitCode {
        match self.text() {
            Ok(text) => self.printing.print(&text, None, 0),
            Err(error) => self.printing.fail(format_args!("{}: {error}", self.library.display())),
        }
    }

    fn text(&self) -> underbar_store::Result<String> {
        let library = Library::open(&self.library)?;
        let members = self
            .members
            .iter()
            .map(|name| library.item(name))
            .collect::<underbar_store::Result<Vec<Item>>>()?;
        let label = library.label()?;
        if self.printing.json {
            return Ok(json(&Said { library: self.library.display().to_string(), label, members }));
        }
        if members.is_empty() {
            return Ok(label_text(&self.library.display().to_string(), &label));
        }
        Ok(members.iter().map(item_text).collect::<Vec<_>>().join("\n"))
    }
}

fn label_text(name: &str, label: &Label) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{name}: {}, RECFM=U, block size {}", label.organisation.text(), label.block_size);
    let _ = writeln!(text, "  members          {}, aliases {}", label.members, label.aliases);
    match label.directory_allocated {
        Some(allocated) => {
            let _ = writeln!(
                text,
                "  directory        {} of {allocated} blocks, {} tracks, searched in sequence",
                label.directory_blocks, label.directory_depth
            );
            let _ = writeln!(text, "  tracks           {}", label.tracks);
        }
        None => {
            let _ = writeln!(
                text,
                "  directory        {} pages, {} levels",
                label.directory_blocks, label.directory_depth
            );
            let (pages, free) = (label.pages.unwrap_or(0), label.free_pages.unwrap_or(0));
            let limit = label.space_pages.map(|limit| format!(", at most {limit}")).unwrap_or_default();
            let _ = writeln!(text, "  pages            {pages}, of which {free} are free{limit}");
        }
    }
    let _ = writeln!(text, "  file             {} bytes", label.file_bytes);
    let _ = writeln!(text, "  generation       {}", label.generation);
    let _ = writeln!(text, "  created          {}", time(label.created));
    let _ = writeln!(text, "  changed          {}", time(label.modified));
    text
}

fn item_text(item: &Item) -> String {
    let mut text = item.name.clone();
    if let Some(of) = &item.alias_of {
        let _ = write!(text, ": alias of {of}");
    }
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let _ = writeln!(text, "\n  size             {} bytes, {} in storage", item.size, item.storage);
    let _ = writeln!(
        text,
        "  place            TTR {}, {} blocks, {} tracks",
        item.ttr,
        number(item.blocks),
        number(item.tracks)
    );
    let _ = writeln!(text, "  attributes       {}", item.attributes.join(" "));
    let entry = entry(item);
    if !entry.is_empty() {
        let _ = writeln!(text, "  entry point      {entry}");
    }
    if let Some(classes) = item.classes {
        let _ = writeln!(
            text,
            "  pages            {} at LOAD, {} on reference, {} never: {}",
            classes.initial, classes.deferred, classes.no_load, item.fetch
        );
    }
    if !item.aliases.is_empty() {
        let _ = writeln!(text, "  aliases          {}", item.aliases.join(" "));
    }
    if let Some(modified) = item.modified {
        let _ = writeln!(text, "  changed          {}", time(modified));
    }
    text
}

/// The flags of `lib verify`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib verify programs.pdse
  underbar lib verify --json programs.pds

Exit status: 0 sound, 1 something is damaged, 2 wrong usage, or a library that cannot be read at all.")]
pub struct Verify {
    #[command(flatten)]
    printing: Printing,

    /// The library
    library: PathBuf,
}

impl Verify {
    /// Reads it all.
    pub fn run(self) -> ExitCode {
        let path = self.library.display();
        let library = match Library::open(&self.library) {
            Ok(library) => library,
            Err(error) => return self.printing.fail(format_args!("{path}: {error}")),
        };
        let mut progress =
            Progress::new("members", library.label().ok().map(|label| u64::from(label.members)));
        let verdict = library.verify(&mut |done| progress.done(done));
        drop(progress);
        let code = u8::from(!verdict.problems.is_empty());
        let text =
            if self.printing.json { json(&verdict) } else { verdict_text(&path.to_string(), &verdict) };
        self.printing.print(&text, None, code)
    }
}

fn verdict_text(name: &str, verdict: &Verdict) -> String {
    let mut text = String::new();
    for problem in &verdict.problems {
        let whose = problem.member.as_ref().map(|member| format!("member {member}: ")).unwrap_or_default();
        let _ = writeln!(text, "{name}: {whose}{}", problem.what);
    }
    let _ = writeln!(
        text,
        "{name}: {} members, {} aliases, {} bytes read, {}",
        verdict.members,
        verdict.aliases,
        verdict.bytes,
        match verdict.problems.len() {
            0 => "all sound".to_owned(),
            1 => "1 problem".to_owned(),
            many => format!("{many} problems"),
        }
    );
    text
}
