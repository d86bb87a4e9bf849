//! Which ledgers to remove: a run that ended without removing its ledger leaves it for the next run to remove.
//! Also the lookup of ledgers that were left on purpose.
//!
//! ```text
//! a run's own     its maker is dead, and so is every process in it        removed
//! left            the same, found a day ago                               removed; found now: the time is recorded
//! kept (-o)       never
//! no ledger       its maker is dead, and it is an hour old                removed
//! ```
//!
//! Invariant: a process in doubt counts as alive, and its ledger stays.
//! Not here: whether a process is alive ([`crate::alive`]).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process;

use underbar_ledger::layout::{CONTROL_OFFSET, SLOTS_OFFSET};
use underbar_ledger::{Header, LedgerView, SlotState, SlotView};
use underbar_sys::lease::is_open_elsewhere;
use underbar_sys::syscall::clock_nanoseconds;

use super::beside::{area_of, remove_areas};
use super::holders::{are_there_some, holders};
use super::{CLOCK_BOOTTIME, ENDING, folders, own_folder_there, read};
use crate::alive::{Alive, is_alive};
use crate::{foreign_file, part, place};

/// The most ledgers that one run checks: each is opened and read, which takes a tenth of a millisecond, and a folder may hold hundreds
/// that daemons left. A run leaves no more than one. The next runs check the others.
const MOST_JUDGED: usize = 1;

/// How long a left ledger stays after nobody of it was found alive.
const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;

/// Removes ledgers of runs without a living process.
pub(super) fn sweep(folder: &Path) {
    sweep_some(folder, MOST_JUDGED);
}

fn sweep_some(folder: &Path, most: usize) {
    // A path for each of hundreds of names would take longer than to read the folder.
    let names: Vec<OsString> = part::names(folder).collect();
    part::sweep(folder, &names);
    let is_ledger = |name: &&OsString| Path::new(name).extension().is_some_and(|ending| ending == ENDING);
    let ledgers: Vec<&OsString> = names.iter().filter(is_ledger).collect();
    // Process numbers ascend, so the next runs check the next ledgers.
    let first = (process::id() as usize).wrapping_mul(most) % ledgers.len().max(1);
    for name in ledgers.iter().cycle().skip(first).take(most.min(ledgers.len())) {
        let path = folder.join(name);
        if is_dead(&path) {
            let _ = fs::remove_file(&path);
            remove_areas(&path);
        }
    }
    let ledgers: BTreeSet<&OsStr> = ledgers.into_iter().map(OsString::as_os_str).collect();
    for name in &names {
        // A process that outlives its run may begin an area after the ledger is gone.
        let left = |(ledger, process, _): (&OsStr, u32, _)| {
            !ledgers.contains(ledger) && !folder.join(ledger).exists() && !is_alive(process)
        };
        if area_of(name).is_some_and(left) {
            let _ = fs::remove_file(folder.join(name));
        }
    }
}

/// A file that is not a ledger is dead if its maker, in its name, is; its contents do not matter.
fn is_dead(path: &Path) -> bool {
    let maker = path
        .file_name()
        .and_then(|name| name.to_str()?.split('-').next()?.parse::<u32>().ok())
        .unwrap_or_default();
    if is_alive(maker) {
        return false;
    }
    let Ok(file) = foreign_file::open_unlinked(path) else { return false };
    if is_known_to_stay(&file) {
        return false;
    }
    let Ok(bytes) = read(&file) else { return false };
    match LedgerView::new(&bytes) {
        Ok(view) if !Alive::may_judge(&view) => false,
        Ok(view) if view.is_left() => is_long_dead(path, &file, &view),
        Ok(view) => !view.keep() && !lives(path, &file, &view),
        // One that is just being made holds no ledger yet, and its maker may have a number of another container.
        Err(_) => part::is_old(path),
    }
}

/// Was a left ledger found dead within the last day, and does nobody have it open? The head tells, and its slots need not be read: those of
/// 40 processes took each run that came to this ledger 0.7 ms.
fn is_known_to_stay(file: &File) -> bool {
    let mut head = [0; SLOTS_OFFSET];
    if file.read_exact_at(&mut head, 0).is_err() {
        return false;
    }
    LedgerView::new(&head).is_ok_and(|view| {
        let found = view.found_dead_ns();
        let since = clock_nanoseconds(CLOCK_BOOTTIME).checked_sub(found);
        view.is_left()
            && found != 0
            && since.is_some_and(|since| since <= DAY_NS)
            && is_open_elsewhere(file.as_raw_fd()).is_ok_and(|is| !is)
    })
}

