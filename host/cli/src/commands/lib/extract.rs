//! `lib extract`: members written into files.
//!
//! Invariant: every file lies in the folder that was named, is new unless `--force` was given, and never written through a link.
//! A member that is damaged is named, and is no file; those behind it are.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use underbar_library::mainframe::fault::Trouble;
use underbar_library::view::choose::Carrier;
use underbar_library::view::extract::{Damaged, damaged, is_file_name, members};
use underbar_store::Error;
use underbar_store::library::Library;

use super::any::{Any, Choice, our_name};
use super::list::json;
use super::progress::Progress;
use super::text::about;
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

Each member becomes a file of its name; a file that is there is left alone, unless --force is given. An alias gives its
member's bytes, under the alias's name. A member whose name cannot be a file's is refused. A member that is damaged is named
and becomes no file; the others do. Bytes of mainframes are not translated.

Exit status: 0 written, 2 wrong usage, a member that is damaged, or a file that could not be written.")]
pub struct Extract {
    #[command(flatten)]
    printing: Printing,

    /// The library, or a file that holds one
    library: PathBuf,

    #[command(flatten)]
    choice: Choice,

    /// Members or aliases; without one, all members
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// The folder, which is made if it is not there
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,

    /// What files' names end with, behind the member's
    #[arg(long, value_name = "TEXT", default_value = "")]
    suffix: String,

    /// Of a mainframe's library: each block into a file of its own, NAME.00001 and so on
    #[arg(long)]
    blocks: bool,

    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

/// `lib extract --json`.
#[derive(Serialize)]
struct Extracted {
    library: String,
    files: Vec<String>,
    bytes: u64,
    /// What is not whole: no file was written for it.
    damaged: Vec<Damaged>,
    faults: Vec<Trouble>,
}

impl Extract {
    /// Writes the files.
    pub fn run(self) -> ExitCode {
        let path = self.library.display();
        match self.extract() {
            Err(error) => self.printing.fail(about(&self.library, error)),
            Ok(extracted) => {
                let text = if self.printing.json {
                    json(&extracted)
                } else {
                    format!("{path}: {} files, {} bytes\n", extracted.files.len(), extracted.bytes)
                };
                const SAID_MOST: usize = 20;
                for damaged in extracted.damaged.iter().take(SAID_MOST) {
                    say(self.printing.color, Kind::Error, about(&self.library, damaged));
                }
                if let Some(more @ 1..) = extracted.damaged.len().checked_sub(SAID_MOST) {
                    say(self.printing.color, Kind::Error, format_args!("and {more} more; --json names all"));
                }
                self.printing.print(&text, None, if extracted.damaged.is_empty() { 0 } else { NO_ANSWER })
            }
        }
    }

    fn extract(&self) -> Result<Extracted, String> {
        if !self.suffix.is_empty() && !is_file_name(&format!("x{}", self.suffix)) {
            return Err(format!("{:?} cannot be the end of a file's name", self.suffix));
        }
        let library = self.choice.open(&self.library)?;
        library.warn(self.printing.color);
        let mut extracted = Extracted {
            library: self.library.display().to_string(),
            files: Vec::new(),
            bytes: 0,
            damaged: Vec::new(),
            faults: library.troubles().to_vec(),
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
        self.folder()?;
        let mut progress = Progress::new("members", Some(names.len() as u64));
        for (done, name) in (1..).zip(&names) {
            match library.member(name) {
                Ok(member) => {
                    // No name has a slash or is a directory's, whatever the library's bytes are.
                    let (path, mut file) = self.create(name.as_str())?;
                    write(&mut file, &path, &member.bytes, extracted)?;
                    extracted.files.push(path.display().to_string());
                }
                // The others may be sound.
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
        self.folder()?;
        let mut progress = Progress::new("members", Some(members.len() as u64));
        for (done, member) in (1..).zip(members) {
            if member.damage.is_some() {
                continue;
            }
            let mut whole = if self.blocks { None } else { Some(self.create(&member.name)?) };
            for (number, block) in (1..).zip(library.read_member(member)) {
                let block = block.map_err(|error| format!("member {}: {error}", member.name))?;
                if let Some((path, file)) = &mut whole {
                    write(file, path, &block, extracted)?;
                } else {
                    let (path, mut file) = self.create(&format!("{}.{number:05}", member.name))?;
                    write(&mut file, &path, &block, extracted)?;
                    extracted.files.push(path.display().to_string());
                }
            }
            extracted.files.extend(whole.map(|(path, _)| path.display().to_string()));
            progress.done(done);
        }
        Ok(())
    }

    fn folder(&self) -> Result<(), String> {
        fs::create_dir_all(&self.to).map_err(|error| Error::system(&self.to, error).to_string())
    }

    /// A new file in the folder, never through a link that somebody put there.
    fn create(&self, name: &str) -> Result<(PathBuf, File), String> {
        let path = self.to.join(format!("{name}{}", self.suffix));
        let open = || {
            if self.force && path.symlink_metadata().is_ok_and(|there| !there.is_dir()) {
                fs::remove_file(&path)?;
            }
            OpenOptions::new().write(true).create_new(true).open(&path)
        };
        let file = open().map_err(|error| Error::system(&path, error).to_string())?;
        Ok((path, file))
    }
}

/// Which member of ours is damaged; any other error as it is.
fn damage(error: Error) -> Result<Damaged, Error> {
    match error {
        Error::Member { name, fault } => Ok(Damaged { name: Some(name), what: fault.to_string() }),
        Error::MemberSum(name) => {
            Ok(Damaged { name: Some(name), what: "it is not what was put in: its sum differs".to_owned() })
        }
        error => Err(error),
    }
}

fn write(file: &mut File, path: &Path, bytes: &[u8], extracted: &mut Extracted) -> Result<(), String> {
    file.write_all(bytes).map_err(|error| Error::system(path, error).to_string())?;
    extracted.bytes += bytes.len() as u64;
    Ok(())
}
