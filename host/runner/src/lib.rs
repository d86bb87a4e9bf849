//! One run of a program with its accounts: what `run`, `tune`, `compare` and `demo` have in common.
//!
//! ```text
//! Runner (library, options) ── run(program) ─> ledger made ─> program run ─> ledger read ─> Finished
//!   layers      the options, from all their sources
//!   groups      limits of the control groups of this process
//!   cached_files  the supervisor of caches of files
//!   looks       figures over time, taken from outside
//!   naming      names of places in lock reports       allocators  those that programs bring along
//! ```
//!
//! Invariant: the result names what went wrong with the accounts. It never keeps the program from running.
//! Not here: what is printed; how a program is started and waited for (`launch`).
#![forbid(unsafe_code)]

pub mod allocators;
mod cached_files;
mod groups;
pub mod layers;
pub mod looks;
pub mod naming;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use underbar_launch::file_keeper::Kept;
use underbar_launch::ledger::not_readable;
use underbar_launch::{
    Alive, CpuWatch, Ended, Expired, Failure, How, Launch, LedgerFile, Library, counter_of,
};
use underbar_ledger::LedgerView;
use underbar_report::gather::Facts;
use underbar_report::lock::Area;
use underbar_report::model::{End, Host, Later, Options, Report, Run};
use underbar_report::steps::Steps;
use underbar_sys::entries::Entries;
use underbar_sys::machine::{Resource, limit};
use underbar_sys::syscall::processors;
use underbar_sys::zone::utc_offset_seconds;

use cached_files::CachedFiles;
use groups::Groups;
use layers::Layers;
use naming::Names;

/// How programs are run.
pub struct Runner<'a> {
    /// The library to load; None runs plain, without accounts.
    pub library: Option<&'a Library>,
    /// The options in force.
    pub layers: &'a Layers,
    /// Are the programs that it starts also followed?
    pub follow: bool,
    /// Are the accounts of processes that are still running kept for later?
    pub leaves: bool,
    /// Files in place of its standard input, output and error.
    pub streams: [Option<&'a File>; 3],
}

/// A run that has ended.
pub struct Finished {
    /// How the program ended, and the resources that it used.
    pub ended: Ended,
    /// The report; its processes are empty if there was no ledger.
    pub report: Report,
    /// Why accounts are missing that were wanted.
    pub no_accounts: Option<String>,
    /// What caches of files had left, written by this process.
    pub kept: Kept,
}

