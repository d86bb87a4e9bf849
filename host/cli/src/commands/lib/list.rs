//! `lib ls`, `lib info`, `lib verify`: the members of a library, its description, and its checks.

use std::fmt::Write as _;
use std::path::PathBuf;
use underbar_shown::Shown;

use clap::Args;
use serde::Serialize;
use underbar_mainframe::view::choose::{Carrier, Thing};
use underbar_mainframe::view::extract::missing;
use underbar_mainframe::view::items::{self, Blocks};
use underbar_store::library::{Item, Label, Library, Organisation};
use underbar_store::verify::Verdict;

use super::any_library::{Any, Choice, Listed, is_theirs};
use super::program::{self, Close};
use super::progress::Progress;
use super::text::{Columns, about, many, time};
use crate::exit::ExitCode;
use crate::printing::Printing;

/// The flags of `lib ls`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib ls programs.pdse
  underbar lib ls -l programs.pdse
  underbar lib ls --json programs.pds
  underbar lib ls -l backup.xmi
  underbar lib ls --dsn SYS1.LINKLIB disk.cckd

Mainframes' libraries are read from XMIT files, IEBCOPY unloads, AMATERSE files, tapes (AWS, HET) and disks (CKD, CCKD), also
within each other, and with record descriptors (RDW) or line ends, if the transfer left them. Their attributes are those that
the linkage editor set, with AMODE, RMODE and AC, or the ISPF statistics of a text.

TTR is the track and record where a member of a PDS begins; a PDSE has a token instead, in no order. BLOCKS counts blocks of
text, and pages of a PDSE; twelve pages count as a track.

Exit status: 0 listed, 2 wrong usage, or a library that cannot be read.")]
pub struct Ls {
    #[command(flatten)]
    printing: Printing,

    /// The library, or a file that holds one
    library: PathBuf,

    #[command(flatten)]
    choice: Choice,

    /// Also list sizes, places, blocks, tracks, aliases and attributes
    #[arg(short, long)]
    long: bool,
}

/// `lib ls --json`.
#[derive(Serialize)]
struct Listing {
    library: String,
    label: Label,
    members: Vec<Item>,
    faults: Vec<String>,
}

impl Ls {
    /// Lists.
    pub fn run(self) -> ExitCode {
        match self.text() {
            Ok(text) => self.printing.print(&text, None, 0),
            Err(error) => self.printing.fail(about(&self.library, error)),
        }
    }

    fn text(&self) -> Result<String, String> {
        let library = self.choice.open(&self.library)?;
        if self.printing.json {
            library.warn_of_doubt(self.printing.color);
            let Listed { label, members } = library.list(&self.choice, self.long, None)?;
            let name = self.library.to_string_lossy().into_owned();
            let faults = library.faults();
            return Ok(json(&Listing { library: name, label, members, faults }));
        }
        library.warn(self.printing.color);
        if self.long {
            let Listed { label, members } = library.list(&self.choice, true, None)?;
            return Ok(if members.iter().any(|item| item.mainframe.is_some()) {
                long_of_mainframe(&members, label.organisation)
            } else {
                long(&members, label.organisation)
            });
        }
        let names: Vec<String> = match &library {
            Any::Ours(library) => {
                let names = library.names().map_err(|error| error.to_string())?;
                names.iter().map(|(name, _)| name.to_string()).collect()
            }
            Any::Theirs(carrier) => {
                let members = &self.choice.choose(carrier)?.library.members;
                members.iter().map(|member| member.name.clone()).collect()
            }
        };
        Ok(names.iter().map(|name| format!("{}\n", name.shown())).collect())
    }
}

