//! ECBs: a heap for each unit of work, freed at once.
//!
//! ```no_run
//! use underbar::ecb::{self, Ecb};
//!
//! # fn read() -> Vec<u8> { Vec::new() }
//! # fn handle(_: &[u8]) -> Vec<u8> { Vec::new() }
//! # fn write(_: &[u8]) {}
//! # fn count(_: usize) {}
//! fn serve() {
//!     let ecb = Ecb::new("HTTP").ok(); // none: the program does not run under underbar
//!     let work = || {
//!         let answer = handle(&read()); // whatever this allocates is the ECB's
//!         write(&answer);
//!         ecb::outside(|| count(answer.len())); // what this allocates outlives it
//!         std::mem::forget(answer); // nothing has to be freed one by one
//!     };
//!     match &ecb {
//!         // SAFETY: nothing that `work` allocates is used after the ECB: it keeps no value, and `count` runs outside.
//!         Some(ecb) => unsafe { ecb.run(work) },
//!         None => work(),
//!     }
//! } // the ECB ends, with all that was allocated in it
//! ```
//!
//! While a thread runs in an ECB, Rust's allocator is served from the ECB's heap, as is malloc of C. So [`Ecb::run`] is unsafe: a value
//! that was allocated inside must not be used, nor dropped, after the end of the ECB. No type can tell such values from others.
//!
//! Invariant: an [`Ecb`] is ended once, when it is dropped, and not while threads are in it.
//! Not here: how an ECB is made (`crates/runtime`), and the same for C (`underbar/ecb.h`).

use std::ffi::{CString, c_char, c_int, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::{NonNull, null_mut};
use std::sync::{Once, OnceLock};

use crate::library::function;

/// Why a call did not do what was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The program does not run under underbar.
    Absent,
    /// The thread is in no ECB.
    Outside,
    /// A thread is in the ECB: another one, or the caller, which has entered others since.
    Busy,
    /// There is no memory.
    NoMemory,
    /// The ECB has ended; the buffer, or the name, is none; or the ECB has as many pairs as it can have.
    Invalid,
    /// The name has more than 40 bytes, or the name or value of a pair more than 32.
    LongName,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::Absent => "ECBs need a program that runs under underbar",
            Error::Outside => "the thread is in no ECB",
            Error::Busy => "a thread is in the ECB",
            Error::NoMemory => "there is no memory",
            Error::Invalid => "no such ECB, buffer or name",
            Error::LongName => "a name of a buffer has at most 40 bytes, a pair 32 on each side",
        })
    }
}

impl std::error::Error for Error {}

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

/// A unit of work with a heap of its own, until it is dropped. Threads may share it.
///
/// If it is dropped while a thread is in it, or while the thread panics, it does not end, and its storage stays: the panic's own message
/// may have been allocated in it.
#[derive(Debug)]
pub struct Ecb {
    number: u64,
    functions: &'static Functions,
}

impl Ecb {
    /// An ECB of a class. A class has its own list sizes, and its own lines in reports.
    ///
    /// The first call puts a hook around that of panics, so that it runs outside of all ECBs. A program that sets another hook later has
    /// to do so itself ([`outside`]).
    ///
    /// # Errors
    /// The program does not run under underbar, or there is no memory.
    pub fn new(class: &str) -> Result<Ecb> {
        let functions = Functions::get().ok_or(Error::Absent)?;
        tell_panics_outside();
        let class = CString::new(class).map_err(|_| Error::Invalid)?;
        // SAFETY: a C string.
        let number = unsafe { (functions.create)(class.as_ptr()) };
        if number == 0 { Err(Error::NoMemory) } else { Ok(Ecb { number, functions }) }
    }

