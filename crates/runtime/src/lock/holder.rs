//! What the holder of a lock does during a long wait: the system call that it is in, as the kernel reports it.
//!
//! Reading it costs some 10 microseconds, so it happens rarely: at each lock's first long waits, and later at most every
//! few milliseconds in the process.
//!
//! Invariant: nothing is read in a process that has locked itself in. No descriptor stays open.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, Ordering};

use underbar_ledger::locks::LockRecord;
use underbar_lock::waiting::now;
use underbar_sys::syscall;

use super::area::Found;
use crate::ledger::own_reads;
use crate::sandbox;

/// Looks at one lock's holder before the pause between looks applies.
const FIRST: u32 = 16;
/// Pause between two later looks, in the whole process.
const PAUSE_NS: u64 = 4_000_000;

/// This thread has waited long for a lock that this thread holds, according to its owner's word (0: no thread).
pub fn look(found: Found, owner: u32) {
    /// When a holder was last looked at. Written by any thread; relaxed.
    static LAST: AtomicU64 = AtomicU64::new(0);
    if owner == 0 || sandbox::is_closed() {
        return;
    }
    let seen: u32 = found.record.blocked.iter().map(|call| call.count.load(Ordering::Relaxed)).sum();
    let (time, last) = (now(), LAST.load(Ordering::Relaxed));
    let is_due = seen < FIRST || time.saturating_sub(last) >= PAUSE_NS;
    if is_due && LAST.compare_exchange(last, time, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        found.record.looked.fetch_add(1, Ordering::Relaxed);
        if let Some(number) = call_of(owner) {
            add(found.record, number);
        }
    }
}

/// The system call that a thread is in. None if it is running, or cannot be seen.
fn call_of(thread: u32) -> Option<u32> {
    let mut room = [0_u8; 64];
    let path = path_of(thread, &mut room)?;
    let fd = syscall::open(path, syscall::O_RDONLY | syscall::O_CLOEXEC, 0).ok()?;
    let mut text = [0_u8; 192];
    let length = own_reads::read(fd, &mut text);
    let _ = syscall::close(fd);
    number_in(text.get(..length.ok()?)?)
}

/// `/proc/self/task/THREAD/syscall`.
fn path_of(thread: u32, room: &mut [u8; 64]) -> Option<&CStr> {
    let mut digits = [0_u8; 10];
    let digits = crate::ledger::beside::decimal(thread, &mut digits);
    let mut length = 0;
    for part in [b"/proc/self/task/".as_slice(), digits, b"/syscall\0"] {
        room.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    CStr::from_bytes_until_nul(room).ok()
}

/// The number at the beginning of `202 0x7ff...`; "running" and "-1 ..." are none.
fn number_in(text: &[u8]) -> Option<u32> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || digits > 6 {
        return None;
    }
    Some(text[..digits].iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')))
}

fn add(record: &LockRecord, number: u32) {
    let wanted = number + 1;
    for call in &record.blocked {
        let mut found = call.number.load(Ordering::Relaxed);
        if found == 0 {
            found = match call.number.compare_exchange(0, wanted, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => wanted,
                Err(now) => now,
            };
        }
        if found == wanted {
            call.count.fetch_add(1, Ordering::Relaxed);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_read() {
        assert_eq!(number_in(b"202 0x7f00 0x0"), Some(202));
        assert_eq!(number_in(b"0 0x0"), Some(0));
        for text in [b"running\n".as_slice(), b"-1 0x7ffe 0x7f00", b"", b"12345678"] {
            assert_eq!(number_in(text), None);
        }
        let mut room = [0; 64];
        assert_eq!(path_of(4_194_304, &mut room), Some(c"/proc/self/task/4194304/syscall"));
        assert_eq!(path_of(7, &mut [0; 64]), Some(c"/proc/self/task/7/syscall"));
    }

    #[test]
    fn a_thread_that_sleeps_in_read_is_seen_there() {
        let (send, receive) = std::sync::mpsc::channel();
        let mut ends = [0_i32; 2];
        // SAFETY: the kernel writes two descriptors.
        unsafe { syscall::syscall3(22, ends.as_mut_ptr() as usize, 0, 0) }.expect("a pipe");
        let reader = std::thread::spawn(move || {
            send.send(syscall::gettid() as u32).expect("told");
            let mut byte = [0];
            syscall::read(ends[0], &mut byte).expect("read")
        });
        let thread = receive.recv().expect("its number");
        let mut seen = call_of(thread);
        while seen != Some(0) {
            assert!(!reader.is_finished());
            seen = call_of(thread);
        }
        assert_eq!(syscall::write(ends[1], b"x"), Ok(1));
        assert_eq!(reader.join().expect("its end"), 1);
    }
}
