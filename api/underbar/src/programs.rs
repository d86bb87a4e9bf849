//! Programs from libraries: LOAD, DELETE, LINK, CALL, BLDL, XCTL.
//!
//! ```no_run
//! use underbar::programs::{Library, Program};
//!
//! # fn main() -> Result<(), underbar::programs::Error> {
//! let job = Library::open("/srv/job.library")?; // a PDSE, a PDS, or a folder of shared objects
//! let common = Library::open_frozen("/srv/common.library")?;
//! // SAFETY: programs of our own, which do what they say.
//! unsafe {
//!     let program = Program::load(&[&job, &common], "RATES")?;
//!     let rate: extern "C" fn(i64) -> i64 = core::mem::transmute(program.entry()?);
//!     println!("{}", rate(7));
//!     let status = underbar::programs::link(&[&job], "REPORT", &["REPORT", "2026"], None)?;
//!     assert_eq!(status, 0);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Programs are kept in relocated form when they are given back, so the next LOAD of one costs less than a microsecond
//! ([`set_options`] sets the limits, [`statistics`] counts the hits). Programs that our loader cannot load are left to dlopen,
//! and counted by the reason.
//!
//! Invariant: a [`Program`] that is dropped is DELETEd, a [`Library`] that is dropped is closed.
//! Not here: making libraries (`underbar lib`).

