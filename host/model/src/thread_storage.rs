//! One reservation that serves a program's buffers: Natural's thread, and THSIZE here.
//!
//! Not here: where the figures come from, and the words of the advice.

/// Sizes are suggested in steps of this many bytes.
const STEP: u64 = 1 << 20;

/// The use of a reservation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadStorage {
    /// Its bytes.
    pub size: u64,
    /// Bytes from its start to the highest one that was used.
    pub reached: u64,
    /// The most bytes in all segments at one time, of which it is one.
    pub segments_peak: u64,
    /// Segments besides it: requests that did not fit.
    pub outside: u64,
}

impl ThreadStorage {
    /// The size that would have held all buffers: what was reached, or if that was too little, all segments together; rounded up to MiB.
    #[must_use]
    pub fn suggested(&self) -> u64 {
        let need = if self.outside == 0 { self.reached } else { self.segments_peak.max(self.size) };
        need.max(1).saturating_add(STEP - 1) / STEP * STEP
    }

    /// Another size is worth a change: it would hold what did not fit, or save half of the address space and more.
    #[must_use]
    pub fn is_worth_a_change(&self) -> bool {
        self.outside > 0 && self.suggested() > self.size || self.suggested() <= self.size / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn sizes_that_would_have_held_all() {
        let fits =
            ThreadStorage { size: 64 * MIB, reached: 42 * MIB + 1, segments_peak: 64 * MIB, outside: 0 };
        assert_eq!((fits.suggested(), fits.is_worth_a_change()), (43 * MIB, false));
        let large = ThreadStorage { reached: 9 * MIB, ..fits };
        assert_eq!((large.suggested(), large.is_worth_a_change()), (9 * MIB, true));
        let small = ThreadStorage { size: 8 * MIB, reached: 8 * MIB, segments_peak: 45 * MIB, outside: 9 };
        assert_eq!((small.suggested(), small.is_worth_a_change()), (45 * MIB, true));
        assert_eq!(ThreadStorage::default().suggested(), MIB);
    }
}
