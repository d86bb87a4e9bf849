//! Libraries of both organisations: a PDS on emulated tracks, and a PDSE, whose members are mapped directly.
//!
//! ```text
//! PDS    sequential search ─> blocks of text, each checked ─> a copy in storage ─> loaded from there
//! PDSE   index ─> pages for LOAD, checked ─> pages mapped from the library; the rest is read on reference
//!//! ```
//!
//! The pages of a PDSE's member that are read at LOAD follow the documented rule (`underbar_partitioned::attribute`): all of
//! them under 96 KB, else the first sixteen; with PRIME all; with PACK all, copied.
//!
//! Invariant: while a PDSE is open, or pages of it are mapped, its generation is held. No writer reuses its pages until there
//! is a newer one and the library was checked, which a LOAD does unless the library is frozen.
//! Not here: the meaning of the bytes (`underbar_partitioned`), changing libraries (`underbar-store`).

use core::ffi::CStr;
use core::ptr::NonNull;

use underbar_partitioned::attribute::{Attributes, FetchOptions};
use underbar_partitioned::binder::Place;
use underbar_partitioned::count::Counts;
use underbar_partitioned::name::Name;
use underbar_partitioned::pds::{self, Pds};
use underbar_partitioned::pdse::{self, Other, PageSums, Pdse, coordination, load_counts};
use underbar_partitioned::read::{Fault, ReadAt, Unread};
use underbar_partitioned::sum::Sum;
use underbar_sys::file::{fstat, stat};
use underbar_sys::range_lock;
use underbar_sys::syscall::{self, Errno, O_CLOEXEC, O_RDONLY};

use crate::arena;
use crate::content::{Content, FileContent, MemoryContent};
use crate::error::{Error, Text};
use crate::library::{FirstText, Member, Source, Stamp, Token, stamp_of};
use crate::path_room::PathRoom;
use crate::search_cache::Remembered;

const PAGE: usize = 4096;
/// Pages of a PDSE that count as a track, as in `underbar_partitioned`.
const PAGES_PER_TRACK: u32 = 12;

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
    /// Device and inode: copies of a library have the same label.
    which: [u64; 2],
    /// Bytes of the file.
    length: u64,
    pds: Pds<File>,
}

impl PdsFile {
    /// Opens the file at a path.
    ///
    /// # Errors
    /// It does not exist, or is no PDS.
    pub fn open(path: &CStr) -> Result<PdsFile, Error> {
        let file = File::open(path)?;
        let status = fstat(file.0).map_err(Error::Unreadable)?;
        let (which, length) = ([status.device, status.inode], status.size.unsigned_abs());
        Ok(PdsFile { path: kept_path(path)?, which, length, pds: Pds::open(file).map_err(Error::Library)? })
    }

    fn member(&self, entry: &pds::Entry) -> Member {
        let header = self.pds.header();
        let place = u64::from(entry.first.track) << 8 | u64::from(entry.first.record);
        Member {
            token: [
                self.which[0],
                self.which[1],
                header.identity,
                header.generation,
                place,
                u64::from(entry.size),
            ],
            place,
            length: u64::from(entry.size),
            is_reentrant: entry.attributes.has(Attributes::REENTRANT),
            // The alias gives the member's entry point in addition to its own.
            entry_at: entry.entry_point.map(u64::from),
            is_checked: false,
            text: entry.alias.is_none().then_some(FirstText {
                track: entry.text.track,
                record: entry.text.record,
                at: entry.text_at,
                length: entry.text_length,
            }),
        }
    }

    /// The entry of a member, as far as reading its blocks needs it, from an earlier search in this same file.
    fn entry_again(&self, name: Name, member: &Member) -> Option<pds::Entry> {
        let (header, text) = (self.pds.header(), member.text?);
        let [device, inode, identity, generation, _, _] = member.token;
        let is_ours =
            [device, inode] == self.which && [identity, generation] == [header.identity, header.generation];
        let place = |track, record| Place { track, record };
        is_ours.then(|| pds::Entry {
            name,
            first: place((member.place >> 8) as u32, member.place as u8),
            text: place(text.track, text.record),
            text_at: text.at,
            text_length: text.length,
            attributes: Attributes::default(),
            fetch: FetchOptions::Default,
            storage: 0,
            entry_point: None,
            size: member.length as u32,
            alias: None,
        })
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
        member: &Member,
        counts: &mut Counts,
        work: &mut dyn FnMut(&dyn Content),
    ) -> Result<bool, Error> {
        let not_found = || Error::NotFound(Text::new(name));
        let key = Name::new(name).map_err(|_| not_found())?;
        let entry = match self.entry_again(key, member) {
            Some(entry) => entry,
            None => self.pds.find(&key, counts).map_err(Error::Library)?.ok_or_else(not_found)?,
        };
        // Before storage is allocated for bytes that cannot exist.
        if u64::from(entry.size) > self.length {
            return Err(Error::Library(Fault::Contradiction("a member is longer than its library")));
        }
        with_room(entry.size as usize, |room| {
            self.read(&entry, room, counts).map_err(Error::Library)?;
            work(&MemoryContent(room));
            Ok(false)
        })
    }

