//! Additional heaps: created, used, and discarded with all their storage in one step.
//!
//! ```no_run
//! use underbar::heaps::{Disposition, Heap};
//!
//! # fn main() -> Result<(), underbar::heaps::Error> {
//! let heap = Heap::with_sizes(65_536, 65_536, Disposition::Keep)?;
//! let mut element = heap.get(4_000)?;
//! element[..5].copy_from_slice(b"hello");
//! element.resize(8_000)?;
//! let order = heap.put([1_u64, 2, 3])?;
//! assert_eq!(order[1], 2);
//! # Ok(())
//! # } // the heap is discarded, whatever was leaked in it
//! ```
//!
//! They are the storage services of Language Environment, which the library of underbar brings into a program that
//! `underbar run` starts. Elsewhere [`Heap::new`] is [`Error::Absent`]. The report shows the heaps, and all of them together.
//!
//! Invariant: storage of a heap borrows the heap, so it is gone before the heap is.
//! Not here: how a heap is made (`crates/runtime`), and the same for C (`underbar/ceeedcct.h`).

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

use crate::library::function;

/// Why a service did not do what was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The program does not run under underbar.
    Absent,
    /// The feedback code of Language Environment: severity and number of the message, such as 3 and 813 for storage that the
    /// machine does not have.
    Condition {
        /// 0 (information) to 4 (critical).
        severity: i16,
        /// The number of the message.
        message: i16,
    },
}

/// Not enough storage: also for sizes that the services cannot express.
const NO_STORAGE: Error = Error::Condition { severity: 3, message: 813 };

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Absent => f.write_str("additional heaps need a program that runs under underbar"),
            Error::Condition { message, .. } => {
                let digit = |shift: u32| {
                    let digit = char::from_digit(i32::from(*message) as u32 >> shift & 31, 32);
                    digit.unwrap_or('?').to_ascii_uppercase()
                };
                let symbol = [10, 5, 0].map(digit);
                write!(f, "CEE{}: message {message:04}", String::from_iter(symbol))
            }
        }
    }
}

impl std::error::Error for Error {}

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

/// What becomes of an empty increment of a heap. The numbers are those of CEECRHP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Disposition {
    /// As the option HEAP says.
    Inherited = 0,
    /// It goes back to the kernel.
    Free = 1,
    /// It stays.
    Keep = 70,
}

/// A heap, until it is dropped. Threads may share it.
#[derive(Debug)]
pub struct Heap {
    id: i32,
    services: &'static Services,
}

impl Heap {
    /// A heap with the sizes and the disposition of HEAP.
    ///
    /// # Errors
    /// The program does not run under underbar, or there is no memory.
    pub fn new() -> Result<Heap> {
        Heap::with_sizes(0, 0, Disposition::Inherited)
    }

    /// A heap whose initial segment and increments have these sizes in bytes, rounded up to 4,096; 0: as HEAP says.
    ///
    /// # Errors
    /// As [`Heap::new`]; a size is 2 GiB or more.
    pub fn with_sizes(initial: usize, increment: usize, disposition: Disposition) -> Result<Heap> {
        let services = Services::get().ok_or(Error::Absent)?;
        let (initial, increment) = (size(initial)?, size(increment)?);
        let mut id = 0;
        let options = disposition as i32;
        // SAFETY: arguments of the types that the service takes.
        told(|feedback| unsafe { (services.create)(&raw mut id, &initial, &increment, &options, feedback) })?;
        Ok(Heap { id, services })
    }

    /// The number by which calls in other languages name it.
    #[must_use]
    pub fn id(&self) -> i32 {
        self.id
    }

    /// An element of that many zero bytes, at least 1, aligned to 16.
    ///
    /// # Errors
    /// There is no storage, or it is 2 GiB or more; the heap is damaged.
    pub fn get(&self, bytes: usize) -> Result<Element<'_>> {
        let start = self.get_raw(bytes)?;
        // SAFETY: new storage of that many bytes.
        unsafe { start.write_bytes(0, bytes) };
        Ok(Element { heap: self, start, bytes })
    }

    /// A value in this heap, aligned to at most 16.
    ///
    /// # Errors
    /// As [`Heap::get`]. The value is dropped.
    pub fn put<T>(&self, value: T) -> Result<Place<'_, T>> {
        const { assert!(align_of::<T>() <= 16, "elements are aligned to 16 bytes") };
        let start = self.get_raw(size_of::<T>())?.cast::<T>();
        // SAFETY: new storage for a value, aligned for it.
        unsafe { start.write(value) };
        Ok(Place { heap: self, start, owns: PhantomData })
    }

    fn get_raw(&self, bytes: usize) -> Result<NonNull<u8>> {
        let size = size(bytes.max(1))?;
        let mut address = null_mut();
        // SAFETY: arguments of the types that the service takes.
        told(|feedback| unsafe { (self.services.get)(&self.id, &size, &raw mut address, feedback) })?;
        NonNull::new(address).ok_or(NO_STORAGE)
    }

    /// # Safety
    /// The address is that of an element in use, which nobody uses any more.
    unsafe fn give_back(&self, address: NonNull<u8>) {
        // SAFETY: the caller's promise. A damaged element stays until the heap is discarded.
        let _ = told(|feedback| unsafe { (self.services.free)(&address.as_ptr(), feedback) });
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: what was got from it borrows it, or was leaked. A damaged heap is discarded all the same.
        let _ = told(|feedback| unsafe { (self.services.discard)(&self.id, feedback) });
    }
}

