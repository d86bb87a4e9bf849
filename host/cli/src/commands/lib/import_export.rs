//! `lib import`, `lib export`: members of a mainframe's library into one of underbar's, and libraries as transmissions.
//!
//! Invariant: an import changes the library whole or not at all; an export that fails leaves no file.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use underbar_mainframe::view::extract::{Damaged, NotWhole, whole};
use underbar_mainframe::view::{export, import};
use underbar_mainframe::xmit::{self, Envelope};
use underbar_store::change::{Changed, Edit, apply};
use underbar_store::{Error, Result};

use super::any_library::{Any, Choice};
use super::change::say;
use super::list::json;
use super::now;
use super::output::{self, Way};
use super::progress::Progress;
use super::text::{about, time};
use crate::exit::ExitCode;
use crate::printing::{NO_ANSWER, Printing};
use crate::say::{Kind, say as say_message};
use underbar_shown::door;

/// The flags of `lib import`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib create mine.pdse
  underbar lib import backup.xmi mine.pdse
  underbar lib import --replace --dsn SYS1.LINKLIB disk.cckd mine.pdse IEFBR14

Each member is imported as data: the joined bytes of its blocks, with its aliases. A shared object of this machine, as sent by
export, becomes a program again. An alias that is named without its member becomes a member with the same data; a warning says
so. Either all members are imported, or none.

Exit status: 0 imported, 2 wrong usage, a member that is damaged or cannot be there, or a library that cannot be changed.")]
pub struct Import {
    #[command(flatten)]
    printing: Printing,

    /// A file that holds a mainframe's library
    file: PathBuf,

    /// The library of underbar to import into
    library: PathBuf,

    #[command(flatten)]
    choice: Choice,

    /// Members or aliases [default: all]
    #[arg(value_name = "MEMBER")]
    members: Vec<String>,

    /// Replace members of the same names
    #[arg(long)]
    replace: bool,

    /// Wait while another process changes the library
    #[arg(long)]
    wait: bool,
}

impl Import {
    /// Imports.
    pub fn run(self) -> ExitCode {
        match self.import() {
            Ok(changed) => say(&self.printing, &self.library, changed, "imported {n}"),
            Err(refused) => refused.say(&self.printing, &self.file),
        }
    }

    /// Reads the file, then changes the library.
    fn import(&self) -> std::result::Result<Result<Changed>, Refused> {
        let any = self.choice.open(&self.file)?;
        any.warn(self.printing.color);
        let Any::Theirs(carrier) = &any else {
            return Err("this is a library of underbar; use `lib copy`".to_owned().into());
        };
        let library = &self.choice.choose(carrier)?.library;
        let refused = |fault: import::Fault| match fault {
            import::Fault::NotWhole(what) => Refused::not_whole(&any, what),
            fault => fault.to_string().into(),
        };
        let additions = import::additions(library, &self.members, self.replace, now()).map_err(refused)?;
        for (alias, of) in import::aliases_alone(library, &self.members) {
            let text = format_args!(
                "{alias} is an alias of {of}, which was not named: it becomes a member, with the data of {of}"
            );
            say_message(self.printing.color, Kind::Warning, about(&self.file, text));
        }
        let expected = additions.len();
        let mut progress = Progress::new("members", Some(expected as u64));
        let mut wrong = None;
        let edits = (1..).zip(additions).map(|(done, addition)| {
            progress.done(done);
            match addition {
                Ok(addition) => Ok(Edit::Add(Box::new(addition))),
                Err(import::Fault::Store(error)) => Err(error),
                Err(fault) => {
                    // This error only tells the store to end the change.
                    wrong = Some(fault.to_string());
                    Err(Error::system(&self.file, std::io::ErrorKind::InvalidData.into()))
                }
            }
        });
        let changed = apply(&self.library, edits, expected, now(), self.wait);
        wrong.map_or(Ok(changed), |wrong| Err(wrong.into()))
    }
}

/// Why nothing was imported or exported.
#[derive(Serialize)]
struct Refused {
    #[serde(skip)]
    message: String,
    /// Does the message begin with its file? That may be another file than the library.
    #[serde(skip)]
    names_file: bool,
    library: String,
    damaged: Vec<Damaged>,
    faults: Vec<String>,
}

impl From<String> for Refused {
    fn from(message: String) -> Refused {
        Refused {
            message,
            names_file: false,
            library: String::new(),
            damaged: Vec::new(),
            faults: Vec::new(),
        }
    }
}

impl Refused {
    /// An error about the file that is written.
    fn of_output(refused: output::Refused) -> Refused {
        Refused { names_file: true, ..refused.text().into() }
    }

    fn not_whole(any: &Any, what: NotWhole) -> Refused {
        Refused { faults: any.faults(), damaged: what.0.clone(), ..what.to_string().into() }
    }