    /// The number by which calls of C name it.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Runs `work` in the ECB: what it allocates is the ECB's, and ends with it. Without memory to enter, it runs outside.
    ///
    /// # Safety
    /// Nothing that `work` allocates is used, or dropped, after the end of the ECB: neither its result, nor what it put elsewhere, nor
    /// what others keep that it called. What it drops may have come from anywhere.
    pub unsafe fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _inside = self.enter();
        work()
    }

    fn enter(&self) -> Option<Inside> {
        // SAFETY: entering changes only where the thread's storage comes from; `run` has the conditions.
        let entered = unsafe { (self.functions.enter)(self.number) } == 0;
        entered.then(|| Inside { functions: self.functions, thread: PhantomData })
    }

    /// What it has now, and what its lists did. Any thread may ask.
    ///
    /// # Errors
    /// The library that runs the program has no such figures.
    pub fn figures(&self) -> Result<Figures> {
        let figures = self.functions.figures.ok_or(Error::Absent)?;
        // SAFETY: all of its fields are numbers, for which zero is a value.
        let mut found: Figures = unsafe { std::mem::zeroed() };
        // SAFETY: so many bytes.
        told(unsafe { figures(self.number, (&raw mut found).cast(), size_of::<Figures>()) })?;
        Ok(found)
    }

    /// Writes them to a file, with names of buffers and name-value pairs, in the layout of ZDECB HAVL. `underbar advise` reads it.
    ///
    /// # Errors
    /// As [`Ecb::figures`].
    pub fn display(&self, to: impl AsFd) -> Result<()> {
        let display = self.functions.display.ok_or(Error::Absent)?;
        // SAFETY: the descriptor is open.
        told(unsafe { display(self.number, to.as_fd().as_raw_fd()) })
    }

    /// Ends it.
    ///
    /// # Errors
    /// Another thread is in it: it is given back.
    pub fn end(self) -> std::result::Result<(), (Ecb, Error)> {
        // SAFETY: nobody uses its storage any more: `run`'s conditions.
        let number = unsafe { (self.functions.end)(self.number) };
        match told(number) {
            Ok(()) => {
                std::mem::forget(self);
                Ok(())
            }
            Err(error) => Err((self, error)),
        }
    }
}

/// An ECB that is alive: `struct underbar_ecb_figures` of `underbar/ecb.h`. Lists are AVL1 to AVL5, and all others together.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    class: [u8; 40],
    counted: u32,
    /// Threads that are inside.
    pub threads: u32,
    /// Bytes of a buffer of AVL1 to AVL5; 0: not in use.
    pub sizes: [u64; 5],
    /// Buffers that each list dispensed.
    pub dispensed: [u64; 6],
    /// Those of them that were freed.
    pub freed: [u64; 6],
    /// Requests that lists shared by its threads filled.
    pub shared: [u64; 6],
    /// Requests for which room was made; a thread's own lists filled all others.
    pub new_storage: [u64; 6],
    /// Buffers in use.
    pub buffers: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The most bytes of storage that it had.
    pub high_water: u64,
    /// The same below 2 GiB.
    pub high_water_31: u64,
    /// Frames of 1 MiB.
    pub frames: u64,
    /// Names of buffers.
    pub names: u64,
    /// For how many the table has room.
    pub name_table: u64,
}

impl Figures {
    /// The name of its class.
    #[must_use]
    pub fn class(&self) -> String {
        let bytes = self.class.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// Whether its lists are counted. If not, it began before its class was counted by ECB: that is from the first call of
    /// [`Ecb::figures`] or [`Ecb::display`] for one of the class on, from the class's first name-value pair on, and under RPTSTG(ON).
    #[must_use]
    pub fn are_counted(&self) -> bool {
        self.counted != 0
    }
}

impl Drop for Ecb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: as in `end`. If a thread is in it, nothing happens.
            let _ = unsafe { (self.functions.end)(self.number) };
        }
    }
}

/// The calling thread is in an ECB until this is dropped, by the same thread.
struct Inside {
    functions: &'static Functions,
    thread: PhantomData<*mut ()>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        // SAFETY: it changes only where the thread's storage comes from.
        let _ = unsafe { (self.functions.leave)() };
    }
}

/// Panics are told outside of all ECBs, by the hook that is there now: std keeps the tables of symbols that it reads for a backtrace.
fn tell_panics_outside() {
    static ONCE: Once = Once::new();
    if !ONCE.is_completed() && !std::thread::panicking() {
        ONCE.call_once(|| {
            outside(|| {
                let hook = std::panic::take_hook();
                std::panic::set_hook(Box::new(move |panic| outside(|| hook(panic))));
            });
        });
    }
}

