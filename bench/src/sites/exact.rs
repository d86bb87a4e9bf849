//! Exact sums for each site, from heaptrack's record of every request.
//!
//! ```text
//! program with heaptrack's library ──> raw record: modules, call trees, requests and frees
//!    trace ── modules ──> places in files ── host/sites: names, the rule for the site ──> site
//!    requests and frees ──> for each site: requested, in use when most was, in use at the end
//! ```
//!
//! The raw record is read, and not what `heaptrack_interpret` makes of it, since that has heaptrack's names for functions. Here names and
//! sites come from the code that makes the report of `underbar heap`, so its rows have the same names.
//!
//! Invariant: a request that heaptrack wrote counts at one site.
//! Not here: estimates ([`super::errors`]).

use super::arms::HEAPTRACK;
use super::subjects::{FIXED, Subject};
use crate::Error;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::SystemTime;
use underbar_sites::files::Files;
use underbar_sites::made::MadeCode;
use underbar_sites::maps::Mapping;
use underbar_sites::names::{Location, locations};
use underbar_sites::site::{Site, cut, site};
use underbar_sites::walk::Place;
use underbar_sites::wrappers::Wrappers;

/// Bytes of a site: requested, in use when most was, and in use at the end.
pub type Sums = [u64; 3];

/// One step up a call tree: where the call is (heaptrack writes the address before the return address), and the step of its caller; 0:
/// there is none.
#[derive(Clone, Copy)]
struct Step {
    place: Option<Place>,
    caller: usize,
}

/// A request, or the free of one.
#[derive(Clone, Copy)]
enum Event {
    Got { size: u64, trace: u32, address: u64 },
    Freed { address: u64 },
}

/// A record as it is read.
#[derive(Default)]
struct Record {
    files: Files,
    program: PathBuf,
    /// Modules: the addresses of their parts, where they are loaded, and their file.
    modules: Vec<(u64, u64, u64, Option<underbar_sites::files::FileId>)>,
    /// From 1.
    steps: Vec<Step>,
    events: Vec<Event>,
}

/// Runs a program with heaptrack's library, and adds its requests up by site.
///
/// # Errors
/// [`Error::Workload`] if it failed or left no record.
pub fn sums(subject: &Subject, words: &[String]) -> Result<HashMap<Site, Sums>, Error> {
    let raw = subject.folder.join("heaptrack.raw");
    let _ = fs::remove_file(&raw);
    let mut command = Command::new("env");
    command
        .args(FIXED)
        .arg(format!("LD_PRELOAD={}", HEAPTRACK[0]))
        .arg(format!("DUMP_HEAPTRACK_OUTPUT={}", raw.display()))
        .args(words);
    let wrong = |why: &str| Error::Workload(format!("{} under heaptrack: {why}", subject.name));
    subject.run(&mut command, &wrong)?;
    let file = File::open(&raw).map_err(|_| wrong("no record"))?;
    let mut record = Record::default();
    for line in BufReader::new(file).lines() {
        let line = line.map_err(|error| Error::system("reading heaptrack's record", &error))?;
        record.take(&line);
    }
    let _ = fs::remove_file(&raw);
    if record.events.is_empty() {
        return Err(wrong("an empty record"));
    }
    Ok(record.by_site())
}

impl Record {
    /// Takes a line. Lines of other kinds (times, resident pages) are skipped.
    fn take(&mut self, line: &str) {
        let mut words = line.split(' ');
        let kind = words.next();
        let rest: Vec<&str> = words.collect();
        let number = |at: usize| rest.get(at).and_then(|text| u64::from_str_radix(text, 16).ok());
        match kind {
            Some("x") => self.program = rest.get(1).map(PathBuf::from).unwrap_or_default(),
            Some("m") if rest.get(1) == Some(&"-") => self.modules.clear(),
            Some("m") => self.module(&rest),
            Some("t") => {
                let (Some(address), Some(caller)) = (number(0), number(1)) else { return };
                let place = self.place(address);
                self.steps.push(Step { place, caller: caller as usize });
            }
            Some("+") => {
                let (Some(size), Some(trace), Some(address)) = (number(0), number(1), number(2)) else {
                    return;
                };
                self.events.push(Event::Got { size, trace: trace as u32, address });
            }
            Some("-") => self.events.extend(number(0).map(|address| Event::Freed { address })),
            _ => {}
        }
    }

    /// `m LENGTH NAME BASE [ADDRESS SIZE]...`: a loaded file, or `x` for the program. A name may have blanks in it.
    fn module(&mut self, words: &[&str]) {
        let Some((length, rest)) = words.split_first() else { return };
        let (Ok(length), rest) = (usize::from_str_radix(length, 16), rest.join(" ")) else { return };
        let Some((name, numbers)) = rest.split_at_checked(length) else { return };
        let name = if name == "x" { self.program.clone() } else { PathBuf::from(name) };
        let numbers: Option<Vec<u64>> =
            numbers.split_whitespace().map(|text| u64::from_str_radix(text, 16).ok()).collect();
        let Some([base, parts @ ..]) = numbers.as_deref() else { return };
        let path = fs::canonicalize(&name).unwrap_or(name);
        let inode = fs::metadata(&path).map_or(0, |data| data.ino());
        let mapping =
            Mapping { range: 0..1, offset: 0, inode, name: path.into_os_string(), is_deleted: false };
        let file = self.files.of(std::process::id(), &mapping);
        let part = |part: &[u64]| (base + part[0], base + part[0] + part[1], *base, file);
        self.modules.extend(parts.chunks_exact(2).map(part));
    }

