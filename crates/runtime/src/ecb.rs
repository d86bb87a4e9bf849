//! ECBs as programs use them: a heap for each unit of work.
//!
//! Before the first one, the C library and its kind are bound to the process's heap: what they get while a thread is in an ECB
//! must not end with it.
//!
//! Not here: ECBs themselves (`heap::ecb`), and whose storage stays with the process (`by_caller`).

pub use crate::heap::ecb::{
    Number, Refused, Shown, current, display, end, enter, figures, leave, locate, name, outside, step_inside,
    step_outside, tag, untag,
};

use crate::{by_caller, heap, sandbox};

/// Creates an ECB of a class; without a name it is `ECB`. The first one is refused in a process that has locked itself in: the C
/// library can no longer be bound, so that its storage would end with the ECB.
pub fn create(class: &[u8]) -> Result<Number, Refused> {
    if !by_caller::bind() && sandbox::is_closed() {
        return Err(Refused::NoMemory);
    }
    heap::ecb::create(class)
}