impl Runner<'_> {
    /// Runs a program to its end.
    ///
    /// # Errors
    /// The program could not be started.
    pub fn run(&self, program: &OsStr, arguments: &[OsString]) -> Result<Finished, Failure> {
        self.run_by(program, arguments, |launch, ledger| self.attend(launch, ledger, |_| ()))
    }

    /// As [`Runner::run`], but `by` starts the program and waits for its end. `by` also gets the ledger.
    ///
    /// # Errors
    /// Those of `by`.
    pub fn run_by<E>(
        &self,
        program: &OsStr,
        arguments: &[OsString],
        by: impl FnOnce(&Launch<'_>, Option<&LedgerFile>) -> Result<Ended, E>,
    ) -> Result<Finished, E> {
        let mut no_accounts = None;
        let mut ledger = self.ledger(&mut no_accounts);
        let started_unix_ns = now();
        let files =
            CachedFiles::begin(self.layers, program, ledger.as_ref().filter(|_| self.library.is_some()));
        let (ended, kept, entries) = self.with_files(program, arguments, ledger.as_ref(), files, by)?;
        let mut steps = steps(&ended);
        steps.kernel_entries = entries;
        if self.library.is_some() && ledger.is_none() && ended.not_carried.is_none() {
            // Among them are reads of the library, which no account tells from the program's.
            (steps.read_calls, steps.read_bytes) = (None, None);
        }
        let (mut bytes, mut areas) = (Vec::new(), Vec::new());
        if let Some(ledger) = &ledger {
            areas = lock_areas(ledger.areas());
            match ledger.read() {
                Ok(read) => bytes = read,
                Err(error) => no_accounts = Some(not_readable(&error)),
            }
        }
        let facts = Facts {
            host: host(started_unix_ns),
            run: Run {
                program: program.to_string_lossy().into_owned(),
                arguments: arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect(),
                process: u32::try_from(ended.pid).unwrap_or_default(),
                started_unix_ns,
                end: Some(match ended.how {
                    How::Exited(code) => End::Exit(code),
                    How::Killed(signal) => End::Signal(signal),
                }),
                later: ledger.as_mut().filter(|_| self.leaves).and_then(|ledger| later(ledger, &bytes)),
            },
            steps: Some(steps),
            options: if self.library.is_some() {
                self.layers.for_report(program)
            } else {
                Options::default()
            },
            not_followed: ended.not_carried.map(counter_of).into_iter().collect(),
            areas,
        };
        let mut report = match LedgerView::new(&bytes) {
            Ok(view) => {
                let alive = Alive::default();
                Report::from_ledger(&view, facts, |slot| alive.has(slot))
            }
            Err(error) => {
                if ledger.is_some() && no_accounts.is_none() {
                    no_accounts = Some(error.to_string());
                }
                Report::without_ledger(facts)
            }
        };
        report.name_locks(&mut Names::default());
        allocators::name(&mut report);
        Ok(Finished { ended, report, no_accounts, kept })
    }

    /// Starts the program and waits for its end, for [`Runner::run_by`]. Meanwhile it watches over the CPU time of program starts, if an
    /// option may limit it (MT), and tells of those that used it up.
    ///
    /// # Errors
    /// The program could not be started.
    pub fn attend(
        &self,
        launch: &Launch<'_>,
        ledger: Option<&LedgerFile>,
        mut tell: impl FnMut(&Expired),
    ) -> Result<Ended, Failure> {
        match self.cpu_watch(ledger) {
            None => launch.run(),
            Some(mut watch) => launch.run_watched(&mut || watch.look().iter().for_each(&mut tell)),
        }
    }

    /// As [`Runner::attend`], with a function that returns when it wants to be called again at the latest. Signals and the end of children
    /// call it earlier, too.
    ///
    /// # Errors
    /// The program could not be started.
    pub fn attend_looking(
        &self,
        launch: &Launch<'_>,
        ledger: Option<&LedgerFile>,
        mut tell: impl FnMut(&Expired),
        look: &mut dyn FnMut() -> Duration,
    ) -> Result<Ended, Failure> {
        let mut watch = self.cpu_watch(ledger);
        launch.run_looking(&mut || {
            if let Some(watch) = &mut watch {
                watch.look().iter().for_each(&mut tell);
            }
            look()
        })
    }

    fn cpu_watch<'a>(&self, ledger: Option<&'a LedgerFile>) -> Option<CpuWatch<'a>> {
        let may_limit = self.layers.text().to_ascii_uppercase().contains("MT");
        CpuWatch::of(ledger.filter(|_| may_limit)?).ok()
    }

    /// As [`Runner::run_by`], but makes no report of the accounts. The second value says why accounts are missing that were
    /// wanted, the third one what caches of files had left.
    ///
    /// # Errors
    /// Those of `by`.
    pub fn run_unread<E>(
        &self,
        program: &OsStr,
        arguments: &[OsString],
        by: impl FnOnce(&Launch<'_>, Option<&LedgerFile>) -> Result<Ended, E>,
    ) -> Result<(Ended, Option<String>, Kept), E> {
        let mut no_accounts = None;
        let ledger = self.ledger(&mut no_accounts);
        let files =
            CachedFiles::begin(self.layers, program, ledger.as_ref().filter(|_| self.library.is_some()));
        let (ended, kept, _) = self.with_files(program, arguments, ledger.as_ref(), files, by)?;
        if let Some(ledger) = &ledger
            && let Err(error) = ledger.check()
        {
            no_accounts = Some(error);
        }
        Ok((ended, no_accounts, kept))
    }

    /// Runs the program with the files that the options ask for. The last value is how often it entered the kernel, if that was asked for
    /// and is allowed.
    fn with_files<E>(
        &self,
        program: &OsStr,
        arguments: &[OsString],
        ledger: Option<&LedgerFile>,
        files: CachedFiles,
        by: impl FnOnce(&Launch<'_>, Option<&LedgerFile>) -> Result<Ended, E>,
    ) -> Result<(Ended, Kept, Option<u64>), E> {
        let mut launch = self.launch(program, arguments, ledger);
        if let Some(Ok(printer)) = &files.main_printer {
            launch.streams[1] = Some(printer);
        }
        let entries = kernel_entries(self.layers, program);
        let ended = by(&launch, ledger)?;
        let entries = entries.and_then(|entries| entries.so_far());
        let refused = files.main_printer.as_ref().and_then(|printer| printer.as_ref().err().cloned());
        let mut kept = files.finish();
        kept.refused = refused;
        Ok((ended, kept, entries))
    }

    /// The ledger of a run with a library. If it cannot be made, `no_accounts` says why.
    fn ledger(&self, no_accounts: &mut Option<String>) -> Option<LedgerFile> {
        self.library?;
        LedgerFile::create(self.layers.text().as_bytes())
            .map_err(|error| *no_accounts = Some(format!("no place for the ledger: {error}")))
            .ok()
    }

    /// The program, ready to be started with this ledger.
    pub fn launch(&self, program: &OsStr, arguments: &[OsString], ledger: Option<&LedgerFile>) -> Launch<'_> {
        let mut variables: Vec<(OsString, OsString)> = ledger.map(LedgerFile::variable).into_iter().collect();
        let text = self.layers.text();
        if !text.is_empty() {
            variables.push(("UNDERBAR_OPTS".into(), text.into()));
        }
        if let Some(base) = self.layers.base() {
            variables.push(("UNDERBAR_BASE".into(), base.into()));
        }
        // Only the library reads these variables.
        if self.library.is_none() {
            variables.clear();
        }
        Launch {
            program: program.to_owned(),
            arguments: arguments.to_vec(),
            library: self.library,
            variables,
            follow: self.follow,
            streams: self.streams,
        }
    }
}

