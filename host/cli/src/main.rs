//! The `underbar` command.
fn main() {}
