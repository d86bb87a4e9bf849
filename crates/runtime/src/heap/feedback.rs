//! Feedback codes: what a callable service tells its caller, in the form of Language Environment.
//!
//! ```text
//! bytes  0         2         4       5           8            12
//!        severity  message   1|sev|1 'C' 'E' 'E' instance (0)          CEE0P3: 3, 803, facility CEE
//!                            \ case, severity, control: 2, 3 and 3 bits, the lowest first
//! ```
//!
//! The symbolic name of a code is "CEE" and the message number in base 32, so that names and numbers cannot disagree. Numbers and
//! severities are those of Language Environment; 809 is that of its relative on IBM i.
//!
//! Invariant: success is twelve zero bytes; every other code has a row in [`TABLE`].
//! Not here: which service gives which code (`services`), and the header for C programs, which is compared with the table.

/// The outcome of a service, other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Condition {
    /// 0 (information) to 4 (critical).
    pub severity: i16,
    /// The number of the message.
    pub message: i16,
    /// The message.
    pub text: &'static str,
}

macro_rules! conditions {
    ($($name:ident = $severity:literal, $message:literal, $text:literal;)*) => {
        $(
            #[doc = $text]
            pub const $name: Condition = Condition { severity: $severity, message: $message, text: $text };
        )*

        /// Every condition, by number.
        pub static TABLE: &[Condition] = &[$($name),*];
    };
}

conditions! {
    DAMAGED = 4, 802, "Heap storage control information was damaged: the program wrote past the end of an element.";
    NO_HEAP = 3, 803, "The heap identifier is not that of a heap.";
    BAD_INITIAL_SIZE = 3, 804, "The initial size of a heap is below zero.";
    BAD_INCREMENT = 3, 805, "The increment of a heap is below zero.";
    BAD_OPTIONS = 3, 806, "The options of a heap are none of the known codes.";
    BAD_SIZE = 3, 808, "The size of a request for storage is not above zero.";
    TOO_MANY_HEAPS = 3, 809, "There are as many heaps as there can be.";
    NO_ELEMENT = 3, 810, "The address is not that of storage in use that a service got.";
    INITIAL_HEAP = 3, 812, "The initial heap cannot be discarded.";
    NO_STORAGE = 3, 813, "There is not enough storage.";
    HEADING_REPLACED = 0, 3700, "The heading of the storage report replaced an earlier one.";
}

/// A feedback code, as callers see it.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// See [`Condition::severity`].
    pub severity: i16,
    /// See [`Condition::message`].
    pub message: i16,
    /// Case 1, the severity, and control 1: the facility is registered.
    pub bits: u8,
    /// "CEE".
    pub facility: [u8; 3],
    /// There is no information about instances.
    pub instance: i32,
}

const _: () = assert!(size_of::<Feedback>() == 12);

impl Feedback {
    /// The service did what was asked.
    pub const SUCCESS: Self = Self { severity: 0, message: 0, bits: 0, facility: [0; 3], instance: 0 };

    /// The code of a condition.
    pub const fn of(condition: &Condition) -> Self {
        Self {
            severity: condition.severity,
            message: condition.message,
            bits: 1 | (condition.severity as u8) << 2 | 1 << 5,
            facility: *b"CEE",
            instance: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(condition: &Condition) -> std::string::String {
        let digit = |shift: u32| {
            std::char::from_digit(condition.message as u32 >> shift & 31, 32).expect("a digit").to_uppercase()
        };
        std::format!("CEE{}{}{}", digit(10), digit(5), digit(0))
    }

    #[test]
    fn names_are_those_of_the_books() {
        let names: std::vec::Vec<_> = TABLE.iter().map(symbol).collect();
        let expect = [
            "CEE0P2", "CEE0P3", "CEE0P4", "CEE0P5", "CEE0P6", "CEE0P8", "CEE0P9", "CEE0PA", "CEE0PC",
            "CEE0PD", "CEE3JK",
        ];
        assert_eq!(names, expect);
        assert!(TABLE.is_sorted_by_key(|condition| condition.message));
    }

    #[test]
    fn a_code_has_the_layout_of_the_books() {
        // SAFETY: twelve bytes without padding.
        let bytes: [u8; 12] = unsafe { core::mem::transmute(Feedback::of(&NO_HEAP)) };
        assert_eq!(bytes, [3, 0, 0x23, 0x03, 0b0010_1101, b'C', b'E', b'E', 0, 0, 0, 0]);
        // SAFETY: as above.
        let bytes: [u8; 12] = unsafe { core::mem::transmute(Feedback::SUCCESS) };
        assert_eq!(bytes, [0; 12]);
    }

    /// The header for C programs has a constant for each condition, with its numbers.
    #[test]
    fn the_header_has_the_table() {
        const HEADER: &str = include_str!("../../../../api/capi/include/underbar/ceeedcct.h");
        for condition in TABLE {
            let &Condition { severity, message, .. } = condition;
            let line = std::format!("UNDERBAR_CEE_CONDITION({}, {severity}, {message})", symbol(condition));
            assert!(HEADER.contains(&line), "{line}");
        }
        assert_eq!(HEADER.matches("\nUNDERBAR_CEE_CONDITION(").count(), TABLE.len());
    }
}
