//! The file that is about to be executed, found like the C library finds it and examined directly.
//!
//! Invariant: system calls and the stack only, so it works between vfork and exec and in signal handlers.
//! A file that cannot be opened gets no reason: exec will tell the program the error.
//! A script is what its interpreter is: to carry the library, and to be kept plain by a list of names.
//! Not here: the meaning of the bytes (`carry`), and the consequences (the callers).

use crate::carry::{Interpreter, Look, Reason, look};
use crate::deny;
use core::ffi::CStr;
use underbar_sys::file::{Status, fstat, getegid, has_capabilities, stat};
use underbar_sys::machine::{Resource, limit};
use underbar_sys::syscall::{
    AT_FDCWD, Errno, O_CLOEXEC, O_NOCTTY, O_NONBLOCK, O_RDONLY, access, close, geteuid, openat,
};

/// The longest path that the kernel takes, with its final zero byte.
pub const PATH_BYTES: usize = 4096;

/// The file to execute.
#[derive(Clone, Copy)]
pub enum Target<'a> {
    /// The file at a path, relative to the directory of the descriptor.
    At(i32, &'a CStr),
    /// An open file.
    Open(i32),
    /// A name to be searched in these folders, as `execvp` does; a name with a slash is a path.
    Search(&'a CStr, Option<&'a CStr>),
}

impl Target<'_> {
    /// The name of the file as it was given, with or without its folder; None: only a descriptor was given.
    #[must_use]
    pub fn name(&self) -> Option<&[u8]> {
        match self {
            Target::At(_, path) => Some(path.to_bytes()).filter(|path| !path.is_empty()),
            Target::Search(name, _) => Some(name.to_bytes()),
            Target::Open(_) => None,
        }
    }
}

/// Reads from a descriptor into a buffer at an offset, as `pread` does. The library counts its reads, the command need not.
pub type Read = fn(i32, &mut [u8], u64) -> Result<usize, Errno>;

/// The reason why the target cannot carry the library, or has no room for it; Ok if it can, or if exec will fail anyway.
///
/// # Errors
/// The reason.
pub fn examine(target: Target<'_>, read: Read) -> Result<(), Reason> {
    has_room()?;
    at_path(target, |directory, path| examine_at(directory, path, read)).unwrap_or(Ok(()))
}

/// The entry of a list ([`deny`]) for the target: by its own name, or by that of an interpreter that will run it.
#[must_use]
pub fn denied<'a>(list: &'a [u8], target: Target<'_>, read: Read) -> Option<&'a [u8]> {
    let by_name = target.name().and_then(|name| deny::entry_for(list, name));
    by_name.or_else(|| at_path(target, |directory, path| interpreter_denied(list, directory, path, read))?)
}

/// Calls `then` with the target's folder and path; None if there is no such file in the folders of a search.
fn at_path<R>(target: Target<'_>, then: impl FnOnce(i32, &CStr) -> R) -> Option<R> {
    match target {
        Target::At(directory, path) => Some(then(directory, path)),
        Target::Open(fd) => {
            // The descriptor may be a mere reference (O_PATH): open the file again to read it.
            let mut room = [0; 32];
            Some(then(AT_FDCWD, path_of_descriptor(fd, &mut room)))
        }
        Target::Search(name, folders) => {
            let mut room = [0; PATH_BYTES];
            Some(then(AT_FDCWD, search(name, folders, &mut room)?))
        }
    }
}

/// Does the file exist? A caller that tries folder after folder asks for many that do not.
#[must_use]
pub fn is_there(target: Target<'_>) -> bool {
    match target {
        Target::At(directory, path) => {
            match openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0) {
                Ok(fd) => {
                    let _ = close(fd);
                    true
                }
                Err(reason) => reason == Errno::EACCES,
            }
        }
        Target::Open(_) | Target::Search(..) => true,
    }
}

