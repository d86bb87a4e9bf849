//! The components that ZIIP(ELIGIBLE(file,file)) names.
//!
//! Invariant: written once, before the program begins.
//! Not here: what is done with them: `switch::project` and `placement`.

use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use underbar_sys::syscall::map_anonymous;

use crate::orders::Orders;

/// The names with commas, and the program's own name behind them: a text that stays. Written once by [`configure`], the address last with
/// Release.
static NAMES: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static BYTES: AtomicUsize = AtomicUsize::new(0);
static PROGRAM: AtomicUsize = AtomicUsize::new(0);

/// What modules call the program.
const THE_PROGRAM: &[u8] = b"the program itself";

/// Keeps the names. False if there are none.
pub(crate) fn configure(orders: &Orders<'_>) -> bool {
    let (names, program) = (orders.settings.eligible(), orders.program);
    if names.is_empty() {
        return false;
    }
    if !NAMES.load(Ordering::Relaxed).is_null() {
        return true;
    }
    let Ok(place) = map_anonymous(names.len() + program.len()) else { return false };
    // SAFETY: new pages for so many bytes, which are never unmapped.
    let kept = unsafe { core::slice::from_raw_parts_mut(place.cast::<u8>(), names.len() + program.len()) };
    let (first, second) = kept.split_at_mut(names.len());
    first.copy_from_slice(names);
    second.copy_from_slice(program);
    BYTES.store(names.len(), Ordering::Relaxed);
    PROGRAM.store(program.len(), Ordering::Relaxed);
    NAMES.store(place.cast(), Ordering::Release);
    true
}

/// Whether a module is one of them, by the name of its file.
pub(crate) fn is_eligible(module: &[u8]) -> bool {
    let names = NAMES.load(Ordering::Acquire);
    if names.is_null() {
        return false;
    }
    let (bytes, program) = (BYTES.load(Ordering::Relaxed), PROGRAM.load(Ordering::Relaxed));
    // SAFETY: as `configure` made it, and it stays.
    let (names, program) = unsafe { core::slice::from_raw_parts(names, bytes + program) }.split_at(bytes);
    let module = if module == THE_PROGRAM { program } else { module };
    names.split(|&byte| byte == b',').any(|name| fits(name, module))
}

/// Whether a name of the option is that of a file: up to its `.so`, or up to the `*`.
fn fits(name: &[u8], file: &[u8]) -> bool {
    if let Some(stem) = name.strip_suffix(b"*") {
        return file.starts_with(stem);
    }
    file.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(b".so"))
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn names_are_those_of_files() {
        for (name, file, is_it) in [
            ("libssl", "libssl.so.3", true),
            ("libssl", "libssl3.so", false),
            ("libssl*", "libssl3.so", true),
            ("libssl.so.3", "libssl.so.3", true),
            ("payroll", "payroll", true),
            ("pay", "payroll", false),
            ("*", "anything", true),
        ] {
            assert_eq!(fits(name.as_bytes(), file.as_bytes()), is_it, "{name} {file}");
        }
    }
}
