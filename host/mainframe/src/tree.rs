//! The tree of a file's contents, and the limits of the search.
//!
//! Invariant: an item's faults are its own; those of its contents are theirs.
//! Not here: making the tree (`container`).

use super::ebcdic::CodePage;
use super::fault::Trouble;
use super::library::Library;
use super::netdata::{self, Attributes};
use super::source::Records;
use super::{module, object};
use serde::Serialize;

/// The limits of the search.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The code page of names.
    pub page: CodePage,
    /// The most nested containers.
    pub depth: u32,
    /// The most items.
    pub items: usize,
    /// The most inflated bytes of tapes and AMATERSE files, in all. Unpacked AMATERSE data is held in memory.
    pub inflated: u64,
}

impl Default for Options {
    /// Page 037, 8 deep, 100,000 items, 1 GiB.
    fn default() -> Options {
        Options { page: CodePage::US, depth: 8, items: 100_000, inflated: 1 << 30 }
    }
}

/// One item of the tree.
#[derive(Clone, Debug, Serialize)]
pub struct Item {
    /// Its name in its container; for the root the file's name.
    pub name: String,
    /// Bytes of it.
    pub bytes: u64,
    /// Its kind.
    pub what: What,
    /// Its faults.
    pub faults: Vec<Trouble>,
    /// Its contents.
    pub inner: Vec<Item>,
    /// Its records or blocks, if it has any: also the data of unknown formats.
    #[serde(skip)]
    pub data: Option<Records>,
}

/// Kinds of items.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum What {
    /// A transmission; its files are inside.
    Transmission {
        /// The sender.
        header: netdata::Header,
    },
    /// A message in a transmission.
    Message,
    /// A file of a transmission, or a data set of a tape or disk; its data is inside if the format is known.
    DataSet {
        /// The container's data about it.
        #[serde(flatten)]
        attributes: Attributes,
    },
    /// A tape.
    Tape {
        /// Serial, by its label.
        serial: Option<String>,
        /// Whether blocks are compressed.
        packed: bool,
        /// Whether two tape marks end it.
        ended: bool,
    },
    /// A disk.
    Disk {
        /// Serial, by its label.
        serial: String,
        /// Type: `3390`.
        device: String,
        /// Whether the image is compressed.
        packed: bool,
        /// Cylinders.
        cylinders: u32,
        /// Whether the emulator opened it and did not close it.
        open: bool,
    },
    /// A file packed by AMATERSE; its content is inside.
    Terse {
        /// PACK or SPACK.
        method: &'static str,
    },
    /// A library.
    Library(Box<Library>),
    /// A load module, its blocks glued.
    Module(Box<module::Summary>),
    /// A program object.
    Object(object::Object),
    /// A format that is recognised but not read.
    Foreign {
        /// Its name, and advice.
        what: &'static str,
    },
    /// An unknown format.
    Unknown,
}

impl Item {
    /// Every library in the tree, with its path.
    #[must_use]
    pub fn libraries(&self) -> Vec<(String, &Library)> {
        let mut found = Vec::new();
        self.visit(&mut |way, item| {
            if let What::Library(library) = &item.what {
                found.push((way.to_owned(), &**library));
            }
        });
        found
    }

    /// Every fault in the tree.
    #[must_use]
    pub fn troubles(&self) -> Vec<&Trouble> {
        let mut found = Vec::new();
        self.visit(&mut |_, item| found.extend(&item.faults));
        found
    }

    /// Shows each item with its path, containers before their contents.
    pub fn visit<'a>(&'a self, see: &mut impl FnMut(&str, &'a Item)) {
        self.visit_from("", see);
    }

    fn visit_from<'a>(&'a self, way: &str, see: &mut impl FnMut(&str, &'a Item)) {
        let way = if way.is_empty() { self.name.clone() } else { format!("{way} > {}", self.name) };
        see(&way, self);
        self.inner.iter().for_each(|inner| inner.visit_from(&way, see));
    }
}
