//! The tree of what a file holds, and how far to look for it.
//!
//! Invariant: an item's faults are its own; those of what it holds are theirs.
//! Not here: how the tree is made (`container`).

use super::ebcdic::CodePage;
use super::fault::Trouble;
use super::library::Library;
use super::netdata::{self, Attributes};
use super::source::Records;
use super::{module, object};
use serde::Serialize;

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The code page of names.
    pub page: CodePage,
    /// Containers within containers.
    pub depth: u32,
    /// Things in all.
    pub items: usize,
    /// Bytes that tapes and AMATERSE files may inflate to, in all. What AMATERSE unpacks is held in memory.
    pub inflated: u64,
}

impl Default for Options {
    /// Page 037, 8 deep, 100,000 things, 1 GiB.
    fn default() -> Options {
        Options { page: CodePage::US, depth: 8, items: 100_000, inflated: 1 << 30 }
    }
}

/// One thing in the tree.
#[derive(Clone, Debug, Serialize)]
pub struct Item {
    /// What its container calls it; of the root the file's name.
    pub name: String,
    /// Bytes of it.
    pub bytes: u64,
    /// What it is.
    pub what: What,
    /// What is wrong with it.
    pub faults: Vec<Trouble>,
    /// What it holds.
    pub inner: Vec<Item>,
    /// Its records or blocks, where it has such: the data of what is not understood, too.
    #[serde(skip)]
    pub data: Option<Records>,
}

/// Kinds of things.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum What {
    /// A transmission; its files are inside.
    Transmission {
        /// Who sent it.
        header: netdata::Header,
    },
    /// A message in a transmission.
    Message,
    /// A file of a transmission, or a data set of a tape or disk, whose data is inside if it was understood.
    DataSet {
        /// What its container says of it.
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
        /// Whether the emulator had it open and did not close it.
        open: bool,
    },
    /// Something packed by AMATERSE; it is inside.
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
    /// Something that is known by sight, and not read.
    Foreign {
        /// What it is, and what to do.
        what: &'static str,
    },
    /// Nothing that is known here.
    Unknown,
}

impl Item {
    /// Every library in the tree, with the way to it.
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

    /// Shows each thing with the way to it, containers before what they hold.
    pub fn visit<'a>(&'a self, see: &mut impl FnMut(&str, &'a Item)) {
        self.visit_from("", see);
    }

    fn visit_from<'a>(&'a self, way: &str, see: &mut impl FnMut(&str, &'a Item)) {
        let way = if way.is_empty() { self.name.clone() } else { format!("{way} > {}", self.name) };
        see(&way, self);
        self.inner.iter().for_each(|inner| inner.visit_from(&way, see));
    }
}
