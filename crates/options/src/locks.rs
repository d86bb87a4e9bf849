//! The values of LOCK.
//!
//! Not here: how threads wait by them (`underbar-runtime`).

use crate::search::slot_named;
use crate::settings::Settings;
use crate::value::Value;

/// How threads wait for a mutex that another one holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Locks {
    /// As the C library does, unseen.
    Off = 0,
    /// As the C library does, recorded.
    Count = 1,
    /// As simple locks do, recorded.
    Simple = 2,
}

/// How threads wait for the one mutex that LOCK names. The numbers are the ledger's policies of a lock, of which 0 follows [`Locks`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum OneLock {
    /// As the C library does.
    Count = 1,
    /// As simple locks do.
    Simple = 2,
    /// In their sleep, without looking.
    Sleep = 3,
}

impl Settings {
    /// LOCK: how threads wait for mutexes.
    pub fn locks(&self) -> Locks {
        const HOW: usize = slot_named("LOCK", "OFF|COUNT|SIMPLE");
        match self.at(HOW) {
            Value::Word(0) => Locks::Off,
            Value::Word(2) => Locks::Simple,
            _ => Locks::Count,
        }
    }

    /// LOCK: the one mutex with its own waiting, by its place in the program's file.
    pub fn one_lock(&self) -> Option<(u64, OneLock)> {
        const PLACE: usize = slot_named("LOCK", "place");
        const HOW: usize = slot_named("LOCK", "COUNT|SIMPLE|SLEEP");
        let how = match self.at(HOW) {
            Value::Word(0) => OneLock::Count,
            Value::Word(1) => OneLock::Simple,
            Value::Word(2) => OneLock::Sleep,
            _ => return None,
        };
        match self.at(PLACE) {
            Value::Number(place) if place > 0 => Some((place, how)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::where_set::WhereSet;

    #[test]
    fn one_lock_needs_a_place_and_a_way() {
        let of = |text: &str| {
            let mut settings = Settings::default();
            let whose = crate::ProgramName::default();
            settings.apply(text.as_bytes(), &whose, WhereSet::CommandLine, &mut |_| ());
            (settings.locks(), settings.one_lock())
        };
        assert_eq!(of("LOCK(,16480,SLEEP)"), (Locks::Count, Some((16480, OneLock::Sleep))));
        assert_eq!(of("LOCK(SIMPLE,1,COUNT)"), (Locks::Simple, Some((1, OneLock::Count))));
        assert_eq!(of("LOCK(,7,SIMPLE),LOCK(SIMPLE)"), (Locks::Simple, Some((7, OneLock::Simple))));
        for none in ["LOCK(SIMPLE)", "LOCK(,16480)", "LOCK(,,SLEEP)", "LOCK(,0,SLEEP)", "LOCK(,7,OFF)"] {
            assert_eq!(of(none).1, None, "{none}");
        }
    }
}
