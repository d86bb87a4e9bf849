//! mallinfo and related functions, with the names and structures of glibc.
#![cfg_attr(not(feature = "artifact"), allow(dead_code, reason = "called by their C names only"))]

use core::ffi::{c_char, c_int, c_void};

use underbar_runtime::heap::info::{Figures, with_xml, write_stats};

const EINVAL: c_int = 22;

/// struct mallinfo and struct mallinfo2 of glibc, by the type of their fields.
#[repr(C)]
pub struct MallInfo<T> {
    /// Bytes got from the kernel.
    arena: T,
    /// Free chunks: not counted.
    ordblks: T,
    smblks: T,
    /// Mappings outside the arena: there are none.
    hblks: T,
    hblkhd: T,
    usmblks: T,
    fsmblks: T,
    /// Bytes in use by the program.
    uordblks: T,
    /// Bytes not in use.
    fordblks: T,
    /// Bytes that malloc_trim would return.
    keepcost: T,
}

fn info<T: Default>(convert: impl Fn(u64) -> T) -> MallInfo<T> {
    let figures = Figures::now();
    MallInfo {
        arena: convert(figures.segments),
        ordblks: T::default(),
        smblks: T::default(),
        hblks: T::default(),
        hblkhd: T::default(),
        usmblks: T::default(),
        fsmblks: T::default(),
        uordblks: convert(figures.used),
        fordblks: convert(figures.free()),
        keepcost: convert(figures.idle),
    }
}

/// mallinfo of glibc: its fields wrap around, as they do there.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn mallinfo() -> MallInfo<c_int> {
    info(|figure| figure as c_int)
}

/// mallinfo2 of glibc.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn mallinfo2() -> MallInfo<usize> {
    info(|figure| figure as usize)
}

/// malloc_stats of glibc.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
extern "C" fn malloc_stats() {
    write_stats();
}

unsafe extern "C" {
    fn fputs(text: *const c_char, file: *mut c_void) -> c_int;
}

/// malloc_info of glibc: the error is returned.
#[cfg_attr(feature = "artifact", unsafe(no_mangle))]
unsafe extern "C" fn malloc_info(options: c_int, file: *mut c_void) -> c_int {
    if options != 0 {
        return EINVAL;
    }
    // SAFETY: the text is a C string, and the file is the caller's.
    with_xml(|text| unsafe { fputs(text.cast(), file) });
    0
}