/// Do the inherited limits leave room in addition to our memory?
fn has_room() -> Result<(), Reason> {
    const LEAST: [(Resource, u64); 2] = [(Resource::AddressSpace, 64 << 20), (Resource::Data, 32 << 20)];
    let is_little = |(resource, least)| matches!(limit(resource), Ok(Some(most)) if most < least);
    if LEAST.into_iter().any(is_little) { Err(Reason::LittleMemory) } else { Ok(()) }
}

/// Will a program that this process becomes be able to read the file at `path`?
#[must_use]
pub fn is_readable(path: &[u8]) -> bool {
    is_open_to(path, 4)
}

/// The same, to read and write it.
#[must_use]
pub fn is_writable(path: &[u8]) -> bool {
    is_open_to(path, 4 | 2)
}

/// Does the file at `path` belong to the user whose rights this process has, or to root?
#[must_use]
pub fn is_ours(path: &[u8]) -> bool {
    let mut room = [0; PATH_BYTES];
    let status = join(&[path], &mut room).and_then(|path| stat(path).ok());
    status.is_some_and(|status| status.user == 0 || status.user == geteuid())
}

/// `access` checks for the real user and without capabilities that a user loses at exec; `open` would not.
fn is_open_to(path: &[u8], rights: u32) -> bool {
    let mut room = [0; PATH_BYTES];
    join(&[path], &mut room).is_some_and(|path| access(path, rights).is_ok())
}

/// The files that the kernel may look at: it follows at most five interpreters that are scripts.
const MOST_FILES: usize = 6;

fn examine_at(directory: i32, path: &CStr, read: Read) -> Result<(), Reason> {
    let mut interpreter: Interpreter;
    let (mut directory, mut path) = (directory, path);
    for _ in 0..MOST_FILES {
        match look_at(directory, path, read) {
            Ok(Look::Carries) => return Ok(()),
            Ok(Look::Cannot(reason)) => return Err(reason),
            Err(Errno::EACCES) => return Err(Reason::Unreadable),
            Err(_) => return Ok(()),
            Ok(Look::Script(found)) => {
                interpreter = found;
                (directory, path) = (AT_FDCWD, interpreter.path_c());
            }
        }
    }
    Ok(())
}

/// The entry of a list for an interpreter of the script at this path.
fn interpreter_denied<'a>(list: &'a [u8], directory: i32, path: &CStr, read: Read) -> Option<&'a [u8]> {
    let mut interpreter: Interpreter;
    let (mut directory, mut path) = (directory, path);
    for _ in 0..MOST_FILES {
        let Ok(Look::Script(found)) = look_at(directory, path, read) else { return None };
        if let Some(entry) = deny::entry_for(list, found.path()) {
            return Some(entry);
        }
        interpreter = found;
        (directory, path) = (AT_FDCWD, interpreter.path_c());
    }
    None
}

fn look_at(directory: i32, path: &CStr, read: Read) -> Result<Look, Errno> {
    let fd = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)?;
    let seen = look_at_open(fd, read);
    let _ = close(fd);
    Ok(seen)
}

fn look_at_open(fd: i32, read: Read) -> Look {
    let Ok(status) = fstat(fd) else { return Look::Carries };
    if !status.is_regular() {
        return Look::Carries;
    }
    match look(|offset, buffer| read(fd, buffer, offset).unwrap_or(0)) {
        Look::Carries => rights(fd, &status).map_or_else(Look::Cannot, |()| Look::Carries),
        other => other,
    }
}

/// Rights beyond the caller's make the loader ignore the environment.
fn rights(fd: i32, status: &Status) -> Result<(), Reason> {
    let user = geteuid();
    let other_user = status.mode & Status::SET_USER != 0 && status.user != user;
    let other_group = status.mode & Status::SET_GROUP != 0 && status.group != getegid();
    if other_user || other_group {
        Err(Reason::SetUid)
    } else if user != 0 && has_capabilities(fd) {
        // The superuser has all capabilities already.
        Err(Reason::FileCapabilities)
    } else {
        Ok(())
    }
}

