//! `lib extract`: members written into files.
//!
//! Invariant: every file is in the folder that was named, is whole, is new unless `--force` was given, and is never written
//! through a link. A member that is damaged, or whose file exists, is named and skipped; the members after it are not.

use std::fs;
use std::path::PathBuf;
use underbar_shown::Shown;

use clap::Args;
use serde::Serialize;
use underbar_mainframe::library::{Library as Theirs, Member};
use underbar_mainframe::view::choose::Carrier;
use underbar_mainframe::view::extract::{Damaged, damaged, file_name, is_file_name, members};
use underbar_store::Error;
use underbar_store::library::Library;

use super::any_library::{Any, Choice, our_name};
use super::list::json;
use super::output::{Output, Refused, Way};
use super::progress::Progress;
use super::text::{about, many};
use crate::exit::ExitCode;
use crate::printing::{NO_ANSWER, Printing};
use crate::say::{Kind, say};

/// The flags of `lib extract`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib extract programs.pdse
  underbar lib extract --to out --suffix .so programs.pdse SORT MERGE
  underbar lib extract --to out backup.xmi
  underbar lib extract --blocks --to out --dsn SYS1.LINKLIB disk.cckd IEFBR14

Each member is written to a file of its name. An existing file is named and left alone, unless --force is given. The library
itself is never replaced. An alias gives its member's bytes, under the alias's name. Characters that a file's name cannot have
become %XX: the member A/B becomes A%2FB. A member that is damaged is named and skipped. Bytes of mainframes are not
translated.

Exit status: 0 written, 2 wrong usage, a member that is damaged, or a file that was left alone or could not be written.")]
pub struct Extract {
    #[command(flatten)]
    printing: Printing,

    /// The library, or a file that holds one
    library: PathBuf,

    #[command(flatten)]
    choice: Choice,

    /// Members or aliases [default: all members]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// The folder, which is created if it does not exist
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,

    /// Append TEXT to the names of the files
    #[arg(long, value_name = "TEXT", default_value = "")]
    suffix: String,

    /// For a mainframe's library: write each block to a separate file, NAME.00001 and so on
    #[arg(long)]
    blocks: bool,

    /// Replace existing files
    #[arg(long)]
    force: bool,
}

/// `lib extract --json`.
#[derive(Serialize)]
struct Extracted {
    library: String,
    files: Vec<String>,
    bytes: u64,
    /// Members whose names a file cannot have, with the names of their files.
    renamed: Vec<Renamed>,
    /// Members that are damaged; they have no file.
    damaged: Vec<Damaged>,
    /// Files that could not be written or were left alone, and why; each text names its file.
    left: Vec<String>,
    /// Members that were not tried, because writing any file failed.
    untried: u64,
    faults: Vec<String>,
}

/// A member whose file has another name.
#[derive(Serialize)]
struct Renamed {
    member: String,
    file: String,
}

impl Extract {
    /// Writes the files.
    pub fn run(self) -> ExitCode {
        let path = self.library.shown();
        match self.extract() {
            Err(error) => self.printing.fail(about(&self.library, error)),
            Ok(extracted) => {
                let text = if self.printing.json {
                    json(&extracted)
                } else {
                    format!(
                        "{path}: {}, {} bytes\n",
                        many(extracted.files.len() as u64, "file"),
                        extracted.bytes
                    )
                };
                let renamed = |one: &Renamed| {
                    about(
                        &self.library,
                        format_args!("member {:?} becomes the file {}", one.member, one.file),
                    )
                };
                self.say(Kind::Warning, extracted.renamed.iter().map(renamed));
                self.say(Kind::Error, extracted.damaged.iter().map(|damaged| about(&self.library, damaged)));
                self.say(Kind::Error, extracted.left.iter().cloned());
                if extracted.untried > 0 {
                    let text = format_args!("members that were not tried: {}", extracted.untried);
                    say(self.printing.color, Kind::Error, about(&self.library, text));
                }
                let is_whole = extracted.damaged.is_empty() && extracted.left.is_empty();
                self.printing.print(&text, None, if is_whole { 0 } else { NO_ANSWER })
            }
        }
    }

    /// Prints what went wrong: the first faults one by one, then the number of the others.
    fn say(&self, kind: Kind, wrong: impl ExactSizeIterator<Item = String>) {
        const SAID_MOST: usize = 20;
        let count = wrong.len();
        wrong.take(SAID_MOST).for_each(|one| say(self.printing.color, kind, one));
        if let Some(more @ 1..) = count.checked_sub(SAID_MOST) {
            say(self.printing.color, kind, format_args!("and {more} more; --json names all"));
        }
    }

