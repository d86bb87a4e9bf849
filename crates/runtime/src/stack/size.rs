//! The size of threads' stacks: the one given by the caller of `pthread_create`, or, if that is the default, the one set by
//! THREADSTACK.
//!
//! ```text
//! attributes given ─┬─ a stack that the program brings ───────────────────────────> as it is
//!                   ├─ a size that is not the default, or asked for ──────────────> as it is
//!                   └─ none, or no size ─┬─ init alone, at least `floor` of it ───> a copy with that size
//!                                        └─ incr, KEEP or FREE ───────────────────> a stack that underbar makes
//! ```
//!
//! Invariant: the caller's attributes are read only, and a size is never less than the known safe minimum.
//! Not here: the fallback if there is no room for such a stack (`create`).

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use underbar_enclave::Sizes;
use underbar_ledger::Key;
use underbar_options::{Disposition, LEAST_THREAD_STACK, StackSize};

use super::PAGE;
use super::segmented::Segments;
use crate::c_library::weak;
use crate::ledger;
use crate::orders::Orders;

/// `pthread_attr_t` of glibc on x86-64.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Attributes([u64; 7]);

/// Bytes that THREADSTACK gives to threads with the default size; 0: it is OFF.
static THREAD_STACK: AtomicU64 = AtomicU64::new(0);
/// underbar makes the stacks of these threads. This and the words below are written once, before the first request; relaxed.
static IS_MADE_HERE: AtomicBool = AtomicBool::new(false);
/// Bytes of increments; 0: none.
static INCREMENT: AtomicUsize = AtomicUsize::new(0);
/// Increments are given back when a thread has ended.
static FREES: AtomicBool = AtomicBool::new(false);

weak! {
    address_of_attr_init = "pthread_attr_init";
    address_of_attr_getstacksize = "pthread_attr_getstacksize";
    address_of_attr_setstacksize = "pthread_attr_setstacksize";
    address_of_attr_getstack = "pthread_attr_getstack";
    address_of_attr_setstack = "pthread_attr_setstack";
    address_of_attr_getguardsize = "pthread_attr_getguardsize";
    address_of_attr_getdetachstate = "pthread_attr_getdetachstate";
    address_of_auxiliary = "getauxval";
    address_of_minimum = "__pthread_get_minstack";
}

/// Obeys THREADSTACK.
pub(crate) fn configure(orders: &Orders<'_>) {
    configure_stacks_of_programs(orders);
    let threads = orders.settings.thread_stack();
    THREAD_STACK.store(if threads.on { threads.init.bytes().unwrap_or(0) } else { 0 }, Ordering::Relaxed);
    if threads.is_made_here() && !has_executable_stack() {
        let page = PAGE as u64;
        let increment = threads.increment.bytes().map_or(0, |bytes| bytes.max(1).next_multiple_of(page));
        INCREMENT.store(increment as usize, Ordering::Relaxed);
        FREES.store(threads.disposition == Disposition::Free, Ordering::Relaxed);
        IS_MADE_HERE.store(true, Ordering::Relaxed);
    }
}

/// Whether THREADSTACK decides.
pub(super) fn is_configured() -> bool {
    THREAD_STACK.load(Ordering::Relaxed) != 0 || IS_MADE_HERE.load(Ordering::Relaxed)
}

/// STACK, for stacks that programs make: bytes of the first segment and of increments, 0 if not set; and whether increments are
/// given back. Written once, before the first request; relaxed.
static OF_PROGRAMS: (AtomicUsize, AtomicUsize, AtomicBool) =
    (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));

fn configure_stacks_of_programs(orders: &Orders<'_>) {
    let stack = orders.settings.stack();
    // What is available minus some bytes has no meaning for such a stack.
    let initial = if let StackSize::Bytes(bytes) = stack.init { bytes } else { 0 };
    OF_PROGRAMS.0.store(initial as usize, Ordering::Relaxed);
    OF_PROGRAMS.1.store(stack.increment.bytes().unwrap_or(0) as usize, Ordering::Relaxed);
    OF_PROGRAMS.2.store(stack.disposition == Disposition::Free, Ordering::Relaxed);
}

/// The sizes of stacks that programs make.
pub fn sizes() -> Sizes {
    Sizes {
        initial: OF_PROGRAMS.0.load(Ordering::Relaxed),
        increment: OF_PROGRAMS.1.load(Ordering::Relaxed),
        frees: u32::from(OF_PROGRAMS.2.load(Ordering::Relaxed)),
    }
}