/// The first executable file called `name`; None if there is none.
fn search<'a>(name: &CStr, folders: Option<&CStr>, room: &'a mut [u8; PATH_BYTES]) -> Option<&'a CStr> {
    /// The C library's default if PATH is not set.
    const STANDARD: &CStr = c"/bin:/usr/bin";
    let name = name.to_bytes();
    if name.contains(&b'/') {
        return join(&[name], room);
    }
    let folders = folders.unwrap_or(STANDARD).to_bytes();
    let is_there = |folder: &[u8], room: &mut [u8; PATH_BYTES]| {
        let parts: &[&[u8]] = if folder.is_empty() { &[name] } else { &[folder, b"/", name] };
        join(parts, room)
            .is_some_and(|path| access(path, 1).is_ok() && stat(path).is_ok_and(|status| status.is_regular()))
    };
    if folders.split(|&byte| byte == b':').any(|folder| is_there(folder, room)) {
        CStr::from_bytes_until_nul(room).ok()
    } else {
        None
    }
}

/// The parts, one after the other, as a C string in `room`. None if they are too long or contain a zero byte.
fn join<'a>(parts: &[&[u8]], room: &'a mut [u8]) -> Option<&'a CStr> {
    let mut length = 0;
    for part in parts {
        room.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    *room.get_mut(length)? = 0;
    CStr::from_bytes_with_nul(room.get(..=length)?).ok()
}

