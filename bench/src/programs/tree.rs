//! A process with all its descendants: CPU time, page faults and memory, from /proc.
//!
//! Invariant: a process that ends while it is read counts as nothing.

use std::fs::{read_dir, read_link, read_to_string};
use std::path::Path;

/// The processes at one moment.
#[derive(Debug)]
pub struct Tree {
    processes: Vec<u32>,
}

impl Tree {
    /// The process and every descendant, without those that run `except` (underbar's command).
    #[must_use]
    pub fn of(root: u32, except: &Path) -> Self {
        let parents: Vec<(u32, u32)> = read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let number: u32 = entry.file_name().to_str()?.parse().ok()?;
                Some((number, fields(number)?.get(1)?.parse().ok()?))
            })
            .collect();
        let mut processes = vec![root];
        let mut next = 0;
        while let Some(&parent) = processes.get(next) {
            processes.extend(parents.iter().filter(|(_, its)| *its == parent).map(|(number, _)| *number));
            next += 1;
        }
        processes.retain(|number| read_link(format!("/proc/{number}/exe")).is_ok_and(|exe| exe != except));
        Self { processes }
    }

    /// CPU time in clock ticks, with that of children that have ended.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        let of = |number: &u32| -> Option<u64> {
            let fields = fields(*number)?;
            // Fields 14 to 17 of the whole line: user, system, and the same of children that were waited for.
            Some(fields.get(11..15)?.iter().filter_map(|text| text.parse::<u64>().ok()).sum())
        };
        self.processes.iter().filter_map(of).sum()
    }

    /// Page faults without a read from disk, with those of children that have ended.
    #[must_use]
    pub fn faults(&self) -> u64 {
        let of = |number: &u32| -> Option<u64> {
            let fields = fields(*number)?;
            // Fields 10 and 11 of the whole line.
            Some(fields.get(7..9)?.iter().filter_map(|text| text.parse::<u64>().ok()).sum())
        };
        self.processes.iter().filter_map(of).sum()
    }

    /// Memory in KiB: each page once, shared ones in parts.
    #[must_use]
    pub fn memory_kib(&self) -> u64 {
        let of = |number: &u32| -> Option<u64> {
            let text = read_to_string(format!("/proc/{number}/smaps_rollup")).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
            line.trim().strip_suffix(" kB")?.parse().ok()
        };
        self.processes.iter().filter_map(of).sum()
    }
}

/// The fields of /proc/N/stat after the program's name, which may itself hold blanks and brackets.
fn fields(process: u32) -> Option<Vec<String>> {
    let text = read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::Tree;
    use std::path::Path;
    use std::process::{Command, Stdio};

    #[test]
    fn a_child_belongs_to_the_tree_and_the_exception_does_not() {
        let mut child =
            Command::new("sh").args(["-c", "read line"]).stdin(Stdio::piped()).spawn().expect("a shell");
        let own = std::process::id();
        let tree = Tree::of(own, Path::new("/none"));
        assert!(tree.processes.contains(&own) && tree.processes.contains(&child.id()));
        assert!(tree.memory_kib() > 0);
        let exe = std::env::current_exe().expect("own program");
        assert!(!Tree::of(own, &exe).processes.contains(&own));
        drop(child.stdin.take());
        child.wait().expect("its end");
    }
}