    fn stamp(&self) -> Result<Stamp, Error> {
        stat(self.path()).map(|status| stamp_of(&status)).map_err(Error::Unreadable)
    }

    fn tells_changes(&self) -> bool {
        true
    }

    fn path(&self) -> &CStr {
        self.path.text()
    }
}

/// Runs with so many zeroed bytes.
fn with_room<R>(length: usize, work: impl FnOnce(&mut [u8]) -> Result<R, Error>) -> Result<R, Error> {
    /// Given back also when code of a program unwinds.
    struct Room(NonNull<u8>, usize);
    impl Drop for Room {
        fn drop(&mut self) {
            // SAFETY: got with this length, and no longer used.
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

/// A PDSE, which may be changed while it is read. Reads are from one generation, held since the opening. If there is a newer
/// one, the table opens the file again, and this one is closed with the last program that has pages of it.
pub struct PdseFile {
    path: PathRoom,
    /// Device and inode, as for a PDS.
    which: [u64; 2],
    file: File,
    /// Bytes of the file at the opening: this generation needs no more, unless the file was cut.
    length: u64,
    superblock: pdse::Superblock,
    remembered: Remembered,
}

impl PdseFile {
    /// Opens the file at a path, at its newest generation.
    ///
    /// # Errors
    /// It does not exist, or is no PDSE.
    pub fn open(path: &CStr) -> Result<PdseFile, Error> {
        let file = File::open(path)?;
        let superblock = coordination::begin(&file, &file).map_err(|refused| match refused {
            coordination::Refused::Library(fault) => Error::Library(fault),
            coordination::Refused::Lock(errno) => Error::Unreadable(errno),
        })?;
        let status = fstat(file.0).map_err(Error::Unreadable)?;
        Ok(PdseFile {
            path: kept_path(path)?,
            which: [status.device, status.inode],
            file,
            length: status.size.unsigned_abs(),
            superblock,
            remembered: Remembered::default(),
        })
    }

    /// Are these pages in the file? Without this check, missing pages of a mapped member would be noticed only on access.
    fn has(&self, first: u32, bytes: u64) -> Result<(), Error> {
        let offset = u64::from(first) * PAGE as u64;
        match offset.checked_add(bytes).is_some_and(|end| end <= self.length) {
            true => Ok(()),
            false => Err(Error::Library(Fault::Cut { offset, length: bytes })),
        }
    }

    fn pdse(&self) -> Pdse<&File> {
        Pdse::at(&self.file, self.superblock)
    }

    fn member(&self, name: &[u8], counts: &mut Counts) -> Result<Option<pdse::Found>, Error> {
        let Ok(name) = Name::new(name) else { return Ok(None) };
        let search = |kept: &mut [_]| self.pdse().find_keeping(&name, counts, kept);
        let found = self.remembered.inner(self.superblock.levels, search).map_err(Error::Library)?;
        self.remembered.found(found.as_ref().map(|found| found.member));
        Ok(found)
    }

    /// The identity of a member's bytes.
    fn token_of(&self, member: &pdse::Member) -> Token {
        let first = member.runs.as_slice().first().map_or(0, |run| run.first);
        let [device, inode] = self.which;
        [device, inode, self.superblock.identity, member.sum, u64::from(first), member.size]
    }

    /// The member with the bytes that a search found: usually that of the last search.
    fn known(&self, name: &[u8], known: &Member) -> Result<pdse::Member, Error> {
        if let Some(last) = self.remembered.last().filter(|last| self.token_of(last) == known.token) {
            return Ok(last);
        }
        // The search was counted when the member was found; this one is internal.
        let found = self.member(name, &mut Counts::default())?;
        found.map(|found| found.member).ok_or(Error::NotFound(Text::new(name)))
    }
}

/// The file's own locks: released at the latest when it is closed.
impl coordination::Hold for File {
    type Error = Errno;

    fn hold(&self, generation: u64) -> Result<(), Errno> {
        match range_lock::try_hold(
            self.0,
            coordination::reader_byte(generation),
            1,
            range_lock::Hold::Shared,
        )? {
            true => Ok(()),
            false => Err(Errno::EAGAIN),
        }
    }

    fn release(&self, generation: u64) {
        let _ = range_lock::release(self.0, coordination::reader_byte(generation), 1);
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

/// The count for reading the first pages of a run.
fn counts_of(first: u32, pages: u32) -> Counts {
    let tracks = first / PAGES_PER_TRACK..=first.saturating_add(pages.saturating_sub(1)) / PAGES_PER_TRACK;
    Counts {
        programs_by_article: u64::from(pages),
        programs_by_fetch: u64::from(pages > 0),
        blocks: u64::from(pages),
        tracks: if pages > 0 { u64::from(tracks.end() - tracks.start()) + 1 } else { 0 },
        ..Counts::default()
    }
}

/// A part of a file whose first pages are made present.
struct Prefetched {
    file: FileContent,
    initial: u64,
}

impl Content for Prefetched {
    fn length(&self) -> u64 {
        self.file.length
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Errno> {
        self.file.read(at, into)
    }

    fn mapping(&self) -> Option<(i32, u64)> {
        self.file.mapping()
    }

    fn initial(&self) -> u64 {
        self.initial
    }
}

impl PdseContent<'_> {
    /// Do the bytes read at LOAD match those that were stored?
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

/// The location of a member that has one run of pages and is mapped: its first page and the number of pages read at LOAD; 0
/// for others, which are searched again.
fn place_of(member: &pdse::Member) -> u64 {
    match (member.runs.as_slice(), member.fetch) {
        (_, FetchOptions::Pack) => 0,
        ([run], _) => u64::from(member.classes().initial) << 32 | u64::from(run.first),
        _ => 0,
    }
}

impl Source for PdseFile {
    fn find(&self, name: &[u8], counts: &mut Counts) -> Result<Option<Member>, Error> {
        let found = self.member(name, counts)?;
        Ok(found.map(|found| Member {
            token: self.token_of(&found.member),
            place: place_of(&found.member),
            length: found.member.size,
            is_reentrant: found.member.attributes.has(Attributes::REENTRANT),
            entry_at: found.entry_point(),
            is_checked: false,
            text: None,
        }))
    }

    fn fetch(
        &self,
        name: &[u8],
        known: &Member,
        counts: &mut Counts,
        work: &mut dyn FnMut(&dyn Content),
    ) -> Result<bool, Error> {
        let initial = |pages: u32| u64::from(pages) * PAGE as u64;
        if known.is_checked && known.place != 0 {
            // The same pages as those that were checked: no writer may write them while they belong to a member.
            let (first, pages) = (known.place as u32, (known.place >> 32) as u32);
            self.has(first, known.length)?;
            *counts += counts_of(first, pages);
            let offset = u64::from(first) * PAGE as u64;
            let file = FileContent { fd: self.file.0, offset, length: known.length };
            work(&Prefetched { file, initial: initial(pages) });
            return Ok(true);
        }
        let (pdse, member) = (self.pdse(), &self.known(name, known)?);
        let mut rest = member.size;
        for run in member.runs.as_slice() {
            let bytes = rest.min(u64::from(run.pages) * PAGE as u64);
            self.has(run.first, bytes)?;
            rest -= bytes;
        }
        let pages = member.classes().initial;
        *counts += load_counts(member, 0..pages);
        let is_mapped = place_of(member) != 0;
        let content = PdseContent { pdse: &pdse, member, initial: initial(pages), is_mapped };
        content.check()?;
        work(&content);
        // The generation is held as long as the library, so it is enough that the program holds the library.
        Ok(is_mapped)
    }

    fn stamp(&self) -> Result<Stamp, Error> {
        let [device, inode, _, _] =
            stat(self.path()).map(|status| stamp_of(&status)).map_err(Error::Unreadable)?;
        let superblock = pdse::Superblock::newest(&self.file).map_err(Error::Library)?;
        Ok([device, inode, superblock.identity, superblock.generation])
    }

    fn tells_changes(&self) -> bool {
        true
    }

    fn is_doubtful(&self) -> bool {
        let is_wrong = || !matches!(self.superblock.other(&self.file), Other::Whole | Other::NotWritten);
        // A writer may be changing it at this moment: only a result that stays the same counts.
        is_wrong() && is_wrong() && pdse::Superblock::newest(&self.file) == Ok(self.superblock)
    }

    fn path(&self) -> &CStr {
        self.path.text()
    }
}
