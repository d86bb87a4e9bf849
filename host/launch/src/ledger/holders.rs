//! Which processes have a ledger mapped, whether or not they have a place in it.
//!
//! ```text
//! somebody has it open? ─┬─ no                      two system calls, however many processes the machine has
//!                        ├─ yes                     every process of ours is looked at in /proc
//!                        └─ the kernel cannot say   the same, if a child by fork was announced
//! ```
//!
//! A child has its parent's mappings from its first moment on. It comes to the ledger when it first looks at its heap; until then
//! nobody else knows of it where it was made past the C library, by a system call of the program's own or by `_Fork`.
//!
//! Invariant: a process that has the ledger mapped, and whose maps we may read, is found.
//! Not here: processes that are on their way to a program by exec. Those are claimed in the ledger beforehand.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process;

use underbar_ledger::LedgerView;
use underbar_sys::lease::is_open_elsewhere;

/// Does any process but this one have it mapped, as far as can be told without looking at each?
pub(super) fn are_there_some(file: &File, view: &LedgerView<'_>) -> bool {
    is_open_elsewhere(file.as_raw_fd()).unwrap_or_else(|_| view.are_some_on_their_way())
}

/// The processes but this one that have it mapped. Reads a file for each process of the machine.
pub(super) fn holders(path: &Path) -> impl Iterator<Item = u32> {
    let path = path.as_os_str().as_bytes();
    let has = |text: Vec<u8>| text.split(|&byte| byte == b'\n').any(|line| line.ends_with(path));
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let process = entry.file_name().to_str()?.parse().ok().filter(|&process| process != process::id())?;
        fs::read(entry.path().join("maps")).is_ok_and(has).then_some(process)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    #[test]
    fn who_has_a_file_mapped_is_found_and_nobody_else() {
        let cat = fs::canonicalize("/bin/cat").expect("a program");
        let mut child =
            Command::new(&cat).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
        let mut input = child.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut input, b"!").expect("written");
        // It has answered, so it is no copy of this process any more.
        child.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("an answer");
        assert!(holders(&cat).any(|process| process == child.id()));
        assert!(!holders(&cat).any(|process| process == process::id()));
        assert_eq!(holders(&cat.join("absent")).next(), None);
        drop(input);
        assert!(child.wait().expect("its end").success());
        assert!(!holders(&cat).any(|process| process == child.id()));
    }
}
