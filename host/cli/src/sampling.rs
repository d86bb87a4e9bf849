//! The sampler of a run of `profile`: the kernel, or timers in the program's threads if the kernel refuses.
//!
//! ```text
//! --sampler auto ─> perf ─refused─> timer       perf, timer: that one or nothing
//!                                     │ the program cannot carry the library, or there is no place for it: nothing
//! ```
//!
//! Invariant: the profile's notes name the sampler and the reason.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use clap::ValueEnum;
use underbar_fetch::image::perf_map::VARIABLE;
use underbar_launch::{Ended, Failure, Launch, LedgerFile, Library, LibraryError, Reason};
use underbar_ledger::table::KEYS;
use underbar_ledger::{LedgerView, samples};
use underbar_profile::missing::notes;
use underbar_profile::sampler::Refused;
use underbar_profile::timer::period_ns;
use underbar_profile::{By, Maps, Sampler, Tally, Timers};

use crate::embedded;

/// The sampler that the user chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// The kernel, or timers if it refuses (the default)
    Auto,
    /// The kernel (perf events), by its clock of CPU time
    Perf,
    /// A timer of CPU time and a signal in each thread; needs no rights, but underbar's library in the program
    Timer,
}

/// Why nothing samples: then the program is not run.
#[derive(Debug)]
pub enum Neither {
    /// The user chose the kernel, and it refuses.
    Kernel(Refused),
    /// Timers are not possible; the kernel was not asked, or refuses, too.
    Timer(Option<Refused>, NoTimers),
}

/// Why timers cannot sample.
#[derive(Debug)]
pub enum NoTimers {
    /// The program cannot carry the library.
    Program(Reason),
    /// There is no place for the library.
    Library(LibraryError),
    /// There is no place for the samples.
    Ledger(io::Error),
}

impl std::fmt::Display for Neither {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Neither::Kernel(refused) => write!(f, "{refused}; --sampler timer needs no rights"),
            Neither::Timer(refused, why) => {
                if let Some(refused) = refused {
                    write!(f, "{refused}; and ")?;
                }
                write!(f, "timers in its threads cannot sample it: ")?;
                match why {
                    NoTimers::Program(reason) => {
                        write!(f, "the program cannot carry underbar's library: {}", reason.texts().1)
                    }
                    NoTimers::Library(error) => {
                        write!(f, "there is no place for underbar's library: {error}")
                    }
                    NoTimers::Ledger(error) => write!(f, "there is no place for the samples: {error}"),
                }
            }
        }
    }
}

/// Samples of one run.
pub struct Sampling {
    taken: Taken,
    names: Names,
}

enum Taken {
    /// By the kernel.
    Kernel(Sampler),
    /// By timers.
    Timers(ByTimers),
}

/// The folder where processes write the names of code that is in no program file, such as members of libraries.
enum Names {
    /// The user's own folder.
    Asked(PathBuf),
    /// A new folder, for this run.
    Made(PathBuf),
    /// No folder could be made, so such code has no names.
    Nowhere,
}

impl Names {
    fn new() -> Names {
        let variable = OsStr::from_bytes(VARIABLE.to_bytes());
        if let Some(folder) = env::var_os(variable) {
            return Names::Asked(folder.into());
        }
        // A new folder, or another name: a user who made the folder first could read and write it.
        let name = |number: u32| format!("underbar-profile-{}-{number}", std::process::id());
        let folders = (0..100).map(|number| env::temp_dir().join(name(number)));
        let made =
            folders.into_iter().find(|folder| fs::DirBuilder::new().mode(0o700).create(folder).is_ok());
        made.map_or(Names::Nowhere, Names::Made)
    }

    fn variable(&self) -> Option<(OsString, OsString)> {
        match self {
            Names::Made(folder) => Some((OsStr::from_bytes(VARIABLE.to_bytes()).into(), folder.into())),
            Names::Asked(_) | Names::Nowhere => None,
        }
    }

