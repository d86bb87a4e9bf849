//! The C library's part: its loader, its thread keys, its lists of functions for the end.
//!
//! Invariant: calls that leave a message for `dlerror` remove it again, so the program's next `dlerror` reports its own
//! calls.
//! Not here: raw system calls (`underbar-sys`).

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Text;
use crate::link_map::LinkMap;

/// A function to run at an end, with its argument.
pub type Ending = unsafe extern "C" fn(*mut c_void);

/// The data that `dl_iterate_phdr` gives about a program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ProgramInfo {
    /// What is added to the addresses of its file.
    pub bias: usize,
    /// Its name: where it was loaded from.
    pub name: *const c_char,
    /// Its program headers.
    pub headers: *const ProgramHeader,
    /// How many.
    pub count: u16,
    /// Programs loaded so far.
    pub adds: u64,
    /// Programs given back so far.
    pub subs: u64,
    /// Number of its thread storage; 0: none.
    pub tls_module: usize,
    /// This thread's copy, where there is one.
    pub tls_data: *mut u8,
}

/// A program header, as in the file.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "each is named for its field")]
pub struct ProgramHeader {
    pub kind: u32,
    pub rights: u32,
    pub offset: u64,
    pub address: u64,
    pub physical: u64,
    pub in_file: u64,
    pub size: u64,
    pub alignment: u64,
}

/// The function that `dl_iterate_phdr` calls for each program; a result other than 0 ends it.
pub type Visitor = unsafe extern "C" fn(*mut ProgramInfo, usize, *mut c_void) -> c_int;

/// The result of `dladdr`: the file of an address and its start, the symbol and its start.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AddressInfo {
    pub file: *const c_char,
    pub base: *const c_void,
    pub name: *const c_char,
    pub address: *const c_void,
}

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlclose(handle: *mut c_void) -> c_int;
    pub(crate) fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub(crate) fn dladdr(address: *const c_void, info: *mut AddressInfo) -> c_int;
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
    fn dlinfo(handle: *mut c_void, request: c_int, into: *mut c_void) -> c_int;
    pub(crate) fn __cxa_atexit(ending: Ending, argument: *mut c_void, program: *mut c_void) -> c_int;
    pub(crate) fn __cxa_finalize(program: *mut c_void);
    pub(crate) fn __cxa_thread_atexit_impl(
        ending: Ending,
        argument: *mut c_void,
        program: *mut c_void,
    ) -> c_int;
    pub(crate) fn __tls_get_addr(index: *const c_void) -> *mut u8;
    pub(crate) fn pthread_key_create(key: *mut u32, ending: Ending) -> c_int;
    pub(crate) fn pthread_getspecific(key: u32) -> *mut c_void;
    pub(crate) fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    pub(crate) fn pthread_atfork(
        before: unsafe extern "C" fn(),
        parent: unsafe extern "C" fn(),
        child: unsafe extern "C" fn(),
    ) -> c_int;
    pub(crate) fn secure_getenv(name: *const c_char) -> *const c_char;
    pub(crate) fn fflush(stream: *mut c_void) -> c_int;
    pub(crate) fn siglongjmp(place: *mut c_void, value: c_int) -> !;
    pub(crate) fn __longjmp_chk(place: *mut c_void, value: c_int) -> !;
    fn pthread_self() -> usize;
    fn pthread_getattr_np(thread: usize, attributes: *mut [u64; 7]) -> c_int;
    fn pthread_attr_getstack(attributes: *const [u64; 7], low: *mut usize, bytes: *mut usize) -> c_int;
    fn pthread_attr_destroy(attributes: *mut [u64; 7]) -> c_int;
    pub(crate) fn exit(status: c_int) -> !;
    pub(crate) fn _exit(status: c_int) -> !;
    pub(crate) fn abort() -> !;
    pub(crate) static mut environ: *const *const c_char;
}

const RTLD_LAZY: c_int = 1;
const RTLD_NOW: c_int = 2;
const RTLD_NOLOAD: c_int = 4;
pub(crate) const RTLD_DEFAULT: *mut c_void = core::ptr::null_mut();
pub(crate) const RTLD_NEXT: *mut c_void = core::ptr::without_provenance_mut(usize::MAX);

/// A library that the system's loader has opened for us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle(*mut c_void);

// SAFETY: the system's loader takes its handles from any thread.
unsafe impl Send for Handle {}

impl Handle {
    /// No library.
    pub const NONE: Handle = Handle(core::ptr::null_mut());

    /// The program of this process, which stays.
    pub(crate) fn of_process() -> Option<Handle> {
        // SAFETY: null stands for the program itself.
        let handle = unsafe { dlopen(core::ptr::null(), RTLD_LAZY) };
        (!handle.is_null()).then_some(Handle(handle))
    }

