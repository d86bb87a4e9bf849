//! Libraries of both organisations: a PDS on emulated tracks, and a PDSE, whose members are mapped as they lie.
//!
//! ```text
//! PDS    search in sequence ─> blocks of text, each checked ─> a copy in storage ─> loaded from there
//! PDSE   index ─> what is read at LOAD, checked ─> pages mapped from the library; the rest is read when it is touched
//!                                                  └─ its generation is held, so that no writer uses them again
//! ```
//!
//! Which pages of a PDSE's member are read at LOAD is the documented rule (`underbar_partitioned::attribute`): all of them
//! under 96 KB, else the first sixteen; with PRIME all; with PACK all, copied.
//!
//! Invariant: while pages of a PDSE are mapped, or read, their generation is held.
//! Not here: what the bytes mean (`underbar_partitioned`), changing libraries (`underbar-store`).

use core::ffi::CStr;
use core::ptr::NonNull;

use underbar_partitioned::attribute::{Attributes, FetchOptions};
use underbar_partitioned::count::Counts;
use underbar_partitioned::name::Name;
use underbar_partitioned::pds::{self, Pds};
use underbar_partitioned::pdse::{self, PageSums, Pdse, load_counts, turns};
use underbar_partitioned::read::{Fault, ReadAt, Unread};
use underbar_partitioned::sum::Sum;
use underbar_sys::file::stat;
use underbar_sys::lock::Lock;
use underbar_sys::range_lock;
use underbar_sys::syscall::{self, Errno, O_CLOEXEC, O_RDONLY};

use crate::arena;
use crate::content::MemoryContent;
use crate::error::{Error, Text};
use crate::image::Content;
use crate::library::{Member, PathRoom, Source, Stamp, token};

const PAGE: usize = 4096;
/// Generations of one library whose pages are mapped at one time; beyond, members are copied.
const MOST_HELD: usize = 32;

/// An open library file.
struct File(i32);

impl File {
    fn open(path: &CStr) -> Result<File, Error> {
        syscall::open(path, O_RDONLY | O_CLOEXEC, 0).map(File).map_err(Error::Unreadable)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = syscall::close(self.0);
    }
}

impl ReadAt for File {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<(), Unread> {
        let mut done = 0;
        while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match syscall::pread(self.0, rest, offset + done as u64) {
                Ok(0) => return Err(Unread::End),
                Ok(bytes) => done += bytes,
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(Unread::System(errno.number())),
            }
        }
        Ok(())
    }
}

fn kept_path(path: &CStr) -> Result<PathRoom, Error> {
    let mut kept = PathRoom::default();
    kept.join(&[path.to_bytes()]).ok_or(Error::BadName)?;
    Ok(kept)
}

// ---- PDS -------------------------------------------------------------------------------------------------

/// A PDS, which never changes: a change is a new file at its path.
pub struct PdsFile {
    path: PathRoom,
    pds: Pds<File>,
}

impl PdsFile {
    /// Opens the file at a path.
    ///
    /// # Errors
    /// It is not there, or no PDS.
    pub fn open(path: &CStr) -> Result<PdsFile, Error> {
        let pds = Pds::open(File::open(path)?).map_err(Error::Library)?;
        Ok(PdsFile { path: kept_path(path)?, pds })
    }

    fn member(&self, entry: &pds::Entry) -> Member {
        let header = self.pds.header();
        let place = u64::from(entry.first.track) << 8 | u64::from(entry.first.record);
        Member {
            token: [header.identity, header.generation, place, u64::from(entry.size)],
            place,
            length: u64::from(entry.size),
            is_reentrant: entry.attributes.has(Attributes::REENTRANT),
            // The alias tells the entry point of the member beside its own.
            entry_at: entry.entry_point.map(u64::from),
            is_checked: false,
        }
    }

    /// Reads all blocks of a member.
    fn read(&self, entry: &pds::Entry, into: &mut [u8], counts: &mut Counts) -> Result<(), Fault> {
        let mut texts = self.pds.texts(entry);
        while let Some(text) = texts.next_text(counts)? {
            let room = usize::try_from(text.origin).ok().and_then(|origin| into.get_mut(origin..));
            self.pds.read_text(
                &text,
                room.ok_or(Fault::Contradiction("a member is longer than its entry says"))?,
            )?;
        }
        Ok(())
    }
}

impl Source for PdsFile {
    fn find(&self, name: &[u8], counts: &mut Counts) -> Result<Option<Member>, Error> {
        let Ok(name) = Name::new(name) else { return Ok(None) };
        let entry = self.pds.find(&name, counts).map_err(Error::Library)?;
        Ok(entry.map(|entry| self.member(&entry)))
    }