/// One JSON value on a line.
pub fn json(value: &impl Serialize) -> String {
    // Every key is a text and every number is one that JSON has, so this does not fail.
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
    // There may be 100,000 of them: nothing is copied, and members that were added together share one time.
    let (mut last, mut changed) = (None, String::new());
    for item in items {
        if item.modified != last {
            last = item.modified;
            changed = last.map(time).unwrap_or_default();
        }
        columns.cell(&item.name);
        columns.cell(item.size);
        columns.cell(&item.ttr);
        columns.known(item.alias_of.as_ref());
        columns.known(item.blocks);
        columns.known(item.tracks);
        columns.cell(&changed);
        columns.cell(item.attributes.join(" "));
        columns.cell(entry(item));
        columns.cell(item.aliases.join(" "));
    }
    columns.text()
}

/// Members of a mainframe: programs with attributes of the linkage editor, texts with ISPF statistics.
fn long_of_mainframe(items: &[Item], organisation: Organisation) -> String {
    let has = |of: fn(&underbar_store::library::Mainframe) -> bool| {
        items.iter().filter_map(|item| item.mainframe.as_ref()).any(|mainframe| of(mainframe))
    };
    let (texts, programs) = (has(|one| one.statistics.is_some()), has(|one| one.amode.is_some()));
    let mut heading = vec![
        ("NAME", false),
        ("SIZE", true),
        ("TTR", false),
        ("ALIAS-OF", false),
        (if organisation == Organisation::Pds { "BLOCKS" } else { "PAGES" }, true),
        ("TRACKS", true),
    ];
    if programs {
        heading.extend([("AM", true), ("RM", true), ("AC", true), ("STORAGE", true), ("ENTRY", true)]);
        heading.push(("ATTRIBUTES", false));
    }
    if texts {
        heading.extend([("VV.MM", false), ("CREATED", false), ("CHANGED", false)]);
        heading.extend([("LINES", true), ("INIT", true), ("MOD", true), ("ID", false)]);
    }
    heading.push(("ALIASES", false));
    let mut columns = Columns::new(&heading);
    for item in items {
        let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        let mut row = vec![
            item.name.clone(),
            item.size.to_string(),
            item.ttr.clone(),
            item.alias_of.clone().unwrap_or_default(),
            number(item.blocks),
            number(item.tracks),
        ];
        let mainframe = item.mainframe.as_deref();
        if programs {
            let of = mainframe.filter(|one| one.amode.is_some());
            row.push(of.and_then(|one| one.amode).unwrap_or_default().to_owned());
            row.push(of.and_then(|one| one.rmode).unwrap_or_default().to_owned());
            row.push(of.and_then(|one| one.authorisation).map(|code| code.to_string()).unwrap_or_default());
            row.push(of.map(|_| format!("{:X}", item.storage)).unwrap_or_default());
            row.push(entry(item));
            row.push(item.attributes.join(" "));
        }
        if texts {
            match mainframe.and_then(|one| one.statistics.as_ref()) {
                None => row.extend(std::iter::repeat_n(String::new(), 7)),
                Some(text) => row.extend([
                    text.version.clone(),
                    text.created.clone(),
                    text.changed.clone(),
                    text.lines.to_string(),
                    text.first_lines.to_string(),
                    text.changed_lines.to_string(),
                    text.user.clone(),
                ]),
            }
        }
        row.push(item.aliases.join(" "));
        columns.row(row);
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
  underbar lib info tape.het
  underbar lib info --dsn SYS1.LINKLIB disk.cckd IEFBR14

For a mainframe's file, everything in it is listed, and its libraries are numbered. A load module is shown with its sections,
its entry point, its binder and translators, and the lengths of its blocks of text; a program object with its known sections.

Exit status: 0 printed, 2 wrong usage, a library that cannot be read, or no such member.")]
pub struct Info {
    #[command(flatten)]
    printing: Printing,

    /// The library, or a file that holds one
    library: PathBuf,

    #[command(flatten)]
    choice: Choice,

    /// Members [default: the library itself]
    #[arg(value_name = "MEMBER")]
    members: Vec<String>,
}

/// `lib info --json`.
#[derive(Serialize)]
struct LibraryInformation {
    library: String,
    label: Option<Label>,
    members: Vec<Close>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_sizes: Option<Vec<Blocks>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    holds: Vec<Thing>,
    faults: Vec<String>,
}

impl Info {
    /// Prints it.
    pub fn run(self) -> ExitCode {
        match self.text() {
            Ok(text) => self.printing.print(&text, None, 0),
            Err(error) => self.printing.fail(about(&self.library, error)),
        }
    }

    fn text(&self) -> Result<String, String> {
        let library = self.choice.open(&self.library)?;
        let mut information = LibraryInformation {
            library: self.library.to_string_lossy().into_owned(),
            label: None,
            members: Vec::new(),
            block_sizes: None,
            holds: Vec::new(),
            faults: library.faults(),
        };
        if self.printing.json {
            library.warn_of_doubt(self.printing.color);
        } else {
            library.warn(self.printing.color);
        }
        let mut is_chosen = true;
        if let Any::Theirs(carrier) = &library {
            if self.members.is_empty() {
                information.holds.clone_from(&carrier.holds);
            }
            // Without a choice and members, what there is to choose from is the answer.
            is_chosen = self.choice.dsn.is_some() || carrier.libraries.len() == 1 || !self.members.is_empty();
            is_chosen |= carrier.is_unknown();
            if is_chosen {
                self.theirs(carrier, &mut information)?;
            }
        }
        if is_chosen {
            let Listed { label, members } = library.list(&self.choice, true, Some(&self.members))?;
            information.label = Some(label);
            if information.members.is_empty() {
                information.members = members.into_iter().map(Close::from).collect();
            }
        }
        if self.printing.json {
            return Ok(json(&information));
        }
        if !information.members.is_empty() {
            let alone = information
                .holds
                .iter()
                .filter(|thing| thing.depth == 0)
                .map(|thing| format!("{}: {}, alone in its file\n\n", thing.name, thing.is));
            return Ok(alone
                .chain([information.members.iter().map(member_text).collect::<Vec<_>>().join("\n")])
                .collect());
        }
        let mut text = if information.holds.len() > 1 || !is_chosen {
            holds_text(&information.holds)
        } else {
            String::new()
        };
        if let Some(label) = &information.label {
            text += &label_text(label.name.as_ref().unwrap_or(&information.library), label);
        }
        if let Some(sizes) = &information.block_sizes {
            program::block_sizes_text(&mut text, sizes);
        }
        Ok(text)
    }

    /// Reads members of a mainframe's library in detail, or the lengths of all its blocks.
    fn theirs(&self, carrier: &Carrier, information: &mut LibraryInformation) -> Result<(), String> {
        let held = self.choice.choose(carrier)?;
        let library = &held.library;
        let mut names = self.members.clone();
        if held.alone && names.is_empty() {
            names = library.members.iter().map(|member| member.name.clone()).collect();
        }
        if names.is_empty() {
            let members = library.members.iter().filter(|member| member.alias_of.is_none());
            let sizes = items::block_sizes(library, members).map_err(|error| error.to_string())?;
            information.block_sizes = Some(sizes);
        }
        let listed = items::list(library);
        for name in &names {
            let found = listed.iter().zip(&library.members).find(|(item, _)| item.name == *name);
            let (item, member) = found.ok_or_else(|| missing(library, name).to_string())?;
            information.members.push(Close::read(item.clone(), library, member, self.choice.codepage)?);
        }
        Ok(())
    }
}

fn holds_text(holds: &[Thing]) -> String {
    let mut text = String::new();
    for thing in holds {
        let number = thing.library.map(|number| format!("{number}. ")).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "{:indent$}{number}{}: {}", "", thing.name, thing.is, indent = 2 * thing.depth);
    }
    text.push('\n');
    text
}

fn member_text(member: &Close) -> String {
    let mut text = item_text(&member.item);
    member.text(&mut text);
    text
}

fn label_text(name: &str, label: &Label) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{name}: {}, RECFM={}{}, block size {}",
        label.organisation.text(),
        label.record_format,
        if label.record_length > 0 { format!(", LRECL {}", label.record_length) } else { String::new() },
        label.block_size
    );
    let _ = writeln!(text, "  members          {}, aliases {}", label.members, label.aliases);
    let (used, depth) = (label.directory_blocks, label.directory_depth);
    let _ = match (label.organisation, label.directory_allocated, depth) {
        (_, Some(allocated), _) => {
            writeln!(
                text,
                "  directory        {used} of {}, {}, searched in sequence",
                many(allocated, "block"),
                many(depth, "track")
            )
        }
        (Organisation::Pdse, _, 1..) => {
            writeln!(text, "  directory        {}, {}", many(used, "page"), many(depth, "level"))
        }
        _ => writeln!(text, "  directory        {} in use", many(used, "block")),
    };
    match label.organisation {
        Organisation::Pds => {
            let extents = match label.extents {
                Some(extents) => format!(" in use, {}", many(extents, "extent")),
                None => String::new(),
            };
            let _ = writeln!(text, "  tracks           {}{extents}", label.tracks);
        }
        Organisation::Pdse => {
            let free = label.free_pages.map(|free| format!(", of which {free} are free")).unwrap_or_default();
            let limit = label.space_pages.map(|limit| format!(", at most {limit}")).unwrap_or_default();
            let _ = writeln!(text, "  pages            {}{free}{limit}", label.pages.unwrap_or(0));
        }
    }
    let _ = writeln!(text, "  file             {} bytes", label.file_bytes);
    if let Some(generation) = label.generation {
        let _ = writeln!(text, "  generation       {generation}");
    }
    for (what, at) in [("created", label.created), ("changed", label.modified)] {
        if let Some(at) = at {
            let _ = writeln!(text, "  {what}          {}", time(at));
        }
    }
    text
}

