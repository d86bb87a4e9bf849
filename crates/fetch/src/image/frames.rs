//! Reports a program's frames to the unwinder, so that C++ and Rust can throw through it.
//!
//! ```text
//! PT_GNU_EH_FRAME ──> start of .eh_frame ──> [length, ...][length, ...][0]
//!        '─ sorted table of functions
//!
//! objects::add ──> does libgcc find a function of the program? ── yes ──> nothing more to do
//!                                                               '─ no ──> registered with libgcc as a whole
//! ```
//!
//! libgcc looks in its register first for every throw: under a lock, and the search takes longer with each program in it. So
//! libgcc is asked whether it finds the program by `_dl_find_object` ([`objects`]). The program is registered only if not: an
//! older libgcc, or a program that does not export our function. The room for libgcc's entry comes from us, so nothing comes from
//! the program's heap.
//!
//! Invariant: registered frames end with a zero entry within their segment: libgcc walks until it finds one.
//! Not here: unwinders that are built into a program (`-static-libgcc`), which cannot be reached.

use core::ffi::c_void;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::objects::{self, Object};
use crate::arena;
use crate::elf::{Damage, Layout, Memory, Table};
use crate::error::{Error, Failure, Reason};
use crate::system::Handle;

/// libgcc's entry: six to eight words, by version.
type Entry = [usize; 12];

/// The unwinder's functions, looked up once; each thread finds the same ones. 1 in the first: there is no unwinder.
static REGISTER: AtomicUsize = AtomicUsize::new(0);
static DEREGISTER: AtomicUsize = AtomicUsize::new(0);
static FIND: AtomicUsize = AtomicUsize::new(0);

/// The frames of a program, by addresses of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    /// The beginning of the frames.
    pub start: u64,
    /// Bytes, with the zero entry at the end.
    pub size: u64,
    /// The header with its sorted table, and the first function of the table; None if it has another form.
    sorted: Option<(u64, u64)>,
}

/// A program that unwinders find.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    object: Option<Object>,
    entry: Option<(*const c_void, NonNull<Entry>)>,
}

/// Finds the frames of a program; None if it has none.
///
/// # Errors
/// They are outside of their segment, or have no end.
pub fn find(layout: &Layout, memory: &impl Memory) -> Result<Option<Frames>, Failure> {
    /// Relative to its own place, four bytes with a sign.
    const RELATIVE_4: u8 = 0x1b;
    let Some((address, size)) = layout.frames else { return Ok(None) };
    let header = memory.table(address, size).ok_or(Damage::Frames)?;
    let [version, encoding] = header.read::<[u8; 2]>(0).ok_or(Damage::Frames)?;
    if version != 1 || encoding != RELATIVE_4 {
        return Err(Reason::OpenFrames.into());
    }
    let distance = header.read::<u32>(4).ok_or(Damage::Frames)? as i32;
    let start = (address + 4).wrapping_add(i64::from(distance) as u64);
    let frames = memory.from(start).ok_or(Damage::Frames)?;
    let mut at = 0_usize;
    loop {
        let Some(length) = frames.read::<u32>(at) else { return Err(Reason::OpenFrames.into()) };
        match length {
            0 if at == 0 => return Ok(None),
            0 => {
                let all = frames.part(0, at + 4).ok_or(Damage::Frames)?;
                let sorted = Sorted { header: (address, &header), frames: (start, &all), known: [None; 4] };
                let sorted = sorted.first().map(|first| (address, first));
                return Ok(Some(Frames { start, size: at as u64 + 4, sorted }));
            }
            // Lengths of 64 bits: no program has four GiB of frames.
            u32::MAX => return Err(Reason::OpenFrames.into()),
            length => at = at.checked_add(4 + length as usize).ok_or(Damage::Frames)?,
        }
    }
}

/// The data that the unwinder reads without a check: the sorted table of the header, and the entries of its rows. Invalid data
/// makes it end the process.
struct Sorted<'a> {
    /// Address, and bytes.
    header: (u64, &'a Table<'a>),
    /// The same, with the zero entry at the end.
    frames: (u64, &'a Table<'a>),
    /// The heads of the latest entries: most programs have two.
    known: [Option<usize>; 4],
}

