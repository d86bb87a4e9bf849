//! A class of ECBs: units of work that begin with an area of one size, and whose available lists have one set of sizes.
//!
//! Invariant: `requests` are those of the ECBs that were counted request by request, one in `counted_one_in`; all other figures are
//! those of all ECBs.
//! Not here: the sizes that waste least (`classes`), and the populations of z/TPF's listings, which name no class (`requests`).

use crate::area_use::AreaUse;
use crate::available_list::AvailableList;
use crate::figure::Figure;
use crate::requests::Requests;

/// A class of ECBs, in all processes of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EcbClass {
    /// Its name.
    pub name: String,
    /// Its available lists, from the first one on.
    pub lists: Vec<AvailableList>,
    /// ECBs that were created.
    pub created: Figure,
    /// ECBs whose requests were counted by size.
    pub counted: Figure,
    /// One ECB in so many is counted by size.
    pub counted_one_in: Figure,
    /// Buffers that its lists dispensed.
    pub dispensed: Figure,
    /// Requests by size.
    pub requests: Requests,
    /// Ended ECBs by the most storage that they had, and the area with which each begins.
    pub area: AreaUse,
    /// Ended ECBs that had more than the area.
    pub exceeded: Figure,
}

impl EcbClass {
    /// The sizes of its available lists, in bytes.
    #[must_use]
    pub fn sizes(&self) -> Vec<u64> {
        self.lists.iter().map(|list| list.size.value).collect()
    }
}
