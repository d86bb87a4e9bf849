//! Small awkward programs that every change must leave unharmed.

pub mod real;
