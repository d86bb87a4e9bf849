//! ECBs, with the names of `underbar/ecb.h`.
//!
//! Errors are numbers of errno, so that C programs have words for them.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;

use underbar_runtime::{ecb, errno, heap};
use underbar_sys::syscall;

const EPERM: c_int = 1;
const ENOENT: c_int = 2;
const ENOMEM: c_int = 12;
const EBUSY: c_int = 16;
const EINVAL: c_int = 22;
const ENOSPC: c_int = 28;
const ENAMETOOLONG: c_int = 36;

fn number(refused: ecb::Refused) -> c_int {
    match refused {
        ecb::Refused::Outside => EPERM,
        ecb::Refused::NoMemory => ENOMEM,
        ecb::Refused::Inside(_) => EBUSY,
        ecb::Refused::Full => ENOSPC,
        ecb::Refused::Unknown | ecb::Refused::Name => EINVAL,
        ecb::Refused::LongName => ENAMETOOLONG,
    }
}

fn answer(result: Result<(), ecb::Refused>) -> c_int {
    result.map_or_else(number, |()| 0)
}

/// underbar_ecb_create: its number, or 0 with errno.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn underbar_ecb_create(class: *const c_char) -> u64 {
    // SAFETY: the caller's contract: null or a C string.
    ecb::create(unsafe { text(class) }).unwrap_or_else(|refused| {
        errno::set_errno(number(refused));
        0
    })
}

/// underbar_ecb_enter.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn underbar_ecb_enter(ecb: u64) -> c_int {
    answer(ecb::enter(ecb))
}

/// underbar_ecb_leave.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn underbar_ecb_leave() -> c_int {
    answer(ecb::leave())
}

/// underbar_ecb_end.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn underbar_ecb_end(ecb: u64) -> c_int {
    answer(ecb::end(ecb))
}

/// underbar_ecb_current.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn underbar_ecb_current() -> u64 {
    ecb::current()
}

/// underbar_ecb_name: null as a value is an empty one.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn underbar_ecb_name(name: *const c_char, value: *const c_char) -> c_int {
    // SAFETY: the caller's contract: null or C strings.
    answer(unsafe { ecb::name(text(name), text(value)) })
}

/// underbar_ecb_figures: 0 is the ECB that the caller is in.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn underbar_ecb_figures(ecb: u64, figures: *mut c_void, size: usize) -> c_int {
    if figures.is_null() {
        return EINVAL;
    }
    answer(this(ecb).and_then(ecb::figures).map(|shown| {
        let bytes = size.min(size_of::<ecb::Shown>());
        // SAFETY: the caller's contract: so many bytes can be written there. A program of another version knows fewer, or gets fewer.
        unsafe { core::ptr::copy_nonoverlapping((&raw const shown).cast(), figures.cast::<u8>(), bytes) }
    }))
}

/// underbar_ecb_display: 0 is the ECB that the caller is in.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn underbar_ecb_display(ecb: u64, fd: c_int) -> c_int {
    answer(this(ecb).and_then(|ecb| {
        ecb::display(ecb, |line| {
            let mut rest = line;
            while let Ok(written @ 1..) = syscall::write(fd, rest) {
                rest = rest.get(written..).unwrap_or_default();
                if rest.is_empty() {
                    break;
                }
            }
        })
    }))
}

/// The number, or for 0 that of the ECB that the caller is in.
fn this(ecb: u64) -> Result<u64, ecb::Refused> {
    match (ecb, ecb::current()) {
        (0, 0) => Err(ecb::Refused::Outside),
        (0, current) => Ok(current),
        (ecb, _) => Ok(ecb),
    }
}

/// underbar_ecb_step_outside.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn underbar_ecb_step_outside() {
    ecb::step_outside();
}

/// underbar_ecb_step_inside.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn underbar_ecb_step_inside() {
    ecb::step_inside();
}

/// underbar_process_malloc.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn underbar_process_malloc(size: usize) -> *mut c_void {
    // SAFETY: as malloc of C.
    ecb::outside(|| unsafe { heap::malloc(size).cast() })
}

/// underbar_process_calloc.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn underbar_process_calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: as calloc of C.
    ecb::outside(|| unsafe { heap::calloc(count, size).cast() })
}

/// underbar_process_realloc: a block of an ECB stays in it.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn underbar_process_realloc(address: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: as realloc of C.
    ecb::outside(|| unsafe { heap::realloc(address.cast(), size).cast() })
}

/// underbar_ecb_tag.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn underbar_ecb_tag(buffer: *mut c_void, name: *const c_void, length: usize) -> c_int {
    // SAFETY: the caller's contract: a buffer in use, and so many bytes.
    unsafe { name_of(name, length).map_or(EINVAL, |name| answer(ecb::tag(buffer.cast(), name))) }
}

/// underbar_ecb_untag.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn underbar_ecb_untag(buffer: *mut c_void) -> c_int {
    // SAFETY: the caller's contract: a buffer in use.
    unsafe { ecb::untag(buffer.cast()) }.map_or_else(number, |had| if had { 0 } else { ENOENT })
}

/// underbar_ecb_locate.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn underbar_ecb_locate(
    name: *const c_void,
    length: usize,
    after: *mut c_void,
) -> *mut c_void {
    // SAFETY: the caller's contract: so many bytes.
    let found = match unsafe { name_of(name, length) } {
        Some(name) => ecb::locate(name, after.cast()).map_err(number),
        None => Err(EINVAL),
    };
    match found {
        Ok(buffer) if !buffer.is_null() => buffer.cast(),
        Ok(_) => {
            errno::set_errno(ENOENT);
            null_mut()
        }
        Err(number) => {
            errno::set_errno(number);
            null_mut()
        }
    }
}

/// # Safety
/// Null, for an empty text, or a C string.
unsafe fn text<'a>(text: *const c_char) -> &'a [u8] {
    // SAFETY: the caller's promise.
    if text.is_null() { &[] } else { unsafe { CStr::from_ptr(text) }.to_bytes() }
}

/// # Safety
/// Null, or so many bytes can be read there.
unsafe fn name_of<'a>(name: *const c_void, length: usize) -> Option<&'a [u8]> {
    if name.is_null() || length > isize::MAX as usize {
        return None;
    }
    // SAFETY: the caller's promise.
    Some(unsafe { core::slice::from_raw_parts(name.cast(), length) })
}