/// Counts segments of stacks that programs make.
pub fn count_segments(allocated: u64, freed: u64) {
    ledger::add(Key::StackSegmentsAllocated, allocated);
    ledger::add(Key::StackSegmentsFreed, freed);
}

/// underbar makes no stacks from now on.
pub(super) fn make_no_more() {
    IS_MADE_HERE.store(false, Ordering::Relaxed);
}

/// The segments of stacks that underbar makes.
pub(super) fn segments() -> Segments {
    let increment = INCREMENT.load(Ordering::Relaxed);
    let initial = THREAD_STACK.load(Ordering::Relaxed) as usize;
    // Without a size of its own, the first segment is as large as an increment.
    let initial = if initial == 0 { increment } else { initial };
    Segments {
        initial: initial.next_multiple_of(PAGE),
        increment,
        counted_as: Key::ThreadStackSegmentsAllocated,
    }
}

/// Whether the increments of a thread that has ended are given back.
pub(super) fn frees_increments() -> bool {
    FREES.load(Ordering::Relaxed)
}

/// Whether the program may run code on its stacks (nested functions of GNU C): the C library makes such stacks.
fn has_executable_stack() -> bool {
    /// A header of `AT_PHNUM` at `AT_PHDR`.
    #[repr(C)]
    struct Header {
        kind: u32,
        flags: u32,
        _rest: [u64; 6],
    }
    const STACK: u32 = 0x6474_e551;
    const EXECUTABLE: u32 = 1;
    let address = address_of_auxiliary();
    if address == 0 {
        return true;
    }
    // SAFETY: the C library's function of that name; the kernel gives the address and number of the program's headers.
    let headers = unsafe {
        let value: unsafe extern "C" fn(usize) -> usize = core::mem::transmute(address);
        let (start, count) = (value(3) as *const Header, value(5));
        if start.is_null() {
            return true;
        }
        core::slice::from_raw_parts(start, count)
    };
    // Without a word about it, the kernel's old default holds.
    headers.iter().find(|header| header.kind == STACK).is_none_or(|header| header.flags & EXECUTABLE != 0)
}

/// How a thread's stack is to be made.
pub(super) struct Plan {
    /// Its size; 0 if the program brings it.
    pub size: usize,
    /// The lowest address of a stack that the program brings; else 0.
    pub low: usize,
    /// The attributes to create it with: the caller's, or, if THREADSTACK decides, a copy.
    pub attributes: *const Attributes,
    /// Its size by the caller's attributes.
    pub given: usize,
    /// The caller asked for no size, and brings no stack: THREADSTACK decides if it is ON.
    pub is_default: bool,
    /// underbar is to make its stack, of `size` bytes.
    pub is_made_here: bool,
    /// Nobody will join it.
    pub is_detached: bool,
}

/// The attributes of the caller of pthread_create, with the size set by THREADSTACK, for which there is room in `own`.
pub(super) unsafe fn plan_of(given: *const Attributes, own: &mut MaybeUninit<Attributes>) -> Plan {
    let made_by_c = |size, low, is_default| Plan {
        size,
        low,
        attributes: given,
        given: size,
        is_default,
        is_made_here: false,
        is_detached: false,
    };
    let brought = |low| made_by_c(0, low, false);
    let addresses = [
        address_of_attr_init(),
        address_of_attr_getstacksize(),
        address_of_attr_setstacksize(),
        address_of_attr_getstack(),
    ];
    if addresses.contains(&0) {
        return brought(0);
    }
    // SAFETY: the C library's functions of these names, whose signatures these are.
    unsafe {
        let init: Init = core::mem::transmute(addresses[0]);
        let get_size: unsafe extern "C" fn(*const Attributes, *mut usize) -> c_int =
            core::mem::transmute(addresses[1]);
        let set_size: SetSize = core::mem::transmute(addresses[2]);
        let get_stack: unsafe extern "C" fn(*const Attributes, *mut usize, *mut usize) -> c_int =
            core::mem::transmute(addresses[3]);
        let own = own.as_mut_ptr();
        let mut default = 0;
        if init(own) != 0 || get_size(own, &raw mut default) != 0 {
            return brought(0);
        }
        let mut size = default;
        if !given.is_null() {
            let (mut address, mut length) = (0_usize, 0_usize);
            if get_stack(given, &raw mut address, &raw mut length) != 0 || get_size(given, &raw mut size) != 0
            {
                return brought(0);
            }
            if address.wrapping_add(length) != 0 {
                return brought(address.next_multiple_of(PAGE));
            }
            own.copy_from(given, 1);
        }
        let is_default = size == default && (given.is_null() || !asked_for_size(given, init, set_size));
        let wanted = THREAD_STACK.load(Ordering::Relaxed) as usize;
        let is_made_here = IS_MADE_HERE.load(Ordering::Relaxed) && is_default && has_default_guard(own);
        if !is_default || (wanted == 0 && !is_made_here) {
            return made_by_c(size, 0, is_default);
        }
        let size = match INCREMENT.load(Ordering::Relaxed) {
            0 if wanted == 0 => default,
            0 => wanted.max(floor(own)),
            _ => wanted.max(default),
        };
        let size = size.next_multiple_of(PAGE);
        if set_size(own, size) == 0 {
            return Plan {
                size,
                low: 0,
                attributes: own,
                given: default,
                is_default,
                is_made_here,
                is_detached: is_made_here && is_detached(own),
            };
        }
        ledger::add(Key::StackFallbacks, 1);
        made_by_c(default, 0, is_default)
    }
}

