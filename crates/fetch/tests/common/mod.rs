//! Shared code of the tests: members that the compiler makes on demand, and one test at a time, since the table of programs
//! belongs to the process.
#![allow(clippy::result_large_err, reason = "an error carries the name that it is about")]
#![allow(dead_code, reason = "no test program uses all of it")]

pub mod reading;

use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard};

use underbar_fetch::table::{self, Library, Loaded, Options};
use underbar_fetch::{Error, Form, Statistics, link};

static ONE: Mutex<()> = Mutex::new(());

/// The state during a test, with an empty pool and the usual options.
pub fn alone() -> MutexGuard<'static, ()> {
    let guard = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    table::set_options(Options { pool_bytes: 0, ..Options::DEFAULT });
    table::set_options(Options { keep_after: 1, ..Options::DEFAULT });
    guard
}

/// A folder of the test program's own, empty at first.
pub fn folder(name: &str) -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let program = program.file_name().expect("a name").to_string_lossy().into_owned();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(program).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Compiles a member of `tests/members` into a folder: `NAME.c` or `NAME.cc` becomes `NAME.so`.
pub fn member(folder: &Path, source: &str, flags: &[&str]) -> PathBuf {
    member_as(folder, source, source.split('.').next().expect("a name"), flags)
}

/// The same under another name.
pub fn member_as(folder: &Path, source: &str, name: &str, flags: &[&str]) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/members").join(source);
    let to = folder.join(format!("{name}.so"));
    // Renamed into place, as required for a program in use.
    let fresh = folder.join(format!(".{name}.new"));
    let compiler = if source.ends_with(".cc") { "c++" } else { "cc" };
    let output = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&fresh)
        .arg(&from)
        .args(flags)
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(fresh, &to).expect("in place");
    to
}

/// A path as a C string.
pub fn c(path: &Path) -> CString {
    CString::new(path.as_os_str().as_encoded_bytes()).expect("a path")
}

/// A library that is closed at the end of the test.
pub struct Opened(pub Library);

impl Opened {
    /// Opens a folder.
    pub fn folder(path: &Path, is_frozen: bool) -> Opened {
        Opened(table::open(&c(path), is_frozen).expect("a library"))
    }

    /// LOAD.
    pub fn load(&self, name: &str, form: Form) -> Result<Loaded, Error> {
        // SAFETY: members of our own.
        unsafe { table::load(&[self.0], name.as_bytes(), Some(form)) }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let _ = table::close(self.0);
    }
}

/// DELETE: are there other users?
pub fn delete(loaded: Loaded) -> bool {
    // SAFETY: tests use nothing of a program after this.
    unsafe { table::delete(loaded) }.expect("loaded")
}

/// LINK of the program that the first text names; with a separate environment, or ours.
pub fn link(library: Library, texts: &[&str], environment: Option<&[&str]>) -> Result<i32, Error> {
    let (_texts, arguments) = list(texts);
    let environment = environment.map(list);
    let pointer = environment.as_ref().map_or(std::ptr::null(), |(_, list)| list.as_ptr());
    // SAFETY: lists that end with null; programs of our own.
    unsafe { link::link(&[library], texts[0].as_bytes(), arguments.as_ptr(), pointer) }
}

/// Texts, and a list for C that points to them.
pub fn list(texts: &[&str]) -> (Vec<CString>, Vec<*const c_char>) {
    let texts: Vec<CString> = texts.iter().map(|text| CString::new(*text).expect("a text")).collect();
    let list = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
    (texts, list)
}

/// Calls a function of a program.
// A frame of its own: a debugger shows it.
#[inline(never)]
pub fn ask(loaded: Loaded, function: &CStr, argument: usize) -> usize {
    let address = table::symbol(loaded, function).expect("whole tables").expect("the function");
    // SAFETY: functions of members of our own, which take a word and return one.
    unsafe { std::mem::transmute::<usize, unsafe extern "C-unwind" fn(usize) -> usize>(address)(argument) }
}

/// The changes since then.
pub fn since(before: &Statistics, what: fn(&Statistics) -> u64) -> u64 {
    what(&table::statistics()) - what(before)
}

/// Resident memory of this process in pages.
pub fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("statm");
    text.split(' ').nth(1).expect("a figure").parse().expect("a number")
}

/// Reports loudly that something is not tested here, as the zoo does.
pub fn skip(what: &str) {
    use std::io::Write as _;
    assert!(std::env::var_os("UNDERBAR_REQUIRE_ALL").is_none(), "may not be skipped: {what}");
    eprintln!("SKIPPED {what}");
    if let Some(path) = std::env::var_os("UNDERBAR_SKIPS") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).expect("the list");
        file.write_all(format!("{what}\n").as_bytes()).expect("the list");
    }
}
