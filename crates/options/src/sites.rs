//! SITES: which requests for storage are sampled, and how much of their stacks is copied.
//!
//! Not here: how a sample is taken (`runtime::sites`).

use crate::Settings;
use crate::search::slot_named;
use crate::value::Value;

/// The values in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sites {
    /// The mean distance between samples, in bytes requested.
    pub mean: u64,
    /// Bytes of a stack that are copied, at most: a multiple of 8.
    pub stack: u64,
    /// Thousandths of the process's CPU time that samples may take: beyond it the mean doubles. 0: it stays.
    pub share: u64,
}

impl Settings {
    /// SITES; none if no requests are sampled.
    #[must_use]
    pub fn sites(&self) -> Option<Sites> {
        const ON: usize = slot_named("SITES", "OFF|ON");
        const MEAN: usize = slot_named("SITES", "mean");
        const STACK: usize = slot_named("SITES", "stack");
        const SHARE: usize = slot_named("SITES", "share");
        let bytes = |slot| if let Value::Bytes(bytes) = self.at(slot) { bytes } else { 0 };
        self.is_on(ON).then(|| Sites { mean: bytes(MEAN), stack: bytes(STACK), share: self.number(SHARE) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProgramName, WhereSet};

    #[test]
    fn samples_have_a_distance_and_a_stack() {
        for (text, sites) in [
            ("", None),
            ("SITES(ON)", Some((512 << 10, 16 << 10, 2))),
            ("SIT(ON,64K,4K,0)", Some((64 << 10, 4096, 0))),
            ("SITES(,64K)", None),
            ("SITES(ON,1,1)", Some((1024, 512, 2))),
        ] {
            let mut settings = Settings::default();
            settings.apply(
                text.as_bytes(),
                &ProgramName::default(),
                WhereSet::CommandLine,
                &mut |diagnostic| panic!("{text}: {diagnostic}"),
            );
            assert_eq!(
                settings.sites(),
                sites.map(|(mean, stack, share)| Sites { mean, stack, share }),
                "{text}"
            );
        }
    }
}
