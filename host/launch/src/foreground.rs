//! This process and its terminal.
//!
//! Not here: signals that a terminal sends (`run`).

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;

use rustix::process::{getpgrp, getpid, getsid};
use rustix::termios::tcgetpgrp;
use underbar_sys::syscall::O_NOCTTY;

/// Is this process in the foreground of a terminal, so that a shell waits for it to end or stop?
pub fn is_foreground() -> bool {
    let terminal = OpenOptions::new().read(true).custom_flags(O_NOCTTY.cast_signed()).open("/dev/tty");
    terminal.is_ok_and(|terminal| tcgetpgrp(terminal).is_ok_and(|foreground| foreground == getpgrp()))
}

/// Is this process the leader of its session, the only process that the kernel notifies when the session's terminal goes
/// away?
pub fn is_session_leader() -> bool {
    getsid(None).is_ok_and(|leader| leader == getpid())
}
