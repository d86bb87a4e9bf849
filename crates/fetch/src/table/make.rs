//! Makes a program from a member: by our loader, or by the system's.
//!
//! ```text
//! fetch the member's bytes ──> image::load ──> Own
//!                                  '─ a reason ──> its own file, or a copy in memory ──> the system's loader ──> System
//! ```
//!
//! Invariant: a new program is not visible to others, and its constructors have not run (those of the system's loader have).
//! Not here: the requests for programs, and who may use them (`load`).

use core::ffi::CStr;
use core::ptr::NonNull;

use underbar_partitioned::count::Counts;
use underbar_sys::syscall::{self, Errno};

use crate::arena;
use crate::content::Content;
use crate::error::{Error, Failure, Reason, Text};
use crate::image::{self, Image, Lasts, Surroundings};
use crate::library::{Member, Source};
use crate::path_room::PathRoom;
use crate::pool::{Copy, write_all};
use crate::program::{Form, Kind, Program};
use crate::system::Handle;

/// The minimum cost of a load, in relocations: some twenty system calls.
const LEAST_COST: u64 = 1000;

/// A program, in the arena.
pub(super) struct Made {
    pub(super) program: NonNull<Program>,
    /// The reason why it was left to the system's loader.
    pub(super) reason: Option<Reason>,
    /// Whether it may hold pages of the library.
    pub(super) holds_pages: bool,
}

/// Makes a program with one user. `takes_copy`: its initial state is kept if possible.
pub(super) fn make(
    source: &dyn Source,
    name: &[u8],
    member: &Member,
    form: Form,
    takes_copy: bool,
    around: &Surroundings<'_>,
    counts: &mut Counts,
) -> Result<Made, Error> {
    let mut kind = Err(Error::NotFound(Text::new(name)));
    let mut reason = None;
    let fetched = source.fetch(name, member, counts, &mut |content| {
        (kind, reason) = match attempt(source, name, member, around, content) {
            Ok(kind) => (Ok(kind), None),
            Err(Failure::Error(error)) => (Err(error), None),
            Err(Failure::Reason(reason)) => {
                (by_system(source, name, member, content, reason).map(Kind::System), Some(reason))
            }
        };
    });
    let is_mapped = match fetched {
        Ok(is_mapped) => is_mapped,
        Err(error) => {
            // If a source reports an error after it has called `work`, the result is discarded.
            if let Ok(kind) = kind {
                give_back(kind);
            }
            return Err(error);
        }
    };
    let kind = kind?;
    // The system's loader has a copy.
    let holds_pages = is_mapped && matches!(kind, Kind::Own(_));
    let mut program = Program::new(kind, form);
    if let Kind::Own(image) = kind {
        // SAFETY: made just now, and not in use.
        let image = unsafe { image.as_ref() };
        program.cost = LEAST_COST + image.relocations.relative + 20 * image.relocations.bound;
        program.bytes = image.span();
        match image.lasts() {
            Lasts::ForEver => program.form = Form::Shared,
            Lasts::BeginsAgain if takes_copy => {
                // SAFETY: the same.
                program.copy = unsafe { Copy::take(image) }.ok();
                program.bytes += program.copy.map_or(0, |copy| copy.bytes);
            }
            Lasts::BeginsAgain | Lasts::BeginsWithOthers => {}
        }
    }
    let mut copy = program.copy;
    let kept = entry_of(&program, name, member).and_then(|entry| {
        program.entry = entry.unwrap_or(0);
        arena::keep(program).map_err(Error::NoStorage)
    });
    if kept.is_err() {
        if let Some(copy) = copy.as_mut() {
            // SAFETY: it is not in use.
            unsafe { copy.free() };
        }
        give_back(kind);
    }
    Ok(Made { program: kept?, reason, holds_pages })
}

/// Gives back what was made for a program that failed.
fn give_back(kind: Kind) {
    match kind {
        Kind::Own(image) => {
            // SAFETY: it has not begun, and is not in use.
            unsafe { Image::unload(image, None) };
        }
        Kind::System(handle) => handle.close(),
    }
}

