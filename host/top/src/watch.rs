//! Takes looks: which ledgers there are, which processes run in them, and their figures.
//!
//! ```text
//! folders of runs, each look ────────────────┐
//! environments of processes, each tenth look ┴─ ledgers kept open ─ slots ─ /proc/NUMBER/stat kept open ─> rows
//!                                                                        └─ the row of the look before ─> rates
//! ```
//!
//! A process that has ended stays for five looks more, with its last figures; one that goes on as another program does not.
//!
//! Invariant: a row is of one process and one program in it: its start, in the ledger and in /proc, tells it from others that had or get
//! its number. Work for switches is bounded: they are counted for [`SWITCHES_A_LOOK`] processes at each look.
//! Not here: reading files (`underbar_launch`).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use underbar_launch::ledger::found::{Watched, Whose, in_folders, named_by_processes};
use underbar_launch::{Alive, ProcessFile};
use underbar_ledger::{Key, LedgerView, SlotState, SlotView};
use underbar_sys::syscall::clock_nanoseconds;

use crate::look::{Look, Row, SCHEMA, State, Who};

const CLOCK_BOOTTIME: u32 = 7;
/// Looks for which a process that has ended is still shown.
const ENDED_LOOKS: u64 = 5;
/// From how many looks one reads the environments of all processes, and asks again for processes that /proc did not show.
const SEARCH_EVERY: u64 = 10;
/// Processes whose switches are counted at one look: each takes a tenth of a millisecond.
const SWITCHES_A_LOOK: usize = 16;

/// Watches over the processes that keep accounts.
pub struct Watch {
    whose: Whose,
    wanted: Option<String>,
    /// Ledgers that the wanted word meant at some look: they stay when the process that it named has ended.
    meant: HashSet<PathBuf>,
    ledgers: BTreeMap<PathBuf, Watched>,
    /// Ledgers that cannot be opened, until the next search.
    refused: HashSet<PathBuf>,
    known: HashMap<Who, Known>,
    looks: u64,
    last_ns: u64,
    /// Whose turn it is to have its switches counted.
    turn: usize,
}

/// A process that was seen.
struct Known {
    row: Row,
    file: Option<ProcessFile>,
    /// The look at which it was last found running.
    seen: u64,
    /// When its switches were counted last.
    switches_at_ns: u64,
}

impl Watch {
    /// Watches over the ledgers of these users. `wanted`: only those that the word means, by [`Watched::is_meant_by`].
    #[must_use]
    pub fn new(whose: Whose, wanted: Option<String>) -> Watch {
        allow_files();
        Watch {
            whose,
            wanted,
            meant: HashSet::new(),
            ledgers: BTreeMap::new(),
            refused: HashSet::new(),
            known: HashMap::new(),
            looks: 0,
            last_ns: 0,
            turn: 0,
        }
    }

    /// Watches over the ledger in this file.
    ///
    /// # Errors
    /// Those of opening and reading it; a file that is no ledger of this version.
    pub fn of_file(path: &Path) -> Result<Watch, String> {
        let mut watched = Watched::open_named(path).map_err(|error| error.to_string())?;
        watched.look().map_err(|error| error.to_string())?;
        watched.view().map_err(|error| error.to_string())?;
        let mut watch = Watch::new(Whose::Own, Some(watched.name()));
        watch.ledgers.insert(watched.path().to_owned(), watched);
        Ok(watch)
    }

    /// Ledgers that are open. There are as many files as these and the processes in them.
    pub fn ledgers(&self) -> impl Iterator<Item = &Watched> {
        self.ledgers.values()
    }

    /// The ledger of a row.
    #[must_use]
    pub fn ledger_of(&self, row: &Row) -> Option<&Watched> {
        self.ledgers.values().find(|watched| watched.name() == row.ledger)
    }

    /// Looks at all of them now.
    pub fn look(&mut self) -> Look {
        self.search();
        let now = clock_nanoseconds(CLOCK_BOOTTIME);
        let over_ns = if self.looks == 0 { 0 } else { now.saturating_sub(self.last_ns) };
        (self.looks, self.last_ns) = (self.looks + 1, now);
        let alive = Alive::default();
        let (mut ledgers, mut unreadable) = (0, 0);
        let Watch { ledgers: watched, known, wanted, meant, looks, .. } = self;
        watched.retain(|_, watched| !watched.is_gone() && watched.look().is_ok());
        for (path, watched) in watched.iter() {
            if let Some(word) = wanted.as_ref().filter(|_| !meant.contains(path)) {
                if !watched.is_meant_by(word) {
                    continue;
                }
                meant.insert(path.clone());
            }
            let Ok(view) = watched.view() else {
                unreadable += 1;
                continue;
            };
            let mut has_processes = false;
            for slot in view.slots().filter(|slot| slot.state == SlotState::Live && slot.ended_ns() == 0) {
                let mut row = row_of(watched, &view, &slot);
                let who = row.who();
                if known.get(&who).is_some_and(|known| !known.row.runs()) {
                    continue;
                }
                let before = known.remove(&who);
                let is_asked_again = before.is_none() || *looks % SEARCH_EVERY == 1;
                let (mut file, last) = match before {
                    Some(before) => (before.file, Some((before.row, before.switches_at_ns))),
                    None => (None, None),
                };
                if file.is_none() && is_asked_again {
                    file = alive
                        .number_here(&slot)
                        .and_then(|number| ProcessFile::open(number, slot.started_ns()));
                }
                match file.as_ref().map(|file| (file.number(), file.look())) {
                    Some((number, Some(figures))) => {
                        row.number_here = Some(number).filter(|number| *number != row.process);
                        row.resident_bytes = Some(figures.resident_bytes);
                        row.threads = Some(figures.threads);
                        row.cpu_ns = Some(figures.processor_ns);
                    }
                    // It was killed, and its run has not noticed yet.
                    Some((_, None)) => {
                        if let Some((row, switches_at_ns)) = last {
                            known.insert(who, Known { row, file, seen: *looks - 1, switches_at_ns });
                        }
                        continue;
                    }
                    None if is_asked_again && !alive.has(&slot) => continue,
                    None => {}
                }
                has_processes = true;
                let mut switches_at_ns = 0;
                if let Some((last, at_ns)) = last {
                    row.rate_since(&last, over_ns);
                    (row.switches, row.switches_per_s) = (last.switches, last.switches_per_s);
                    switches_at_ns = at_ns;
                }
                known.insert(who, Known { row, file, seen: *looks, switches_at_ns });
            }
            ledgers += u64::from(has_processes);
        }
        self.count_switches(now);
        self.settle();
        let mut processes: Vec<Row> = self.known.values().map(|known| known.row.clone()).collect();
        processes.sort_by_key(|row| (row.began_ns, row.process));
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Look {
            schema: SCHEMA.to_owned(),
            at_unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
            at_ns: now,
            ledgers,
            unreadable,
            processes,
        }
    }