/// Was nobody of a left ledger alive a day ago? Its figures are final then, and somebody may still want to read them. The first
/// who finds it so writes the moment down, and who finds somebody alive again takes it back: a process of an inner namespace may
/// not have been seen, or a child had not come to the ledger.
fn is_long_dead(path: &Path, file: &File, view: &LedgerView<'_>) -> bool {
    let note = |moment: u64| {
        let at = offset_of!(Header, found_dead_ns) as u64;
        let _ =
            foreign_file::open_to_write(path).and_then(|file| file.write_all_at(&moment.to_le_bytes(), at));
    };
    let found = view.found_dead_ns();
    if lives(path, file, view) {
        if found != 0 {
            note(0);
        }
        return false;
    }
    let now = clock_nanoseconds(CLOCK_BOOTTIME);
    match found {
        0 => {
            note(now);
            false
        }
        // The machine has been restarted since.
        then if then > now => true,
        then => now - then > DAY_NS,
    }
}

/// The ledger of that name, as [`LedgerFile::name`](super::LedgerFile::name) gives it, in the folders of runs' ledgers.
#[must_use]
pub fn named(name: &str) -> Option<PathBuf> {
    if name.is_empty() || name.starts_with('.') || name.contains('/') {
        return None;
    }
    folders()
        .filter_map(|folder| own_folder_there(&folder))
        .map(|folder| folder.join(format!("{name}.{ENDING}")))
        .find(|path| fs::symlink_metadata(path).is_ok_and(|status| status.is_file()))
}

/// Whether this is a ledger that was kept, and all its processes have ended.
pub(super) fn has_ended_in(path: &Path) -> bool {
    let Ok(file) = foreign_file::open_unlinked(path) else { return false };
    let Some(bytes) = file.metadata().ok().filter(place::is_ours).and_then(|_| read(&file).ok()) else {
        return false;
    };
    LedgerView::new(&bytes).is_ok_and(|view| {
        // Its maker becomes the first program; a ledger from before the restart of the machine has no living process.
        let is_of_before = view.made_ns() > clock_nanoseconds(CLOCK_BOOTTIME);
        view.keep() && (is_of_before || !is_alive(view.maker()) && !lives(path, &file, &view))
    })
}

/// Does any process of it live: one that has a place in it, one that is about to have one, or a child that has not come to it yet?
fn lives(path: &Path, file: &File, view: &LedgerView<'_>) -> bool {
    count_known(view, |_| true) > 0
        || (0..LOOKS).any(|_| are_there_some(file, view) && holders(path).next().is_some())
        || count_known_now(file, view, |_| true) > 0
}

/// Looks for those that have a ledger mapped. A process that makes another one and ends, while /proc is read, may leave both unseen: the
/// one has gone before its maps are read, the other was not there when the names were read, and has no place yet.
const LOOKS: usize = 4;

/// How many processes of it go on, whatever they are.
pub(super) fn count_running(path: &Path, file: &File, view: &LedgerView<'_>) -> usize {
    let has_not_ended = |slot: &SlotView<'_>| slot.ended_ns() == 0;
    let known = count_known(view, has_not_ended);
    if known == 0 && !are_there_some(file, view) {
        return count_known_now(file, view, has_not_ended);
    }
    // Whoever has told of its end is about to go.
    let alive = Alive::default();
    let has_ended: Vec<u32> = view
        .slots()
        .filter(|slot| slot.state == SlotState::Ended && alive.has(slot))
        .map(|slot| slot.process.number)
        .collect();
    let goes_on = |process: &u32| !has_ended.contains(process);
    let mut found = 0;
    for _ in 0..LOOKS {
        // Some are known that we may not look at.
        found =
            known.max(holders(path).filter(goes_on).count()).max(count_known_now(file, view, has_not_ended));
        if found > 0 || !are_there_some(file, view) {
            break;
        }
    }
    found
}

/// How many processes of it live of which it tells: of those that have a slot, those of which this is true.
fn count_known(view: &LedgerView<'_>, counts: impl Fn(&SlotView<'_>) -> bool) -> usize {
    let alive = Alive::default();
    let live = view.slots().filter(|slot| slot.state == SlotState::Live && counts(slot) && alive.has(slot));
    live.count() + view.claimed().filter(|&process| alive.has_process(process)).count()
}

/// The same of the file as it is now. Who was unknown at the first look, and became another program before anybody looked for it,
/// has a place by then.
fn count_known_now(file: &File, view: &LedgerView<'_>, counts: impl Fn(&SlotView<'_>) -> bool) -> usize {
    let mut head = [0; CONTROL_OFFSET];
    if file.read_exact_at(&mut head, 0).is_ok() && view.has_head(&head) {
        return count_known(view, counts);
    }
    let bytes = read(file).unwrap_or_default();
    LedgerView::new(&bytes).map_or(0, |view| count_known(&view, counts))
}

