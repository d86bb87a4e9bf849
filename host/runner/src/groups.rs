//! Limits of the control group of this process and of all groups above it. The lowest limit applies.
//!
//! ```text
//! /proc/self/cgroup      0::/user.slice/app.scope              version 2
//!                        4:memory:/docker/9f..                 version 1, a tree for each controller
//!
//! /sys/fs/cgroup/user.slice/app.scope/memory.max ──┐
//! /sys/fs/cgroup/user.slice/memory.max ────────────┼──> the least
//! /sys/fs/cgroup/memory.max ───────────────────────┘
//! ```
//!
//! Invariant: a group that is not visible limits nothing. In a container without a cgroup namespace, the names are those outside
//! the container, and only the container's own group is visible, at the top.
//! Not here: the machine's own figures, and limits of the process itself (`underbar_sys::machine`).

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The mount point of both versions in all distributions.
const TOP: &str = "/sys/fs/cgroup";
/// More nested groups than real systems have.
const DEEPEST: usize = 64;

/// The groups of a process.
pub struct Groups {
    /// Where the trees are.
    top: PathBuf,
    /// The text of `/proc/self/cgroup`.
    text: String,
}

impl Groups {
    /// The groups of this process.
    pub fn own() -> Groups {
        let text = fs::read("/proc/self/cgroup").unwrap_or_default();
        Groups { top: TOP.into(), text: String::from_utf8_lossy(&text).into_owned() }
    }

    /// Bytes of memory, if there is a limit.
    pub fn memory(&self) -> Option<u64> {
        let least =
            |controller, name| self.folders(controller).iter().filter_map(|group| word(group, name)).min();
        [least("", "memory.max"), least("memory", "memory.limit_in_bytes")].into_iter().flatten().min()
    }

    /// Whole processors, if there is a quota of time.
    pub fn processors(&self) -> Option<u64> {
        let unified = |group: &PathBuf| {
            let text = fs::read_to_string(group.join("cpu.max")).ok()?;
            let (quota, period) = text.trim().split_once(' ')?;
            whole(quota.parse().ok()?, period.parse().ok()?)
        };
        let of_controller =
            |group: &PathBuf| whole(word(group, "cpu.cfs_quota_us")?, word(group, "cpu.cfs_period_us")?);
        let unified = self.folders("").iter().filter_map(unified).min();
        let of_controller = self.folders("cpu").iter().filter_map(of_controller).min();
        [unified, of_controller].into_iter().flatten().min()
    }

    /// The group's folder in the tree of this controller and those above it, up to the top. The tree of version 2 has no name, and
    /// its top is read even if the group is not known.
    fn folders(&self, controller: &str) -> Vec<PathBuf> {
        let group = self.text.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(|name| name == controller).then_some(path)
        });
        let Some(group) = group.or(controller.is_empty().then_some("")) else { return Vec::new() };
        let is_normal = |component: Component<'_>| match component {
            Component::Normal(name) => Some(PathBuf::from(name)),
            _ => None,
        };
        // A group outside of this namespace (`/../..`) is not visible.
        let names: PathBuf = Path::new(group).components().filter_map(is_normal).collect();
        let tree = self.top.join(controller);
        names.ancestors().take(DEEPEST).map(|group| tree.join(group)).collect()
    }
}

/// Whole processors: a quota of time per period.
fn whole(quota: u64, period: u64) -> Option<u64> {
    quota.checked_div(period)
}

/// The number in a file; None for `max`, for -1, and for text.
fn word(folder: &Path, name: &str) -> Option<u64> {
    fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_all_groups_above_holds() {
        let top = std::env::temp_dir().join(format!("underbar-groups-{}", std::process::id()));
        let _ = fs::remove_dir_all(&top);
        let put = |name: &str, text: &str| {
            let path = top.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, text).expect("written");
        };
        let of = |text: &str| {
            let groups = Groups { top: top.clone(), text: text.to_owned() };
            (groups.memory(), groups.processors())
        };
        assert_eq!(of("0::/a/b/c\n"), (None, None));
        put("a/b/c/memory.max", "max\n");
        put("a/b/c/cpu.max", "max 100000\n");
        assert_eq!(of("0::/a/b/c\n"), (None, None));
        put("a/b/memory.max", "700000\n");
        put("a/memory.max", "900000\n");
        put("a/cpu.max", "250000 100000\n");
        assert_eq!(of("0::/a/b/c\n"), (Some(700_000), Some(2)));
        assert_eq!(of("0::/a\n"), (Some(900_000), Some(2)));
        assert_eq!((of("0::/other\n"), of("0::/\n"), of("")), ((None, None), (None, None), (None, None)));
        put("memory.max", "800000\n");
        put("cpu.max", "5 0\n");
        assert_eq!(of("0::/../../x\n"), (Some(800_000), None), "groups outside are not visible");
        assert_eq!(of(""), (Some(800_000), None));
        // Version 1: most trees have one controller, some have several.
        put("memory/d/memory.limit_in_bytes", "600000\n");
        put("memory/memory.limit_in_bytes", "9223372036854771712\n");
        put("cpu/d/cpu.cfs_quota_us", "-1\n");
        put("cpu/cpu.cfs_quota_us", "300000\n");
        put("cpu/cpu.cfs_period_us", "100000\n");
        let text = "4:memory:/d/e\n3:cpu,cpuacct:/d\n0::/a/b\n";
        assert_eq!(of(text), (Some(600_000), Some(2)), "both versions at once");
        fs::remove_dir_all(top).expect("removed");
    }
}