    /// Opens ledgers that are new.
    fn search(&mut self) {
        let mut all = in_folders(self.whose);
        if self.looks.is_multiple_of(SEARCH_EVERY) {
            self.refused.clear();
            all.extend(named_by_processes(self.whose));
        }
        for found in all {
            if self.ledgers.contains_key(&found.path) || self.refused.contains(&found.path) {
                continue;
            }
            match Watched::open(&found) {
                Ok(watched) => drop(self.ledgers.insert(found.path, watched)),
                Err(_) => drop(self.refused.insert(found.path)),
            }
        }
    }

    /// Counts the switches of the processes whose turn it is.
    fn count_switches(&mut self, now: u64) {
        let mut places: Vec<(Who, &Watched, usize)> = Vec::new();
        for watched in self.ledgers.values() {
            let Ok(view) = watched.view() else { continue };
            for slot in view.slots().filter(|slot| slot.state == SlotState::Live) {
                if view.has_switches(slot.place) {
                    let who = (watched.name(), slot.process.number, slot.started_ns());
                    places.push((who, watched, slot.place));
                }
            }
        }
        let first = self.turn % places.len().max(1);
        let turns = places.len().min(SWITCHES_A_LOOK);
        for (who, watched, place) in places.iter().cycle().skip(first).take(turns) {
            let Some(known) = self.known.get_mut(who).filter(|known| known.seen == self.looks) else {
                continue;
            };
            let Some(count) = watched.switches(*place) else { continue };
            let over = now.saturating_sub(known.switches_at_ns);
            let more = known.row.switches.filter(|_| over > 0).map(|before| count.saturating_sub(before));
            known.row.switches_per_s = more.map(|more| {
                u64::try_from(u128::from(more) * 1_000_000_000 / u128::from(over)).unwrap_or(u64::MAX)
            });
            (known.row.switches, known.switches_at_ns) = (Some(count), now);
        }
        self.turn = first + turns;
    }

    /// Notes which processes have ended, and forgets those that did some looks ago, or that go on as another program.
    fn settle(&mut self) {
        let looks = self.looks;
        let going_on: HashSet<(String, u32)> = self
            .known
            .values()
            .filter(|known| known.seen == looks)
            .map(|known| (known.row.ledger.clone(), known.row.process))
            .collect();
        self.known.retain(|_, known| {
            if known.seen == looks {
                return true;
            }
            if known.row.runs() {
                known.row.state = State::Ended;
                known.file = None;
                known.row.requests_per_s = None;
                known.row.lock_waits_per_s = None;
                known.row.switches_per_s = None;
                known.row.cpu_per_mille = None;
            }
            let goes_on = going_on.contains(&(known.row.ledger.clone(), known.row.process));
            !goes_on && looks - known.seen <= ENDED_LOOKS
        });
    }
}

/// Raises the number of files that may be open to what this user is allowed: each process takes two. What cannot be opened has no resident
/// memory and no CPU time in its row.
fn allow_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// What the ledger says of a process.
fn row_of(watched: &Watched, view: &LedgerView<'_>, slot: &SlotView<'_>) -> Row {
    Row {
        ledger: watched.name(),
        program: name_of(slot),
        process: slot.process.number,
        number_here: None,
        user: watched.owner(),
        state: State::Running,
        began_ns: slot.started_ns(),
        heap_used_bytes: slot.get(Key::HeapUsed),
        heap_peak_bytes: slot.get(Key::HeapUsedPeak),
        segment_bytes: slot.get(Key::HeapSegmentBytes),
        resident_bytes: None,
        threads: None,
        cpu_ns: None,
        requests: slot.get(Key::HeapGets),
        lock_waits: slot.get(Key::LockContended),
        lock_wait_ns: slot.get(Key::LockWait),
        options: words(view.options().0),
        command: command_of(slot),
        ..Row::default()
    }
}

/// The name by which a process's program was started, or that of its file.
pub(crate) fn name_of(slot: &SlotView<'_>) -> String {
    let name = if slot.started_as().is_empty() { slot.program() } else { slot.started_as() };
    words(name.rsplit(|&byte| byte == b'/').next().unwrap_or_default())
}

/// The arguments of a process.
pub(crate) fn command_of(slot: &SlotView<'_>) -> Vec<String> {
    slot.arguments().split(|&byte| byte == 0).filter(|word| !word.is_empty()).map(words).collect()
}

pub(crate) fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
