//! The preload library that this command carries in itself (made by `build.rs`).

use underbar_launch::{Library, LibraryError};

const CONTENT: &[u8] = include_bytes!(env!("UNDERBAR_PRELOAD_FILE"));

/// A hash of the content: the name of the library's folder.
const HASH: &str = env!("UNDERBAR_PRELOAD_HASH");

/// Puts the library where the program's loader finds it.
pub fn library(in_memory: bool) -> Result<Library, LibraryError> {
    Library::place(CONTENT, HASH, in_memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_exports_what_it_replaces() {
        let library = underbar_symbols::brought::Brought::of(CONTENT).expect("an ELF file");
        for name in ["malloc", "calloc", "realloc", "free"] {
            assert!(library.exported.iter().any(|known| known == name), "{name}: {library:?}");
        }
    }

    #[test]
    fn the_library_is_one_and_asks_for_no_other() {
        assert!(CONTENT.starts_with(b"\x7fELF"));
        assert_eq!(HASH.len(), 16);
        let has = |text: &[u8]| CONTENT.windows(text.len()).any(|window| window == text);
        assert!(has(b"libunderbar.so\0") && has(b"\0execve\0") && has(b"\0posix_spawn\0"));
        assert!(!has(b"rust_eh_personality"), "something in it would unwind, which nothing can");
        // An older C library may lack the version of a symbol.
        assert!(!has(b"GLIBC_2") && !has(b"libc.so") && !has(b"libgcc_s"));
    }
}