/// Bytes in a heap, given back when dropped.
#[derive(Debug)]
pub struct Element<'heap> {
    heap: &'heap Heap,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it is the only way to its storage, and services may be called by any thread.
unsafe impl Send for Element<'_> {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for Element<'_> {}

impl Element<'_> {
    /// Changes its size; new bytes are zero.
    ///
    /// # Errors
    /// There is no storage, or it is 2 GiB or more, or the element is damaged. It then stays as it is.
    pub fn resize(&mut self, bytes: usize) -> Result<()> {
        let size = size(bytes.max(1))?;
        let mut address = self.start.as_ptr();
        // SAFETY: arguments of the types that the service takes; the element is ours alone.
        told(|feedback| unsafe { (self.heap.services.resize)(&raw mut address, &size, feedback) })?;
        self.start = NonNull::new(address).ok_or(NO_STORAGE)?;
        if bytes > self.bytes {
            // SAFETY: the element has that many bytes now.
            unsafe { self.start.add(self.bytes).write_bytes(0, bytes - self.bytes) };
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Deref for Element<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: that many bytes are ours, and were written.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl DerefMut for Element<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and this is the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Element<'_> {
    fn drop(&mut self) {
        // SAFETY: it is ours, and this is its last use.
        unsafe { self.heap.give_back(self.start) }
    }
}

/// A value in a heap, dropped and given back with this.
#[derive(Debug)]
pub struct Place<'heap, T> {
    heap: &'heap Heap,
    start: NonNull<T>,
    owns: PhantomData<T>,
}

// SAFETY: it owns its value, as a box does, and services may be called by any thread.
unsafe impl<T: Send> Send for Place<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Place<'_, T> {}

impl<T> Deref for Place<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the value is ours and there.
        unsafe { self.start.as_ref() }
    }
}

impl<T> DerefMut for Place<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and this is the only reference.
        unsafe { self.start.as_mut() }
    }
}

impl<T> Drop for Place<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the value is ours, and this is its last use.
        unsafe {
            self.start.drop_in_place();
            self.heap.give_back(self.start.cast());
        }
    }
}

/// Sets the heading of the storage report: the first 79 bytes of a text.
///
/// # Errors
/// The program does not run under underbar.
pub fn set_report_heading(heading: &str) -> Result<()> {
    let services = Services::get().ok_or(Error::Absent)?;
    let mut text = [b' '; 80];
    text.iter_mut().zip(heading.bytes()).for_each(|(to, from)| *to = from);
    // SAFETY: 80 bytes.
    match told(|feedback| unsafe { (services.set_heading)(text.as_ptr(), feedback) }) {
        // It replaced another one: information.
        Ok(()) | Err(Error::Condition { severity: 0, .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A size as the services take it.
fn size(bytes: usize) -> Result<i32> {
    i32::try_from(bytes).map_err(|_| NO_STORAGE)
}

/// A feedback code in the layout of Language Environment.
#[repr(C)]
struct Feedback {
    severity: i16,
    message: i16,
    rest: [u8; 8],
}

/// Calls a service, and returns its feedback.
fn told(call: impl FnOnce(*mut Feedback)) -> Result<()> {
    let mut feedback = Feedback { severity: 0, message: 0, rest: [0; 8] };
    call(&raw mut feedback);
    let Feedback { severity, message, .. } = feedback;
    if message == 0 { Ok(()) } else { Err(Error::Condition { severity, message }) }
}

/// The services, as the loader finds them.
#[derive(Debug)]
struct Services {
    create: unsafe extern "C" fn(*mut i32, *const i32, *const i32, *const i32, *mut Feedback),
    get: unsafe extern "C" fn(*const i32, *const i32, *mut *mut u8, *mut Feedback),
    resize: unsafe extern "C" fn(*mut *mut u8, *const i32, *mut Feedback),
    free: unsafe extern "C" fn(*const *mut u8, *mut Feedback),
    discard: unsafe extern "C" fn(*const i32, *mut Feedback),
    set_heading: unsafe extern "C" fn(*const u8, *mut Feedback),
}

impl Services {
    /// None in a program that does not run under underbar.
    fn get() -> Option<&'static Services> {
        static SERVICES: OnceLock<Option<Services>> = OnceLock::new();
        SERVICES.get_or_init(Services::find).as_ref()
    }

    fn find() -> Option<Services> {
        // SAFETY: the functions of these names have these arguments. Their result is not used.
        unsafe {
            Some(Services {
                create: function(c"CEECRHP")?,
                get: function(c"CEEGTST")?,
                resize: function(c"CEECZST")?,
                free: function(c"CEEFRST")?,
                discard: function(c"CEEDSHP")?,
                set_heading: function(c"CEE3RPH")?,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_underbar_there_are_no_heaps() {
        assert_eq!(Heap::new().err(), Some(Error::Absent));
        assert_eq!(set_report_heading("x"), Err(Error::Absent));
    }

    #[test]
    fn a_condition_has_the_name_of_the_books() {
        assert_eq!(NO_STORAGE.to_string(), "CEE0PD: message 0813");
        assert_eq!(Error::Condition { severity: 0, message: 3700 }.to_string(), "CEE3JK: message 3700");
    }
}
