//! Faults of a file and its contents, with their places: what is faulty, and where.
//!
//! Every module names its own faults; here they get their path, as in
//! `TAPE.HET > file 2 > SYS1.LOAD: the block at 1200 says ...`. Offsets count from the start of the path's last item.

use super::{image, label, library, module, netdata, object, source, spanned, tape, terse, unload, volume};
use serde::{Serialize, Serializer};
use std::fmt;

/// A fault of any module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant is the fault of the module that it is named for")]
pub enum Fault {
    #[error(transparent)]
    Read(#[from] source::ReadError),
    #[error(transparent)]
    Netdata(#[from] netdata::Fault),
    #[error(transparent)]
    Spanned(#[from] spanned::Fault),
    #[error(transparent)]
    Unload(#[from] unload::Fault),
    #[error(transparent)]
    Library(#[from] library::Fault),
    #[error(transparent)]
    Module(#[from] module::Fault),
    #[error(transparent)]
    Object(#[from] object::Fault),
    #[error(transparent)]
    Tape(#[from] tape::Fault),
    #[error(transparent)]
    Label(#[from] label::Fault),
    #[error(transparent)]
    Image(#[from] image::Fault),
    #[error(transparent)]
    Volume(#[from] volume::Fault),
    #[error(transparent)]
    Terse(#[from] terse::Fault),
    /// Containers are nested deeper than the limit.
    #[error("is nested deeper than {most} containers, and is not opened")]
    Depth { most: u32 },
    /// More items than the limit.
    #[error("more than {most} items; the rest is not opened")]
    Many { most: usize },
    /// Data sets that together claim more tracks than the volume has.
    #[error(
        "its extents and those before it claim {claimed} tracks, the volume has {tracks}; it is not opened"
    )]
    Claimed { claimed: u64, tracks: u32 },
}

/// A fault, and its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// From the file to the faulty item, with ` > ` between.
    pub place: String,
    /// The fault.
    pub fault: Fault,
}

impl fmt::Display for Trouble {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}: {}", self.place, self.fault)
    }
}

impl std::error::Error for Trouble {}

impl Serialize for Trouble {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}
