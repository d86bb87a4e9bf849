//! MULTIFETCH: how many rows a fetch of one row takes.
//!
//! Not here: which cursors it applies to.

use crate::Settings;
use crate::search::slot_named;
use crate::value::Value;

/// The values in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultiFetch {
    /// Rows of a fetch, at most; 0 and 1: off.
    pub rows: u64,
    /// Bytes of a fetch, at most.
    pub bytes: u64,
}

impl Settings {
    /// MULTIFETCH.
    #[must_use]
    pub fn multi_fetch(&self) -> MultiFetch {
        const ROWS: usize = slot_named("MULTIFETCH", "rows");
        const SIZE: usize = slot_named("MULTIFETCH", "size");
        let bytes = if let Value::Bytes(bytes) = self.at(SIZE) { bytes } else { 0 };
        MultiFetch { rows: self.number(ROWS), bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProgramName, WhereSet};

    #[test]
    fn rows_and_bytes_of_a_fetch() {
        for (text, rows, bytes) in [
            ("", 0, 256 << 10),
            ("MULTIFETCH(100)", 100, 256 << 10),
            ("MUL(8,1M)", 8, 1 << 20),
            ("MULTIFETCH(,1)", 0, 4096),
        ] {
            let mut settings = Settings::default();
            settings.apply(
                text.as_bytes(),
                &ProgramName::default(),
                WhereSet::CommandLine,
                &mut |diagnostic| panic!("{text}: {diagnostic}"),
            );
            assert_eq!(settings.multi_fetch(), MultiFetch { rows, bytes }, "{text}");
        }
    }
}
