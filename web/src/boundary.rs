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
//! Whoever calls writes only to the bytes that `reserve` made, and only until the next call; what `advise` and `fault` point
//! to stays until the next call. So no pointer that comes from outside is ever followed here, and nothing here needs
//! `unsafe` but the names of the functions.
//! A fault of ours (a panic) ends the instance; `fault` then still says which it was.

// What the page calls must bear its plain name, which the compiler cannot prove to be the only one.
#![allow(unsafe_code, reason = "names of functions; each says why it may bear it")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use underbar_shown::json_of_page;

use crate::session::Session;

/// The most that is reserved at once, in bytes.
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

/// One thread calls, so nobody waits; a panic ends the instance, so nobody sees what it left.
fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(work: impl FnOnce(&mut State) -> T) -> T {
    let fresh = || State { session: Session::default(), room: Vec::new(), answer: Vec::new() };
    work(locked(&STATE).get_or_insert_with(fresh))
}

/// Length, then the text.
fn prefixed(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap_or(0);
    let mut bytes = length.to_le_bytes().to_vec();
    if length > 0 {
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

/// Forgets all that was read.
// SAFETY: no other function of the page's library has this name.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn begin() {
    #[cfg(target_arch = "wasm32")]
    std::panic::set_hook(Box::new(|panic| *locked(&FAULT) = prefixed(&panic.to_string())));
    *locked(&STATE) = None;
}

/// Makes room for so many bytes, and says where; null where that is more than 16 MiB.
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

/// Begins a file; its name stands in the first `length` bytes of what was reserved.
// SAFETY: no other function of the page's library has this name.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn file(length: usize) {
    with(|State { session, room, .. }| {
        let name = &room[..length.min(room.len())];
        session.file(&String::from_utf8_lossy(name));
    });
}

/// Reads a piece of the file: the first `length` bytes of what was reserved.
// SAFETY: no other function of the page's library has this name.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn feed(length: usize) {
    with(|State { session, room, .. }| session.feed(&room[..length.min(room.len())]));
}

/// The file ends.
// SAFETY: no other function of the page's library has this name.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn end_file() {
    with(|state| state.session.end_file());
}

/// The advice upon all files: where its length stands, followed by its text.
// SAFETY: no other function of the page's library has this name.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn advise() -> *const u8 {
    with(|state| {
        state.answer = prefixed(&json_of_page(&state.session.answer()));
        state.answer.as_ptr()
    })
}

/// What other values of HEAP or HEAPPOOLS would come to; they stand in the first `length` bytes of what was reserved. The
/// answer is as that of `advise`.
// SAFETY: no other function of the page's library has this name.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn what_if(length: usize) -> *const u8 {
    with(|State { session, room, answer }| {
        let options = String::from_utf8_lossy(&room[..length.min(room.len())]);
        *answer = prefixed(&json_of_page(&session.what_if(&options)));
        answer.as_ptr()
    })
}

/// What went wrong in us, as `advise` answers; length 0 where nothing did.
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

    /// As the page does it, but for the pointer: tests of safe code write to the room itself.
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
        // More than there is room for is not followed.
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