    /// Prints the message. With JSON, it also prints everything that is damaged.
    fn say(self, printing: &Printing, path: &Path) -> ExitCode {
        let code = match self.names_file {
            true => printing.fail(&self.message),
            false => printing.fail(about(path, &self.message)),
        };
        if printing.json && !self.damaged.is_empty() {
            let said = Refused { library: path.to_string_lossy().into_owned(), ..self };
            return printing.print(&json(&said), None, NO_ANSWER);
        }
        code
    }
}

/// The flags of `lib export`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  underbar lib export -o programs.xmi programs.pdse
  underbar lib export -o linklib.xmi --dsn SYS1.LINKLIB disk.cckd
  underbar lib export -o mine.xmi --name MY.LOAD --from NODE1.ANNA --to NODE2.BERT programs.pds

TSO RECEIVE and other tools for such files accept the transmission. A mainframe's library is sent as it is. The members of a
library of underbar are cut into blocks of its block size, RECFM=U, under names in capitals. A mainframe's PDSE cannot be sent,
since its pages are not blocks.

Exit status: 0 written, 2 wrong usage, a library that cannot be read or sent, or a file that could not be written.")]
pub struct Export {
    #[command(flatten)]
    printing: Printing,

    /// The library, or a file that holds one
    library: PathBuf,

    #[command(flatten)]
    choice: Choice,

    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// The data set's name in the transmission [default: the library's name, or UNDERBAR.LOAD]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The sender
    #[arg(long, value_name = "NODE.USER", default_value = "LINUX.UNDERBAR", value_parser = node_and_user)]
    from: (String, String),

    /// The receiver
    #[arg(long, value_name = "NODE.USER", default_value = "LINUX.UNDERBAR", value_parser = node_and_user)]
    to: (String, String),

    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

/// NODE.USER.
fn node_and_user(text: &str) -> std::result::Result<(String, String), String> {
    let (node, user) = text.split_once('.').ok_or("this must be NODE.USER")?;
    Ok((node.to_owned(), user.to_owned()))
}

/// `lib export --json`.
#[derive(Serialize)]
struct Exported {
    library: String,
    file: String,
    data_set: String,
    bytes: u64,
    faults: Vec<String>,
}

impl Export {
    /// Exports.
    pub fn run(self) -> ExitCode {
        match self.export() {
            Err(refused) => refused.say(&self.printing, &self.library),
            Ok(exported) => {
                let text = if self.printing.json {
                    json(&exported)
                } else {
                    format!(
                        "{}: {} as {}, {} bytes\n",
                        exported.library, exported.file, exported.data_set, exported.bytes
                    )
                };
                self.printing.print(&text, None, 0)
            }
        }
    }

    fn export(&self) -> std::result::Result<Exported, Refused> {
        // `-` would be standard output, which has the answer.
        if door::is_output(&self.output) {
            return Err("a transmission must go to a file: -o FILE (./- for a file of that name)"
                .to_owned()
                .into());
        }
        let library = self.choice.open(&self.library)?;
        library.warn(self.printing.color);
        let held = match &library {
            Any::Ours(_) => None,
            Any::Theirs(carrier) => Some(self.choice.choose(carrier)?),
        };
        // Checked before the new file replaces another.
        if let Some(held) = held {
            whole(&held.library, &[]).map_err(|what| Refused::not_whole(&library, what))?;
        }
        let own = held.and_then(|held| held.library.label.name.clone());
        let envelope = Envelope {
            from: self.from.clone(),
            to: self.to.clone(),
            time: time(now()).chars().filter(char::is_ascii_digit).chain("00".chars()).collect(),
            data_set: self.name.clone().or(own).unwrap_or_else(|| "UNDERBAR.LOAD".to_owned()),
            page: self.choice.codepage,
        };
        let system = |error| Refused::of_output(output::Refused::system(&self.output, &error));
        let way = Way::new(self.force, &self.library);
        let file = way.begin(self.output.clone()).map_err(Refused::of_output)?;
        let mut to = file.writer();
        let written = match (&library, held) {
            (Any::Ours(library), _) => export::ours(&mut to, &envelope, library),
            (_, Some(held)) => export::theirs(&mut to, &envelope, &held.library),
            (Any::Theirs(_), None) => Ok(()),
        };
        let written = written.map_err(|fault| match fault {
            export::Fault::Transmission(xmit::Fault::Write(error)) => system(error),
            fault => fault.to_string().into(),
        });
        let written = written.and_then(|()| to.flush().map_err(system));
        drop(to);
        written?;
        file.sync().and_then(|()| file.finish()).map_err(Refused::of_output)?;
        Ok(Exported {
            library: self.library.to_string_lossy().into_owned(),
            file: self.output.to_string_lossy().into_owned(),
            data_set: envelope.data_set,
            bytes: fs::metadata(&self.output).map_err(system)?.len(),
            faults: library.faults(),
        })
    }
}
