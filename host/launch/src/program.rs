//! The path of a program, as `execvp` finds it, and the message if it cannot be run.
//!
//! Invariant: every path that the C library would try is tried, in its order; so the program is the one that
//! a shell would run.

use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use underbar_preloadable::carry::Reason;
use underbar_preloadable::target::{Target, denied as target_denied, examine as examine_target};
use underbar_sys::process::Refused;
use underbar_sys::syscall::{Errno, access, pread};

/// Nothing was run; the variants name the cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The caller: there is no such program.
    #[error("{}: no such program", shown(.0))]
    NotFound(OsString),
    /// The program: the file exists, but not its interpreter or loader.
    #[error("{}: the file exists, but not its interpreter or loader", shown(.0))]
    NoInterpreter(OsString),
    /// The program: the file exists, and the system refuses to execute it.
    #[error("{}: cannot be executed: {}", shown(.0), Reasoned(*.1))]
    NotExecutable(OsString, Errno),
    /// The caller: a zero byte in an argument or a variable.
    #[error("a zero byte in an argument or variable")]
    ZeroByte,
    /// The machine: no process, no memory.
    #[error("no process could be started: {}", Reasoned(*.0))]
    NoProcess(Errno),
}

impl Failure {
    /// The exit code for it, as in coreutils' `timeout` and `env`.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        match self {
            Failure::NotFound(_) | Failure::NoInterpreter(_) => 127,
            Failure::NotExecutable(..) => 126,
            Failure::ZeroByte | Failure::NoProcess(_) => 125,
        }
    }
}

/// The system's text for an error number, without the number.
struct Reasoned(Errno);

impl fmt::Display for Reasoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = io::Error::from_raw_os_error(self.0.number()).to_string();
        f.write_str(text.split(" (os error").next().unwrap_or(&text))
    }
}

fn shown(name: &OsStr) -> String {
    if name.is_empty() { "\"\"".to_owned() } else { underbar_shown::Shown::shown(name).to_string() }
}

/// The paths to try for `name`.
pub(crate) fn paths(name: &OsStr) -> Result<Vec<CString>, Failure> {
    paths_in(name, env::var_os("PATH"))
}

/// The file that is executed for `name`: the first executable file of that name in the folders of PATH, as for `execvp`. A
/// name with a slash is a path, and is used unchanged.
#[must_use]
pub fn find(name: &OsStr) -> Option<PathBuf> {
    find_in(name, env::var_os("PATH"))
}

fn find_in(name: &OsStr, folders: Option<OsString>) -> Option<PathBuf> {
    const EXECUTE: u32 = 1;
    if name.as_bytes().contains(&b'/') {
        return Some(name.into());
    }
    let as_path = |path: &CString| PathBuf::from(OsStr::from_bytes(path.as_bytes()));
    let mut paths = paths_in(name, folders).ok()?.into_iter().filter(|path| !path.is_empty());
    paths.find(|path| access(path, EXECUTE).is_ok() && as_path(path).is_file()).map(|path| as_path(&path))
}

fn paths_in(name: &OsStr, folders: Option<OsString>) -> Result<Vec<CString>, Failure> {
    let name = name.as_bytes();
    if name.contains(&b'/') || name.is_empty() {
        return Ok(vec![c_string(name)?]);
    }
    // The C library's default if PATH is not set.
    let folders = folders.map_or_else(|| b"/bin:/usr/bin".to_vec(), OsString::into_vec);
    let in_folder = |folder: &[u8]| match folder {
        [] => c_string(name),
        _ => c_string([folder, b"/", name].concat()),
    };
    folders.split(|&byte| byte == b':').map(in_folder).collect()
}

pub(crate) fn c_string(bytes: impl Into<Vec<u8>>) -> Result<CString, Failure> {
    CString::new(bytes).map_err(|_| Failure::ZeroByte)
}

/// The reason why the program `name` cannot carry the library.
pub(crate) fn examine(name: &OsStr) -> Result<(), Reason> {
    with_target(name, |target| examine_target(target, pread)).unwrap_or(Ok(()))
}