#[cfg(test)]
mod tests {
    use underbar_ledger::layout::Directory;
    use underbar_ledger::{Identity, Slot};

    use super::*;
    use crate::ledger::LedgerFile;
    use crate::ledger::tests::folder;

    #[test]
    fn sweeping_takes_what_is_dead_and_nothing_else() {
        let folder = folder("ledger-sweep");
        // A process number that no process has: larger than the kernel's maximum.
        let dead = 4_194_400;
        let names =
            [format!("{dead}-1.ledger"), format!("{dead}-2.ledger"), format!("{}-3.ledger", process::id())];
        let paths = names.map(|name| folder.join(name));
        std::mem::forget(LedgerFile::create_at(&paths[0], b"", false).expect("a ledger"));
        drop(LedgerFile::create_at(&paths[1], b"", true).expect("a kept ledger"));
        std::mem::forget(LedgerFile::create_at(&paths[2], b"", false).expect("a ledger"));
        let noise = folder.join(format!("{dead}-4.ledger"));
        fs::write(&noise, b"noise").expect("written");
        let are_there = |paths: [&PathBuf; 4]| paths.map(|path| path.exists());
        let all = [&paths[0], &paths[1], &paths[2], &noise];
        sweep_some(&folder, 8);
        assert_eq!(are_there(all), [false, true, true, true], "it may become a ledger yet");
        part::tests::make_old(&noise);
        sweep_some(&folder, 8);
        assert_eq!(are_there(all), [false, true, true, false]);
        fs::remove_dir_all(folder).expect("removed");
    }