/// The kernel's own count of the program that is started next, if SWITCHES(,KERNEL) asks for it, and it is allowed.
fn kernel_entries(layers: &Layers, program: &OsStr) -> Option<Entries> {
    // The settings of a program need its file; most runs need none of this.
    if !layers.text().to_ascii_uppercase().contains("KERNEL") || !layers.settings(program).traces_the_kernel()
    {
        return None;
    }
    let number = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].iter().find_map(|folder| {
        let path = Path::new(folder).join("events/raw_syscalls/sys_enter/id");
        fs::read_to_string(path).ok()?.trim().parse().ok()
    });
    Entries::count(number?).ok()
}

/// Keeps the accounts for processes that are still running, if there are any.
fn later(ledger: &mut LedgerFile, bytes: &[u8]) -> Option<Later> {
    let running = ledger.running(&LedgerView::new(bytes).ok()?);
    (running > 0).then(|| {
        ledger.leave();
        Later { running, name: ledger.name() }
    })
}

/// The lock areas that can be read. Others were made by another program, or by a process that died while it made them.
#[must_use]
pub fn lock_areas(files: Vec<Vec<u8>>) -> Vec<Area> {
    files.iter().filter_map(|bytes| Area::read(bytes).ok()).collect()
}

/// This moment, in nanoseconds since 1970.
#[must_use]
pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// The resources that a run used, by the kernel's accounts.
#[must_use]
pub fn steps(ended: &Ended) -> Steps {
    let usage = &ended.usage;
    let transfers = usage.transfers();
    Steps {
        elapsed_ns: u64::try_from(ended.elapsed.as_nanos()).unwrap_or(u64::MAX),
        user_ns: usage.user_nanoseconds(),
        system_ns: usage.system_nanoseconds(),
        peak_resident_bytes: usage.peak_resident_bytes(),
        minor_faults: usage.minor_faults(),
        major_faults: usage.major_faults(),
        voluntary_switches: usage.voluntary_switches(),
        involuntary_switches: usage.involuntary_switches(),
        read_calls: transfers.map(|transfers| transfers.read_calls),
        write_calls: transfers.map(|transfers| transfers.write_calls),
        read_bytes: transfers.map(|transfers| transfers.read_bytes),
        written_bytes: transfers.map(|transfers| transfers.written_bytes),
        kernel_entries: None,
    }
}

/// The facts of the machine on which figures depend. The local time is that of the given moment.
#[must_use]
pub fn host(moment_unix_ns: u64) -> Host {
    let names = rustix::system::uname();
    let groups = Groups::own();
    Host {
        name: Some(names.nodename().to_string_lossy().into_owned()).filter(|name| !name.is_empty()),
        kernel: format!("{} {}", names.sysname().to_string_lossy(), names.release().to_string_lossy()),
        cores: cores(&groups),
        page_bytes: 4096,
        memory_limit_bytes: memory_limit(&groups),
        thread_stack_bytes: limit(Resource::Stack).ok().flatten(),
        utc_offset_seconds: utc_offset_seconds(moment_unix_ns / 1_000_000_000),
        switch_costs: None,
    }
}

/// The number of processors that this process may use, or the quota of its control groups if that is lower.
/// `available_parallelism` is not used: it looks for the group in six files, and this is called after each run.
fn cores(groups: &Groups) -> u64 {
    let processors = u64::from(processors());
    groups.processors().map_or(processors, |quota| quota.min(processors)).max(1)
}

/// Memory that the kernel can use: bytes (`MemTotal`).
fn memory() -> u64 {
    let machine = rustix::system::sysinfo();
    machine.totalram.saturating_mul(u64::from(machine.mem_unit))
}

/// The lowest limit on memory here: the address space limit, the control groups, or the machine's memory.
fn memory_limit(groups: &Groups) -> Option<u64> {
    [limit(Resource::AddressSpace).ok().flatten(), groups.memory(), Some(memory())]
        .into_iter()
        .flatten()
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_the_one_in_the_kernels_files() {
        let file = |path: &str| fs::read_to_string(path).expect(path);
        let (system, release) = (file("/proc/sys/kernel/ostype"), file("/proc/sys/kernel/osrelease"));
        assert_eq!(host(0).kernel, format!("{} {}", system.trim(), release.trim()));
        let kib = file("/proc/meminfo")
            .lines()
            .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        assert_eq!(Some(memory()), kib.map(|kib| kib * 1024));
    }
}