/// The entry of a list of denied programs (`underbar_preloadable::deny`) for the program `name`, or for its interpreter.
#[must_use]
pub fn denied<'a>(list: &'a [u8], name: &OsStr) -> Option<&'a [u8]> {
    with_target(name, |target| target_denied(list, target, pread))?
}

/// None: a zero byte, with which no program has a name.
fn with_target<R>(name: &OsStr, then: impl FnOnce(Target<'_>) -> R) -> Option<R> {
    let folders = env::var_os("PATH").map(|path| c_string(path.into_vec())).transpose().ok()?;
    Some(then(Target::Search(&c_string(name.as_bytes()).ok()?, folders.as_deref())))
}

/// The meaning of a kernel's refusal for the user.
pub(crate) fn failure(name: &OsStr, paths: &[CString], refused: Refused) -> Failure {
    let is_there = || {
        paths
            .iter()
            .any(|path| std::fs::metadata(OsStr::from_bytes(path.as_bytes())).is_ok_and(|f| f.is_file()))
    };
    match refused.reason {
        Errno::ENOENT if is_there() => Failure::NoInterpreter(name.to_owned()),
        Errno::ENOENT | Errno::ENOTDIR => Failure::NotFound(name.to_owned()),
        reason => Failure::NotExecutable(name.to_owned(), reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_execvp() {
        let check = |name: &str, folders: Option<&str>, expect: &[&str]| {
            let paths = paths_in(name.as_ref(), folders.map(OsString::from)).expect("no zero byte");
            let paths: Vec<&str> = paths.iter().map(|path| path.to_str().expect("text")).collect();
            assert_eq!(paths, expect);
        };
        check("ls", Some("/a:/b"), &["/a/ls", "/b/ls"]);
        check("ls", Some(":/b:"), &["ls", "/b/ls", "ls"]);
        check("ls", None, &["/bin/ls", "/usr/bin/ls"]);
        check("./ls", Some("/a"), &["./ls"]);
        check("", Some("/a"), &[""]);
    }

    #[test]
    fn a_program_without_a_name_is_shown_as_one() {
        assert_eq!(shown("".as_ref()), "\"\"");
        assert_eq!(shown("a b".as_ref()), "a b");
    }

    #[test]
    fn a_file_that_cannot_be_executed_is_passed_over() {
        use std::os::unix::fs::PermissionsExt;
        let folder = crate::place::tests::folder("program-find");
        let path = |name: &str| {
            std::fs::create_dir_all(folder.join(name)).expect("a folder");
            folder.join(name).join("prog")
        };
        let (text, program) = (path("first"), path("second"));
        std::fs::create_dir_all(path("zeroth")).expect("a folder of that name");
        std::fs::write(&text, "no program").expect("written");
        std::fs::write(&program, "#!/bin/sh\n").expect("written");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("rights");
        let folders = ["zeroth", "first", "second"].map(|name| folder.join(name));
        let folders = env::join_paths(folders).expect("no colon");
        assert_eq!(find_in("prog".as_ref(), Some(folders.clone())), Some(program));
        assert_eq!(find_in("other".as_ref(), Some(folders)), None);
        assert_eq!(find_in("./prog".as_ref(), None), Some("./prog".into()));
        assert_eq!(find_in("".as_ref(), None), None);
        assert!(find_in("sh".as_ref(), None).is_some(), "in the standard folders");
        std::fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn failures_have_the_codes_of_timeout() {
        let refused = |reason| Refused { reason, path: 0 };
        let code = |path: &str, reason| {
            let path = CString::new(path).expect("text");
            failure("x".as_ref(), &[path], refused(reason)).exit_code()
        };
        assert_eq!(code("/no/such", Errno::ENOENT), 127);
        assert_eq!(code("/etc/passwd", Errno::ENOENT), 127);
        assert_eq!(code("/etc/passwd", Errno::EACCES), 126);
        assert_eq!(code("/etc/passwd", Errno::ENOEXEC), 126);
        assert_eq!(Failure::NoProcess(Errno::EAGAIN).exit_code(), 125);
        let message = Failure::NotExecutable("p".into(), Errno::EACCES).to_string();
        assert_eq!(message, "p: cannot be executed: Permission denied");
    }
}