fn item_text(item: &Item) -> String {
    let mut text = item.name.clone();
    if let Some(of) = &item.alias_of {
        let _ = write!(text, ": alias of {of}");
    }
    let storage = if item.storage > 0 { format!(", {} in storage", item.storage) } else { String::new() };
    let _ = writeln!(text, "\n  size             {} bytes{storage}", item.size);
    let _ = writeln!(
        text,
        "  place            TTR {}, {}, {}",
        item.ttr,
        many(item.blocks.unwrap_or(0), "block"),
        many(item.tracks.unwrap_or(0), "track")
    );
    if item.mainframe.is_none() || !item.attributes.is_empty() {
        let _ = writeln!(text, "  attributes       {}", item.attributes.join(" "));
    }
    let entry = entry(item);
    if !entry.is_empty() {
        let _ = writeln!(text, "  entry point      {entry}");
    }
    if let Some(classes) = item.classes {
        let of_program =
            u64::from(classes.initial) + u64::from(classes.deferred) + u64::from(classes.no_load);
        // In the file it takes more: the table of the places of its pages.
        let of_table = item.blocks.unwrap_or(0).saturating_sub(of_program);
        let table = if of_table > 0 { format!(", and {of_table} of their table") } else { String::new() };
        let _ = writeln!(
            text,
            "  pages            {} at LOAD, {} on reference, {} never{table}: {}",
            classes.initial,
            classes.deferred,
            classes.no_load,
            item.fetch.unwrap_or_default()
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
    /// Reads and checks the whole library.
    pub fn run(self) -> ExitCode {
        let path = self.library.shown();
        if is_theirs(&self.library) {
            let text = "this is a mainframe's library, and verify is for underbar's; lib info names its faults, lib ls lists it";
            return self.printing.fail(about(&self.library, text));
        }
        let library = match Library::open(&self.library) {
            Ok(library) => library,
            Err(error) => return self.printing.fail(about(&self.library, error)),
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
        "{name}: {}, {}, {} bytes read, {}",
        many(verdict.members, "member"),
        many(verdict.aliases, "alias"),
        verdict.bytes,
        match verdict.problems.len() {
            0 => "all sound".to_owned(),
            problems => many(problems as u64, "problem"),
        }
    );
    text
}
