//! How requests for storage are served: by a size that holds them, or each by its own storage.
//!
//! ```text
//! z/TPF                       the largest available list serves up to its size; larger ones take the slow way
//! a heap with sizes (Linux)   an increment serves up to its size; a larger request gets a segment of its own
//! ```
//!
//! Not here: which sizes fit best (`classes`).

use crate::figure::Figure;
use crate::requests::Requests;

/// How the requests of one program or population are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supply {
    /// All requests, and those of each size as far as known.
    pub requests: Requests,
    /// The largest size that serves a request.
    pub serves: Figure,
    /// Requests that are larger.
    pub beyond: Figure,
    /// The largest request, or the limit of its class.
    pub largest: Figure,
}
