//! One load by wrk, and its figures.

use crate::{Error, build};
use std::path::Path;
use std::process::Command;

/// What wrk measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Requests that were answered.
    pub requests: u64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Microseconds within which half of the requests, and 99 of 100, were answered.
    pub p50_us: f64,
    pub p99_us: f64,
}

/// Connections at the same time.
pub const CONNECTIONS: usize = 16;

/// wrk's version.
///
/// # Errors
/// There is no wrk.
pub fn version() -> Result<String, Error> {
    // It ends with status 1.
    let done = Command::new("wrk")
        .arg("--version")
        .output()
        .map_err(|error| Error::Missing(format!("wrk: {error}; apt-get install wrk")))?;
    let text = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    let mut words = text.split_whitespace();
    Ok(words.by_ref().take(2).collect::<Vec<_>>().join(" "))
}

/// Loads the server at a port of loopback for so many seconds.
///
/// # Errors
/// An answer was no success, or a connection ended.
pub fn load(port: u16, script: &Path, seconds: u64) -> Result<Load, Error> {
    let text = build::run(
        Command::new("wrk")
            .args(["--threads", "1", "--latency", "--connections"])
            // An answer that is late on a busy machine is an answer.
            .args([
                &CONNECTIONS.to_string(),
                "--duration",
                &format!("{seconds}s"),
                "--timeout",
                "60s",
                "--script",
            ])
            .arg(script)
            .arg(format!("http://127.0.0.1:{port}/")),
    )?;
    parse(&text).ok_or_else(|| Error::Workload(format!("wrk: {text}")))
}

/// What wrk printed; None: something is missing, or was no success.
pub fn parse(text: &str) -> Option<Load> {
    if text.contains("Non-2xx") || text.contains("Socket errors") {
        return None;
    }
    let line = |label: &str| text.lines().map(str::trim).find_map(|line| line.strip_prefix(label));
    let (count, rest) = text.lines().find_map(|line| line.split_once(" requests in "))?;
    Some(Load {
        requests: count.trim().parse().ok()?,
        seconds: microseconds(rest.split(',').next()?)? / 1e6,
        p50_us: microseconds(line("50%")?)?,
        p99_us: microseconds(line("99%")?)?,
    })
}

/// `653.00us`, `1.06ms`, `2.50s` or `1.00m`.
fn microseconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        "h" => 3_600e6,
        _ => return None,
    };
    Some(digits.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::{Load, parse};

    const TEXT: &str = "Running 10s test @ http://127.0.0.1:41403/
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.06ms    2.00ms  24.84ms   99.00%
  Latency Distribution
     50%  653.00us
     75%    1.00ms
     90%    1.10ms
     99%    2.81ms
  92568 requests in 10.05s, 18.10MB read
Requests/sec:   9210.75
";

    #[test]
    fn figures_are_read_and_failures_are_none() {
        let load = Load { requests: 92_568, seconds: 10.05, p50_us: 653.0, p99_us: 2_810.0 };
        assert_eq!(parse(TEXT), Some(load));
        assert_eq!(parse(&format!("{TEXT}  Non-2xx or 3xx responses: 3\n")), None);
        assert_eq!(parse(&format!("{TEXT}  Socket errors: connect 0, read 1, write 0, timeout 0\n")), None);
        assert_eq!(parse(&TEXT.replace("99%    2.81ms", "")), None);
        assert_eq!(parse(&TEXT.replace("10.05s", "1.00m")).map(|load| load.seconds), Some(60.0));
    }
}
