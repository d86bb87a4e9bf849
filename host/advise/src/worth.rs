//! Whether what an option would spare is worth setting it: a hundredth of the run, or "not worth it here".

use underbar_model::Figure;
use underbar_report::units::nanoseconds;

/// Calls that are fewer have no cost that can be measured.
pub const FEW: u64 = 1_000;

/// A time that is spared, next to that of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worth {
    /// The time that is spared, in nanoseconds.
    pub spared: u64,
    /// The time of the run, in nanoseconds.
    pub of: u64,
}

impl Worth {
    /// A time that is spared of a time of the run, which must be certain.
    pub fn of(spared: u64, run: &Figure) -> Option<Self> {
        Some(Self { spared, of: run.certain()? })
    }

    /// Whether it is a hundredth or more.
    pub fn is_enough(self) -> bool {
        self.spared > 0 && u128::from(self.spared) * 100 >= u128::from(self.of)
    }

    /// `about 3.40 ms of 1.30 s of CPU, 0.2 %`; `most of 279 ms of CPU` where costs that were measured on a busy machine say more than a
    /// run can spare.
    pub fn words(self, what: &str) -> String {
        if self.of > 0 && self.spared > self.of {
            return format!("most of {} of {what}", nanoseconds(self.of));
        }
        let thousandths = u128::from(self.spared).saturating_mul(1_000) / u128::from(self.of.max(1));
        let share = format!("{}.{} %", thousandths / 10, thousandths % 10);
        format!("about {} of {} of {what}, {share}", nanoseconds(self.spared), nanoseconds(self.of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundredth_is_enough() {
        let of = |spared, of| Worth { spared, of };
        assert!(of(1, 100).is_enough() && of(u64::MAX, u64::MAX).is_enough() && of(1, 0).is_enough());
        assert!(!of(1, 101).is_enough() && !of(0, 0).is_enough());
        assert_eq!(of(3_400_000, 1_300_000_000).words("CPU"), "about 3.40 ms of 1.30 s of CPU, 0.2 %");
        // Not 157 %: the costs of switches are estimates.
        assert_eq!(of(439_000_000, 279_000_000).words("CPU"), "most of 279 ms of CPU");
    }
}
