//! Calls of functions of libraries that ZIIP(3GL(file,file)) names: each is counted by the place that calls.
//!
//! ```text
//! library that fits   its functions get numbers and stubs (`called_stubs`); its symbols lead to the stubs
//! all other objects   words with the functions' addresses hold the stubs' instead: slots of calls, pointers, tables
//! loaded later        the symbols lead to stubs by themselves, and so does `dlsym`; a library that fits is taken at the program's next
//!                     dlopen, dlsym, dlclose or pthread_create
//! ```
//!
//! The library's own pointers change, too, so that both sides see one address of a function; its own calls by name stay as they are.
//! `dladdr` gets the function for a stub. A function that chooses among several (IFUNC) chooses as before, and the choice is counted.
//! Data are left alone.
//!
//! Invariant: a word or a symbol changes only from the address of a function to that of its stub. A number means one function for ever: the
//! same function of a library that was unloaded and comes again.
//! Cost: about a nanosecond a call; at the start about a microsecond for each function of the libraries.
//! Limits: calls that the compiler resolved inside the library, by its virtual tables if they name no symbols, or by pointers that the
//! library made of its own addresses, are not seen. `CALLED` functions at most; how many are left out is counted.
//! Not here: the stubs, and the tables of counts (`sites`).

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU16, AtomicU64, AtomicUsize, Ordering};

use underbar_ledger::fingerprint::fingerprint;
use underbar_ledger::switches::{CALLED, FIRST_CALLED, parts};
use underbar_sys::image::Symbol;

use super::called_stubs::{self, CHOOSERS, HOOKED, HOOKS, REAL};
use super::{bind, project, sites};
use crate::component_names::ComponentNames;
use crate::coverage::{module_around, module_name};
use crate::deepbind::{self, PATIENCE};
use crate::loaded::{self, Object};
use crate::orders::Orders;
use crate::{ledger, sandbox};

/// The libraries' names. Written by [`configure`].
static NAMES: ComponentNames = ComponentNames::new();
/// Whether there are any. Written when options are obeyed; relaxed, since nothing else is read by it.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// How many libraries were ever loaded and unloaded when the last look was made, packed. Written under the lock of `deepbind`, which orders.
static SEEN: AtomicU64 = AtomicU64::new(u64::MAX);
/// Numbers that were given. Written under that lock; relaxed.
static GIVEN: AtomicUsize = AtomicUsize::new(0);
/// The name of each function, in its library's table: read at its first call, when the library is loaded. Written under that lock before the
/// stub's address is anywhere; relaxed.
static FUNCTIONS: [AtomicPtr<c_char>; CALLED] = [const { AtomicPtr::new(null_mut()) }; CALLED];
/// What tells whether a function is the same: its library's path, its name and place, hashed. Written and read under that lock.
static WHO: [AtomicU64; CALLED] = [const { AtomicU64::new(0) }; CALLED];
/// Bytes of each function, for `dladdr`. Written under that lock; relaxed.
static BYTES: [AtomicUsize; CALLED] = [const { AtomicUsize::new(0) }; CALLED];
/// From an address to a number and 1: open addressing; 0: free. An entry counts only if [`REAL`] agrees. Written and read under that lock.
static INDEX: [AtomicU16; PLACES] = [const { AtomicU16::new(0) }; PLACES];
const PLACES: usize = 4096;
/// Functions that choose: number and 1, and the function. Written under that lock before their symbols lead here; relaxed.
static CHOOSING: [[AtomicUsize; 2]; CHOOSERS] = [const { [const { AtomicUsize::new(0) }; 2] }; CHOOSERS];

/// Libraries that are taken in one look, and symbols of a library that are changed at a time.
const LIBRARIES: usize = 16;
const CHANGES: usize = 256;

/// Obeys ZIIP(3GL(file,file)). Returns whether there are such libraries.
pub(super) fn configure(orders: &Orders<'_>) -> bool {
    let is_on = NAMES.keep(orders.settings.counted_libraries(), orders.program);
    IS_ON.store(is_on, Ordering::Relaxed);
    is_on
}

