//! fork: the locks that are taken, and their order.
//!
//! A child has one thread. Locks that other threads held stay locked in it for ever, so each library takes its own before a fork.
//! The order must be that in which the program's threads take them, or two threads wait for each other:
//!
//! ```text
//! handlers of other libraries ─> underbar's: registrations ─> list of streams ─> resources ─> the C library: its list, fork
//!  (may get storage, take locks)       (1)               (2)                (3)
//! ```
//!
//! 1. Handlers run from the last registered to the first, after the fork the other way round. So underbar's are registered
//!    first, before those of libraries whose constructors run earlier: [`register`] interposes on the C library's function.
//!    That function gets storage under a lock which fork takes again after each handler. So registrations are held back
//!    before the heap is held. But from 2.28 to 2.35 glibc may keep that lock while handlers run (some distributions
//!    changed this): then a registration under way waits for this very fork, and the fork need not wait for it. So in these
//!    versions the fork waits for it for a short time only ([`PATIENCE`]).
//! 2. glibc's fork takes the lock of its list of streams after all handlers and before its own heap's. A thread with that
//!    lock may wait for a stream, and a thread with a stream's lock for storage (glibc's bug 19431). So the list's lock is
//!    taken first. Its owner can take it again.
//! 3. Up the table of [`crate::resources`]: names ─> stacks ─> heap. A thread that binds names may need storage for it, and
//!    nothing else; so may a thread that holds the list of stacks.
//!
//! Invariant: a thread that waits for anything of the C library while it forks does not hold the heap.
//! Not here: `clone` (the same without the C library), children by vfork (they share everything and take nothing).

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use underbar_sys::lock::Lock;

use crate::c_library::{self, weak};
use crate::next::Next;
use crate::resources::{self, Before};

/// What runs before a fork, and after it.
pub type Handler = Option<unsafe extern "C" fn()>;

type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut u8) -> i32;

static REGISTER: Next = Next::new(c"__register_atfork");

/// Held by a thread that registers handlers, and by a thread that forks.
static REGISTRATIONS: Lock<()> = Lock::new(());

/// Whether underbar's handlers are registered. Read and written under the lock above.
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Whether the C library may hold its lock of registrations while it calls underbar's handler. Written when that handler is
/// registered, before any call of it; relaxed.
static MAY_WAIT_FOR_US: AtomicBool = AtomicBool::new(false);

/// Time that a fork waits for a registration that may be waiting for it, in nanoseconds. A registration that is not waiting
/// takes well under a millisecond.
const PATIENCE: u64 = 50_000_000;

/// [`Taken`] for each fork that is under way in this thread, the last one lowest. More than one is under way if a signal
/// handler forks in the middle of a fork. Touched by a thread that holds the heap's locks; relaxed.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// The locks that one fork took before those of the resources, and the answers of the resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Taken {
    registrations: bool,
    list_of_streams: bool,
    before: Before,
}

impl Taken {
    const BITS: u32 = Before::BITS + 2;

    fn to_bits(self) -> u64 {
        self.before.0 << 2 | u64::from(self.registrations) << 1 | u64::from(self.list_of_streams)
    }

    fn of_bits(bits: u64) -> Taken {
        Taken {
            registrations: bits & 2 != 0,
            list_of_streams: bits & 1 != 0,
            before: Before(bits >> 2 & ((1 << Before::BITS) - 1)),
        }
    }

    fn push(self) {
        TAKEN.store(TAKEN.load(Ordering::Relaxed) << Taken::BITS | self.to_bits(), Ordering::Relaxed);
    }

    /// The entry that was pushed last.
    fn pop() -> Taken {
        let all = TAKEN.load(Ordering::Relaxed);
        TAKEN.store(all >> Taken::BITS, Ordering::Relaxed);
        Taken::of_bits(all)
    }
}

weak! {
    address_of_single_threaded = "__libc_single_threaded";
    address_of_list_lock = "_IO_list_lock";
    address_of_list_unlock = "_IO_list_unlock";
    address_of_list_reset = "_IO_list_resetlock";
}

/// Registers underbar's handlers, unless another library's constructor has already caused that.
pub(crate) fn at_start() {
    let _held = REGISTRATIONS.lock();
    match real_register() {
        Some(real) => register_ours(real),
        None => register_without_loader(),
    }
}

/// A program that is linked statically has no loader that finds the function.
fn register_without_loader() {
    #[cfg(feature = "linked")]
    {
        type AtFork = unsafe extern "C" fn(Handler, Handler, Handler) -> i32;
        weak! { address_of_atfork = "pthread_atfork"; }
        let address = address_of_atfork();
        if address != 0 {
            let handlers = (Some(before_handler as _), Some(after_handler as _), Some(child_handler as _));
            // SAFETY: the C library's function of that name, and functions of this program.
            unsafe { core::mem::transmute::<usize, AtFork>(address)(handlers.0, handlers.1, handlers.2) };
        }
    }
}

/// `__register_atfork` of the C library, which `pthread_atfork` calls in every program and library.
///
/// # Safety
/// As the C library's.
pub unsafe fn register(before: Handler, parent: Handler, child: Handler, library: *mut u8) -> i32 {
    const ENOSYS: i32 = 38;
    let _held = REGISTRATIONS.lock();
    let Some(real) = real_register() else { return ENOSYS };
    register_ours(real);
    // SAFETY: the caller's promise.
    unsafe { real(before, parent, child, library) }
}

