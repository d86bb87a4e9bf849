//! The scripts of requests that units of work make: `g SLOT SIZE`, `z SLOT SIZE`, `r SLOT SIZE`, `f SLOT`, and `e` at a unit's end.
//!
//! Invariant: a seed decides everything, so that every arena serves the same requests.
//! Not here: the requests of a TLS handshake, which the TLS driver writes down.

use crate::random::Random;
use std::fmt::Write as _;

/// Requests of a mixed unit.
pub const REQUESTS: usize = 200;
/// Units of the script, each with other requests.
const UNITS: usize = 16;
/// Of the requests of a unit, those that are freed before its end.
const FREED: usize = 50;

/// Mixed units: sizes of 16 to 1,024 bytes, their logarithms spread evenly, and one in fifty of 4 to 16 KB. One request in ten wants
/// zeros, one in ten a larger size for an earlier piece. A quarter of the pieces is freed before the end.
#[must_use]
pub fn mixed(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = String::new();
    for _ in 0..UNITS {
        let mut live: Vec<(usize, usize)> = Vec::new();
        let (mut slots, mut freed) = (0, 0);
        for request in 0..REQUESTS {
            if freed < FREED && request > REQUESTS / 8 && random.below(REQUESTS - REQUESTS / 8) < 2 * FREED {
                let (slot, _) = live.swap_remove(random.below(live.len()));
                let _ = writeln!(text, "f {slot}");
                freed += 1;
            }
            if request > 0 && random.below(10) == 0 && !live.is_empty() {
                let one = random.below(live.len());
                live[one].1 *= 2;
                let _ = writeln!(text, "r {} {}", live[one].0, live[one].1);
                continue;
            }
            let size = if random.below(50) == 0 {
                random.between(4096, 16384)
            } else {
                random.size_between(16, 1024)
            };
            let kind = if random.below(10) == 0 { 'z' } else { 'g' };
            let _ = writeln!(text, "{kind} {slots} {size}");
            live.push((slots, size));
            slots += 1;
        }
        text.push_str("e\n");
    }
    text
}

/// Small pieces that lists of cells serve, got and freed: a hundred of 16 to 256 bytes, half of them freed in between.
#[must_use]
pub fn small(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = String::new();
    let mut live: Vec<usize> = Vec::new();
    for slot in 0..100 {
        if live.len() > 10 && random.below(2) == 0 {
            let _ = writeln!(text, "f {}", live.swap_remove(random.below(live.len())));
        }
        let _ = writeln!(text, "g {slot} {}", random.size_between(16, 256));
        live.push(slot);
    }
    text.push_str("e\n");
    text
}

/// Requests of a script other than frees, in a unit on average.
#[must_use]
pub fn requests(script: &str) -> f64 {
    let units = script.lines().filter(|line| *line == "e").count().max(1);
    let requests = script.lines().filter(|line| !matches!(line.as_bytes()[0], b'e' | b'f')).count();
    requests as f64 / units as f64
}

#[cfg(test)]
mod tests {
    use super::{REQUESTS, mixed, requests, small};
    use std::collections::BTreeMap;

    /// Serves a script; fails if it frees or changes what it does not have.
    fn serve(script: &str) -> usize {
        let (mut live, mut freed) = (BTreeMap::new(), 0);
        for line in script.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words.as_slice() {
                ["e"] => live.clear(),
                ["f", slot] => {
                    assert!(live.remove(*slot).is_some(), "{line}");
                    freed += 1;
                }
                ["r", slot, size] => assert!(live.insert(*slot, *size).is_some(), "{line}"),
                ["g" | "z", slot, size] => assert!(live.insert(*slot, *size).is_none(), "{line}"),
                _ => panic!("{line}"),
            }
        }
        freed
    }

    #[test]
    fn scripts_free_only_what_they_have() {
        assert_eq!(serve(&mixed(1)), 16 * super::FREED);
        assert!(serve(&small(1)) > 30);
        assert!((requests(&mixed(1)) - REQUESTS as f64).abs() < 1e-9);
        assert_ne!(mixed(1), mixed(2));
    }
}