/// Sets the stack of the thread that is made with these attributes. False if the C library refuses it.
///
/// # Safety
/// Initialised attributes.
pub(super) unsafe fn set_stack(attributes: *mut Attributes, low: usize, size: usize) -> bool {
    let address = address_of_attr_setstack();
    // SAFETY: the C library's function of that name, whose signature this is.
    address != 0
        && unsafe {
            let set: unsafe extern "C" fn(*mut Attributes, usize, usize) -> c_int =
                core::mem::transmute(address);
            set(attributes, low, size) == 0
        }
}

/// The value of one of the attributes; None if the C library has no such function.
unsafe fn value_of<T: Default>(address: usize, attributes: *const Attributes) -> Option<T> {
    let mut value = T::default();
    // SAFETY: the caller gives a function of the C library with this signature, or 0.
    let is_told = address != 0
        && unsafe {
            let get: unsafe extern "C" fn(*const Attributes, *mut T) -> c_int = core::mem::transmute(address);
            get(attributes, &raw mut value) == 0
        };
    is_told.then_some(value)
}

/// Whether the thread is to have a guard of one page: a larger one is for frames that skip pages.
unsafe fn has_default_guard(attributes: *const Attributes) -> bool {
    // SAFETY: the C library's function of that name, and its type of value.
    unsafe { value_of::<usize>(address_of_attr_getguardsize(), attributes) == Some(PAGE) }
}

/// Whether nobody will join the thread.
unsafe fn is_detached(attributes: *const Attributes) -> bool {
    const JOINABLE: c_int = 0;
    // SAFETY: the C library's function of that name, and its type of value.
    unsafe { value_of::<c_int>(address_of_attr_getdetachstate(), attributes) != Some(JOINABLE) }
}

type Init = unsafe extern "C" fn(*mut Attributes) -> c_int;
type SetSize = unsafe extern "C" fn(*mut Attributes, usize) -> c_int;

/// Whether these attributes set a size, even one that equals the default. Their layout is private to the C library. So this
/// finds the words in which attributes with a size differ from those without one: if such a word of `given` differs from
/// that without a size, a size is set.
unsafe fn asked_for_size(given: *const Attributes, init: Init, set_size: SetSize) -> bool {
    /// A size that is no default.
    const ODD_SIZE: usize = (1 << 40) + PAGE;
    let [mut none, mut some] = [Attributes([0; 7]), Attributes([0; 7])];
    // SAFETY: the C library's functions, on attributes of this function; the caller's are read only.
    unsafe {
        init(&raw mut none) == 0
            && init(&raw mut some) == 0
            && set_size(&raw mut some, ODD_SIZE) == 0
            && none
                .0
                .iter()
                .zip(some.0)
                .zip((*given).0)
                .any(|((none, some), given)| *none != some && *none != given)
    }
}

/// The least stack that is known to be safe: the bytes that the C library needs for itself and thread-local storage, and
/// four times the most that any thread used so far.
unsafe fn floor(attributes: *const Attributes) -> usize {
    let minimum = address_of_minimum();
    let own = if minimum == 0 {
        64 * 1024
    } else {
        // SAFETY: glibc's function of that name, which runtimes of other languages call in the same way.
        unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn(*const Attributes) -> usize>(minimum)(
                attributes,
            )
        }
    };
    let largest = ledger::slot().cell(Key::StackThread).load(Ordering::Relaxed) as usize;
    (LEAST_THREAD_STACK as usize).max(4 * largest) + own
}
