//! No file of the project may contain a path of the machine that it was written on.
//!
//! The searched texts come from this machine, not from a list: the folder of the checkout and its parent,
//! the home folder, and the host's name. So the check works wherever it runs, and contains none of them itself.

use crate::steps::{Sum, command, output, root};
use std::path::Path;

/// Folders that every Linux system has: their names reveal nothing about a machine.
const COMMON: &[&str] = &[
    "",
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "media",
    "mnt",
    "opt",
    "proc",
    "run",
    "sbin",
    "srv",
    "sys",
    "tmp",
    "usr",
    "var",
    "workspace",
];

/// Searches every file that is tracked, or could be.
pub fn check(sum: &mut Sum) {
    let listed = output(&mut command("git", &["ls-files", "-co", "--exclude-standard", "-z"]));
    let Some(listed) = listed else {
        sum.skip("paths of this machine in files: git could not list them".to_owned());
        return;
    };
    let needles = needles(&root(), std::env::var("HOME").ok().as_deref(), &host_name());
    let mut held = true;
    let mut files = 0;
    for name in listed.split('\0').filter(|name| !name.is_empty()) {
        // Not text, or deleted but still tracked: neither can name a path to a reader.
        let Ok(text) = std::fs::read_to_string(root().join(name)) else { continue };
        files += 1;
        for (number, needle) in found(&text, &needles) {
            println!("{name}:{number}: names a path of this machine ({needle})");
            held = false;
        }
    }
    println!("{files} files looked through");
    sum.check("no path of this machine in any file", held && files > 0);
}

/// The forbidden texts.
fn needles(root: &Path, home: Option<&str>, host: &str) -> Vec<String> {
    let mut needles = vec![root.display().to_string()];
    // The first folder of the checkout's path, if only this machine has it.
    let first = root.iter().nth(1).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if !COMMON.contains(&first.as_str()) && first != "root" {
        needles.push(format!("/{first}/"));
    }
    if let Some(home) = home.filter(|home| home.len() > 1) {
        needles.push(format!("{}/", home.trim_end_matches('/')));
    }
    // Short and usual names occur in ordinary words.
    if host.len() >= 6 && !matches!(host, "localhost" | "debian" | "ubuntu" | "fedora") {
        needles.push(host.to_owned());
    }
    needles
}

/// Line numbers, from 1, with the text found there.
fn found<'a>(text: &str, needles: &'a [String]) -> Vec<(usize, &'a str)> {
    let lines = text.lines().enumerate();
    lines
        .flat_map(|(line, content)| {
            needles
                .iter()
                .filter(move |needle| content.contains(needle.as_str()))
                .map(move |needle| (line + 1, needle.as_str()))
        })
        .collect()
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{found, needles};
    use std::path::Path;

    #[test]
    fn paths_of_the_machine_are_found_and_common_ones_are_not() {
        let needles = needles(Path::new("/vault/src/underbar"), Some("/home/ada"), "engine-room");
        let text = "see /vault/notes\nand /usr/lib\nor /home/ada/.cargo\non engine-room\nor /home/you\n";
        let lines: Vec<usize> = found(text, &needles).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [1, 3, 4]);
    }

    #[test]
    fn a_checkout_below_a_common_folder_forbids_only_itself() {
        assert_eq!(needles(Path::new("/tmp/clone"), None, "debian"), ["/tmp/clone"]);
    }
}
