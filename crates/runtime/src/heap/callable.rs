//! The callable services with their arguments by reference, as programs in any language call them.
//!
//! ```text
//! CEEGTST(&heap, &size, &address, &fc)  ──>  services::get(heap, size)  ──>  address and fc, or null and fc
//! ```
//!
//! Invariant: an argument that is left out (null) is 0 on its way in, and not written on its way out. If the result itself is left
//! out, the service does nothing. Arguments need not be aligned: in COBOL they are parts of a group.
//! Not here: what a service does (`services`), and the C names (`preload`).

use core::ptr::null_mut;

use super::feedback::{Condition, Feedback, NO_ELEMENT, NO_HEAP};
use super::services;

/// CEECRHP. Without a heap the id is -1, which no heap has: 0 would be the default one.
///
/// # Safety
/// Each pointer is null, or that of its argument. This applies to all of them.
pub unsafe fn create(
    id: *mut i32,
    initial: *const i32,
    increment: *const i32,
    options: *const i32,
    feedback: *mut Feedback,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let created = if id.is_null() {
            Err(&NO_HEAP)
        } else {
            services::create(taken(initial), taken(increment), taken(options))
        };
        put(id, created.unwrap_or(-1));
        tell(feedback, created);
    }
}

/// CEEGTST.
///
/// # Safety
/// As [`create`].
pub unsafe fn get(id: *const i32, size: *const i32, address: *mut *mut u8, feedback: *mut Feedback) {
    // SAFETY: the caller's promise.
    unsafe {
        let got = if address.is_null() { Err(&NO_ELEMENT) } else { services::get(taken(id), taken(size)) };
        put(address, got.unwrap_or(null_mut()));
        tell(feedback, got);
    }
}

/// CEECZST: the address is that of the element, and becomes its new one.
///
/// # Safety
/// As [`create`], and as [`services::resize`].
pub unsafe fn resize(address: *mut *mut u8, size: *const i32, feedback: *mut Feedback) {
    // SAFETY: the caller's promise.
    unsafe {
        let resized = services::resize(taken_address(address), taken(size));
        if let Ok(new) = resized {
            put(address, new);
        }
        tell(feedback, resized);
    }
}

/// CEEFRST.
///
/// # Safety
/// As [`create`], and as [`services::free`].
pub unsafe fn free(address: *const *mut u8, feedback: *mut Feedback) {
    // SAFETY: the caller's promise.
    unsafe { tell(feedback, services::free(taken_address(address))) }
}

/// CEEDSHP.
///
/// # Safety
/// As [`create`], and as [`services::discard`].
pub unsafe fn discard(id: *const i32, feedback: *mut Feedback) {
    // SAFETY: the caller's promise.
    unsafe { tell(feedback, services::discard(taken(id))) }
}

/// CEE3RPH: 80 bytes, or fewer before a zero byte.
///
/// # Safety
/// As [`create`].
pub unsafe fn set_heading(text: *const u8, feedback: *mut Feedback) {
    let mut room = [0; services::HEADING];
    // SAFETY: the caller's promise; nothing is read behind a zero byte.
    unsafe {
        for (at, byte) in room.iter_mut().enumerate().take_while(|_| !text.is_null()) {
            *byte = *text.add(at);
            if *byte == 0 {
                break;
            }
        }
        tell(feedback, services::set_heading(&room));
    }
}

unsafe fn taken(argument: *const i32) -> i32 {
    // SAFETY: the caller's promise.
    if argument.is_null() { 0 } else { unsafe { argument.read_unaligned() } }
}

unsafe fn taken_address(argument: *const *mut u8) -> *mut u8 {
    // SAFETY: the caller's promise.
    if argument.is_null() { null_mut() } else { unsafe { argument.read_unaligned() } }
}

unsafe fn put<T>(argument: *mut T, value: T) {
    if !argument.is_null() {
        // SAFETY: the caller's promise.
        unsafe { argument.write_unaligned(value) }
    }
}

unsafe fn tell<T>(feedback: *mut Feedback, answer: Result<T, &Condition>) {
    // SAFETY: the caller's promise.
    unsafe { put(feedback, answer.map_or_else(Feedback::of, |_| Feedback::SUCCESS)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::ONE_AT_A_TIME;
    use crate::heap::feedback::{BAD_SIZE, HEADING_REPLACED, INITIAL_HEAP};
    use crate::ledger;
    use core::ptr::null;
    use core::sync::atomic::Ordering;

    #[test]
    fn arguments_that_are_left_out_are_0_and_not_written() {
        let _turn = ONE_AT_A_TIME.lock();
        let mut feedback = Feedback::of(&BAD_SIZE);
        // SAFETY: arguments of this test, or none. `unaligned` has room behind its first byte.
        unsafe {
            let mut unaligned = [0xff_u8; 24];
            let id: *mut i32 = unaligned.as_mut_ptr().add(1).cast();
            create(id, null(), null(), null(), &raw mut feedback);
            assert_eq!((feedback, id.read_unaligned() > 0), (Feedback::SUCCESS, true));
            let address: *mut *mut u8 = unaligned.as_mut_ptr().add(9).cast();
            get(id, &50, address, null_mut());
            assert!(!address.read_unaligned().is_null());
            resize(address, null(), &raw mut feedback);
            assert_eq!(feedback, Feedback::of(&BAD_SIZE));
            resize(address, &100, null_mut());
            free(address, &raw mut feedback);
            assert_eq!(feedback, Feedback::SUCCESS);
            get(id, &0, address, null_mut());
            assert!(address.read_unaligned().is_null());
            discard(id, &raw mut feedback);
            assert_eq!(feedback, Feedback::SUCCESS);
            for (call, expect) in [
                (|feedback| create(null_mut(), &0, &0, &0, feedback), &NO_HEAP),
                (|feedback| get(&0, &9, null_mut(), feedback), &NO_ELEMENT),
                (|feedback| resize(null_mut(), &9, feedback), &NO_ELEMENT),
                (|feedback| free(null(), feedback), &NO_ELEMENT),
                (|feedback| discard(null(), feedback), &INITIAL_HEAP),
            ] as [(unsafe fn(*mut Feedback), &Condition); 5]
            {
                call(&raw mut feedback);
                assert_eq!(feedback, Feedback::of(expect));
                call(null_mut());
            }
            create(id, &-1, null(), null(), null_mut());
            assert_eq!(id.read_unaligned(), -1, "and not the default heap");
        }
    }

    #[test]
    fn a_heading_is_79_characters_without_what_follows() {
        let _turn = ONE_AT_A_TIME.lock();
        let heading = || {
            let bytes =
                ledger::slot().heading.0.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes());
            std::string::String::from_utf8(bytes.take_while(|byte| *byte != 0).collect()).expect("text")
        };
        let mut feedback = Feedback::SUCCESS;
        let mut set = |text: *const u8| {
            // SAFETY: a text of the test, or none.
            unsafe { set_heading(text, &raw mut feedback) };
            feedback
        };
        let padded = [b"Monthly run".as_slice(), &[b' '; 69]].concat();
        assert_eq!((set(padded.as_ptr()), heading()), (Feedback::SUCCESS, "Monthly run".into()));
        let replaced = Feedback::of(&HEADING_REPLACED);
        assert_eq!((set(c"short".as_ptr().cast()), heading()), (replaced, "short".into()));
        assert_eq!((set([b'x'; 80].as_ptr()), heading().len()), (replaced, 79));
        assert_eq!((set(null()), heading()), (replaced, "".into()));
        assert_eq!(set([b' '; 80].as_ptr()), Feedback::SUCCESS, "there was none");
    }
}