    fn fetch(
        &self,
        name: &[u8],
        _: &Member,
        counts: &mut Counts,
        work: &mut dyn FnMut(&dyn Content),
    ) -> Result<u64, Error> {
        // The search was counted when the member was found; this one is ours.
        let found = Name::new(name).ok().map(|name| self.pds.find(&name, &mut Counts::default()));
        let entry =
            found.transpose().map_err(Error::Library)?.flatten().ok_or(Error::NotFound(Text::new(name)))?;
        with_room(entry.size as usize, |room| {
            self.read(&entry, room, counts).map_err(Error::Library)?;
            work(&MemoryContent(room));
            Ok(0)
        })
    }

    fn release(&self, _: u64) {}

    fn stamp(&self) -> Result<Stamp, Error> {
        stat(self.path()).map(|status| token(&status)).map_err(Error::Unreadable)
    }

    fn tells_changes(&self) -> bool {
        true
    }

    fn path(&self) -> &CStr {
        self.path.text()
    }

    fn member_path<'a>(&self, _: &[u8], _: &Member, _: &'a mut PathRoom) -> Option<&'a CStr> {
        None
    }
}

/// Runs with so many zeroed bytes.
fn with_room<R>(length: usize, work: impl FnOnce(&mut [u8]) -> Result<R, Error>) -> Result<R, Error> {
    /// Given back also when what runs in a program unwinds.
    struct Room(NonNull<u8>, usize);
    impl Drop for Room {
        fn drop(&mut self) {
            // SAFETY: got with this length, and not used any more.
            unsafe { arena::put(self.0, self.1) };
        }
    }
    let room = Room(arena::get(length).map_err(Error::NoStorage)?, length);
    // SAFETY: so many bytes of our own.
    let bytes = unsafe {
        room.0.as_ptr().write_bytes(0, length);
        core::slice::from_raw_parts_mut(room.0.as_ptr(), length)
    };
    work(bytes)
}

// ---- PDSE ------------------------------------------------------------------------------------------------

/// A PDSE, which may be changed while it is read.
pub struct PdseFile {
    path: PathRoom,
    file: File,
    /// Generations that are held, and by how many: the kernel counts a lock once for the file.
    held: Lock<[(u64, u32); MOST_HELD]>,
}

impl PdseFile {
    /// Opens the file at a path.
    ///
    /// # Errors
    /// It is not there, or no PDSE.
    pub fn open(path: &CStr) -> Result<PdseFile, Error> {
        let file = File::open(path)?;
        Pdse::open(&file).map_err(Error::Library)?;
        Ok(PdseFile { path: kept_path(path)?, file, held: Lock::new([(0, 0); MOST_HELD]) })
    }

    /// Runs on the newest generation, held meanwhile; and after that, if `work` says so with what it gives.
    fn with<R>(
        &self,
        work: impl FnOnce(&Pdse<&File>) -> Result<(R, bool), Error>,
    ) -> Result<(R, u64), Error> {
        let superblock = turns::begin(&self.file, self).map_err(|refused| match refused {
            turns::Refused::Library(fault) => Error::Library(fault),
            turns::Refused::Lock(errno) => Error::Unreadable(errno),
        })?;
        let held = Held { library: self, generation: superblock.generation };
        let (result, stays) = work(&Pdse::at(&self.file, superblock))?;
        if stays {
            core::mem::forget(held);
            return Ok((result, superblock.generation));
        }
        drop(held);
        Ok((result, 0))
    }
}

struct Held<'a> {
    library: &'a PdseFile,
    generation: u64,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        turns::Hold::release(self.library, self.generation);
    }
}

impl turns::Hold for PdseFile {
    type Error = Errno;

    fn hold(&self, generation: u64) -> Result<(), Errno> {
        let mut held = self.held.lock();
        if let Some((_, count)) = held.iter_mut().find(|(one, count)| *one == generation && *count > 0) {
            *count += 1;
            return Ok(());
        }
        let place = held.iter_mut().find(|(_, count)| *count == 0).ok_or(Errno::EAGAIN)?;
        if !range_lock::try_hold(self.file.0, turns::reader_byte(generation), 1, range_lock::Hold::Shared)? {
            return Err(Errno::EAGAIN);
        }
        *place = (generation, 1);
        Ok(())
    }

    fn release(&self, generation: u64) {
        let mut held = self.held.lock();
        let found = held.iter_mut().find(|(one, count)| *one == generation && *count > 0);
        if let Some((_, count)) = found {
            *count -= 1;
            if *count == 0 {
                let _ = range_lock::release(self.file.0, turns::reader_byte(generation), 1);
            }
        }
    }
}

