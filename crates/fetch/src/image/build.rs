//! Loading: makes an image from a program's bytes.
//!
//! ```text
//! read_layout ─> refuse ─> map ─> Building: needed ─> thread storage ─> relocate ─> protect ─> tell ─> Image
//!                                    '── dropped before the end: everything is undone
//! ```
//!
//! Invariant: the program cannot be found before it is complete; a failure leaves nothing behind.
//! Not here: the life of an image afterwards (`life`).

use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU32;

use underbar_sys::syscall::{Errno, PROT_READ};

use super::bind::{self, Binder};
use super::map::Mapping;
use super::process::prepare;
use super::relocate::{self, Descriptors};
use super::{Image, Needed, Surroundings, debugger, frames, lasting, needed};
use crate::arena;
use crate::content::{Content, MemoryContent};
use crate::elf::{Damage, Dynamic, FileBytes, Header, Layout, LoadedBytes, PAGE, Tables};
use crate::error::{Error, Failure, Reason};
use crate::program_headers::{self, Entry};
use crate::system::{Handle, ProgramHeader};
use crate::threads;

/// Loads a program from its bytes. `name` is the name for debuggers and unwinders; `origin` the folder of its library;
/// `around` what it gets from above.
///
/// # Errors
/// It is damaged, or the machine has no room; or a [`Reason`] for the system's loader.
pub fn load(
    content: &dyn Content,
    name: &CStr,
    origin: &[u8],
    around: &Surroundings<'_>,
) -> Result<NonNull<Image>, Failure> {
    prepare();
    let (header, layout, bytes) = read_layout(content)?;
    if header.is_fixed {
        return Err(Error::Executable.into());
    }
    if layout.has_more {
        return Err(Reason::TooMany.into());
    }
    if layout.wants_executable_stack {
        return Err(Reason::ExecutableStack.into());
    }
    if layout.dynamic.1 == 0 {
        return Err(Reason::NoDynamic.into());
    }
    let pages = |at: u64| at & !(PAGE - 1);
    if layout.segments().windows(2).any(|two| match two {
        [first, second] => pages(second.address) < first.end().next_multiple_of(PAGE),
        _ => false,
    }) {
        return Err(Reason::SharedPages.into());
    }
    let mapping = Mapping::new(&layout, content).map_err(unavailable)?;
    let mut building = Building {
        mapping,
        layout,
        needed: None,
        headers: None,
        name: None,
        threads: 0,
        descriptors: Descriptors::NONE,
        known: None,
        done: false,
    };
    let headers = bytes.headers(&header);
    // SAFETY: mapped just now, not visible to others.
    unsafe { building.finish(headers, name, origin, around) }
}

/// Reports the damage of a program that neither [`load`] nor the system's loader takes, as far as its file shows: for callers
/// that store programs.
///
/// # Errors
/// It is damaged, or an executable.
pub fn check(bytes: &[u8]) -> Result<(), Error> {
    let (header, layout, _) = read_layout(&MemoryContent(bytes))?;
    if header.is_fixed {
        return Err(Error::Executable);
    }
    let memory = FileBytes { bytes, layout: &layout };
    let dynamic = Dynamic::read(&layout, &memory)?;
    if dynamic.is_program {
        return Err(Error::Executable);
    }
    let tables = Tables::read(&dynamic, &memory)?;
    let no_end = |_| Damage::Name(0);
    dynamic.needed().iter().try_for_each(|at| needed::text(&tables, *at).map(drop).map_err(no_end))?;
    Ok(())
}

/// The machine's reason for a mapping that failed.
fn unavailable(errno: Errno) -> Failure {
    match errno {
        Errno::ENOMEM | Errno::EAGAIN => Error::NoStorage(errno).into(),
        _ => Error::Unreadable(errno).into(),
    }
}

/// The first bytes of a program, with all its program headers.
pub struct First {
    bytes: [u8; First::ROOM],
    headers_at: usize,
}