    fn extract(&self) -> Result<Extracted, String> {
        if !self.suffix.is_empty() && !is_file_name(&format!("x{}", self.suffix)) {
            return Err(format!("{:?} cannot be the end of a file's name", self.suffix));
        }
        let library = self.choice.open(&self.library)?;
        library.warn(self.printing.color);
        let mut extracted = Extracted {
            library: self.library.to_string_lossy().into_owned(),
            files: Vec::new(),
            bytes: 0,
            renamed: Vec::new(),
            damaged: Vec::new(),
            left: Vec::new(),
            untried: 0,
            faults: library.faults(),
        };
        match &library {
            Any::Ours(library) if !self.blocks => self.ours(library, &mut extracted)?,
            Any::Ours(_) => return Err("--blocks is for libraries of mainframes".to_owned()),
            Any::Theirs(carrier) => self.theirs(carrier, &mut extracted)?,
        }
        Ok(extracted)
    }

    fn ours(&self, library: &Library, extracted: &mut Extracted) -> Result<(), String> {
        let text = |error: Error| error.to_string();
        let names = if self.names.is_empty() {
            let names = library.names().map_err(text)?;
            names.into_iter().filter(|(_, of)| of.is_none()).map(|(name, _)| name).collect()
        } else {
            self.names.iter().map(|name| our_name(name)).collect::<Result<Vec<_>, _>>()?
        };
        let way = self.way()?;
        let (mut progress, count) = (Progress::new("members", Some(names.len() as u64)), names.len() as u64);
        for (done, name) in (1..).zip(&names) {
            match library.member(name) {
                Ok(member) => {
                    // No name has a slash or is a directory's, for any bytes of the library.
                    let written = way.begin(self.path(name.as_str())).and_then(|file| {
                        file.write(&member.bytes)?;
                        file.finish()
                    });
                    if !extracted.take(written, member.bytes.len() as u64) {
                        extracted.untried = count - done;
                        break;
                    }
                }
                // The other members may be sound.
                Err(error) => extracted.damaged.push(damage(error).map_err(text)?),
            }
            progress.done(done);
        }
        Ok(())
    }

    fn theirs(&self, carrier: &Carrier, extracted: &mut Extracted) -> Result<(), String> {
        let library = &self.choice.choose(carrier)?.library;
        let members = members(library, &self.names).map_err(|refused| refused.to_string())?;
        extracted.damaged = damaged(library, &self.names);
        let way = self.way()?;
        let (mut progress, count) =
            (Progress::new("members", Some(members.len() as u64)), members.len() as u64);
        for (done, member) in (1..).zip(members) {
            let file = file_name(&member.name);
            if file != member.name {
                extracted.renamed.push(Renamed { member: member.name.clone(), file: file.into_owned() });
            }
            if member.damage.is_none() && !self.member(&way, library, member, extracted)? {
                extracted.untried = count - done;
                break;
            }
            progress.done(done);
        }
        Ok(())
    }

    /// Writes a mainframe's member; false if no file can be written.
    fn member(
        &self,
        way: &Way,
        library: &Theirs,
        member: &Member,
        extracted: &mut Extracted,
    ) -> Result<bool, String> {
        let unread = |error| format!("member {}: {error}", member.name);
        if self.blocks {
            for (number, block) in (1..).zip(library.read_member(member)) {
                let block = block.map_err(unread)?;
                let written = way
                    .begin(self.path(&format!("{}.{number:05}", file_name(&member.name))))
                    .and_then(|file| {
                        file.write(&block)?;
                        file.finish()
                    });
                if !extracted.take(written, block.len() as u64) {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        let (mut file, mut bytes) = (way.begin(self.path(&file_name(&member.name))), 0);
        for block in library.read_member(member) {
            let block = block.map_err(unread)?;
            bytes += block.len() as u64;
            file = file.and_then(|file| file.write(&block).map(|()| file));
            if file.is_err() {
                break;
            }
        }
        Ok(extracted.take(file.and_then(Output::finish), bytes))
    }

    /// The way in which files are written; makes the folder.
    fn way(&self) -> Result<Way, String> {
        fs::create_dir_all(&self.to).map_err(|error| format!("{}: {error}", self.to.shown()))?;
        Ok(Way::new(self.force, &self.library))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.to.join(format!("{name}{}", self.suffix))
    }
}

impl Extracted {
    /// Notes a file of this many bytes, or why there is none. False if no other file could be written, either.
    fn take(&mut self, written: Result<PathBuf, Refused>, bytes: u64) -> bool {
        match written {
            Ok(path) => {
                self.files.push(path.to_string_lossy().into_owned());
                self.bytes += bytes;
                true
            }
            Err(refused) => {
                let goes_on = matches!(refused, Refused::This(_));
                self.left.push(refused.text());
                goes_on
            }
        }
    }
}

/// The damaged member of a library of underbar; other errors are unchanged.
fn damage(error: Error) -> Result<Damaged, Error> {
    match error {
        Error::Member { name, fault } => Ok(Damaged { name: Some(name), what: fault.to_string() }),
        Error::MemberSum(name) => {
            Ok(Damaged { name: Some(name), what: "it is not what was put in: its sum differs".to_owned() })
        }
        error => Err(error),
    }
}
