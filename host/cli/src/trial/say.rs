//! Words for trials: how a program ended, and how long something will take.
//!
//! Not here: measured figures (`report::units`).

use std::time::Duration;

use underbar_launch::How;

/// `ended with exit code 3`, `was killed by signal 9`.
pub fn how(how: How) -> String {
    match how {
        How::Exited(code) => format!("ended with exit code {code}"),
        How::Killed(signal) => format!("was killed by signal {signal}"),
    }
}

/// An expected duration, to two digits or so: `12 ms`, `4.2 s`, `38 s`, `5 min`.
pub fn long(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        s if s < 0.1 => format!("{:.0} ms", (s * 1_000.0).max(1.0)),
        s if s < 1.0 => format!("{s:.2} s"),
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        let check = |milliseconds: u64, expect: &str| {
            assert_eq!(long(Duration::from_millis(milliseconds)), expect);
        };
        check(12, "12 ms");
        check(420, "0.42 s");
        check(4_240, "4.2 s");
        check(38_000, "38 s");
        check(300_000, "5 min");
        check(9_000_000, "2.5 h");
    }
}
