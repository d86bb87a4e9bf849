//! The environment that a program gives to the one it starts: whether it contains this library, and the same environment
//! without it.
//!
//! ```text
//! given:    HOME=/root  LD_PRELOAD=/x/libunderbar.so:/y/libother.so  UNDERBAR_LEDGER=/dev/shm/...
//! without:  HOME=/root  LD_PRELOAD=/y/libother.so
//! ```
//!
//! Invariant: the given environment is only read. The new one is on the stack (or, if it is too big, in a mapping) until
//! the call that uses it returns. Nothing is allocated.
//! Not here: whether it has to be changed (`follow`).

use core::ffi::{CStr, c_char};
use core::mem::MaybeUninit;
use underbar_preloadable::{PRELOAD, deny, entries, is_our_library};
use underbar_sys::syscall::{map_anonymous, munmap};

/// The variable of the option text.
pub const OPTION_TEXT: &[u8] = b"UNDERBAR_OPTS";

/// The prefix of underbar's own variables.
pub const OURS: &[u8] = b"UNDERBAR_";

/// An environment as C programs pass it.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    first: *const *const c_char,
    strings: core::marker::PhantomData<&'a CStr>,
}

impl<'a> Environment<'a> {
    /// # Safety
    /// `first` is null (an empty environment, as the kernel takes it) or points to pointers to C strings that end with a
    /// null pointer, all unchanged during `'a`.
    #[must_use]
    pub unsafe fn new(first: *const *const c_char) -> Environment<'a> {
        Environment { first, strings: core::marker::PhantomData }
    }

    /// As it was given.
    #[must_use]
    pub fn as_given(self) -> *const *const c_char {
        self.first
    }

    fn strings(self) -> impl Iterator<Item = &'a CStr> {
        let mut next = self.first;
        core::iter::from_fn(move || {
            if next.is_null() {
                return None;
            }
            // SAFETY: by the promise of `new` there is a pointer here, as the null pointer has not been seen.
            let string = unsafe { next.read() };
            if string.is_null() {
                return None;
            }
            // SAFETY: it is not the last pointer, so another follows; and it is a C string for 'a.
            unsafe {
                next = next.add(1);
                Some(CStr::from_ptr(string))
            }
        })
    }

    /// The value of the first variable with this name.
    #[must_use]
    pub fn value(self, name: &[u8]) -> Option<&'a [u8]> {
        self.strings().find_map(|string| value_of(string, name))
    }

    /// The value as a C string.
    #[must_use]
    pub fn value_c(self, name: &[u8]) -> Option<&'a CStr> {
        self.strings().find_map(|string| {
            value_of(string, name)?;
            CStr::from_bytes_with_nul(string.to_bytes_with_nul().get(name.len() + 1..)?).ok()
        })
    }

    /// This library in LD_PRELOAD.
    #[must_use]
    pub fn our_library(self) -> Option<&'a [u8]> {
        entries(self.value(PRELOAD)?).find(|entry| is_our_library(entry))
    }

    /// Calls `then` with this environment without this library and underbar's variables, except the list of denied programs; if there is no
    /// memory for that, with the environment as given.
    pub fn without_us<R>(self, then: impl FnOnce(*const *const c_char) -> R) -> R {
        let mut slots_needed = 1;
        let mut text_needed = 0;
        for string in self.strings() {
            slots_needed += 1;
            if value_of(string, PRELOAD).is_some() {
                text_needed += string.to_bytes_with_nul().len();
            }
        }
        let mut slots = [MaybeUninit::uninit(); 256];
        let mut text = [MaybeUninit::uninit(); 1024];
        if slots_needed <= slots.len() && text_needed <= text.len() {
            return then(self.write_without_us(&mut slots, &mut text));
        }
        let slot_bytes = slots_needed * size_of::<*const c_char>();
        let Ok(room) = map_anonymous(slot_bytes + text_needed) else { return then(self.first) };
        // SAFETY: the mapping is only this call's, page-aligned, and as long as both parts together.
        let (slots, text) = unsafe {
            (
                core::slice::from_raw_parts_mut(room.cast(), slots_needed),
                core::slice::from_raw_parts_mut(room.add(slot_bytes).cast(), text_needed),
            )
        };
        let result = then(self.write_without_us(slots, text));
        // SAFETY: `then` has returned, so exec failed, or the new process has its own copy.
        let _ = unsafe { munmap(room, slot_bytes + text_needed) };
        result
    }

    /// Writes the changed environment; `slots` has one more than there are strings, `text` room for every LD_PRELOAD.
    /// Otherwise strings would be left out, nothing else.
    fn write_without_us(
        self,
        slots: &mut [MaybeUninit<*const c_char>],
        text: &mut [MaybeUninit<u8>],
    ) -> *const *const c_char {
        let (mut count, mut used) = (0, 0);
        for string in self.strings() {
            // The user's list of denied programs applies to an `underbar` that the plain program starts.
            if string.to_bytes().starts_with(OURS) && value_of(string, deny::VARIABLE).is_none() {
                continue;
            }
            let pointer = match value_of(string, PRELOAD) {
                Some(value) if entries(value).any(is_our_library) => {
                    let place = text.get_mut(used..).unwrap_or_default();
                    let written = write_preload(value, place);
                    if written == 0 {
                        continue;
                    }
                    used += written;
                    text.as_ptr().wrapping_add(used - written).cast()
                }
                _ => string.as_ptr(),
            };
            if count + 1 < slots.len()
                && let Some(slot) = slots.get_mut(count)
            {
                slot.write(pointer);
                count += 1;
            }
        }
        if let Some(slot) = slots.get_mut(count) {
            slot.write(core::ptr::null());
        }
        slots.as_ptr().cast()
    }
}

