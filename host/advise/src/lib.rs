//! Suggestions from a report, each with its evidence and its stop rule
#![forbid(unsafe_code)]