/// Counts from now on.
pub(super) fn begin() {
    if !IS_ON.load(Ordering::Relaxed) || !ledger::called_functions_are_there() {
        return IS_ON.store(false, Ordering::Relaxed);
    }
    called_stubs::prepare();
    take_hooks();
    look();
}

/// Takes libraries that were loaded since the last look.
pub(super) extern "C" fn look() {
    let [loads, unloads] = loaded::counts();
    let now = loads << 32 | unloads & 0xffff_ffff;
    if SEEN.load(Ordering::Relaxed) == now || sandbox::is_closed() {
        return;
    }
    deepbind::under_lock(PATIENCE, || {
        // The loader adds and removes none meanwhile.
        loaded::each_until(&mut |_| {
            take_all();
            true
        });
        SEEN.store(now, Ordering::Relaxed);
    });
}

/// Whether a library is one of those that are named.
fn fits(object: &Object) -> bool {
    let file = object.path().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    !file.is_empty()
        && (NAMES.have(file) || NAMES.have(object.own_name()))
        && !bind::is_left_alone(object)
        && !bind::is_source(object)
}

fn take_all() {
    let mut libraries: [Option<Object>; LIBRARIES] = [None; LIBRARIES];
    let mut count = 0;
    loaded::each(&mut |object| {
        if fits(object) && count < LIBRARIES {
            libraries[count] = Some(*object);
            count += 1;
        }
    });
    let libraries = || libraries.iter().flatten();
    if libraries().next().is_none() {
        return;
    }
    // Functions that others name come first, as there may not be room for all.
    loaded::each(&mut |object| {
        object.references(&mut |reference| {
            for library in libraries().filter(|library| !library.holds(object.base)) {
                library.named(reference.name, &mut |symbol| {
                    // SAFETY: a symbol of a library that is loaded.
                    let symbol = unsafe { &*symbol };
                    if symbol.is_function() || symbol.is_chooser() {
                        give(library, reference.name, symbol);
                    }
                });
            }
        });
    });
    for library in libraries() {
        take(library);
    }
    loaded::each(&mut |object| {
        if !bind::is_left_alone(object) {
            let calls = !libraries().any(|library| library.base == object.base);
            bind::replace_words(object, calls, &mut |word| Some(called_stubs::stub(number_at(word)?)));
        }
    });
}

/// Has the symbols of a library lead to stubs.
fn take(library: &Object) {
    let mut changes = [(null::<Symbol>(), 0); CHANGES];
    let mut count = 0;
    library.symbols(&mut |name, at| {
        // SAFETY: a symbol of a library that is loaded.
        let symbol = unsafe { &*at };
        let address = if symbol.is_function() {
            give(library, name, symbol).map(called_stubs::stub)
        } else if symbol.is_chooser() {
            give_chooser(library, name, symbol)
        } else {
            return;
        };
        let Some(address) = address else { return };
        changes[count] = (at, address.wrapping_sub(library.base));
        count += 1;
        if count == CHANGES {
            deepbind::change_symbols(library, &changes);
            count = 0;
        }
    });
    deepbind::change_symbols(library, &changes[..count]);
}

/// The number of a function; None if it has a stub already, or there is no room.
fn give(library: &Object, name: &'static CStr, symbol: &Symbol) -> Option<usize> {
    let address = library.base.wrapping_add(symbol.value);
    if called_stubs::number_of(address).is_some() || called_stubs::is_chooser(address) {
        return None;
    }
    if let Some(number) = number_at(address) {
        return Some(number);
    }
    let who = who(library, name, symbol.value);
    let given = GIVEN.load(Ordering::Relaxed);
    let number = match WHO[..given].iter().position(|it| it.load(Ordering::Relaxed) == who) {
        Some(number) => number,
        None if given < CALLED => {
            GIVEN.store(given + 1, Ordering::Relaxed);
            WHO[given].store(who, Ordering::Relaxed);
            given
        }
        None => {
            ledger::called_function_left_out();
            return None;
        }
    };
    FUNCTIONS[number].store(name.as_ptr().cast_mut(), Ordering::Relaxed);
    BYTES[number].store(symbol.size(), Ordering::Relaxed);
    // What chooses is no function that can be called: its choice comes in its place.
    let real = if symbol.is_chooser() { choice_made(library, name) } else { address };
    set_real(number, real);
    Some(number)
}

