//! The unwinder told of a program's frames, so that C++ and Rust can throw through it.
//!
//! ```text
//! PT_GNU_EH_FRAME ──> start of .eh_frame ──> [length, ...][length, ...][0]    registered with libgcc as a whole
//! ```
//!
//! libgcc looks in its register first, and asks the system's loader only after that. Its own room for an entry is given to
//! it, so nothing comes from the program's heap.
//!
//! Invariant: what is registered ends with a zero entry within its segment: libgcc walks until it finds one.
//! Not here: unwinders that are built into a program (`-static-libgcc`), which cannot be reached.

use core::ffi::c_void;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::arena;
use crate::elf::{Damage, Layout, Memory};
use crate::error::{Error, Failure, Reason};
use crate::system::Handle;

/// libgcc's entry: six to eight words, by version.
type Entry = [usize; 12];

/// The unwinder's functions. Found once, the same whoever finds them; 1 in the first: there is no unwinder.
static REGISTER: AtomicUsize = AtomicUsize::new(0);
static DEREGISTER: AtomicUsize = AtomicUsize::new(0);

/// A registered program.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    frames: *const c_void,
    entry: NonNull<Entry>,
}

/// Where the frames of a program begin, and how many bytes they have with the zero entry at the end; nothing where it has
/// none.
///
/// # Errors
/// They lead outside of their segment, or have no end.
pub fn find(layout: &Layout, memory: &impl Memory) -> Result<Option<(u64, u64)>, Failure> {
    /// Relative to where it stands, four bytes with a sign.
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
            0 => return Ok(Some((start, at as u64 + 4))),
            // Lengths of 64 bits: nobody has four GiB of frames.
            u32::MAX => return Err(Reason::OpenFrames.into()),
            length => at = at.checked_add(4 + length as usize).ok_or(Damage::Frames)?,
        }
    }
}

/// Registers the frames at an address; nothing where the machine has no unwinder.
///
/// # Safety
/// [`find`] found them there, in a loaded program, which is not given back before [`deregister`].
pub unsafe fn register(frames: usize) -> Result<Option<Registered>, Error> {
    let Some(function) = unwinder() else { return Ok(None) };
    let entry = arena::keep::<Entry>([0; 12]).map_err(Error::NoStorage)?;
    let frames = frames as *const c_void;
    // SAFETY: libgcc's function of this name; the entry is as large as any version's and stays until deregistered.
    unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(*const c_void, *mut c_void)>(function)(
            frames,
            entry.as_ptr().cast(),
        );
    }
    Ok(Some(Registered { frames, entry }))
}

/// Takes a program out of the register.
///
/// # Safety
/// It was registered, and no frame of it is on a stack.
pub unsafe fn deregister(registered: Registered) {
    let function = DEREGISTER.load(Ordering::Relaxed);
    // SAFETY: libgcc's function of this name, found with the other; what it gets is what was registered.
    unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(*const c_void) -> *mut c_void>(function)(
            registered.frames,
        );
        arena::take(registered.entry);
    }
}

/// The function that registers. The unwinder's library is opened where it is not loaded yet: a program in C without it
/// may load a program in C++ later, which must find the frames of those that were there before.
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
        Some((register, deregister))
    });
    let Some((register, deregister)) = functions else {
        REGISTER.store(1, Ordering::Relaxed);
        return None;
    };
    DEREGISTER.store(deregister, Ordering::Relaxed);
    REGISTER.store(register, Ordering::Release);
    Some(register)
}
