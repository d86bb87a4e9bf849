//! Functions of other libraries: those that may be absent, and those that we stand in front of.
//!
//! A strong symbol that is missing would end the program before it began, and which library has a function
//! differs between versions of the C library: before 2.34 threads and `dlsym` are in libraries of their own, which
//! a program need not have loaded. So these are asked for weakly.
//!
//! Invariant: what is not there is None; nothing is called that was not found.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

/// Defines a function that gives the address of another by its C name, or 0 where no library has it.
macro_rules! weak {
    ($($address_of:ident = $name:literal;)*) => { $(
        #[unsafe(naked)]
        extern "C" fn $address_of() -> usize {
            core::arch::naked_asm!(
                concat!(".weak ", $name),
                concat!("mov rax, qword ptr [rip + ", $name, "@GOTPCREL]"),
                "ret"
            )
        }
    )* };
}
pub(crate) use weak;

weak! { address_of_dlsym = "dlsym"; }

/// A function of the next library in the loader's order.
pub(crate) struct Next {
    /// Its C name.
    pub(crate) name: &'static CStr,
    /// 0: not looked for yet; 1: not there. Written by whoever looks first (all find the same), read by
    /// anybody; relaxed, as the code that it leads to was there before.
    address: AtomicUsize,
}

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Next {
        Next { name, address: AtomicUsize::new(0) }
    }

    /// The function's address. Looked for once at the start, since `dlsym` may lock; but constructors of
    /// other libraries may run before that, and call us.
    pub(crate) fn get(&self) -> Option<usize> {
        let mut address = self.address.load(Ordering::Relaxed);
        if address == 0 {
            address = self.find().unwrap_or(1);
            self.address.store(address, Ordering::Relaxed);
        }
        (address != 1).then_some(address)
    }

    /// The function's address, after [`Next::get`] has found it in this thread, or before what this thread has acquired.
    #[inline(always)]
    pub(crate) fn known(&self) -> usize {
        self.address.load(Ordering::Relaxed)
    }

    fn find(&self) -> Option<usize> {
        if let Some(address) = crate::deepbind::original(self.name) {
            return Some(address);
        }
        const NEXT: *mut c_void = usize::MAX as *mut c_void; // RTLD_NEXT
        let dlsym = address_of_dlsym();
        if dlsym == 0 {
            return None;
        }
        // SAFETY: it is the C library's `dlsym`, whose signature this is.
        let dlsym = unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void>(
                dlsym,
            )
        };
        // SAFETY: the name is a C string.
        let found = unsafe { dlsym(NEXT, self.name.as_ptr()) } as usize;
        // Meanwhile another thread may have put our function into the table that was just read.
        crate::deepbind::original(self.name).or((found > 1).then_some(found))
    }
}
