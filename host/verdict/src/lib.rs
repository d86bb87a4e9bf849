//! Paired reruns, interval on the difference, keep or discard
#![forbid(unsafe_code)]