    /// Opens a library, or the program of a member. Its constructors run. `now`: binds all its symbols at once.
    ///
    /// # Errors
    /// The loader's message.
    pub fn open(name: &CStr, now: bool) -> Result<Handle, Text> {
        let flags = if now { RTLD_NOW } else { RTLD_LAZY };
        // SAFETY: a C string; the library answers for the actions of its constructors.
        let handle = unsafe { dlopen(name.as_ptr(), flags) };
        if handle.is_null() { Err(message()) } else { Ok(Handle(handle)) }
    }

    /// A library that is loaded already.
    #[must_use]
    pub fn of_loaded(name: &CStr) -> Option<Handle> {
        // SAFETY: a C string; nothing is loaded.
        let handle = unsafe { dlopen(name.as_ptr(), RTLD_LAZY | RTLD_NOLOAD) };
        if handle.is_null() {
            message();
            return None;
        }
        Some(Handle(handle))
    }

    /// Closes it; its destructors may run.
    pub fn close(self) {
        if self != Handle::NONE {
            // SAFETY: an open handle, closed once: the owner of a `Handle` closes it.
            unsafe { dlclose(self.0) };
        }
    }

    /// The address of a symbol in it or in its dependencies.
    ///
    /// # Safety
    /// Both are null (for the version) or C strings.
    #[must_use]
    pub unsafe fn symbol(self, name: *const c_char, version: *const c_char) -> Option<usize> {
        // SAFETY: the caller's promise.
        unsafe { find(self.0, name, version) }
    }

    /// The path from which it was loaded, valid while it is loaded; empty for the program itself.
    #[must_use]
    pub fn path(self) -> Option<&'static CStr> {
        self.link_map().map(LinkMap::path)
    }

    /// What is added to the addresses of its file.
    #[must_use]
    pub fn bias(self) -> Option<usize> {
        self.link_map().map(|map| map.bias)
    }

    /// Its entry in the loader's list.
    pub(crate) fn link_map(self) -> Option<&'static LinkMap> {
        const RTLD_DI_LINKMAP: c_int = 2;
        let mut map: *const LinkMap = core::ptr::null();
        // SAFETY: the loader writes one pointer, to an entry that lives as long as the library.
        let map = unsafe {
            match dlinfo(self.0, RTLD_DI_LINKMAP, (&raw mut map).cast()) {
                0 => map.as_ref(),
                _ => None,
            }
        };
        if map.is_none() {
            message();
        }
        map
    }
}

/// The first entry of the loader's list: the program itself. Found once; every thread finds the same.
pub(crate) fn first_in_list() -> Option<*const LinkMap> {
    static FIRST: AtomicUsize = AtomicUsize::new(0);
    let mut first = FIRST.load(Ordering::Relaxed);
    if first == 0 {
        let process = Handle::of_process()?;
        first = process.link_map().map_or(0, |map| core::ptr::from_ref(map) as usize);
        process.close();
        FIRST.store(first, Ordering::Relaxed);
    }
    (first != 0).then_some(first as *const LinkMap)
}

/// The address of a symbol of the program, or of the libraries of the global scope.
///
/// # Safety
/// As [`Handle::symbol`].
#[must_use]
pub unsafe fn global_symbol(name: *const c_char, version: *const c_char) -> Option<usize> {
    // SAFETY: the caller's promise.
    unsafe { find(RTLD_DEFAULT, name, version) }
}

/// The address of the next definition of a symbol after the one in this program or library.
#[must_use]
pub fn next_symbol(name: &CStr) -> Option<usize> {
    // SAFETY: a C string.
    unsafe { find(RTLD_NEXT, name.as_ptr(), core::ptr::null()) }
}

unsafe fn find(handle: *mut c_void, name: *const c_char, version: *const c_char) -> Option<usize> {
    // SAFETY: the caller's promise.
    let address =
        unsafe { if version.is_null() { dlsym(handle, name) } else { dlvsym(handle, name, version) } };
    if address.is_null() {
        message();
        return None;
    }
    Some(address as usize)
}

/// Takes the loader's last message.
fn message() -> Text {
    // SAFETY: the message is null or a C string, valid until this thread's next call.
    unsafe {
        let text = dlerror();
        if text.is_null() { Text::new(b"") } else { Text::new(CStr::from_ptr(text).to_bytes()) }
    }
}

/// The ends of the calling thread's stack; None if the C library does not know them.
pub(crate) fn stack() -> Option<(usize, usize)> {
    let (mut attributes, mut low, mut bytes) = ([0; 7], 0, 0);
    // SAFETY: glibc's attributes have 56 bytes; the functions write what they are given.
    unsafe {
        if pthread_getattr_np(pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let result = pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut bytes);
        pthread_attr_destroy(&raw mut attributes);
        (result == 0).then(|| (low, low.saturating_add(bytes)))
    }
}

/// Ends the process with a message on standard error if an error cannot be returned, as the system's loader does.
pub(crate) fn end_with(text: &[u8]) -> ! {
    let _ = underbar_sys::syscall::write(2, text);
    // SAFETY: it does not return.
    unsafe { abort() }
}