fn real_register() -> Option<Register> {
    // SAFETY: the next library's function of this name has this signature.
    REGISTER.get().map(|address| unsafe { core::mem::transmute::<usize, Register>(address) })
}

fn register_ours(real: Register) {
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        MAY_WAIT_FOR_US.store(may_wait_for_us(c_library::version()), Ordering::Relaxed);
        // SAFETY: functions of this library, which stays loaded: the preload is never closed.
        unsafe {
            real(Some(before_handler), Some(after_handler), Some(child_handler), core::ptr::null_mut())
        };
    }
}

/// The first version is the one that introduced the lock, the last the one before glibc gave it up around each handler.
/// Some distributions have done the latter in earlier versions, too.
fn may_wait_for_us(version: Option<(u32, u32)>) -> bool {
    version.is_some_and(|version| ((2, 28)..(2, 36)).contains(&version))
}

/// Holds registrations back. False if one is under way that waits for this fork.
fn hold_registrations(lock: &Lock<()>, may_wait_for_us: bool) -> bool {
    if may_wait_for_us {
        return lock.hold_within(PATIENCE);
    }
    lock.hold();
    true
}

unsafe extern "C" fn before_handler() {
    let registrations = hold_registrations(&REGISTRATIONS, MAY_WAIT_FOR_US.load(Ordering::Relaxed));
    let list_of_streams = take_list_of_streams();
    Taken { registrations, list_of_streams, before: resources::before_fork() }.push();
}

unsafe extern "C" fn after_handler() {
    let taken = Taken::pop();
    // SAFETY: called by this thread in `before_handler`.
    unsafe { resources::after_fork(taken.before) };
    if taken.list_of_streams {
        call(address_of_list_unlock());
    }
    if taken.registrations {
        // SAFETY: held by this thread in `before_handler`.
        unsafe { REGISTRATIONS.release() }
    }
}

unsafe extern "C" fn child_handler() {
    let taken = Taken::pop();
    // The C library has reset the lock; a second reset does no harm if it did not.
    if taken.list_of_streams {
        call(address_of_list_reset());
    }
    // SAFETY: called in `before_handler` by the thread that this one is the copy of.
    unsafe { resources::after_fork_in_child(taken.before) };
    // SAFETY: held in `before_handler` by the thread that this one is the copy of, or else by one that is not in this process.
    unsafe { if taken.registrations { REGISTRATIONS.release() } else { REGISTRATIONS.forget_owner() } }
}

/// Takes the lock of the list of streams if the C library's fork will do so. With one thread it does not, as that thread
/// may have been interrupted in the middle of the list.
fn take_list_of_streams() -> bool {
    let single: *const u8 = core::ptr::without_provenance(address_of_single_threaded());
    // SAFETY: a variable of the C library of this type, absent before 2.32. Only this thread could make the process's second one.
    let is_single = !single.is_null() && unsafe { single.read_volatile() } != 0;
    let have = [address_of_list_lock(), address_of_list_unlock(), address_of_list_reset()];
    let take = !is_single && !have.contains(&0);
    if take {
        call(have[0]);
    }
    take
}

/// Calls one of the functions of the list of streams.
fn call(address: usize) {
    // SAFETY: found under the name of a function of the C library without arguments and result.
    unsafe { core::mem::transmute::<usize, unsafe extern "C" fn()>(address)() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_may_hold_their_lock_are_known() {
        for (version, may) in [
            (None, false),
            (Some((2, 27)), false),
            (Some((2, 28)), true),
            (Some((2, 35)), true),
            (Some((2, 36)), false),
            (Some((3, 30)), false),
        ] {
            assert_eq!(may_wait_for_us(version), may, "{version:?}");
        }
    }

    /// As from 2.28 to 2.35: one thread forks, with the C library's lock, while another has underbar's and waits for that
    /// lock.
    #[test]
    fn a_registration_that_waits_for_the_fork_does_not_hold_it_up() {
        static OURS: Lock<()> = Lock::new(());
        static THE_C_LIBRARYS: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let fork = THE_C_LIBRARYS.lock().expect("nobody panicked");
        let (taken, is_taken) = std::sync::mpsc::channel();
        let registration = std::thread::spawn(move || {
            let _held = OURS.lock();
            taken.send(()).expect("a receiver");
            drop(THE_C_LIBRARYS.lock());
        });
        is_taken.recv().expect("a sender");
        assert!(!hold_registrations(&OURS, true));
        drop(fork);
        registration.join().expect("its end");
        assert!(hold_registrations(&OURS, true));
    }

    /// A signal handler forks in the middle of a fork.
    #[test]
    fn each_fork_finds_what_it_took() {
        let first = Taken { registrations: true, ..Taken::default() };
        let before = Before((1 << Before::BITS) - 2);
        let second = Taken { list_of_streams: true, before, ..Taken::default() };
        first.push();
        second.push();
        assert_eq!([Taken::pop(), Taken::pop(), Taken::pop()], [second, first, Taken::default()]);
    }
}
