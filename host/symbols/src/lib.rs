//! Names of code and data in program files: the function, variable or section at an address.
//!
//! ```text
//! Symbols ── code, data, section   (file, address) -> Place { symbol, displacement }
//!         ── address               offset in the file, as the kernel maps it -> address
//!         ── function, bytes       the range of its code, and its bytes
//!   image     one file: its tables in order of addresses, read once
//!   names     its symbols: functions and variables
//!   few       which symbols name a few addresses
//!   table     addresses that are in order, found by bisection
//!   unwind    functions of stripped files, from the table that exceptions are thrown by
//!   lines     lines of source, where the file has such tables
//!   dwarf     the sections of debug data
//!   inlined   functions with those that the compiler inlined, where the file or its debug file has the data
//!   call_frames  from the registers of a function to those of its caller
//!   debug_file  the separate file with the debug data of a stripped program
//!   split     debug data that the compiler put into files of their own
//!   brought   what a file brings along: libraries that it asks for, allocators
//!   shared_object   the segments and exported functions that a loader finds
//!   vdso      the kernel's own, which is no file     spelling  names as people write them
//! ```
//!
//! An *address* here is one of the file's own, as in `nm`; if a file is mapped elsewhere, the caller subtracts the
//! difference. Files are read on the first question about them, and kept.
//!
//! Invariant: a file that is missing, not a program, or malicious gives no names; nothing here panics, and the work is
//! bounded by the length of the file.
//! Not here: names in other processes' file systems.
#![forbid(unsafe_code)]

pub mod brought;
pub mod call_frames;
mod debug_file;
mod dwarf;
mod few;
mod image;
mod inlined;
mod lines;
mod names;
pub mod shared_object;
mod spelling;
mod split;
mod table;
mod texts;
mod unwind;
mod vdso;

pub use few::Wanted;
pub use image::{Image, Machine};
pub use inlined::Frame;
pub use lines::Line;
pub use spelling::spelled;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The name of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The function, variable or section, as people write it.
    pub symbol: String,
    /// Bytes from its start.
    pub displacement: u64,
}

/// The names of any number of files.
#[derive(Default)]
pub struct Symbols {
    images: RefCell<HashMap<PathBuf, Option<Rc<Image>>>>,
}

impl Symbols {
    /// Knows no file yet.
    #[must_use]
    pub fn new() -> Symbols {
        Symbols::default()
    }

    /// The tables of a file, or of the kernel's `[vdso]`; None if it is not an ELF file or cannot be read.
    #[must_use]
    pub fn image(&self, path: &Path) -> Option<Rc<Image>> {
        if let Some(known) = self.images.borrow().get(path) {
            return known.clone();
        }
        let image = if path.as_os_str() == vdso::NAME {
            vdso::bytes().and_then(Image::from_bytes)
        } else {
            Image::open(path)
        };
        let image = image.map(Rc::new);
        self.images.borrow_mut().insert(path.to_owned(), image.clone());
        image
    }

    /// The function at the address.
    #[must_use]
    pub fn code(&self, path: &Path, address: u64) -> Option<Place> {
        self.image(path)?.code(address)
    }

    /// The variable at the address.
    #[must_use]
    pub fn data(&self, path: &Path, address: u64) -> Option<Place> {
        self.image(path)?.data(address)
    }

    /// The section at the address: used if there is no symbol.
    #[must_use]
    pub fn section(&self, path: &Path, address: u64) -> Option<Place> {
        self.image(path)?.section(address)
    }

    /// The address of an offset in the file.
    #[must_use]
    pub fn address(&self, path: &Path, offset: u64) -> Option<u64> {
        self.image(path)?.address(offset)
    }

    /// The range of the code around the address, also in stripped files.
    #[must_use]
    pub fn function(&self, path: &Path, address: u64) -> Option<Range<u64>> {
        self.image(path)?.function(address)
    }

    /// The line of source of the code at the address; None if the file does not have it.
    #[must_use]
    pub fn line(&self, path: &Path, address: u64) -> Option<Line> {
        self.image(path)?.line(address)
    }

    /// The bytes of a range of addresses, as far as the file has them.
    #[must_use]
    pub fn bytes(&self, path: &Path, addresses: Range<u64>) -> Vec<u8> {
        self.image(path).map(|image| image.bytes(addresses)).unwrap_or_default()
    }

    /// The build-id of a file; None if it has none.
    #[must_use]
    pub fn build_id(&self, path: &Path) -> Option<Vec<u8>> {
        self.image(path)?.build_id().map(<[u8]>::to_vec)
    }
}