    /// A run took 7 ms when daemons had left 180 ledgers, and 2 ms without them.
    #[test]
    fn a_run_judges_few_of_many_ledgers() {
        let folder = folder("ledger-sweep-many");
        let paths: Vec<PathBuf> =
            (0..50).map(|number| folder.join(format!("4194400-{number}.ledger"))).collect();
        for path in &paths {
            fs::write(path, b"noise").expect("written");
            part::tests::make_old(path);
        }
        sweep(&folder);
        let left = paths.iter().filter(|path| path.exists()).count();
        assert_eq!(left, paths.len() - MOST_JUDGED);
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_ledger_that_was_left_is_found_by_name_and_swept_a_day_after_all_have_ended() {
        let folder = folder("ledger-left");
        let path = folder.join("4194400-1.ledger");
        let mut ledger = LedgerFile::create_at(&path, b"", false).expect("a ledger");
        let put = |at: usize, value: u64| {
            let file = File::options().write(true).open(&path).expect("there");
            file.write_all_at(&value.to_le_bytes(), at as u64).expect("written");
        };
        let me = Identity { namespace: 0, number: process::id() };
        put(offset_of!(Header, directory), Directory::word(SlotState::Live, me));
        let now = clock_nanoseconds(CLOCK_BOOTTIME);
        put(SLOTS_OFFSET + offset_of!(Slot, started_ns), now);
        let bytes = ledger.read().expect("read");
        assert_eq!(ledger.running(&LedgerView::new(&bytes).expect("a ledger")), 1);
        ledger.leave();
        assert_eq!(ledger.name(), "4194400-1");
        drop(ledger);
        let check = |stays: bool, why: &str| {
            sweep_some(&folder, 8);
            assert_eq!(path.exists(), stays, "{why}");
        };
        check(true, "a process of it lives");
        put(offset_of!(Header, directory), Directory::word(SlotState::Ended, me));
        check(true, "it is found dead now");
        check(true, "just now");
        let found_dead = || {
            let bytes = read(&File::open(&path).expect("there")).expect("read");
            LedgerView::new(&bytes).expect("a ledger").found_dead_ns()
        };
        assert_ne!(found_dead(), 0);
        for (state, what) in [(SlotState::Claimed, "about to move in"), (SlotState::Live, "there again")] {
            put(offset_of!(Header, found_dead_ns), u64::MAX);
            put(offset_of!(Header, directory), Directory::word(state, me));
            check(true, what);
            assert_eq!(found_dead(), 0, "{what}: the day begins anew when nobody lives");
        }
        put(offset_of!(Header, directory), Directory::word(SlotState::Ended, me));
        put(offset_of!(Header, found_dead_ns), 1);
        // On a machine that runs for a day already.
        if now > 25 * 3600 * 1_000_000_000 {
            let kept = folder.join("kept");
            fs::hard_link(&path, &kept).expect("linked");
            check(false, "a day ago");
            fs::rename(&kept, &path).expect("there again");
        }
        put(offset_of!(Header, found_dead_ns), u64::MAX);
        check(false, "before the machine was started");
        assert_eq!([named(""), named("../x"), named(".x")], [None, None, None]);
        fs::remove_dir_all(folder).expect("removed");
    }

    /// With 40 slots a run took 0.7 ms more, each time that it came to this ledger.
    #[test]
    fn of_a_ledger_found_dead_today_only_the_head_is_read_unless_somebody_has_it() {
        let folder = folder("ledger-rests");
        let path = folder.join("4194400-1.ledger");
        let mut ledger = LedgerFile::create_at(&path, b"", false).expect("a ledger");
        ledger.leave();
        drop(ledger);
        let found_dead = || {
            let mut head = vec![0; SLOTS_OFFSET];
            File::open(&path).and_then(|file| file.read_exact_at(&mut head, 0)).expect("read");
            LedgerView::new(&head).expect("a ledger").found_dead_ns()
        };
        sweep_some(&folder, 8);
        let first = found_dead();
        assert_ne!(first, 0);
        // A slot that whoever reads it takes for a living process.
        let file = File::options().write(true).open(&path).expect("there");
        let put =
            |at: usize, value: u64| file.write_all_at(&value.to_le_bytes(), at as u64).expect("written");
        let me = Identity { namespace: 0, number: process::id() };
        put(offset_of!(Header, directory), Directory::word(SlotState::Live, me));
        put(SLOTS_OFFSET + offset_of!(Slot, started_ns), clock_nanoseconds(CLOCK_BOOTTIME));
        sweep_some(&folder, 8);
        assert_eq!(found_dead(), 0, "it is open here, so the slots were looked at");
        put(offset_of!(Header, found_dead_ns), first);
        drop(file);
        sweep_some(&folder, 8);
        assert_eq!(found_dead(), first, "nobody has it open, so they were not");
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_kept_ledger_takes_the_place_of_one_in_which_all_has_ended_and_of_nothing_else() {
        let folder = folder("ledger-again");
        let path = folder.join("accounts");
        drop(LedgerFile::create_at(&path, b"first", true).expect("a ledger"));
        let put = |at: usize, bytes: &[u8]| {
            File::options()
                .write(true)
                .open(&path)
                .and_then(|file| file.write_all_at(bytes, at as u64))
                .expect("written");
        };
        assert!(LedgerFile::create_at(&path, b"", true).is_err(), "its maker lives");
        put(offset_of!(Header, maker), &4_194_400_u32.to_le_bytes());
        drop(LedgerFile::create_at(&path, b"second", true).expect("nobody lives in the first"));
        let bytes = read(&File::open(&path).expect("there")).expect("read");
        assert_eq!(LedgerView::new(&bytes).expect("a ledger").options().0, b"second");
        put(offset_of!(Header, maker), &4_194_400_u32.to_le_bytes());
        assert!(LedgerFile::create_at(&path, b"", false).is_err(), "a run's own is new");
        let me = Identity { namespace: 0, number: process::id() };
        put(offset_of!(Header, directory), &Directory::word(SlotState::Live, me).to_le_bytes());
        // While this process lives, although its number's namespace is unknown.
        let now = clock_nanoseconds(CLOCK_BOOTTIME);
        put(SLOTS_OFFSET + offset_of!(Slot, started_ns), &now.to_le_bytes());
        assert!(LedgerFile::create_at(&path, b"", true).is_err(), "somebody lives in it");
        fs::write(&path, "a report, or the user's own").expect("written");
        assert!(LedgerFile::create_at(&path, b"", true).is_err());
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn areas_are_swept_with_a_dead_ledger_or_a_dead_process() {
        let folder = folder("ledger-swept-areas");
        let dead = 4_194_400;
        let beside = |name: &str| folder.join(name);
        std::mem::forget(
            LedgerFile::create_at(&beside(&format!("{dead}-1.ledger")), b"", false).expect("a ledger"),
        );
        let swept = [format!("{dead}-1.ledger.{dead}-1.locks"), format!("{dead}-2.ledger.{dead}-1.locks")];
        let stays = format!("{dead}-2.ledger.{}-1.locks", process::id());
        swept.iter().chain([&stays]).for_each(|name| fs::write(beside(name), b"x").expect("written"));
        sweep_some(&folder, 8);
        assert!(swept.iter().all(|name| !beside(name).exists()) && beside(&stays).exists());
        fs::remove_dir_all(folder).expect("removed");
    }
}
