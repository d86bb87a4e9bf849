//! The C library: its version, and functions that it may not have.
//!
//! A missing strong symbol would end the program before it began, so such functions are weak references.
//! Invariant: an absent function is 0.
//! Not here: functions of other libraries that this library interposes (`next`).

use core::ffi::{CStr, c_char};

/// Defines a function that returns the address of another by its C name, or 0 if no library has it.
macro_rules! weak {
    ($($address_of:ident = $name:literal;)*) => { $(
        #[unsafe(naked)]
        pub(crate) extern "C" fn $address_of() -> usize {
            core::arch::naked_asm!(
                concat!(".weak ", $name),
                concat!("mov rax, qword ptr [rip + ", $name, "@GOTPCREL]"),
                "ret"
            )
        }
    )* };
}
pub(crate) use weak;

weak! { address_of_version = "gnu_get_libc_version"; }

/// The C library's version. None if it is not the GNU one.
pub(crate) fn version() -> Option<(u32, u32)> {
    let address = address_of_version();
    if address == 0 {
        return None;
    }
    // SAFETY: the C library's function of that name, whose signature this is; its result is a C string that stays.
    let text =
        unsafe { CStr::from_ptr(core::mem::transmute::<usize, extern "C" fn() -> *const c_char>(address)()) };
    parse(text.to_str().ok()?)
}

/// `2.36`, or `2.36.9000`.
fn parse(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_two_numbers() {
        assert_eq!(
            [parse("2.36"), parse("2.31.9000"), parse("2"), parse("")],
            [Some((2, 36)), Some((2, 31)), None, None]
        );
        assert!(version() >= Some((2, 17)));
    }
}