/// By our loader.
fn attempt(
    source: &dyn Source,
    name: &[u8],
    member: &Member,
    around: &Surroundings<'_>,
    content: &dyn Content,
) -> Result<Kind, Failure> {
    /// The folder of a path.
    fn folder(path: &CStr) -> &[u8] {
        let path = path.to_bytes();
        let end = path.iter().rposition(|byte| *byte == b'/');
        end.and_then(|end| path.get(..end)).unwrap_or(b".")
    }
    let (mut room, mut other) = (PathRoom::default(), PathRoom::default());
    let image = match source.member_path(name, member, &mut room) {
        Some(path) => image::load(content, path, folder(path), around)?,
        None => {
            let path = source.path();
            let title = other.join(&[path.to_bytes(), b"(", name, b")"]).ok_or(Error::BadName)?;
            let image = image::load(content, title, folder(path), around)?;
            // SAFETY: made just now, and not given back.
            image::perf_map::tell(unsafe { image.as_ref() }, content, title);
            image
        }
    };
    Ok(Kind::Own(image))
}

/// By the system's loader: the member's own file, or a copy of it in memory.
fn by_system(
    source: &dyn Source,
    name: &[u8],
    member: &Member,
    content: &dyn Content,
    reason: Reason,
) -> Result<Handle, Error> {
    let mut room = PathRoom::default();
    if let Some(path) = source.member_path(name, member, &mut room)
        && path.to_bytes().contains(&b'/')
    {
        return Handle::open(path, true).map_err(|message| Error::System(reason, message));
    }
    let fd = syscall::memfd_create(c"underbar program", false).map_err(Error::NoStorage)?;
    let copied = copy_whole(content, fd);
    let mut digits = [0; 10];
    let opened = copied.map_err(Error::Unreadable).and_then(|()| {
        let path = room.join(&[b"/proc/self/fd/", decimal(fd as u32, &mut digits)]).ok_or(Error::BadName)?;
        Handle::open(path, true).map_err(|message| Error::System(reason, message))
    });
    let _ = syscall::close(fd);
    opened
}

fn copy_whole(content: &dyn Content, fd: i32) -> Result<(), Errno> {
    let length = usize::try_from(content.length()).map_err(|_| Errno::ENOMEM)?;
    let room = arena::get(length)?;
    // SAFETY: so many bytes of our own, which the content fills before they are read.
    let bytes = unsafe {
        room.as_ptr().write_bytes(0, length);
        core::slice::from_raw_parts_mut(room.as_ptr(), length)
    };
    let done = content.read(0, bytes).and_then(|()| write_all(fd, bytes));
    // SAFETY: got with this length.
    unsafe { arena::put(room, length) };
    done
}

fn decimal(mut number: u32, room: &mut [u8; 10]) -> &[u8] {
    let mut from = room.len();
    loop {
        from -= 1;
        room[from] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &room[from..];
        }
    }
}

/// The entry point: the one in the directory, or the symbol of the program's own name, or `main`.
pub(super) fn entry_of(program: &Program, name: &[u8], member: &Member) -> Result<Option<usize>, Error> {
    if let Some(at) = member.entry_at {
        let address = match program.kind {
            // SAFETY: an image stays as long as its program.
            Kind::Own(image) => unsafe { image.as_ref() }.code_at(at),
            Kind::System(handle) => handle.bias().map(|bias| bias.wrapping_add(at as usize)),
        };
        if address.is_some() {
            return Ok(address);
        }
    }
    let mut room = PathRoom::default();
    for symbol in [name, b"main"] {
        let Some(text) = room.join(&[symbol]) else { continue };
        match program.symbol(text) {
            Ok(None) => {}
            // Its resolver has exited.
            Err(Error::NotLoaded) => return Err(Error::NotLoaded),
            // Damaged tables do not prevent other use of the program.
            found => return Ok(found.ok().flatten()),
        }
    }
    Ok(None)
}
