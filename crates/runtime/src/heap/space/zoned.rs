//! Elements with a check zone behind them, under HEAPZONES.
//!
//! Not here: the zone (`zone`).

use super::super::zone;
use super::{Element, Space};

impl Space {
    /// Gets an element, with a zone if zones are on. `getter` is the return address of the request, or 0.
    pub fn get_with_zone(&mut self, bytes: usize, align: usize, getter: usize) -> Option<Element> {
        let room = zone::room(self.limit > 0);
        if room == 0 {
            return self.get(bytes, align);
        }
        let element = self.get(bytes.checked_add(room)?, align)?;
        // SAFETY: the element is new, and has room for zone and words behind the bytes that were asked for.
        unsafe { zone::lay(element.address, bytes, getter) };
        Some(element)
    }
}
