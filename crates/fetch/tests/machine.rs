//! 300 of the machine's own shared objects, each in a separate process. Our loader loads most; the others are left to the
//! system's loader for a named reason. Each exported function is found at the address that dlsym finds.
//!
//! The test program starts itself twice for each library, and each child prints one line: one compares without running
//! constructors (a library that registers itself may not be loaded twice), one runs them and the destructors. The destructors of
//! some libraries end the process (libTKDraw calls Tcl_Exit): a third child shows that the system's loader has the same end.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

use underbar_fetch::content::FileContent;
use underbar_fetch::image::{self, Image, Surroundings};
use underbar_fetch::{Failure, replaced};

const MOST: usize = 300;
const FOLDER: &str = "/usr/lib/x86_64-linux-gnu";
const ASKED: &str = "UNDERBAR_FETCH_LIBRARY";
const RUNS: &str = "UNDERBAR_FETCH_RUNS";
const BY_SYSTEM: &str = "UNDERBAR_FETCH_BY_SYSTEM";
/// The status of a child whose library lets it end.
const ITS_OWN_END: i32 = 7;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: i32) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(handle: *mut c_void) -> i32;
}

/// The first bytes of a link map of the system's loader.
#[repr(C)]
struct LinkMap {
    bias: usize,
}

/// The child's part: runs only if a library is named.
#[test]
fn child() {
    let Some(path) = std::env::var_os(ASKED) else { return };
    let path = CString::new(path.into_encoded_bytes()).expect("a path");
    if std::env::var_os(BY_SYSTEM).is_some() {
        // SAFETY: a C string. The library's destructors run now or at exit.
        unsafe { dlclose(dlopen(path.as_ptr(), 2)) };
        std::process::exit(ITS_OWN_END);
    }
    let fd = underbar_sys::syscall::open(&path, 0, 0).expect("opened");
    let content = FileContent::whole(fd).expect("a file");
    let folder = path.to_bytes().rsplitn(2, |byte| *byte == b'/').nth(1).expect("a folder");
    let around = Surroundings { replaced: &replaced::table(), threads_ended: |_| {} };
    match image::load(&content, &path, folder, &around) {
        Err(Failure::Reason(reason)) => println!("=reason {reason}"),
        Err(Failure::Error(error)) => {
            // SAFETY: a C string. Can the system's loader load it?
            let handle = unsafe { dlopen(path.as_ptr(), 2) };
            println!("={} {error}", if handle.is_null() { "nobody" } else { "error" });
        }
        // SAFETY: loaded; the constructors and destructors of a library of the machine.
        Ok(image) if std::env::var_os(RUNS).is_some() => unsafe {
            Image::begin(image).expect("constructors");
            Image::end(image);
            Image::unload(image, None);
            println!("=ran and gone");
        },
        Ok(image) => println!("=loaded {}", compare(image, &path)),
    }
    std::process::exit(0);
}

/// The number of functions found at the address that the system's loader finds.
fn compare(image: std::ptr::NonNull<Image>, path: &CStr) -> String {
    // SAFETY: a C string, the image that was loaded; handles of dlopen are link maps.
    unsafe {
        let handle = dlopen(path.as_ptr(), 1);
        if handle.is_null() {
            return "0 functions, unknown to dlopen".into();
        }
        let (theirs, ours) = ((*handle.cast::<LinkMap>()).bias, image.as_ref().bias());
        let mut names = Vec::new();
        image
            .as_ref()
            .exports(|name, is_function| names.extend(is_function.then(|| name.to_owned())))
            .expect("names");
        let mut wrong = Vec::new();
        for name in &names {
            let there = dlsym(handle, name.as_ptr()) as usize;
            let here = image.as_ref().symbol(name.to_bytes(), None).expect("whole tables");
            // A name with several versions, all hidden, is never found; a name that another library has too is that library's.
            let in_file = there.wrapping_sub(theirs);
            let same = match here {
                Some(here) => here.wrapping_sub(ours) == in_file,
                None => there == 0 || in_file > image.as_ref().span() as usize,
            };
            if !same && in_file <= image.as_ref().span() as usize {
                wrong.push(name.to_string_lossy().into_owned());
            }
        }
        format!("{} functions, {} elsewhere {:?}", names.len(), wrong.len(), &wrong[..wrong.len().min(3)])
    }
}

fn libraries() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(FOLDER)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    found.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_file = path.symlink_metadata().is_ok_and(|status| status.is_file());
        let begins = |path: &Path| std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"));
        is_file && name.contains(".so") && begins(path)
    });
    found.sort();
    found.truncate(std::env::var("UNDERBAR_FETCH_MOST").map_or(MOST, |most| most.parse().expect("a number")));
    found
}

fn child_for(path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "child", "--nocapture"]).env(ASKED, path).env("DISPLAY", "");
    command
}

/// The status of a process that the library ends, where the system's loader has loaded it.
fn end_by_library(path: &Path) -> Option<i32> {
    let output = child_for(path).env(BY_SYSTEM, "1").output().expect("a child");
    output.status.code().filter(|code| *code != ITS_OWN_END)
}

/// The child's line about a library, its status, and its diagnostics if it prints none.
fn ask(path: &Path, runs: bool) -> (String, Option<i32>, String) {
    let mut command = child_for(path);
    if runs {
        command.env(RUNS, "1");
    }
    let output = command.output().expect("a child");
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.split_once('=')).map_or("", |(_, rest)| rest);
    let all = format!("{line} {} {}", output.status, String::from_utf8_lossy(&output.stderr));
    (line.into(), output.status.code(), all)
}

#[test]
fn nine_of_ten_libraries_of_the_machine_are_loaded() {
    if std::env::var_os(ASKED).is_some() {
        return;
    }
    let libraries = libraries();
    let (mut loaded, mut fallbacks, mut bad) = (0, BTreeMap::<String, Vec<String>>::new(), Vec::new());
    let mut nobody = Vec::new();
    for path in &libraries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (line, _, all) = ask(path, false);
        match line.split_once(' ') {
            Some(("loaded", rest)) if rest.contains(", 0 elsewhere") || rest.contains("unknown") => {
                let (line, status, all) = ask(path, true);
                match line == "ran and gone"
                    || (line.is_empty() && status.is_some() && status == end_by_library(path))
                {
                    true => loaded += 1,
                    false => bad.push(format!("{name}: {all}")),
                }
            }
            Some(("reason", reason)) => fallbacks.entry(reason.into()).or_default().push(name),
            Some(("nobody", error)) => nobody.push(format!("{name}: {error}")),
            _ => bad.push(format!("{name}: {all}")),
        }
    }
    println!("{loaded} of {} loaded; left to the system's loader: {fallbacks:#?}", libraries.len());
    println!("that nobody can load: {nobody:#?}");
    assert!(bad.is_empty(), "{bad:#?}");
    for reason in fallbacks.keys() {
        assert!(underbar_fetch::REASONS.iter().any(|(_, key, _)| key == reason), "{reason}");
    }
    assert!(loaded * 10 >= (libraries.len() - nobody.len()) * 9, "{loaded} of {}", libraries.len());
}
