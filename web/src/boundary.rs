//! The functions that the page calls: numbers in, a number out.
//!
//! ```text
//! begin()
//! for each file:   write the name to reserve(n), file(n)
//!                  for each piece: write it to reserve(n), feed(n)
//!                  end_file()
//! advise() -> length, four bytes, the lowest first; then as many bytes of JSON
//! write option text to reserve(n), what_if(n) -> the same
//! ```
//!
//! The caller writes only to the bytes that `reserve` returned, and only until the next call. The bytes that `advise` and
//! `fault` point to stay valid until the next call. So this module never follows a pointer from outside, and only the
//! names of the functions need `unsafe`.
//! A panic ends the instance; `fault` can still be called then and returns the message.

// The page calls these functions by their plain names. The compiler cannot prove that such a name is unique.
#![allow(unsafe_code, reason = "names of functions; each says why it may bear it")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use underbar_shown::json_of_page;

use crate::session::Session;

/// The most that one call reserves, in bytes.
const MOST: usize = 16 << 20;

struct State {
    session: Session,
    /// Where the page writes names and pieces.
    room: Vec<u8>,
    /// Length and text of the last answer.
    answer: Vec<u8>,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);
static FAULT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Only one thread calls, so the lock never blocks. A panic ends the instance, so poisoning can be ignored.
fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(work: impl FnOnce(&mut State) -> T) -> T {
    let fresh = || State { session: Session::default(), room: Vec::new(), answer: Vec::new() };
    work(locked(&STATE).get_or_insert_with(fresh))
}

/// The length, then the text.
fn prefixed(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap_or(0);
    let mut bytes = length.to_le_bytes().to_vec();
    if length > 0 {
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

/// Forgets everything read so far.
// SAFETY: no other function of the page's library has this name.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn begin() {
    #[cfg(target_arch = "wasm32")]
    std::panic::set_hook(Box::new(|panic| *locked(&FAULT) = prefixed(&panic.to_string())));
    *locked(&STATE) = None;
}

/// Makes room for this many bytes and returns its address; null if that is more than 16 MiB.
// SAFETY: no other function of the page's library has this name.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn reserve(bytes: usize) -> *mut u8 {
    if bytes > MOST {
        return std::ptr::null_mut();
    }
    with(|state| {
        if state.room.len() < bytes {
            state.room.resize(bytes, 0);
        }
        state.room.as_mut_ptr()
    })
}

/// Begins a file. Its name is in the first `length` reserved bytes.
// SAFETY: no other function of the page's library has this name.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn file(length: usize) {
    with(|State { session, room, .. }| {
        let name = &room[..length.min(room.len())];
        session.file(&String::from_utf8_lossy(name));
    });
}

/// Reads a piece of the file: the first `length` reserved bytes.
// SAFETY: no other function of the page's library has this name.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn feed(length: usize) {
    with(|State { session, room, .. }| session.feed(&room[..length.min(room.len())]));
}

/// Ends the file.
// SAFETY: no other function of the page's library has this name.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn end_file() {
    with(|state| state.session.end_file());
}

/// The advice on all files: the address of its length, which its text follows.
// SAFETY: no other function of the page's library has this name.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn advise() -> *const u8 {
    with(|state| {
        state.answer = prefixed(&json_of_page(&state.session.answer()));
        state.answer.as_ptr()
    })
}

/// The effect of other values of HEAP or HEAPPOOLS, which are in the first `length` reserved bytes. The answer has the
/// form of `advise`'s.
// SAFETY: no other function of the page's library has this name.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn what_if(length: usize) -> *const u8 {
    with(|State { session, room, answer }| {
        let options = String::from_utf8_lossy(&room[..length.min(room.len())]);
        *answer = prefixed(&json_of_page(&session.what_if(&options)));
        answer.as_ptr()
    })
}

/// The message of a panic, in the form of `advise`'s answer; length 0 if there was none.
// SAFETY: no other function of the page's library has this name.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn fault() -> *const u8 {
    let mut fault = locked(&FAULT);
    if fault.is_empty() {
        *fault = prefixed("");
    }
    fault.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::{MOST, advise, begin, end_file, fault, feed, file, locked, reserve, what_if, with};

    /// Calls as the page does, except for the pointer: tests are safe code and write to the room directly.
    fn write(bytes: &[u8]) -> usize {
        assert!(!reserve(bytes.len()).is_null());
        with(|state| state.room[..bytes.len()].copy_from_slice(bytes));
        bytes.len()
    }

    // One test, since there is one state: the page has one thread.
    #[test]
    fn a_file_goes_in_and_an_answer_comes_out() {
        begin();
        file(write("job.txt".as_bytes()));
        for piece in ["export _CEE_RUNOPTS=\"STORAGE(,", ",00)\"\n"] {
            feed(write(piece.as_bytes()));
        }
        // A length beyond the room is ignored.
        feed(0);
        end_file();
        file(write("a\u{202e}b".as_bytes()));
        end_file();
        assert!(!advise().is_null());
        let answer = with(|state| state.answer.clone());
        let (length, text) = answer.split_at(4);
        assert_eq!(u32::from_le_bytes(length.try_into().expect("four")) as usize, text.len());
        let answer: serde_json::Value = serde_json::from_slice(text).expect("JSON");
        assert_eq!(answer["files"][1]["name"], "a\\u{202e}b", "it turns nothing round");
        assert_eq!(answer["files"][0]["name"], "job.txt");
        assert_eq!(answer["files"][0]["items"], 1);

        assert!(!what_if(write("HEPA(1M)".as_bytes())).is_null());
        let answer = with(|state| String::from_utf8(state.answer[4..].to_vec()).expect("text"));
        assert!(answer.starts_with("{\"error\":"), "{answer}");

        assert!(reserve(MOST + 1).is_null());
        file(usize::MAX);
        feed(usize::MAX);
        begin();
        assert!(locked(&super::STATE).is_none());
        assert!(!fault().is_null());
    }
}