/// Runs `work` with the process's heap: what it allocates outlives the ECB that the thread is in. Outside of all ECBs it just runs.
pub fn outside<T>(work: impl FnOnce() -> T) -> T {
    struct Back(&'static Functions);
    impl Drop for Back {
        fn drop(&mut self) {
            // SAFETY: as below.
            unsafe { (self.0.step_inside)() }
        }
    }
    let _back = Functions::get().map(|functions| {
        // SAFETY: it changes only where the thread's storage comes from.
        unsafe { (functions.step_outside)() };
        Back(functions)
    });
    work()
}

/// The number of the ECB that the calling thread entered last; None: it is in none, or outside for now.
#[must_use]
pub fn current() -> Option<u64> {
    // SAFETY: a call without conditions.
    let number = unsafe { (Functions::get()?.current)() };
    (number != 0).then_some(number)
}

/// Attaches a name-value pair to the current ECB, such as `TRANSACTION` and `PAY`, in place of its pair of that name: reports then have the
/// ECBs of each pair. An empty value takes the pair away. Name and value have at most 32 bytes, and an ECB has at most 4 pairs.
///
/// # Errors
/// The thread is in no ECB; the name is empty, one of both is too long or has a zero byte, or it would be the fifth pair.
pub fn name(name: &str, value: &str) -> Result<()> {
    let functions = Functions::get().ok_or(Error::Absent)?;
    // The ECB's figures are those of the program.
    let text = |text| outside(|| CString::new(text)).map_err(|_| Error::Invalid);
    let (name, value) = (text(name)?, text(value)?);
    // SAFETY: two C strings.
    told(unsafe { (functions.name)(name.as_ptr(), value.as_ptr()) })
}

/// Gives a buffer of the current ECB a name of 1 to 40 bytes.
///
/// # Errors
/// The thread is in no ECB, the name is empty or too long, the buffer is none of this ECB.
///
/// # Safety
/// The buffer is in use.
pub unsafe fn tag(buffer: NonNull<u8>, name: &[u8]) -> Result<()> {
    let functions = Functions::get().ok_or(Error::Absent)?;
    // SAFETY: the caller's promise, and so many bytes.
    told(unsafe { (functions.tag)(buffer.as_ptr().cast(), name.as_ptr().cast(), name.len()) })
}

/// The buffers of the current ECB with that name, the last one first.
pub fn locate(name: &[u8]) -> impl Iterator<Item = NonNull<u8>> {
    let mut after = null_mut();
    std::iter::from_fn(move || {
        // SAFETY: so many bytes; `after` is null or the last answer.
        let found = unsafe { (Functions::get()?.locate)(name.as_ptr().cast(), name.len(), after) };
        after = found;
        NonNull::new(found.cast())
    })
}

/// A number of errno as a result.
fn told(number: c_int) -> Result<()> {
    const EPERM: c_int = 1;
    const ENOMEM: c_int = 12;
    const EBUSY: c_int = 16;
    const ENAMETOOLONG: c_int = 36;
    match number {
        0 => Ok(()),
        EPERM => Err(Error::Outside),
        ENOMEM => Err(Error::NoMemory),
        EBUSY => Err(Error::Busy),
        ENAMETOOLONG => Err(Error::LongName),
        _ => Err(Error::Invalid),
    }
}

/// The functions of `underbar/ecb.h`, as the loader finds them.
#[derive(Debug)]
struct Functions {
    create: unsafe extern "C" fn(*const c_char) -> u64,
    enter: unsafe extern "C" fn(u64) -> c_int,
    leave: unsafe extern "C" fn() -> c_int,
    end: unsafe extern "C" fn(u64) -> c_int,
    current: unsafe extern "C" fn() -> u64,
    name: unsafe extern "C" fn(*const c_char, *const c_char) -> c_int,
    step_outside: unsafe extern "C" fn(),
    step_inside: unsafe extern "C" fn(),
    tag: unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int,
    locate: unsafe extern "C" fn(*const c_void, usize, *mut c_void) -> *mut c_void,
    /// None in an older library, as the next one.
    figures: Option<unsafe extern "C" fn(u64, *mut c_void, usize) -> c_int>,
    display: Option<unsafe extern "C" fn(u64, c_int) -> c_int>,
}

impl Functions {
    /// None in a program that does not run under underbar.
    fn get() -> Option<&'static Functions> {
        static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();
        FUNCTIONS.get_or_init(Functions::find).as_ref()
    }

    fn find() -> Option<Functions> {
        // SAFETY: the functions of these names have these types.
        unsafe {
            Some(Functions {
                create: function(c"underbar_ecb_create")?,
                enter: function(c"underbar_ecb_enter")?,
                leave: function(c"underbar_ecb_leave")?,
                end: function(c"underbar_ecb_end")?,
                current: function(c"underbar_ecb_current")?,
                name: function(c"underbar_ecb_name")?,
                step_outside: function(c"underbar_ecb_step_outside")?,
                step_inside: function(c"underbar_ecb_step_inside")?,
                tag: function(c"underbar_ecb_tag")?,
                locate: function(c"underbar_ecb_locate")?,
                figures: function(c"underbar_ecb_figures"),
                display: function(c"underbar_ecb_display"),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_underbar_there_are_no_ecbs_and_work_is_done_all_the_same() {
        assert_eq!(Ecb::new("X").err(), Some(Error::Absent));
        assert_eq!((outside(|| 7), current(), locate(b"X").count()), (7, None, 0));
        let mut byte = 0;
        // SAFETY: the buffer is in use.
        assert_eq!(unsafe { tag(NonNull::from(&mut byte), b"X") }, Err(Error::Absent));
    }
}
