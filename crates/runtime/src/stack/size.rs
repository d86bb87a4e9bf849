//! The size of threads' stacks: the one given by the caller of `pthread_create`, or, if that is the default, the one set by
//! THREADSTACK.
//!
//! ```text
//! attributes given ─┬─ a stack that the program brings ───────────────────────────> as it is
//!                   ├─ a size that is not the default, or asked for ──────────────> as it is
//!                   └─ none, or no size ── THREADSTACK, at least `floor` of it ───> a copy with that size
//! ```
//!
//! Invariant: the caller's attributes are read only, and a size is never less than the known safe minimum.
//! Not here: the fallback if there is no room for such a stack (`create`).

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU64, Ordering};

use underbar_ledger::Key;
use underbar_options::LEAST_THREAD_STACK;

use super::PAGE;
use crate::c_library::weak;
use crate::ledger;
use crate::orders::Orders;

/// `pthread_attr_t` of glibc on x86-64.
#[repr(C)]
pub struct Attributes([u64; 7]);

/// Bytes that THREADSTACK gives to threads with the default size; 0: it is OFF.
static THREAD_STACK: AtomicU64 = AtomicU64::new(0);

weak! {
    address_of_attr_init = "pthread_attr_init";
    address_of_attr_getstacksize = "pthread_attr_getstacksize";
    address_of_attr_setstacksize = "pthread_attr_setstacksize";
    address_of_attr_getstack = "pthread_attr_getstack";
    address_of_minimum = "__pthread_get_minstack";
}

/// Obeys THREADSTACK.
pub(crate) fn configure(orders: &Orders<'_>) {
    let threads = orders.settings.thread_stack();
    THREAD_STACK.store(if threads.on { threads.init.bytes().unwrap_or(0) } else { 0 }, Ordering::Relaxed);
}

/// Whether THREADSTACK decides.
pub(super) fn is_configured() -> bool {
    THREAD_STACK.load(Ordering::Relaxed) != 0
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
}

/// The attributes of the caller of pthread_create, with the size set by THREADSTACK, for which there is room in `own`.
pub(super) unsafe fn plan_of(given: *const Attributes, own: &mut MaybeUninit<Attributes>) -> Plan {
    let brought = |low| Plan { size: 0, low, attributes: given, given: 0, is_default: false };
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
        if wanted == 0 || !is_default {
            return Plan { size, low: 0, attributes: given, given: size, is_default };
        }
        let size = wanted.max(floor(own)).next_multiple_of(PAGE);
        if set_size(own, size) == 0 {
            return Plan { size, low: 0, attributes: own, given: default, is_default };
        }
        ledger::add(Key::StackFallbacks, 1);
        Plan { size: default, low: 0, attributes: given, given: default, is_default }
    }
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
