//! The heap's share of the instructions of the TLS driver: no heap can gain more there.
//!
//! Callgrind counts three runs of the driver over the C library's malloc. What a run with more handshakes counts more is theirs,
//! and so for messages; malloc, calloc, realloc and free count with all that they call.
//! Not here: time. Instructions of ciphers and of the heap do not take equally long.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Output};

/// Shares, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Of a handshake.
    pub handshake: f64,
    /// Of a message and its answer.
    pub message: f64,
}

/// Instructions of one run.
#[derive(Debug, Clone, Copy)]
struct Count {
    heap: u64,
    all: u64,
}

const HEAP: [&str; 4] = ["malloc", "calloc", "realloc", "free"];
/// Handshakes and messages of the three runs.
const RUNS: [(u32, u32); 3] = [(5, 50), (25, 50), (5, 1_050)];

/// Counts the driver at this path, with a file in this folder.
///
/// # Errors
/// The reason why nothing was counted: no valgrind, or a failed run.
pub fn of(driver: &Path, folder: &Path) -> Result<Share, String> {
    let counts =
        RUNS.iter().map(|run| counted(driver, folder, *run)).collect::<Result<Vec<Count>, String>>()?;
    Ok(Share { handshake: between(counts[1], counts[0]), message: between(counts[2], counts[0]) })
}

fn between(more: Count, fewer: Count) -> f64 {
    more.heap.saturating_sub(fewer.heap) as f64 / more.all.saturating_sub(fewer.all).max(1) as f64
}

fn counted(driver: &Path, folder: &Path, (handshakes, messages): (u32, u32)) -> Result<Count, String> {
    let file = folder.join("callgrind.out");
    let mut to = OsString::from("--callgrind-out-file=");
    to.push(&file);
    ended(
        Command::new("valgrind").arg("--tool=callgrind").arg(to).arg(driver).args(["--threads", "1"]).args([
            "--handshakes",
            &handshakes.to_string(),
            "--messages",
            &messages.to_string(),
        ]),
    )?;
    let read_back =
        ended(Command::new("callgrind_annotate").args(["--inclusive=yes", "--threshold=100"]).arg(&file))?;
    read(&String::from_utf8_lossy(&read_back.stdout)).ok_or_else(|| "callgrind counted nothing".to_owned())
}

/// Runs a command without a preload, to a good end.
fn ended(command: &mut Command) -> Result<Output, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.env_remove("LD_PRELOAD").output();
    let done = done.map_err(|error| format!("{name}: {error} (apt-get install valgrind)"))?;
    if done.status.success() { Ok(done) } else { Err(format!("{name} ended with {}", done.status)) }
}

/// The counts in the text of callgrind_annotate.
fn read(text: &str) -> Option<Count> {
    let count = |line: &str| line.split_whitespace().next()?.replace(',', "").parse::<u64>().ok();
    let all = text.lines().find(|line| line.contains("PROGRAM TOTALS")).and_then(count)?;
    let is_heap = |line: &&str| {
        // "12,345 ( 1.2%)  ???:malloc [/usr/lib/libc.so.6]"
        let name = line.split(" [").next().and_then(|line| line.rsplit(':').next());
        line.contains(" [") && name.is_some_and(|name| HEAP.contains(&name))
    };
    let heap = text.lines().filter(is_heap).filter_map(count).sum();
    Some(Count { heap, all })
}

#[cfg(test)]
mod tests {
    use super::{Count, between, read};

    #[test]
    fn the_heap_is_its_four_functions() {
        let text = "20,000,000 (100.0%)  PROGRAM TOTALS\n\
                    12,000 ( 0.1%)  ???:malloc [/usr/lib/x86_64-linux-gnu/libc.so.6]\n\
                    11,000 ( 0.1%)  ???:_int_malloc [/usr/lib/x86_64-linux-gnu/libc.so.6]\n\
                    3,000 ( 0.0%)  ???:free [/usr/lib/x86_64-linux-gnu/libc.so.6]\n\
                    9,000 ( 0.0%)  ???:CRYPTO_free [/usr/lib/x86_64-linux-gnu/libcrypto.so.3]\n";
        let count = read(text).expect("counts");
        assert_eq!((count.heap, count.all), (15_000, 20_000_000));
        let more = Count { heap: 25_000, all: 20_100_000 };
        assert!((between(more, count) - 0.1).abs() < 1e-9);
        assert!(read("nothing\n").is_none());
    }
}