use std::ffi::{CString, OsStr, c_char, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use underbar_fetch::{link as linking, table};

pub use underbar_fetch::library::Member;
pub use underbar_fetch::table::Options;
pub use underbar_fetch::{Form, REASONS, Reason, Statistics};

/// The reason for a failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error(Box<underbar_fetch::Error>);

impl Error {
    /// The kind of error, with the object concerned.
    #[must_use]
    pub fn kind(&self) -> &underbar_fetch::Error {
        &self.0
    }
}

impl From<underbar_fetch::Error> for Error {
    fn from(error: underbar_fetch::Error) -> Self {
        Error(Box::new(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {}

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

/// An open library: a PDS, a PDSE, a folder, or a shared object. Closed when dropped; its programs in use stay.
#[derive(Debug)]
pub struct Library(table::Library);

impl Library {
    /// Opens a library whose directory is compared with the file at each LOAD (NOFREEZE).
    ///
    /// # Errors
    /// It does not exist, or is no library.
    pub fn open(path: impl AsRef<Path>) -> Result<Library> {
        Library::open_as(path.as_ref(), false)
    }

    /// Opens a library whose directory, once read, stays valid until [`Library::refresh`] (FREEZE).
    ///
    /// # Errors
    /// It does not exist, or is no library.
    pub fn open_frozen(path: impl AsRef<Path>) -> Result<Library> {
        Library::open_as(path.as_ref(), true)
    }

    fn open_as(path: &Path, is_frozen: bool) -> Result<Library> {
        let path = text(path.as_os_str())?;
        Ok(Library(table::open(&path, is_frozen)?))
    }

    /// Reads the directory again from now on.
    ///
    /// # Errors
    /// It no longer exists.
    pub fn refresh(&self) -> Result<()> {
        Ok(table::refresh(self.0)?)
    }

    /// Is one of the two labels of a PDSE damaged or cut short, so that the data read may be the state before the last
    /// change? LOAD continues with the other one; `underbar lib verify` tells more.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        // It is open.
        table::is_doubtful(self.0).unwrap_or(false)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // It is open: only this value closes it.
        let _ = table::close(self.0);
    }
}

/// A program in use, until it is dropped (DELETE).
#[derive(Debug)]
pub struct Program(table::Loaded);

impl Program {
    /// LOAD: the program of this name in the first library that has it, in the form of its attributes.
    ///
    /// # Safety
    /// The program is its author's code. Its constructors run, and nothing of it, no function and no pointer, is used after the
    /// last `Program` of this name was dropped.
    ///
    /// # Errors
    /// The reason why it could not be loaded.
    pub unsafe fn load(libraries: &[&Library], name: &str) -> Result<Program> {
        // SAFETY: the caller's promise.
        Ok(Program(unsafe { table::load(&list(libraries), name.as_bytes(), None)? }))
    }

    /// LOAD in a given form.
    ///
    /// # Safety
    /// As [`Program::load`].
    ///
    /// # Errors
    /// As [`Program::load`].
    pub unsafe fn load_as(libraries: &[&Library], name: &str, form: Form) -> Result<Program> {
        // SAFETY: the caller's promise.
        Ok(Program(unsafe { table::load(&list(libraries), name.as_bytes(), Some(form))? }))
    }

    /// The address of its entry point.
    ///
    /// # Errors
    /// It has none.
    pub fn entry(&self) -> Result<*const c_void> {
        Ok(table::entry(self.0)? as *const c_void)
    }

    /// The address of a symbol that it exports; of a thread variable, this thread's.
    ///
    /// # Errors
    /// Its tables are damaged.
    pub fn symbol(&self, name: &str) -> Result<Option<*const c_void>> {
        let name = text(OsStr::new(name))?;
        Ok(table::symbol(self.0, &name)?.map(|address| address as *const c_void))
    }

    /// CALL: its entry with one parameter, on this stack.
    ///
    /// # Safety
    /// The entry is a function that takes one pointer, returns a number, and may use the parameter as it does.
    ///
    /// # Errors
    /// It has no entry point.
    pub unsafe fn call(&self, parameter: *mut c_void) -> Result<isize> {
        // SAFETY: the caller's promise.
        Ok(unsafe { linking::call(self.0, parameter)? })
    }

    /// Was it left to the system's loader?
    #[must_use]
    pub fn is_of_system(&self) -> bool {
        table::is_of_system(self.0).unwrap_or(false)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: `load`'s promise.
        let _ = unsafe { table::delete(self.0) };
    }
}

/// LINK: loads a program, runs its `main`, gives it back; returns its exit status, 0 to 255. With an environment, the program
/// sees only that; without, ours. `underbar_fetch::link` describes which exits are covered.
///
/// # Safety
/// The program is its author's code, and may do anything in this process.
///
/// # Errors
/// The reason why it could not be loaded.
pub unsafe fn link(
    libraries: &[&Library],
    name: &str,
    arguments: &[&str],
    environment: Option<&[&str]>,
) -> Result<i32> {
    let arguments = Texts::new(arguments)?;
    let environment = environment.map(Texts::new).transpose()?;
    let environment = environment.as_ref().map_or(std::ptr::null(), Texts::list);
    // SAFETY: lists of C strings that end with null; the caller's promise.
    Ok(unsafe { linking::link(&list(libraries), name.as_bytes(), arguments.list(), environment)? })
}

/// BLDL: the library that has a program, by its index in the list, and the directory's entry.
///
/// # Errors
/// None has it.
pub fn find(libraries: &[&Library], name: &str) -> Result<(usize, Member)> {
    let (library, member) = table::find(&list(libraries), name.as_bytes())?;
    let place = libraries.iter().position(|one| one.0 == library);
    Ok((place.unwrap_or_default(), member))
}

/// Makes a program resident (kept from its first DELETE on, beyond the bound), or ends this.
///
/// # Errors
/// No library has it.
pub fn set_resident(libraries: &[&Library], name: &str, is_resident: bool) -> Result<()> {
    Ok(table::set_resident(&list(libraries), name.as_bytes(), is_resident)?)
}

/// Sets how much is kept (LLA and VLF); programs beyond the bound go at once.
pub fn set_options(options: Options) {
    table::set_options(options);
}

/// Drops all programs that are kept, except resident ones.
pub fn purge() {
    table::purge();
}

/// The figures since the process began.
#[must_use]
pub fn statistics() -> Statistics {
    table::statistics()
}

/// Lets the whole process find the programs loaded here by `dl_iterate_phdr`, for profilers and sanitizers. Use it once in the
/// program, which then has a function of this name. (Exceptions, panics and debuggers find the programs without
/// it.)
#[macro_export]
macro_rules! export_dl_iterate_phdr {
    () => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn dl_iterate_phdr(
            visitor: $crate::programs::Visitor,
            data: *mut ::core::ffi::c_void,
        ) -> ::core::ffi::c_int {
            // SAFETY: the caller's promise: a visitor, and its argument.
            unsafe { $crate::programs::iterate(visitor, data) }
        }
    };
}
#[doc(hidden)]
pub use underbar_fetch::program_headers::{Visitor, iterate};

fn list(libraries: &[&Library]) -> Vec<table::Library> {
    libraries.iter().map(|library| library.0).collect()
}

fn text(text: &OsStr) -> Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| underbar_fetch::Error::BadName.into())
}

/// Texts in C's form.
struct Texts {
    pointers: Vec<*const c_char>,
    /// The texts to which the pointers refer.
    _texts: Vec<CString>,
}

impl Texts {
    fn new(given: &[&str]) -> Result<Texts> {
        let texts: Vec<CString> = given.iter().map(|one| text(OsStr::new(one))).collect::<Result<_>>()?;
        let pointers = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Ok(Texts { pointers, _texts: texts })
    }

    fn list(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const SOURCE: &str = "#include <stdlib.h>
static long count;
long PROGRAM(long *x) { *x += 1; return ++count; }
int main(int argc, char **argv) { exit(argc == 3 ? atoi(argv[2]) : getenv(\"ONLY\") ? 9 : 8); }
";

    #[test]
    fn a_program_is_found_loaded_called_linked_and_given_back() {
        let folder = std::env::temp_dir().join(format!("underbar-programs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("source.c"), SOURCE).expect("written");
        let made = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([folder.join("PROGRAM.so"), folder.join("source.c")])
            .status();
        assert!(made.expect("a compiler").success());
        let empty = folder.join("empty");
        std::fs::create_dir_all(&empty).expect("a folder");
        {
            let (empty, library) =
                (Library::open(&empty).expect("open"), Library::open(&folder).expect("open"));
            let both = [&empty, &library];
            assert_eq!(find(&both, "PROGRAM").expect("there").0, 1);
            let error = find(&both, "NOBODY").expect_err("not there");
            assert_eq!(error.to_string(), "no program NOBODY in the libraries");
            for _ in 0..2 {
                // SAFETY: the program above.
                unsafe {
                    let program = Program::load(&both, "PROGRAM").expect("loaded");
                    let mut x = 41_i64;
                    assert_eq!(program.call((&raw mut x).cast()), Ok(1));
                    assert_eq!((x, program.is_of_system()), (42, false));
                    assert!(program.symbol("main").expect("whole").is_some());
                }
            }
            // SAFETY: the program above.
            unsafe {
                assert_eq!(link(&both, "PROGRAM", &["PROGRAM", "x", "17"], None), Ok(17));
                assert_eq!(link(&both, "PROGRAM", &[], Some(&["ONLY=1"])), Ok(9));
                assert_eq!(link(&both, "PROGRAM", &[], Some(&[])), Ok(8));
            }
        }
        let all = statistics();
        assert_eq!((all.fetches, all.deletes), (5, 5));
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
