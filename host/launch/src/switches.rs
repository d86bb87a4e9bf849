//! Has the counts of switches begin anew, while programs run: notes in their ledger what was counted so far.
//!
//! ```text
//! ledger file ── locked ── read three times ──> for each process the sum of each module and function ──> its note
//! ```
//!
//! A site may be on its way from a thread's table to the known sites, and then be in neither. So it counts with the most that any of the
//! readings has: counts only grow.
//!
//! Invariant: only the page of notes is written, which programs never touch, and its first word last.
//! Not here: the note (`underbar_ledger::switch_reset`), and what a report takes off.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use underbar_ledger::switch_reset::{MOST, Noted, OFFSET, note};
use underbar_ledger::switches::SAMPLED;
use underbar_ledger::{Identity, LedgerView, SlotView};
use underbar_preloadable::LEDGER;
use underbar_sys::syscall::O_NOFOLLOW;

use crate::control::ControlError;
use crate::ledger::read;

/// Readings of the file.
const READINGS: usize = 3;

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
    for _ in 0..READINGS {
        let bytes = read(&file)?;
        for slot in LedgerView::new(&bytes)?.slots().filter(SlotView::counts_switches) {
            let process = all.entry((slot.place, slot.process.packed()));
            let (_, most) = process.or_insert_with(|| (slot.process, Sums::new()));
            for (key, sum) in sums(&slot) {
                let most = most.entry(key).or_default();
                *most = (most.0.max(sum.0), most.1.max(sum.1));
            }
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

/// The ledger of a running process, by the environment in which its program began. None if it has none, or is another user's.
#[must_use]
pub fn ledger_of(process: u32) -> Option<PathBuf> {
    let environment = fs::read(format!("/proc/{process}/environ")).ok()?;
    let value = |variable: &[u8]| {
        let path = variable.strip_prefix(LEDGER)?.strip_prefix(b"=")?;
        Some(PathBuf::from(OsStr::from_bytes(path)))
    };
    environment.split(|&byte| byte == 0).find_map(value)
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

fn write(file: &File, place: usize, page: &[u8]) -> io::Result<()> {
    let at = (LedgerView::switches_of(place).start + OFFSET) as u64;
    // Without the first word there is no note.
    file.write_all_at(&[0; 8], at)?;
    file.write_all_at(&page[8..], at + 8)?;
    file.write_all_at(&page[..8], at)
}
