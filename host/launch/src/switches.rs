//! Has the counts of switches begin anew, while programs run: notes in their ledger what was counted so far.
//!
//! ```text
//! ledger file ── locked ── read three times ──> for each process the sum of each module and function ──> its note
//! ```
//!
//! The other figures of the section are noted in the same step: the projection, waits for mutexes, and the kernel's own counts of read and
//! write calls, which are read before and after the ledger until nothing has changed in between, or ten times.
//!
//! A site may be on its way from a thread's table to the known sites, and then be in neither. So it counts with the most that any of the
//! readings has: counts only grow.
//!
//! Invariant: only the page of notes is written, which programs never touch, and its first word last.
//! Not here: the note (`underbar_ledger::switch_reset`), and what a report takes off.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use underbar_ledger::switch_reset::{Figure, MOST, Noted, OF_FIGURE, OF_RUNS, OFFSET, note};
use underbar_ledger::switches::SAMPLED;
use underbar_ledger::{Identity, Key, LedgerView, SlotState, SlotView};
use underbar_sys::syscall::O_NOFOLLOW;

use crate::control::ControlError;
use crate::ledger::read;

/// Readings of the file, at least and at most.
const READINGS: usize = 3;
const TRIES: usize = 10;

/// A process of a ledger: its place, and who it is.
type Process = (usize, u64);
/// The sums of a process: function, row and first descriptor; calls and bytes.
type Sums = BTreeMap<(usize, usize, u32), (u64, u64)>;

/// From now on reports count from here. Returns how many processes were counting.
///
/// # Errors
/// Those of [`ControlError`] but for the last two kinds; as unreadable also a process with more than [`MOST`] different calls.
pub fn reset(ledger: &Path) -> Result<usize, ControlError> {
    let file =
        OpenOptions::new().read(true).write(true).custom_flags(O_NOFOLLOW.cast_signed()).open(ledger)?;
    if !crate::place::is_ours(&file.metadata()?) {
        return Err(io::Error::other("it belongs to another user").into());
    }
    file.lock()?;
    let mut all: BTreeMap<Process, (Identity, Sums)> = BTreeMap::new();
    let mut calls = kernel_calls(&read(&file)?)?;
    for reading in 0..TRIES {
        let bytes = read(&file)?;
        let after = kernel_calls(&bytes)?;
        let is_last = reading + 1 >= READINGS && (calls == after || reading + 1 == TRIES);
        calls = after;
        for slot in LedgerView::new(&bytes)?.slots().filter(SlotView::counts_switches) {
            let process = all.entry((slot.place, slot.process.packed()));
            let (_, most) = process.or_insert_with(|| (slot.process, Sums::new()));
            // Figures are as they are at the last reading.
            most.retain(|&(function, ..), _| function < OF_FIGURE);
            most.extend(figures(&slot, calls.get(&slot.process.packed())));
            for (key, sum) in sums(&slot) {
                let most = most.entry(key).or_default();
                *most = (most.0.max(sum.0), most.1.max(sum.1));
            }
        }
        if is_last {
            break;
        }
    }
    for ((place, _), (process, sums)) in &all {
        let rows = sums.iter().map(|(&(function, row, first), &(count, bytes))| Noted {
            function,
            row,
            first,
            count,
            bytes,
        });
        let Some(page) = note(*process, rows) else {
            return Err(io::Error::other(format!("a process has more than {MOST} different calls")).into());
        };
        write(&file, *place, &page)?;
    }
    Ok(all.len())
}

/// What a process has counted.
fn sums(slot: &SlotView<'_>) -> Sums {
    let mut sums = Sums::new();
    let mut add = |key, count: u64, bytes: u64| {
        let sum: &mut (u64, u64) = sums.entry(key).or_default();
        *sum = (sum.0.saturating_add(count), sum.1.saturating_add(bytes));
    };
    for site in slot.sites() {
        add((site.function, site.row, u32::try_from(site.first).unwrap_or(0)), site.count, site.bytes);
    }
    for (of, by, count) in slot.samples_of_callers() {
        add((SAMPLED, of, u32::try_from(by).unwrap_or(0)), count, 0);
    }
    sums
}

/// The kernel's counts of read and write calls of processes: by the file of the first thread, and by that of the process.
type KernelCalls = BTreeMap<u64, [[u64; 2]; 2]>;

/// Those of all processes that count switches, run, and are of our namespace.
fn kernel_calls(bytes: &[u8]) -> Result<KernelCalls, ControlError> {
    let own = crate::alive::own_namespace();
    let running = LedgerView::new(bytes)?.slots().filter(|slot| {
        slot.counts_switches() && slot.state == SlotState::Live && slot.process.namespace == own && own != 0
    });
    let calls = running.filter_map(|slot| {
        let number = slot.process.number;
        let of = |path: String| calls_of(&fs::read_to_string(path).ok()?);
        let of_thread = of(format!("/proc/{number}/task/{number}/io"))?;
        Some((slot.process.packed(), [of_thread, of(format!("/proc/{number}/io"))?]))
    });
    Ok(calls.collect())
}

/// The counts of read and write calls of such a file.
fn calls_of(text: &str) -> Option<[u64; 2]> {
    let figure = |name| text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok();
    Some([figure("syscr:")?, figure("syscw:")?])
}

/// The figures of a process besides its switches.
fn figures(slot: &SlotView<'_>, calls: Option<&[[u64; 2]; 2]>) -> Sums {
    let row = |function: usize, row: usize, figure: u64| ((function, row, 0), (figure, 0));
    let counters = [
        (Figure::Eligible, Key::SwitchEligible),
        (Figure::Ineligible, Key::SwitchIneligible),
        (Figure::Runs, Key::SwitchRuns),
        (Figure::Waits, Key::LockContended),
    ];
    let counters = counters.map(|(figure, key)| row(OF_FIGURE, figure as usize, slot.get(key)));
    let runs = slot.runs().enumerate().filter(|(_, count)| *count > 0);
    let runs = runs.map(|(class, count)| row(OF_RUNS, class, count));
    // A process that has ended has its last count; as one that runs, underbar's own reads are not in it.
    let last = [Key::SwitchKernelReads, Key::SwitchKernelWrites].map(|key| slot.get(key));
    let own = slot.get(Key::OwnReads);
    let before = slot.kernel_before();
    let calls = match calls {
        Some(calls) => Some(core::array::from_fn(|of| {
            let since =
                |sort: usize, own| calls[of][sort].saturating_sub(before[of][sort]).saturating_sub(own);
            [since(0, own), since(1, 0)]
        })),
        None if slot.state != SlotState::Live => Some([last; 2]),
        None => None,
    };
    let calls = calls.into_iter().flatten().flatten().enumerate();
    let calls = calls.map(|(at, calls)| row(OF_FIGURE, Figure::ReadsOfThread as usize + at, calls));
    counters.into_iter().chain(runs).chain(calls).collect()
}

fn write(file: &File, place: usize, page: &[u8]) -> io::Result<()> {
    let at = (LedgerView::switches_of(place).start + OFFSET) as u64;
    // Without the first word there is no note.
    file.write_all_at(&[0; 8], at)?;
    file.write_all_at(&page[8..], at + 8)?;
    file.write_all_at(&page[..8], at)
}
