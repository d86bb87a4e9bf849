//! Continues this process when a stopped child runs again or has ended.
//!
//! ```text
//! this process ── fork ──> watcher, in the same group: looks at the child 20 times a second
//!   stops ·······················│
//!                                │<── the child runs again: another process continued it; or it has ended
//!   runs again <──── CONT ───────┘    again and again, until this process ends the watcher
//! ```
//!
//! A process that wants its parent to see it stopped whenever its child is stopped could otherwise miss the child's end: whoever
//! continues the child (a debugger, an administrator) does not know of its parent.
//!
//! Invariant: the watcher makes system calls only, so it needs no lock that another thread held at the fork. It dies with the thread
//! that started it.
//! Not here: when to stop (`host/launch`).

use crate::file::getppid;
use crate::signal::{SignalSet, name, set_mask};
use crate::syscall::{
    Errno, O_CLOEXEC, O_RDONLY, Result, close, exit_group, getpid, kill, number, open, prctl, read, syscall3,
    syscall6,
};
use core::ffi::CStr;

/// A watcher of a stopped child; ended and waited for when this is dropped.
pub struct Continuation {
    /// The watcher's process, the sender of CONT.
    pub watcher: i32,
}

impl Continuation {
    /// Continues this process as soon as its child `child` is not stopped. The child must not have been waited for.
    ///
    /// # Errors
    /// If the child's state cannot be read, or no process can be started.
    pub fn after(child: i32) -> Result<Continuation> {
        if is_stopped(child).is_none() {
            return Err(Errno::ENOENT);
        }
        let parent = getpid();
        // SAFETY: the child runs `watch`, which makes system calls only and does not return.
        match unsafe { syscall3(number::FORK, 0, 0, 0) } {
            Ok(0) => watch(child, parent),
            Ok(watcher) => Ok(Continuation { watcher: watcher as i32 }),
            Err(reason) => Err(reason),
        }
    }
}

impl Drop for Continuation {
    fn drop(&mut self) {
        const BY_NUMBER: usize = 1;
        const EXITED: usize = 4;
        let _ = kill(self.watcher, name::KILL);
        loop {
            // SAFETY: no memory is involved: neither the state nor the use of resources is asked for.
            let waited =
                unsafe { syscall6(number::WAITID, BY_NUMBER, self.watcher as usize, 0, EXITED, 0, 0) };
            if waited != Err(Errno::EINTR) {
                break;
            }
        }
    }
}

fn watch(child: i32, parent: i32) -> ! {
    const PR_SET_PDEATHSIG: u32 = 1;
    const POLL: usize = 7;
    const MILLISECONDS: usize = 50;
    // SAFETY: this operation takes a number only.
    let _ = unsafe { prctl(PR_SET_PDEATHSIG, name::KILL as usize, 0, 0, 0) };
    // What is sent to the group is for others.
    let _ = set_mask(SignalSet::ALL);
    // A number that is nobody's parent is that of a process that has ended.
    while getppid() == parent {
        if is_stopped(child) != Some(true) {
            let _ = kill(parent, name::CONT);
        }
        // SAFETY: no descriptor is given, so the kernel reads none.
        let _ = unsafe { syscall3(POLL, 0, 0, MILLISECONDS) };
    }
    exit_group(0)
}

/// Whether a process is stopped, by a signal or by a debugger; None if the kernel does not show its state.
fn is_stopped(process: i32) -> Option<bool> {
    let mut path = [0; 24];
    let file = open(state_file(process, &mut path), O_RDONLY | O_CLOEXEC, 0).ok()?;
    // `12 (name) T ...`: a name has at most 15 bytes, any of them `)`.
    let mut text = [0; 64];
    let length = read(file, &mut text);
    let _ = close(file);
    let text = text.get(..length.ok()?)?;
    let name_end = text.iter().take(32).rposition(|&byte| byte == b')')?;
    text.get(name_end + 2).map(|state| matches!(state, b'T' | b't'))
}

/// `/proc/NUMBER/stat`.
fn state_file(process: i32, path: &mut [u8; 24]) -> &CStr {
    let mut digits = [0; 10];
    let mut first = digits.len();
    let mut rest = process.unsigned_abs();
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let pieces = [b"/proc/".as_slice(), &digits[first..], b"/stat\0"];
    for (to, from) in path.iter_mut().zip(pieces.into_iter().flatten()) {
        *to = *from;
    }
    CStr::from_bytes_until_nul(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    /// Reads `process`' state until it is as wanted.
    fn wait_until(process: i32, stopped: bool) {
        let begin = std::time::Instant::now();
        while is_stopped(process) != Some(stopped) {
            assert!(begin.elapsed().as_secs() < 60, "{process} is not {stopped}");
            crate::syscall::sched_yield();
        }
    }

    #[test]
    fn the_state_of_a_process_is_read() {
        let mut path = [0; 24];
        assert_eq!(state_file(7, &mut path), c"/proc/7/stat");
        assert_eq!(state_file(i32::MAX, &mut [0; 24]), c"/proc/2147483647/stat");
        assert_eq!(is_stopped(getpid()), Some(false));
        assert_eq!(is_stopped(i32::MAX), None);
    }

    #[test]
    fn a_watcher_ends_with_its_value() {
        let _turn = crate::process_wide();
        let mut other = Command::new("sleep").arg("1000").process_group(0).spawn().expect("started");
        let child = other.id() as i32;
        kill(child, name::STOP).expect("stopped");
        wait_until(child, true);
        let watched = Continuation::after(child).expect("a watcher");
        assert!(is_stopped(watched.watcher).is_some());
        let watcher = watched.watcher;
        drop(watched);
        assert_eq!(is_stopped(watcher), None, "ended and waited for");
        kill(child, name::KILL).expect("ended");
        other.wait().expect("ended");
        assert!(Continuation::after(child).is_err(), "no such child");
    }
}
