//! Variables of the environment that name the process for which they are: LISTEN_PID (sockets that a service manager has opened) and
//! WATCHDOG_PID (notices that it expects). A program ignores both if they name another process, so that no child takes what is its
//! parent's. A command that stays as the parent of a service's program has them for itself; they are for the program.
//!
//! ```text
//! manager ── LISTEN_PID=7 ──> command, process 7 ── fork ──> process 8: LISTEN_PID=8 ── execve ──> program
//! ```
//!
//! Invariant: a variable that names another process than the command stays as it is.

use core::ffi::CStr;

use crate::strings::Strings;

/// The variables.
const NAMES: [&[u8]; 2] = [b"LISTEN_PID=", b"WATCHDOG_PID="];
/// Room for a name, ten digits and a zero.
const ROOM: usize = 24;

/// The strings of a child.
pub(crate) struct Addressed([[u8; ROOM]; NAMES.len()]);

impl Addressed {
    pub(crate) const NONE: Addressed = Addressed([[0; ROOM]; NAMES.len()]);

    /// Puts `child` in place of `parent` in those of the variables that name the parent.
    ///
    /// # Safety
    /// Nobody reads the environment through any copy of it once `self` is gone.
    pub(crate) unsafe fn readdress(&mut self, environment: Strings<'_>, parent: i32, child: i32) {
        for (name, room) in NAMES.iter().zip(&mut self.0) {
            let names_parent = |text: &CStr| {
                let value = text.to_bytes().strip_prefix(*name);
                value.is_some_and(|value| number(value) == Some(parent))
            };
            let Some(index) = environment.iter().position(names_parent) else { continue };
            let Some(text) = written(room, name, child) else { continue };
            // SAFETY: the caller's promise.
            unsafe { environment.replace(index, text) };
        }
    }
}

/// The number that these digits are; None for anything else.
fn number(digits: &[u8]) -> Option<i32> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}

/// The name, with this number behind it.
fn written<'a>(room: &'a mut [u8; ROOM], name: &[u8], number: i32) -> Option<&'a CStr> {
    let count =
        core::iter::successors(Some(number), |rest| Some(rest / 10)).take_while(|&rest| rest > 0).count();
    let end = name.len() + count;
    room.get_mut(..name.len())?.copy_from_slice(name);
    let mut rest = number;
    for digit in room.get_mut(name.len()..end)?.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    *room.get_mut(end)? = 0;
    CStr::from_bytes_until_nul(room).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::ToOwned;
    use std::ffi::CString;
    use std::vec::Vec;

    #[test]
    fn only_variables_that_name_the_parent_are_changed() {
        let given: [&CStr; 7] = [
            c"A=7",
            c"LISTEN_PID=7",
            c"LISTEN_FDS=7",
            c"WATCHDOG_PID=70",
            c"MY_LISTEN_PID=7",
            c"WATCHDOG_PID=7",
            c"LISTEN_PID=",
        ];
        let mut slots = [core::ptr::null(); 8];
        let strings = Strings::new(&mut slots, given).expect("room");
        let mut own = Addressed::NONE;
        // SAFETY: `own` lives longer than `strings`.
        unsafe { own.readdress(strings, 7, i32::MAX) };
        let left: Vec<CString> = strings.iter().map(CStr::to_owned).collect();
        let mut expected = given.map(CStr::to_owned);
        expected[1] = c"LISTEN_PID=2147483647".to_owned();
        expected[5] = c"WATCHDOG_PID=2147483647".to_owned();
        assert_eq!(left, expected);
    }
}