/// The place that chooses in place of a symbol's function.
fn give_chooser(library: &Object, name: &'static CStr, symbol: &Symbol) -> Option<usize> {
    let function = library.base.wrapping_add(symbol.value);
    let number = give(library, name, symbol)?;
    let is_it = |[of, _]: &[AtomicUsize; 2]| [0, number + 1].contains(&of.load(Ordering::Relaxed));
    let place = CHOOSING.iter().position(is_it)?;
    CHOOSING[place][1].store(function, Ordering::Relaxed);
    CHOOSING[place][0].store(number + 1, Ordering::Relaxed);
    Some(called_stubs::chooser(place))
}

/// The function that one which chooses has chosen for others; 0: it has not chosen yet.
fn choice_made(library: &Object, name: &CStr) -> usize {
    let mut choice = 0;
    loaded::each(&mut |object| {
        object.references(&mut |reference| {
            let word = reference.word.load(Ordering::Relaxed);
            if reference.name == name && library.holds(word) && called_stubs::number_of(word).is_none() {
                choice = word;
            }
        });
    });
    choice
}

/// The loader asks a function that chooses. Returns the stub of its choice.
pub(super) extern "C" fn choose(place: usize) -> usize {
    let [number, function] = [0, 1].map(|at| CHOOSING[place][at].load(Ordering::Relaxed));
    // SAFETY: a function of this kind has no argument and returns an address; the loader would have called it here.
    let choice = unsafe { transmute::<usize, extern "C" fn() -> usize>(function) }();
    REAL[number - 1].store(choice, Ordering::Relaxed);
    called_stubs::stub(number - 1)
}

/// Has a stub lead to a function.
fn set_real(number: usize, address: usize) {
    if number_at(address) == Some(number) {
        return;
    }
    REAL[number].store(address, Ordering::Relaxed);
    let first = place_of(address);
    let free = (first..first + PLACES / 2).find(|at| INDEX[at % PLACES].load(Ordering::Relaxed) == 0);
    if let Some(free) = free.filter(|_| address != 0) {
        INDEX[free % PLACES].store(number as u16 + 1, Ordering::Relaxed);
    }
}

/// The number of the function at this address.
fn number_at(address: usize) -> Option<usize> {
    let first = place_of(address);
    for at in first..first + PLACES {
        let number = usize::from(INDEX[at % PLACES].load(Ordering::Relaxed)).checked_sub(1)?;
        if REAL[number].load(Ordering::Relaxed) == address {
            return Some(number);
        }
    }
    None
}

fn place_of(address: usize) -> usize {
    ((address >> 4).wrapping_mul(0x9e37_79b9) >> 7) % PLACES
}

/// A function of a library, in whatever place it is loaded.
fn who(library: &Object, name: &CStr, place: usize) -> u64 {
    let bytes = library.path().iter().chain(name.to_bytes()).copied();
    fingerprint(bytes.chain(place.to_le_bytes()))
}

// ---- a call -------------------------------------------------------------------------------------------------------

/// A call whose site is not in its place. `pointer` is the stack pointer of the call.
pub(super) extern "C" fn missed(key: u64, pointer: usize) {
    name(parts(key).0.wrapping_sub(FIRST_CALLED));
    if project::is_on() {
        return sites::count_call_of_library(key, pointer);
    }
    sites::count(key, 0, 0, pointer);
}

