//! Programs and scripts that tests copy or write, to run them.
//!
//! The kernel refuses to run a file that any process has open for writing, and a child that another test starts at that moment
//! inherits the open file until its exec. So a process of its own writes the file: this one never has it open.
//!
//! Not here: programs from the zoo's sources (`compiled`), which the C compiler writes.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Copies a program to `to`, which keeps its permissions.
///
/// # Panics
/// If it cannot be copied.
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let (from, to) = (from.as_ref(), to.as_ref());
    let status = Command::new("cp").arg("--").arg(from).arg(to).status().expect("cp");
    assert!(status.success(), "copied from {} to {}", from.display(), to.display());
}

/// Writes a program or script, which anybody may run.
///
/// # Panics
/// If it cannot be written.
pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
    let mut install = Command::new("install");
    install.args(["-m", "755", "--", "/dev/stdin"]).arg(path.as_ref());
    let mut child = install.stdin(Stdio::piped()).spawn().expect("install");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(bytes.as_ref()).expect("its bytes");
    drop(pipe);
    assert!(child.wait().expect("our child").success(), "{} is written", path.as_ref().display());
}
