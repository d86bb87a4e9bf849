//! Tests that need several modules: libraries through every carrier, damage to all of them, and independent tools.
//!
//! No real file is used: `sample` makes libraries, `carriers` puts them into every carrier.

pub(crate) mod carriers;
mod damage;
mod disks;
mod forms;
mod hercules;
mod roundtrip;
pub(crate) mod sample;
mod transport;
mod xmi_reader;