/// Writes who a function is, unless it is written.
#[cold]
fn name(number: usize) {
    let Some(row) = ledger::called_functions().and_then(|rows| rows.get(number)) else { return };
    let (text, real) = (FUNCTIONS[number].load(Ordering::Relaxed), REAL[number].load(Ordering::Relaxed));
    if text.is_null() || !row.library.is_empty() {
        return;
    }
    // SAFETY: a name in the table of the library, which is loaded, since its function is called.
    row.name.store(unsafe { CStr::from_ptr(text) }.to_bytes());
    let mut room = [0; 32];
    let library = module_around(real).map_or(&b"code of no module"[..], |of| module_name(of.0, &mut room));
    row.library.store(library);
}

// ---- functions whose places are taken -----------------------------------------------------------------------------

const OF_LOADER: [&CStr; HOOKS] = [c"dlopen", c"dlsym", c"dlvsym", c"dlclose", c"pthread_create"];
/// The C library's own. Stored relaxed before the words that lead here, which are stored with Release.
static DLADDR: AtomicUsize = AtomicUsize::new(0);
static DLADDR1: AtomicUsize = AtomicUsize::new(0);

fn take_hooks() {
    bind::bind(HOOKS + 2, |at| {
        let (name, ours, original) = match at {
            HOOKS => (c"dladdr", dladdr as *const () as usize, &DLADDR),
            _ if at > HOOKS => (c"dladdr1", dladdr1 as *const () as usize, &DLADDR1),
            _ => (OF_LOADER[at], called_stubs::hook(at), HOOKED.get(at)?),
        };
        Some(bind::Binding { name, hash: loaded::hash_of(name), ours, original })
    });
}

/// The answer of `dladdr`: a file and its start, a symbol and its start.
#[repr(C)]
struct Found {
    file: *const c_char,
    start: *mut c_void,
    symbol: *const c_char,
    at: *mut c_void,
}

/// For a stub, the answer for its function.
fn function_of(address: *const c_void) -> *const c_void {
    match called_stubs::number_of(address.addr()) {
        Some(number) => REAL[number].load(Ordering::Relaxed) as *const c_void,
        None => address,
    }
}

/// The symbols of counted functions have other addresses now: so the loader does not find their names.
fn complete(address: *const c_void, found: *mut Found) {
    let address = address.addr();
    let given = GIVEN.load(Ordering::Relaxed).min(CALLED);
    let holds = |number: &usize| {
        let (real, bytes) = (REAL[*number].load(Ordering::Relaxed), BYTES[*number].load(Ordering::Relaxed));
        real != 0 && (real..real + bytes.max(1)).contains(&address)
    };
    if let Some(number) = (0..given).find(holds) {
        // SAFETY: the caller's structure, which the C library has just filled.
        unsafe {
            (*found).symbol = FUNCTIONS[number].load(Ordering::Relaxed);
            (*found).at = REAL[number].load(Ordering::Relaxed) as *mut c_void;
        }
    }
}

unsafe extern "C" fn dladdr(address: *const c_void, found: *mut Found) -> c_int {
    type Original = unsafe extern "C" fn(*const c_void, *mut Found) -> c_int;
    let function = function_of(address);
    // SAFETY: the C library's function, with the caller's arguments.
    let result = unsafe { transmute::<usize, Original>(DLADDR.load(Ordering::Relaxed))(function, found) };
    if result != 0 {
        complete(function, found);
    }
    result
}

unsafe extern "C" fn dladdr1(
    address: *const c_void,
    found: *mut Found,
    more: *mut *mut c_void,
    flags: c_int,
) -> c_int {
    type Original = unsafe extern "C" fn(*const c_void, *mut Found, *mut *mut c_void, c_int) -> c_int;
    let function = function_of(address);
    // SAFETY: as above.
    let result = unsafe {
        transmute::<usize, Original>(DLADDR1.load(Ordering::Relaxed))(function, found, more, flags)
    };
    if result != 0 {
        complete(function, found);
    }
    result
}
