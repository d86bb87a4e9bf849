//! The values of STACK and THREADSTACK.
//!
//! Not here: the stacks that are made by them (`underbar-runtime`).

use crate::heap::{Disposition, Size};
use crate::search::slot_named;
use crate::settings::Settings;
use crate::value::Value;

/// The values of STACK, for stacks that underbar makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stack {
    /// The first segment.
    pub init: StackSize,
    /// The minimum size of each further segment in bytes.
    pub increment: Size,
    /// What becomes of empty increments: kept, or freed.
    pub disposition: Disposition,
}

/// The first size of STACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackSize {
    /// The size that the kernel or the C library chooses.
    Auto,
    /// This many bytes; 0 has a special meaning on z/OS.
    Bytes(u64),
    /// All that is available minus this many bytes.
    AllBut(u64),
}

/// THREADSTACK makes no thread's stack smaller than this many bytes: the safe minimum if nothing else is known.
pub const LEAST_THREAD_STACK: u64 = 256 << 10;

/// The values of THREADSTACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadStack {
    /// Whether the other sub-options apply.
    pub on: bool,
    /// The first segment, for threads that ask for the default size; without increments, the whole stack, not yet raised to the
    /// safe minimum. Auto: the C library's.
    pub init: Size,
    /// Further segments. Auto: none.
    pub increment: Size,
    /// What becomes of increments. Auto without increments: the C library makes the stacks.
    pub disposition: Disposition,
}

impl ThreadStack {
    /// Whether underbar makes the stacks, rather than the C library.
    #[must_use]
    pub fn is_made_here(&self) -> bool {
        self.on && (self.increment != Size::Auto || self.disposition != Disposition::Auto)
    }
}

impl Settings {
    /// STACK.
    pub fn stack(&self) -> Stack {
        const INIT: usize = slot_named("STACK", "init");
        const INCREMENT: usize = slot_named("STACK", "incr");
        const DISPOSITION: usize = slot_named("STACK", "KEEP|FREE");
        Stack {
            init: match self.at(INIT) {
                Value::Bytes(bytes) => StackSize::Bytes(bytes),
                Value::AllBut(bytes) => StackSize::AllBut(bytes),
                _ => StackSize::Auto,
            },
            increment: self.size(INCREMENT),
            disposition: self.disposition(DISPOSITION),
        }
    }

    /// THREADSTACK.
    pub fn thread_stack(&self) -> ThreadStack {
        const ON: usize = slot_named("THREADSTACK", "OFF|ON");
        const INIT: usize = slot_named("THREADSTACK", "init");
        const INCREMENT: usize = slot_named("THREADSTACK", "incr");
        const DISPOSITION: usize = slot_named("THREADSTACK", "KEEP|FREE|AUTO");
        ThreadStack {
            on: self.is_on(ON),
            init: self.size(INIT),
            increment: self.size(INCREMENT),
            disposition: self.disposition(DISPOSITION),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Base;

    #[test]
    fn underbars_defaults() {
        let settings = Settings::default();
        assert_eq!(
            settings.stack(),
            Stack { init: StackSize::Auto, increment: Size::Auto, disposition: Disposition::Keep }
        );
        let auto = ThreadStack {
            on: false,
            init: Size::Auto,
            increment: Size::Auto,
            disposition: Disposition::Auto,
        };
        assert_eq!(settings.thread_stack(), auto);
    }

    #[test]
    fn language_environments_defaults() {
        let settings = Settings::new(Base::LanguageEnvironment);
        let stack = Stack {
            init: StackSize::Bytes(131_072),
            increment: Size::Bytes(131_072),
            disposition: Disposition::Keep,
        };
        assert_eq!(settings.stack(), stack);
        let threads = ThreadStack {
            on: false,
            init: Size::Bytes(4096),
            increment: Size::Bytes(4096),
            disposition: Disposition::Keep,
        };
        assert_eq!(settings.thread_stack(), threads);
    }
}