/// `/proc/self/fd/N`.
fn path_of_descriptor(fd: i32, room: &mut [u8; 32]) -> &CStr {
    let mut digits = [0; 10];
    let mut first = digits.len();
    let mut rest = fd.unsigned_abs();
    loop {
        first -= 1;
        if let Some(digit) = digits.get_mut(first) {
            *digit = b'0' + (rest % 10) as u8;
        }
        rest /= 10;
        if rest == 0 || first == 0 {
            break;
        }
    }
    join(&[b"/proc/self/fd/", digits.get(first..).unwrap_or_default()], room).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use underbar_sys::syscall::pread;

    use std::borrow::ToOwned;
    use std::ffi::CString;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::PermissionsExt;

    fn at(path: &str) -> Result<(), Reason> {
        examine(Target::At(AT_FDCWD, &CString::new(path).expect("no zero byte")), pread)
    }

    #[test]
    fn installed_programs_carry_however_they_are_named() {
        assert_eq!(at("/bin/sh"), Ok(()));
        assert_eq!(examine(Target::Search(c"sh", Some(c"/nowhere::/bin")), pread), Ok(()));
        assert_eq!(examine(Target::Search(c"sh", None), pread), Ok(()));
        let file = std::fs::File::open("/bin/sh").expect("a shell");
        assert_eq!(examine(Target::Open(file.as_raw_fd()), pread), Ok(()));
    }

    #[test]
    fn what_is_not_there_is_left_to_exec() {
        assert_eq!(at("/no/such/program"), Ok(()));
        assert_eq!(at("/tmp"), Ok(()));
        assert_eq!(examine(Target::Search(c"no-such-program", None), pread), Ok(()));
        assert_eq!(examine(Target::Open(9999), pread), Ok(()));
    }

    #[test]
    fn a_script_is_judged_by_its_interpreter() {
        let folder = std::env::temp_dir().join(std::format!("underbar-target-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let write = |name: &str, text: &[u8]| {
            let path = folder.join(name);
            std::fs::write(&path, text).expect("written");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
            path.to_str().expect("text").to_owned()
        };
        // 64 bytes of ELF for another processor are enough to be refused.
        let mut foreign = std::vec![0u8; 64];
        foreign[..6].copy_from_slice(b"\x7fELF\x02\x01");
        foreign[18] = 183;
        let foreign = write("foreign", &foreign);
        let script = write("script", std::format!("#!{foreign}\n").as_bytes());
        let script_of_script = write("script2", std::format!("#!{script} -x\n").as_bytes());
        let endless = folder.join("endless").to_str().expect("text").to_owned();
        write("endless", std::format!("#!{endless}\n").as_bytes());
        assert_eq!(at(&foreign), Err(Reason::OtherMachine));
        assert_eq!(at(&script), Err(Reason::OtherMachine));
        assert_eq!(at(&script_of_script), Err(Reason::OtherMachine));
        assert_eq!(at(&endless), Ok(()));
        assert_eq!(at(&write("missing", b"#!/no/such/interpreter\n")), Ok(()));
        let name = CString::new("foreign").expect("text");
        let folders = CString::new(std::format!("/nowhere:{}", folder.display())).expect("text");
        assert_eq!(examine(Target::Search(&name, Some(&folders)), pread), Err(Reason::OtherMachine));
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_list_names_a_script_or_its_interpreter() {
        let folder = std::env::temp_dir().join(std::format!("underbar-denied-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.join(name).to_str().expect("text").to_owned();
            std::fs::write(&path, text).expect("written");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
            path
        };
        let script = write("script", "#! /bin/sh -e\n");
        let outer = write("outer", &std::format!("#!{script}\n"));
        let endless = folder.join("endless").to_str().expect("text").to_owned();
        write("endless", &std::format!("#!{endless}\n"));
        let by = |list: &'static str, target: Target<'_>| {
            denied(list.as_bytes(), target, pread).map(|entry| std::str::from_utf8(entry).expect("text"))
        };
        for (list, path, expect) in [
            ("script", &script, Some("script")),
            ("java,s*", &script, Some("s*")),
            ("sh", &script, Some("sh")),
            ("sh", &outer, Some("sh")),
            ("script", &outer, Some("script")),
            ("bash,bin", &outer, None),
            ("sh", &endless, None),
            ("sh", &"/no/such/program".to_owned(), None),
            ("sh", &"/bin/sh".to_owned(), Some("sh")),
        ] {
            let path = CString::new(path.as_str()).expect("text");
            assert_eq!(by(list, Target::At(AT_FDCWD, &path)), expect, "{list}, {path:?}");
        }
        let folders = CString::new(folder.to_str().expect("text")).expect("text");
        assert_eq!(by("sh", Target::Search(c"outer", Some(&folders))), Some("sh"));
        assert_eq!(by("sh", Target::Search(c"outer", Some(c"/nowhere"))), None);
        let file = std::fs::File::open(&script).expect("a script");
        assert_eq!(by("sh", Target::Open(file.as_raw_fd())), Some("sh"));
        assert_eq!(by("script", Target::Open(file.as_raw_fd())), None);
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn rights_beyond_ours_are_seen() {
        let status = |mode, user, group| {
            let mut status = stat(c"/bin/sh").expect("a shell");
            (status.mode, status.user, status.group) = (mode, user, group);
            status
        };
        let (user, group) = (geteuid(), getegid());
        assert_eq!(rights(-1, &status(0o104_755, user, group)), Ok(()));
        assert_eq!(rights(-1, &status(0o104_755, user + 1, group)), Err(Reason::SetUid));
        assert_eq!(rights(-1, &status(0o102_755, user, group + 1)), Err(Reason::SetUid));
        assert_eq!(rights(-1, &status(0o100_755, user + 1, group + 1)), Ok(()));
    }

    #[test]
    fn paths_of_descriptors_are_written_out() {
        for (fd, expect) in
            [(0, "/proc/self/fd/0"), (7, "/proc/self/fd/7"), (i32::MAX, "/proc/self/fd/2147483647")]
        {
            assert_eq!(path_of_descriptor(fd, &mut [0; 32]).to_str(), Ok(expect));
        }
    }
}
