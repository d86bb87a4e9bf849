//! The values of HEAPPOOLS and HEAPPOOLS64, and what they mean on Linux.
//!
//! ```text
//! cell       as it is set, a multiple of 8
//! element    the cell, rounded up to 16 bytes: the alignment of malloc. ALIGN: also to a power of two up to a cache line of 64
//!            bytes, and to whole cache lines above it
//! extent     HEAPPOOLS: initial size of HEAP times percent, divided by the element, at least 4 elements
//!            HEAPPOOLS64: the number of cells that is set
//! ```
//!
//! An element on z/OS has 8 more bytes for control; here it has none.
//! Not here: pools at work (`underbar-runtime`).

use crate::search::option_named;
use crate::settings::Settings;
use crate::table::OPTIONS;
use crate::value::Value;

/// How many sizes of cells there can be.
pub const POOL_SIZES: usize = 12;
/// The initial size of HEAP of which HEAPPOOLS takes percentages while HEAP is AUTO.
pub const POOLS_UNDER_AUTO: u64 = 1 << 20;
/// The least number of cells of an extent.
pub const LEAST_CELLS: u64 = 4;
/// Bytes of a cache line.
const LINE: u64 = 64;

/// One size of cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PoolSize {
    /// Bytes of a cell, as they are set.
    pub cell: u32,
    /// How many pools have this size, at least 1.
    pub pools: u16,
    /// The size of an extent: percent, or cells.
    pub share: u64,
}

/// HEAPPOOLS or HEAPPOOLS64, if it is ON or ALIGN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapPools {
    /// ALIGN: no small cell crosses a cache line.
    pub align: bool,
    /// Whether extents are a percentage of HEAP's initial size (HEAPPOOLS), or a number of cells (HEAPPOOLS64).
    pub are_percent: bool,
    sizes: [PoolSize; POOL_SIZES],
    count: usize,
}

impl HeapPools {
    /// The sizes of cells, in the order in which they are set.
    #[must_use]
    pub fn sizes(&self) -> &[PoolSize] {
        self.sizes.get(..self.count).unwrap_or(&[])
    }

    /// Bytes that a cell of a size takes.
    #[must_use]
    pub const fn element(&self, cell: u32) -> u64 {
        let cell = if cell == 0 { 1 } else { cell as u64 };
        match cell {
            _ if !self.align => cell.next_multiple_of(16),
            ..=LINE => {
                let element = cell.next_power_of_two();
                if element < 16 { 16 } else { element }
            }
            _ => cell.next_multiple_of(LINE),
        }
    }

    /// Cells of an extent, with this initial size of HEAP (0: AUTO).
    #[must_use]
    pub const fn cells_per_extent(&self, size: &PoolSize, initial: u64) -> u64 {
        let cells = if self.are_percent {
            let initial = if initial == 0 { POOLS_UNDER_AUTO } else { initial };
            initial.saturating_mul(size.share) / 100 / self.element(size.cell)
        } else {
            size.share
        };
        if cells < LEAST_CELLS { LEAST_CELLS } else { cells }
    }
}

impl Settings {
    /// HEAPPOOLS, or else HEAPPOOLS64. None if both are OFF, or there is no size.
    #[must_use]
    pub fn heap_pools(&self) -> Option<HeapPools> {
        const PERCENT: usize = option_named("HEAPPOOLS");
        const CELLS: usize = option_named("HEAPPOOLS64");
        self.pools_of(PERCENT, true).or_else(|| self.pools_of(CELLS, false))
    }

    fn pools_of(&self, option: usize, are_percent: bool) -> Option<HeapPools> {
        let align = match self.value(option, 0) {
            Value::Word(1) => false,
            Value::Word(2) => true,
            _ => return None,
        };
        // A pair that is not set has the documented default.
        let value = |position: usize| match self.value(option, position) {
            Value::Unset => OPTIONS[option].sub_options[position].language_environment,
            value => value,
        };
        let mut pools = HeapPools { align, are_percent, sizes: [PoolSize::default(); POOL_SIZES], count: 0 };
        for place in &mut pools.sizes {
            let position = 1 + 2 * pools.count;
            let Value::Cell { size: cell @ 1.., pools: number } = value(position) else { break };
            let share = if let Value::Number(share) = value(position + 1) { share } else { 0 };
            *place = PoolSize { cell, pools: number.max(1), share };
            pools.count += 1;
        }
        (pools.count > 0).then_some(pools)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{ProgramName, WhereSet};
    use std::vec::Vec;

    fn pools(text: &str) -> Option<HeapPools> {
        let mut settings = Settings::default();
        settings.apply(text.as_bytes(), &ProgramName::default(), WhereSet::CommandLine, &mut |_| ());
        settings.heap_pools()
    }

    fn sizes(text: &str) -> Vec<(u32, u16, u64)> {
        let pools = pools(text).expect("pools");
        pools.sizes().iter().map(|size| (size.cell, size.pools, size.share)).collect()
    }

    #[test]
    fn pairs_that_are_not_set_are_ibms() {
        let ibm = [(8, 1, 10), (32, 1, 10), (128, 1, 10), (256, 1, 10), (1024, 1, 10), (2048, 1, 10)];
        assert_eq!(sizes("HEAPPOOLS(ON)"), ibm);
        assert_eq!(sizes("HEAPPOOLS(ALIGN,(16,3),20,0)"), [(16, 3, 20)]);
        assert_eq!(sizes("HEAPPOOLS(ON,16,,64,5,0)"), [(16, 1, 10), (64, 1, 5)]);
        assert_eq!(sizes("HEAPPOOLS64(ON)").len(), POOL_SIZES);
        assert_eq!(sizes("HEAPPOOLS64(ON)")[11], (65_536, 1, 5));
        assert_eq!(sizes("HEAPPOOLS64(ON),HEAPPOOLS(ON,24,3,0)"), [(24, 1, 3)]);
        for off in ["", "HEAPPOOLS(OFF)", "HEAPPOOLS(,16,20)", "HEAPPOOLS(ON,0)"] {
            assert_eq!(pools(off), None, "{off}");
        }
    }

    #[test]
    fn elements_are_aligned_and_extents_have_at_least_four_cells() {
        let elements = |text: &str| {
            let pools = pools(text).expect("pools");
            [8, 16, 24, 40, 72, 136, 65_536].map(|cell| pools.element(cell))
        };
        assert_eq!(elements("HEAPPOOLS(ON)"), [16, 16, 32, 48, 80, 144, 65_536]);
        assert_eq!(elements("HEAPPOOLS(ALIGN)"), [16, 16, 32, 64, 128, 192, 65_536]);
        let cells = |text: &str, initial| {
            let pools = pools(text).expect("pools");
            pools.cells_per_extent(&pools.sizes()[0], initial)
        };
        // IBM's own dump: 1 % of 32768 in elements of 16 bytes.
        assert_eq!(cells("HEAPPOOLS(ON,8,1)", 32_768), 20);
        assert_eq!(cells("HEAPPOOLS(ON,2048,1)", 32_768), 4);
        assert_eq!(cells("HEAPPOOLS(ON,16,10)", 0), 6_553);
        assert_eq!(cells("HEAPPOOLS64(ON)", 0), 4_000);
        assert_eq!(cells("HEAPPOOLS(ON,8,90)", u64::MAX), u64::MAX / 100 / 16);
    }
}