impl First {
    /// The bytes read at once: they contain the headers of nearly all programs.
    const AT_ONCE: usize = 1024;
    const ROOM: usize = 64 + 256 * 56;

    fn headers(&self, header: &Header) -> &[u8] {
        self.bytes.get(self.headers_at..self.headers_at + header.size()).unwrap_or_default()
    }
}

/// Reads the layout.
///
/// # Errors
/// The damage of the file.
pub fn read_layout(content: &dyn Content) -> Result<(Header, Layout, First), Error> {
    let length = content.length();
    let mut first = First { bytes: [0; First::ROOM], headers_at: 0 };
    let at_once = length.min(First::AT_ONCE as u64) as usize;
    let beginning = first.bytes.get_mut(..at_once).unwrap_or_default();
    content.read(0, beginning).map_err(Error::Unreadable)?;
    let header = Header::read(beginning, length)?;
    match usize::try_from(header.offset) {
        Ok(offset) if offset + header.size() <= at_once => first.headers_at = offset,
        _ => {
            let into = first.bytes.get_mut(..header.size()).unwrap_or_default();
            content.read(header.offset, into).map_err(Error::Unreadable)?;
        }
    }
    let layout = Layout::read(&header, first.headers(&header), length)?;
    Ok((header, layout, first))
}

/// A program that is not complete yet: dropping it undoes it.
struct Building {
    mapping: Mapping,
    layout: Layout,
    needed: Option<Needed>,
    headers: Option<(NonNull<u8>, usize)>,
    name: Option<(NonNull<u8>, usize)>,
    threads: usize,
    descriptors: Descriptors,
    known: Option<debugger::Known>,
    done: bool,
}

impl Drop for Building {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        // SAFETY: only the program's own resolvers have seen it, and they have returned.
        unsafe {
            if let Some(known) = self.known {
                debugger::untell(known);
            }
            if self.threads != 0 {
                threads::unregister(self.threads);
            }
            self.mapping.unmap();
            self.descriptors.free();
            if let Some(needed) = self.needed {
                needed::close(needed);
            }
            for (place, size) in [self.headers, self.name].into_iter().flatten() {
                arena::put(place, size);
            }
        }
    }
}

