//! Names of components that a sub-option of ZIIP has, as ELIGIBLE(file,file) and 3GL(file,file).
//!
//! Invariant: a list is written once, before the program begins.
//! Not here: what is done with the components.

use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use underbar_sys::syscall::map_anonymous;

/// A list of names, and the program's own.
pub(crate) struct ComponentNames {
    /// The names with commas, and the program's own name behind them: a text that stays. Written once by [`ComponentNames::keep`], the
    /// address last with Release.
    text: AtomicPtr<u8>,
    /// Bytes of the names, and of the program's name. Written before the address; relaxed.
    names: AtomicUsize,
    program: AtomicUsize,
}

/// What modules call the program.
const THE_PROGRAM: &[u8] = b"the program itself";

impl ComponentNames {
    pub(crate) const fn new() -> Self {
        Self {
            text: AtomicPtr::new(core::ptr::null_mut()),
            names: AtomicUsize::new(0),
            program: AtomicUsize::new(0),
        }
    }

    /// Keeps the names. False if there are none.
    pub(crate) fn keep(&self, names: &[u8], program: &[u8]) -> bool {
        if names.is_empty() {
            return false;
        }
        if !self.text.load(Ordering::Relaxed).is_null() {
            return true;
        }
        let Ok(place) = map_anonymous(names.len() + program.len()) else { return false };
        // SAFETY: new pages for so many bytes, which are never unmapped.
        let kept =
            unsafe { core::slice::from_raw_parts_mut(place.cast::<u8>(), names.len() + program.len()) };
        let (first, second) = kept.split_at_mut(names.len());
        first.copy_from_slice(names);
        second.copy_from_slice(program);
        self.names.store(names.len(), Ordering::Relaxed);
        self.program.store(program.len(), Ordering::Relaxed);
        self.text.store(place.cast(), Ordering::Release);
        true
    }

    /// Whether a module is one of them, by the name of its file.
    pub(crate) fn have(&self, module: &[u8]) -> bool {
        let text = self.text.load(Ordering::Acquire);
        if text.is_null() {
            return false;
        }
        let (bytes, program) = (self.names.load(Ordering::Relaxed), self.program.load(Ordering::Relaxed));
        // SAFETY: as `keep` made it, and it stays.
        let (names, program) = unsafe { core::slice::from_raw_parts(text, bytes + program) }.split_at(bytes);
        let module = if module == THE_PROGRAM { program } else { module };
        names.split(|&byte| byte == b',').any(|name| fits(name, module))
    }
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
    use super::*;

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

    #[test]
    fn a_list_is_kept_with_the_name_of_the_program() {
        static LIST: ComponentNames = ComponentNames::new();
        assert!(!LIST.have(b"libz.so") && !LIST.keep(b"", b"payroll"));
        assert!(LIST.keep(b"libz,payroll", b"payroll") && LIST.keep(b"others", b""));
        assert!(LIST.have(b"libz.so.1") && LIST.have(THE_PROGRAM) && !LIST.have(b"others"));
    }
}
