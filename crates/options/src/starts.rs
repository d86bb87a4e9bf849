//! MT, THSIZE and TIMER: limits, storage and timers of a program's start.
//!
//! Not here: what obeys them (`runtime`, `launch`).

use crate::Settings;
use crate::search::slot_named;
use crate::value::Value;

impl Settings {
    /// MT: seconds of CPU time of a program start; 0: no limit.
    #[must_use]
    pub fn cpu_limit_seconds(&self) -> u64 {
        const SECONDS: usize = slot_named("MT", "seconds");
        self.number(SECONDS)
    }

    /// THSIZE: bytes of the reservation that serves the program's buffers; 0: none.
    #[must_use]
    pub fn thread_storage(&self) -> u64 {
        const SIZE: usize = slot_named("THSIZE", "size");
        if let Value::Bytes(bytes) = self.at(SIZE) { bytes } else { 0 }
    }

    /// TIMER(COALESCE).
    #[must_use]
    pub fn coalesces_timers(&self) -> bool {
        const HOW: usize = slot_named("TIMER", "OFF|COALESCE");
        self.is_on(HOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProgramName, WhereSet};

    #[test]
    fn values_of_the_three_options() {
        for (text, seconds, bytes, coalesces) in [
            ("", 0, 0, false),
            ("MT(60)", 60, 0, false),
            ("THSIZE(64M),TIMER(COALESCE)", 0, 64 << 20, true),
            ("MT(0),THS(2000K),TIM(OFF)", 0, 2000 << 10, false),
        ] {
            let mut settings = Settings::default();
            settings.apply(
                text.as_bytes(),
                &ProgramName::default(),
                WhereSet::CommandLine,
                &mut |diagnostic| panic!("{text}: {diagnostic}"),
            );
            assert_eq!(settings.cpu_limit_seconds(), seconds, "{text}");
            assert_eq!(settings.thread_storage(), bytes, "{text}");
            assert_eq!(settings.coalesces_timers(), coalesces, "{text}");
        }
    }
}
