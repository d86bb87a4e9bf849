//! The processes of a hanging command: each process that it started, and the call in which each of its threads waits.

use std::fs;
use std::process::{Command, Stdio};

/// Shows a process and its descendants, a line for each thread, and ends them.
pub fn end_all_of(process: u32) {
    let mut all = vec![process];
    let parents = parents();
    let mut seen = 0;
    while let Some(&parent) = all.get(seen) {
        seen += 1;
        all.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(child, _)| *child));
    }
    for process in &all {
        show(*process);
    }
    // The shell's own `kill`: not every machine has it as a program. A process that has ended meanwhile is no failure.
    let numbers = all.iter().map(u32::to_string);
    let mut shell = Command::new("sh");
    let _ = shell.args(["-c", "kill -KILL \"$@\"", "sh"]).args(numbers).stdin(Stdio::null()).output();
}

/// Each process of this machine and its parent.
fn parents() -> Vec<(u32, u32)> {
    let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|number| Some((number, parent(number)?))).collect()
}

/// `12 (a name) S 11 ...`: the name may hold anything.
fn parent(process: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn show(process: u32) {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    println!("{process}: {}", String::from_utf8_lossy(&line).replace('\0', " "));
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return };
    for thread in threads.flatten() {
        let text = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        let number = thread.file_name();
        let (name, call, waits) = (text("comm"), text("syscall"), text("wchan"));
        println!("    {} {} in {waits}, call {}", number.display(), name.trim_end(), call.trim_end());
    }
}