    fn read(&self) -> Maps {
        match self {
            Names::Made(folder) | Names::Asked(folder) => Maps::read(folder),
            Names::Nowhere => Maps::default(),
        }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        if let Names::Made(folder) = self {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// The parts that timers need.
pub struct ByTimers {
    timers: Timers,
    library: Library,
    ledger: LedgerFile,
    rate: u32,
    refused: Option<Refused>,
}

/// The samples, their sampler, and notes on them.
pub struct Sampled {
    /// The samples.
    pub tally: Tally,
    /// Names of code that is in no program file.
    pub maps: Maps,
    /// Their sampler.
    pub by: By,
    /// See [`underbar_profile::Facts`].
    pub notes: Vec<String>,
}

impl Sampling {
    /// Begins to sample the program that this process starts next, `rate` times per second of CPU time.
    ///
    /// # Errors
    /// Neither sampler is possible.
    pub fn begin(choice: Choice, rate: u32, program: &OsString) -> Result<Sampling, Neither> {
        let refused = match choice {
            Choice::Timer => None,
            Choice::Auto | Choice::Perf => match Sampler::begin(rate) {
                Ok(sampler) => return Ok(Sampling::of(Taken::Kernel(sampler))),
                Err(refused) if choice == Choice::Perf => return Err(Neither::Kernel(refused)),
                Err(refused) => Some(refused),
            },
        };
        match ready(program) {
            Ok((library, ledger)) => {
                let timers = Timers::new();
                Ok(Sampling::of(Taken::Timers(ByTimers { timers, library, ledger, rate, refused })))
            }
            Err(why) => Err(Neither::Timer(refused, why)),
        }
    }

    fn of(taken: Taken) -> Sampling {
        Sampling { taken, names: Names::new() }
    }

    /// Runs the program to its end, and reads its samples meanwhile.
    ///
    /// # Errors
    /// The program could not be started.
    pub fn run(&mut self, program: &OsString, arguments: &[OsString]) -> Result<Ended, Failure> {
        let mut variables: Vec<(OsString, OsString)> = self.names.variable().into_iter().collect();
        match &mut self.taken {
            Taken::Kernel(sampler) => {
                launch(program, arguments, None, variables).run_watched(&mut || sampler.look())
            }
            Taken::Timers(ByTimers { timers, library, ledger, rate, .. }) => {
                let period = (samples::VARIABLE.into(), period_ns(*rate).to_string().into());
                variables.extend([ledger.variable(), period]);
                // The accounts of locks are not read. Options that the user has set stay.
                if env::var_os("UNDERBAR_OPTS").is_none() {
                    variables.push(("UNDERBAR_OPTS".into(), "LOCK(OFF)".into()));
                }
                launch(program, arguments, Some(library), variables)
                    .run_watched(&mut || timers.look(ledger.sample_areas()))
            }
        }
    }

    /// The program has ended.
    pub fn end(self) -> Sampled {
        let maps = self.names.read();
        match self.taken {
            Taken::Kernel(sampler) => Sampled { tally: sampler.end(), maps, by: By::Perf, notes: Vec::new() },
            Taken::Timers(by) => {
                // The ledger first: a process that starts later is in neither.
                let (carried, unfollowed) = programs(&by.ledger.read().unwrap_or_default());
                let (tally, missing) = by.timers.end(by.ledger.sample_areas(), carried);
                let notes = notes(by.rate, by.refused.as_ref(), &missing, &unfollowed);
                Sampled { tally, maps, by: By::Timer, notes }
            }
        }
    }
}

fn launch<'a>(
    program: &OsString,
    arguments: &[OsString],
    library: Option<&'a Library>,
    variables: Vec<(OsString, OsString)>,
) -> Launch<'a> {
    Launch {
        program: program.clone(),
        arguments: arguments.to_vec(),
        library,
        variables,
        follow: true,
        streams: [None; 3],
    }
}

/// The parts that timers need, if this program can carry the library.
fn ready(program: &OsString) -> Result<(Library, LedgerFile), NoTimers> {
    let library = embedded::library(true).map_err(NoTimers::Library)?;
    if let Some(reason) = launch(program, &[], Some(&library), Vec::new()).not_carried() {
        return Err(NoTimers::Program(reason));
    }
    let ledger = LedgerFile::create(b"").map_err(NoTimers::Ledger)?;
    Ok((library, ledger))
}

/// The number of programs that carried the library; and the number that were started without it, for each reason.
fn programs(ledger: &[u8]) -> (u64, Vec<(u64, &'static str)>) {
    let Ok(view) = LedgerView::new(ledger) else { return (0, Vec::new()) };
    let carried = view.slots().map(|slot| u64::from(slot.processes())).sum();
    let reasons =
        KEYS.into_iter().filter_map(|key| Some((key, key.entry().label.strip_prefix("not followed: ")?)));
    (carried, reasons.map(|(key, why)| (view.slots().map(|slot| slot.get(key)).sum(), why)).collect())
}