/// Writes `LD_PRELOAD=a:b`, with its final zero byte, of the entries of `value` that do not name this library, and returns
/// its length: 0 if there are none. It is no longer than its source.
fn write_preload(value: &[u8], place: &mut [MaybeUninit<u8>]) -> usize {
    let mut length = 0;
    let mut put = |bytes: &[u8]| {
        for &byte in bytes {
            if let Some(place) = place.get_mut(length) {
                place.write(byte);
                length += 1;
            }
        }
    };
    let mut before: &[u8] = b"LD_PRELOAD=";
    for entry in entries(value).filter(|entry| !is_our_library(entry)) {
        put(before);
        put(entry);
        before = b":";
    }
    if before == b":" {
        put(b"\0");
    }
    length
}

fn value_of<'a>(string: &'a CStr, name: &[u8]) -> Option<&'a [u8]> {
    string.to_bytes().strip_prefix(name)?.strip_prefix(b"=")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::string::{String, ToString};
    use std::vec::Vec;

    fn with<R>(strings: &[&str], then: impl FnOnce(Environment<'_>) -> R) -> R {
        let owned: Vec<CString> = strings.iter().map(|text| CString::new(*text).expect("text")).collect();
        let mut pointers: Vec<*const c_char> = owned.iter().map(|string| string.as_ptr()).collect();
        pointers.push(core::ptr::null());
        // SAFETY: the pointers end with null and outlive `then`.
        then(unsafe { Environment::new(pointers.as_ptr()) })
    }

    fn without_us(strings: &[&str]) -> Vec<String> {
        with(strings, |environment| {
            environment.without_us(|first| {
                // SAFETY: `without_us` passes what `new` asks for, valid during this call.
                let environment = unsafe { Environment::new(first) };
                environment.strings().map(|string| string.to_str().expect("text").to_string()).collect()
            })
        })
    }

    #[test]
    fn our_library_is_known_by_its_name() {
        for ours in ["libunderbar.so", "/a/b/libunderbar.so", "/proc/12/fd/3"] {
            assert!(is_our_library(ours.as_bytes()), "{ours}");
        }
        for other in ["", "/a/libunderbar.so.1", "/a/libother.so", "/proc/12/fd", "/proc/cpuinfo", "/x/fd/3"]
        {
            assert!(!is_our_library(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn only_what_is_ours_is_taken_out() {
        let plain = ["HOME=/", "LD_PRELOADX=libunderbar.so", "X", "=Y", ""];
        assert_eq!(without_us(&plain), plain);
        assert_eq!(without_us(&[]), Vec::<String>::new());
        assert_eq!(without_us(&["A=1", "LD_PRELOAD=/x/libunderbar.so", "B=2"]), ["A=1", "B=2"]);
        assert_eq!(
            without_us(&[
                "UNDERBAR_OPTS=HEAP(1M)",
                "LD_PRELOAD=/a.so:/x/libunderbar.so /b.so",
                "UNDERBAR_X="
            ]),
            ["LD_PRELOAD=/a.so:/b.so"]
        );
        assert_eq!(without_us(&["UNDERBAR_DENY=java", "UNDERBAR_DENYX=1"]), ["UNDERBAR_DENY=java"]);
        assert_eq!(without_us(&["LD_PRELOAD= /a.so  /b.so"]), ["LD_PRELOAD= /a.so  /b.so"]);
        assert_eq!(without_us(&["LD_PRELOAD="]), ["LD_PRELOAD="]);
    }

    #[test]
    fn big_environments_go_through_a_mapping() {
        let many: Vec<String> = (0..5000).map(|number| std::format!("V{number}={number}")).collect();
        let mut given: Vec<&str> = many.iter().map(String::as_str).collect();
        let long = std::format!("LD_PRELOAD=/{}.so:/x/libunderbar.so", "y".repeat(20_000));
        given.insert(77, &long);
        let result = without_us(&given);
        given[77] = long.strip_suffix(":/x/libunderbar.so").expect("the end");
        assert_eq!(result, given);
    }

    #[test]
    fn values_are_found() {
        with(&["PATHS=no", "PATH=/bin", "LD_PRELOAD=/a:/b/libunderbar.so"], |environment| {
            assert_eq!(environment.value(b"PATH"), Some(b"/bin".as_slice()));
            assert_eq!(environment.value_c(b"PATH"), Some(c"/bin"));
            assert_eq!(environment.value(b"HOME"), None);
            assert_eq!(environment.our_library(), Some(b"/b/libunderbar.so".as_slice()));
        });
        // SAFETY: null is an empty environment.
        let none = unsafe { Environment::new(core::ptr::null()) };
        assert_eq!(none.value(b"PATH"), None);
        assert!(none.without_us(|first| !first.is_null()));
    }
}