    fn place(&self, address: u64) -> Option<Place> {
        let (_, _, base, file) =
            self.modules.iter().find(|(start, end, ..)| (*start..*end).contains(&address))?;
        Some(Place::File((*file)?, address - base))
    }

    /// The places of a trace, innermost first.
    fn trace(&self, mut step: usize) -> Vec<Place> {
        let mut places = Vec::new();
        while let Some(Step { place, caller }) = step.checked_sub(1).and_then(|at| self.steps.get(at)) {
            // The caller of a step is older.
            if *caller >= step {
                break;
            }
            places.extend(*place);
            step = *caller;
        }
        places
    }

    fn by_site(&self) -> HashMap<Site, Sums> {
        let made = MadeCode::new(Vec::new(), SystemTime::now());
        let all = self.steps.iter().filter_map(|step| step.place);
        let named = locations(&self.files, &made, all);
        let program = fs::canonicalize(&self.program).unwrap_or_else(|_| self.program.clone());
        let programs = HashSet::from([program]);
        let mut sites: HashMap<u32, Site> = HashMap::new();
        for event in &self.events {
            let Event::Got { trace, .. } = event else { continue };
            sites.entry(*trace).or_insert_with(|| {
                let places = self.trace(*trace as usize);
                let locations: Vec<&Location> = places
                    .iter()
                    .filter_map(|place| named.get(place))
                    .skip_while(|location| location.module.contains("libheaptrack"))
                    .collect();
                let found = site(&locations[cut(&locations)..], &programs, &Wrappers::off());
                found.unwrap_or_default().0
            });
        }
        let mut sums: HashMap<Site, Sums> = HashMap::new();
        for (trace, bytes) in by_trace(&self.events) {
            let sum = sums.entry(sites.remove(&trace).unwrap_or_default()).or_default();
            sum.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes);
        }
        sums
    }
}

/// The sums of each trace.
fn by_trace(events: &[Event]) -> HashMap<u32, Sums> {
    let mut sums: HashMap<u32, Sums> = HashMap::new();
    // The place behind the event after which most was in use.
    let (mut in_use, mut most, mut behind_most) = (0_u64, 0, 0);
    let mut live = HashMap::new();
    for (at, event) in events.iter().enumerate() {
        in_use = in_use.wrapping_add_signed(replay(&mut live, *event));
        if in_use > most {
            (most, behind_most) = (in_use, at + 1);
        }
        if let Event::Got { size, trace, .. } = event {
            sums.entry(*trace).or_default()[0] += size;
        }
    }
    for (size, trace) in live.values() {
        sums.entry(*trace).or_default()[2] += size;
    }
    live.clear();
    for event in &events[..behind_most] {
        replay(&mut live, *event);
    }
    for (size, trace) in live.values() {
        sums.entry(*trace).or_default()[1] += size;
    }
    sums
}

/// What an event does to what is in use, by address; returns the difference of bytes.
fn replay(live: &mut HashMap<u64, (u64, u32)>, event: Event) -> i64 {
    match event {
        Event::Got { size, trace, address } => {
            let before = live.insert(address, (size, trace)).map_or(0, |(size, _)| size);
            size.cast_signed() - before.cast_signed()
        }
        Event::Freed { address } => -live.remove(&address).map_or(0, |(size, _)| size).cast_signed(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Record, by_trace};

    const TEXT: &str = "\
v 10400 3
x 9 /bin/true
m 1 -
m 1 x 1000 0 100 800 200
m 9 /no/such 7 5000 0 10
t 1011 0
t 1821 1
t 9999 2
+ 10 2 a0
+ 30 1 a1
- a0
+ 8 2 a2
- a1
- ff
+ 8 3 a3
c 12
";

    fn record() -> Record {
        let mut record = Record::default();
        TEXT.lines().for_each(|line| record.take(line));
        record
    }

    #[test]
    fn traces_are_requested_in_use_at_most_and_in_use_at_the_end() {
        let sums = by_trace(&record().events);
        assert_eq!(sums[&2], [0x18, 0x10, 8]);
        assert_eq!(sums[&1], [0x30, 0x30, 0]);
        assert_eq!(sums[&3], [8, 0, 8]);
    }

    #[test]
    fn a_trace_goes_outwards_and_its_places_are_those_of_the_files() {
        let record = record();
        let address = |place| match place {
            underbar_sites::walk::Place::File(_, address) => address,
            underbar_sites::walk::Place::Process(..) => panic!("in no file"),
        };
        let trace: Vec<u64> = record.trace(3).into_iter().map(address).collect();
        // The innermost address is in no module.
        assert_eq!(trace, [0x821, 0x11]);
    }

    #[test]
    fn damaged_lines_are_skipped() {
        let mut record = record();
        let before = (record.events.len(), record.steps.len(), record.modules.len());
        for line in
            ["", "+", "+ zz 1 2", "t 1", "m", "m ff x", "m 1 x", "m 1 x zz", "- ", "m 3 \u{e4}\u{e4} 0 1 1"]
        {
            record.take(line);
        }
        assert_eq!((record.events.len(), record.steps.len(), record.modules.len()), before);
        record.take("t 1011 63");
        assert_eq!(record.trace(4).len(), 0);
    }
}