impl Building {
    /// # Safety
    /// The mapping is that of the layout, complete, and not used by others.
    unsafe fn finish(
        &mut self,
        headers: &[u8],
        name: &CStr,
        origin: &[u8],
        around: &Surroundings<'_>,
    ) -> Result<NonNull<Image>, Failure> {
        let (layout, bias) = (self.layout, self.mapping.bias);
        // SAFETY: the segments are mapped there until `self` or the image goes.
        let memory = unsafe { LoadedBytes::new(bias, &layout) };
        let dynamic = Dynamic::read(&layout, &memory)?;
        refuse(&dynamic)?;
        let tables = Tables::read(&dynamic, &memory)?;
        let needed = self.open_needed(&dynamic, &tables, origin)?;
        if let Some(soname) = dynamic.soname
            && let Some(handle) = Handle::of_loaded(needed::text(&tables, soname)?)
        {
            let is_it = is_same_file(handle, name);
            handle.close();
            if is_it {
                return Err(Reason::AlreadyLoaded.into());
            }
        }
        let frames = frames::find(&layout, &memory)?;
        if let Some(storage) = layout.threads {
            self.threads = threads::register(storage, bias.wrapping_add(storage.address as usize))?;
        }
        let mut binder = Binder {
            bias,
            layout: &layout,
            tables: &tables,
            is_symbolic: dynamic.is_symbolic,
            needed: needed.list(),
            replaced: around.replaced,
            threads: self.threads,
            exported: bind::elsewhere(&tables),
            last: None,
        };
        // SAFETY: the binder is of this program, whose code is mapped with its rights.
        let relocations = unsafe { relocate::relocate(&mut binder, &mut self.descriptors)? };
        if let Some((address, length)) = layout.relro {
            // SAFETY: whole pages of a writable segment; all relocations are done.
            unsafe { self.mapping.protect(address, length, PROT_READ).map_err(unavailable)? };
        }
        self.headers = Some(kept(headers)?);
        self.name = Some(kept(name.to_bytes_with_nul())?);
        let (Some(headers), Some(name)) = (self.headers, self.name) else {
            return Err(Error::NoStorage(Errno::ENOMEM).into());
        };
        self.known = debugger::tell(bias, &layout, &tables, frames.map(|all| (all.start, all.size)))
            .map_err(Error::NoStorage)?;
        let lasts = lasting::lasts(&dynamic, &tables, needed.list())?;
        let range = (bias.wrapping_add(layout.low as usize), bias.wrapping_add(layout.high as usize));
        let registered = match frames {
            // SAFETY: found in this program, which is given back after `deregister`.
            Some(frames) => unsafe { frames::register(bias, range, frames)? },
            None => None,
        };
        let entry = Entry::new(
            bias,
            name.0.as_ptr().cast(),
            headers.0.as_ptr().cast(),
            (headers.1 / size_of::<ProgramHeader>()) as u16,
            range,
        );
        let image = Image {
            entry,
            layout,
            dynamic,
            mapping: self.mapping,
            headers,
            name,
            needed,
            threads: self.threads,
            descriptors: self.descriptors,
            registered,
            known: self.known,
            finals: [0; 4],
            pending: AtomicU32::new(0),
            lasts,
            is_leaving: false,
            hold: None,
            threads_ended: around.threads_ended,
            begun: 0,
            relocations,
        };
        let image = arena::keep(image).map_err(|errno| {
            if let Some(registered) = registered {
                // SAFETY: registered just now.
                unsafe { frames::deregister(registered) };
            }
            Error::NoStorage(errno)
        })?;
        self.done = true;
        // SAFETY: the entry stays until `unload` hides it.
        unsafe { program_headers::show(&raw mut (*image.as_ptr()).entry) };
        Ok(image)
    }

    fn open_needed(
        &mut self,
        dynamic: &Dynamic,
        tables: &Tables<'_>,
        origin: &[u8],
    ) -> Result<Needed, Failure> {
        let room = dynamic.needed().len();
        let start = arena::get(room * size_of::<Handle>()).map_err(Error::NoStorage)?.cast::<Handle>();
        self.needed = Some(Needed { start, count: 0, room });
        needed::open(dynamic, tables, origin, |handle| {
            if let Some(needed) = self.needed.as_mut()
                && needed.count < room
            {
                // SAFETY: room for one more.
                unsafe { start.as_ptr().add(needed.count).write(handle) };
                needed.count += 1;
            }
            Ok(())
        })?;
        self.needed.ok_or(Error::NoStorage(Errno::ENOMEM).into())
    }
}

/// The features of the dynamic section that we do not support.
fn refuse(dynamic: &Dynamic) -> Result<(), Failure> {
    for (is_so, reason) in [
        (dynamic.has_text_relocations, Reason::TextRelocations),
        (dynamic.has_static_threads, Reason::StaticThreads),
        (dynamic.is_filter, Reason::Filter),
        (dynamic.has_rel, Reason::Relocation),
        (dynamic.needs_more, Reason::TooMany),
    ] {
        if is_so {
            return Err(reason.into());
        }
    }
    if dynamic.is_program { Err(Error::Executable.into()) } else { Ok(()) }
}

/// Has the system's loader loaded the same file as this library?
fn is_same_file(handle: Handle, name: &CStr) -> bool {
    let of = |path| underbar_sys::file::stat(path).map(|status| (status.device, status.inode));
    match (handle.path().map(of), of(name)) {
        (Some(Ok(theirs)), Ok(ours)) => theirs == ours,
        _ => false,
    }
}

fn kept(bytes: &[u8]) -> Result<(NonNull<u8>, usize), Error> {
    let place = arena::get(bytes.len()).map_err(Error::NoStorage)?;
    // SAFETY: room for so many bytes of our own.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), place.as_ptr(), bytes.len()) };
    Ok((place, bytes.len()))
}