impl Sorted<'_> {
    /// The first function of the table, if everything has the usual form and is complete.
    fn first(mut self) -> Option<u64> {
        /// A count of four bytes; four bytes with a sign, relative to the header.
        const FORM: [u8; 2] = [0x03, 0x3b];
        const ROWS: usize = 12;
        let (address, header) = self.header;
        let count = header.read::<u32>(ROWS - 4)? as usize;
        let is_usual = header.read::<[u8; 2]>(2)? == FORM && address.is_multiple_of(4) && count > 0;
        if !is_usual || header.len() < count.checked_mul(8)?.checked_add(ROWS)? {
            return None;
        }
        let mut before = i32::MIN;
        for row in 0..count {
            let [function, entry] = header.read::<[u32; 2]>(ROWS + row * 8)?.map(u32::cast_signed);
            if function < before {
                return None;
            }
            before = function;
            let entry = address.wrapping_add_signed(entry.into()).wrapping_sub(self.frames.0);
            self.entry(usize::try_from(entry).ok()?)?;
        }
        Some(address.wrapping_add_signed(header.read::<u32>(ROWS)?.cast_signed().into()))
    }

    /// An entry of a function: its length, the distance back to its head, the function's beginning, and its length.
    fn entry(&mut self, at: usize) -> Option<()> {
        let (_, frames) = self.frames;
        let [length, back] = frames.read::<[u32; 2]>(at)?.map(|word| word as usize);
        frames.part(at, length.checked_add(4)?)?;
        let head = at.checked_add(4)?.checked_sub(back)?;
        if length < 12 || back == 0 {
            return None;
        }
        if self.known.contains(&Some(head)) {
            return Some(());
        }
        self.head(head)?;
        self.known.rotate_right(1);
        self.known[0] = Some(head);
        Some(())
    }

    /// A head: functions have addresses of four bytes, relative to their own place.
    fn head(&self, at: usize) -> Option<()> {
        const RELATIVE_4: u8 = 0x1b;
        const RELATIVE_4_BEHIND: u8 = 0x9b;
        let (_, frames) = self.frames;
        let [length, id] = frames.read::<[u32; 2]>(at)?;
        let head = frames.part(at.checked_add(8)?, (length as usize).checked_sub(4)?)?;
        let version = head.read::<u8>(0)?;
        let words = head.text_length(1)?;
        if length == u32::MAX || id != 0 || !matches!(version, 1 | 3) || head.read::<u8>(1)? != b'z' {
            return None;
        }
        let mut next = words + 2;
        // The factors of code and data, the return address, and the length of the following data.
        for _ in 0..4 {
            while head.read::<u8>(next)? & 0x80 != 0 {
                next += 1;
            }
            next += 1;
        }
        for word in 2..=words {
            match head.read::<u8>(word)? {
                b'R' => return (head.read::<u8>(next)? == RELATIVE_4).then_some(()),
                b'P' if matches!(head.read::<u8>(next)?, RELATIVE_4 | RELATIVE_4_BEHIND) => next += 5,
                b'L' => next += 1,
                b'S' | b'B' => {}
                _ => return None,
            }
        }
        None
    }
}

/// Lets unwinders find a program with these frames; `bias` is added to its addresses. `range` is its memory.
///
/// # Safety
/// [`find`] found them in this program, which is loaded there, and is not given back before [`deregister`].
///
/// # Errors
/// No storage.
pub unsafe fn register(
    bias: usize,
    (low, high): (usize, usize),
    frames: Frames,
) -> Result<Option<Registered>, Error> {
    let at = |address: u64| bias.wrapping_add(address as usize);
    let mut registered = Registered { object: None, entry: None };
    if let Some((header, _)) = frames.sorted {
        let object = Object { low, high, frames: at(header) };
        objects::add(object).map_err(Error::NoStorage)?;
        registered.object = Some(object);
    }
    let Some(function) = unwinder() else { return Ok(Some(registered)) };
    // SAFETY: code of the program.
    if frames.sorted.is_some_and(|(_, first)| unsafe { is_found(at(first)) }) {
        return Ok(Some(registered));
    }
    let entry = arena::keep::<Entry>([0; 12]).map_err(|errno| {
        registered.object.into_iter().for_each(objects::remove);
        Error::NoStorage(errno)
    })?;
    let frames = at(frames.start) as *const c_void;
    // SAFETY: libgcc's function of this name; the entry is as large as any version's and stays until deregistered.
    unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(*const c_void, *mut c_void)>(function)(
            frames,
            entry.as_ptr().cast(),
        );
    }
    registered.entry = Some((frames, entry));
    Ok(Some(registered))
}

/// Does the unwinder find the function at this address?
///
/// # Safety
/// An address of a loaded program.
unsafe fn is_found(address: usize) -> bool {
    type Find = unsafe extern "C" fn(*const c_void, *mut [usize; 3]) -> *const c_void;
    let mut bases = [0; 3];
    match FIND.load(Ordering::Relaxed) {
        0 => false,
        // SAFETY: libgcc's `_Unwind_Find_FDE`, which writes three words.
        find => unsafe {
            !core::mem::transmute::<usize, Find>(find)(address as *const c_void, &raw mut bases).is_null()
        },
    }
}

/// Removes a program from the unwinder.
///
/// # Safety
/// It was registered, and no frame of it is on a stack.
pub unsafe fn deregister(registered: Registered) {
    registered.object.into_iter().for_each(objects::remove);
    let Some((frames, entry)) = registered.entry else { return };
    let function = DEREGISTER.load(Ordering::Relaxed);
    // SAFETY: libgcc's function of this name, found with the other; what it gets is what was registered.
    unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(*const c_void) -> *mut c_void>(function)(frames);
        arena::take(entry);
    }
}

/// The function that registers. Opens the unwinder's library if it is not loaded yet: a program in C without it may load a program
/// in C++ later, which must find the frames of those that were there before.
fn unwinder() -> Option<usize> {
    match REGISTER.load(Ordering::Acquire) {
        0 => {}
        1 => return None,
        function => return Some(function),
    }
    let handle = Handle::of_loaded(c"libgcc_s.so.1").or_else(|| Handle::open(c"libgcc_s.so.1", false).ok());
    // SAFETY: C strings.
    let functions = handle.and_then(|handle| unsafe {
        let register = handle.symbol(c"__register_frame_info".as_ptr(), core::ptr::null())?;
        let deregister = handle.symbol(c"__deregister_frame_info".as_ptr(), core::ptr::null())?;
        let find = handle.symbol(c"_Unwind_Find_FDE".as_ptr(), core::ptr::null()).unwrap_or(0);
        Some((register, deregister, find))
    });
    let Some((register, deregister, find)) = functions else {
        REGISTER.store(1, Ordering::Relaxed);
        return None;
    };
    DEREGISTER.store(deregister, Ordering::Relaxed);
    FIND.store(find, Ordering::Relaxed);
    REGISTER.store(register, Ordering::Release);
    Some(register)
}