/// A member's bytes.
struct PdseContent<'a> {
    pdse: &'a Pdse<&'a File>,
    member: &'a pdse::Member,
    initial: u64,
    is_mapped: bool,
}

impl Content for PdseContent<'_> {
    fn length(&self) -> u64 {
        self.member.size
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Errno> {
        self.pdse.read_member(self.member, at, into).map_err(|fault| match fault {
            Fault::Unreadable { errno, .. } => Errno(errno as u16),
            _ => Errno::EIO,
        })
    }

    fn mapping(&self) -> Option<(i32, u64)> {
        let run = self.member.runs.as_slice().first().filter(|_| self.is_mapped)?;
        Some((self.pdse.reader().0, u64::from(run.first) * PAGE as u64))
    }

    fn initial(&self) -> u64 {
        self.initial
    }
}

/// Which bytes a member has.
fn token_of(pdse: &Pdse<&File>, member: &pdse::Member) -> [u64; 4] {
    let first = member.runs.as_slice().first().map_or(0, |run| run.first);
    [pdse.superblock().identity, member.sum, u64::from(first), member.size]
}

impl PdseContent<'_> {
    /// Are these the bytes that were stored? As far as they are read at LOAD.
    fn check(&self) -> Result<(), Error> {
        let mut page = [0; PAGE];
        let is_all = self.initial >= self.member.size;
        let (mut sum, mut sums) = (Sum::new(0), PageSums::default());
        let mut at = 0;
        while at < self.initial.min(self.member.size) {
            let length = (self.member.size - at).min(PAGE as u64) as usize;
            let (now, rest) = page.split_at_mut(length);
            rest.fill(0);
            self.pdse.read_member(self.member, at, now).map_err(Error::Library)?;
            if is_all {
                sum.add(now);
            } else {
                let number = (at / PAGE as u64) as u32;
                sums.check(self.pdse, self.member, number, &page).map_err(Error::Library)?;
            }
            at += length as u64;
        }
        if is_all && sum.finish() != self.member.sum { Err(Error::Checksum) } else { Ok(()) }
    }
}

impl Source for PdseFile {
    fn find(&self, name: &[u8], counts: &mut Counts) -> Result<Option<Member>, Error> {
        let Ok(name) = Name::new(name) else { return Ok(None) };
        let (found, _) = self.with(|pdse| {
            let found = pdse.find(&name, counts).map_err(Error::Library)?;
            let member = found.map(|found| {
                let token = token_of(pdse, &found.member);
                Member {
                    token,
                    place: token[2],
                    length: found.member.size,
                    is_reentrant: found.member.attributes.has(Attributes::REENTRANT),
                    entry_at: found.entry_point(),
                    is_checked: false,
                }
            });
            Ok((member, false))
        })?;
        Ok(found)
    }

    fn fetch(
        &self,
        name: &[u8],
        known: &Member,
        counts: &mut Counts,
        work: &mut dyn FnMut(&dyn Content),
    ) -> Result<u64, Error> {
        let not_found = || Error::NotFound(Text::new(name));
        let key = Name::new(name).map_err(|_| not_found())?;
        let ((), hold) = self.with(|pdse| {
            let found =
                pdse.find(&key, &mut Counts::default()).map_err(Error::Library)?.ok_or_else(not_found)?;
            let member = &found.member;
            let initial = member.classes().initial;
            *counts += load_counts(member, 0..initial);
            let is_mapped = member.fetch != FetchOptions::Pack && member.runs.as_slice().len() == 1;
            let initial = u64::from(initial) * PAGE as u64;
            let content = PdseContent { pdse, member, initial, is_mapped };
            // The same pages as those that were checked: nobody may write them while they are a member's.
            if !known.is_checked || known.token != token_of(pdse, member) {
                content.check()?;
            }
            work(&content);
            Ok(((), is_mapped))
        })?;
        Ok(hold)
    }

    fn release(&self, hold: u64) {
        turns::Hold::release(self, hold);
    }

    fn stamp(&self) -> Result<Stamp, Error> {
        let [device, inode, _, _] =
            stat(self.path()).map(|status| token(&status)).map_err(Error::Unreadable)?;
        let superblock = pdse::Superblock::newest(&self.file).map_err(Error::Library)?;
        Ok([device, inode, superblock.identity, superblock.generation])
    }

    fn tells_changes(&self) -> bool {
        true
    }

    fn path(&self) -> &CStr {
        self.path.text()
    }

    fn member_path<'a>(&self, _: &[u8], _: &Member, _: &'a mut PathRoom) -> Option<&'a CStr> {
        None
    }
}
