//! The other allocators of this machine, and glibc's own settings: arms next to underbar's.
//!
//! Invariant: only what is installed is an arm. A library is named by its whole path, so that a reader can use it as it is.
//! Not here: whether one is better (`verdict`).

use std::path::{Path, PathBuf};

use underbar_verdict::plan::Arm;

use super::Stop;
use super::arms::{Beside, Given, Kind};

/// Folders of the system's libraries.
const FOLDERS: [&str; 5] =
    ["/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"];

/// Allocators, and the names of their libraries: the first that exists is used.
const LIBRARIES: [(Arm, &[&str]); 5] = [
    (Arm::named("jemalloc"), &["libjemalloc.so.2"]),
    (Arm::named("tcmalloc"), &["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"]),
    (Arm::named("mimalloc"), &["libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so"]),
    (Arm::named("snmalloc"), &["libsnmallocshim.so"]),
    (Arm::named("rpmalloc"), &["librpmallocwrap.so"]),
];

/// Settings of glibc's allocator that people use: storage that is kept and not given back, and few arenas for little memory.
const TUNABLES: [(Arm, &str); 2] = [
    (
        Arm::named("glibc keep"),
        "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=1073741824:glibc.malloc.top_pad=67108864",
    ),
    (Arm::named("one arena"), "glibc.malloc.arena_max=1"),
];

/// An arm with another allocator.
pub struct Peer {
    /// Its name in tables.
    pub arm: Arm,
    /// How the program runs.
    pub beside: Beside,
    /// The words that run a program so in a shell.
    pub before: String,
}

/// What is installed, and glibc's settings.
///
/// # Errors
/// A library vanished meanwhile.
pub fn installed() -> Result<Vec<Peer>, Stop> {
    let libraries = LIBRARIES.into_iter().filter_map(|(arm, names)| {
        let path = found(names, &FOLDERS.map(Path::new))?;
        Some((arm, Kind::Preload, path.to_str()?.to_owned()))
    });
    let tunables =
        TUNABLES.into_iter().map(|(arm, value)| (arm, Kind::Env, format!("GLIBC_TUNABLES={value}")));
    let peer = |(arm, kind, text): (Arm, Kind, String)| {
        let before = if kind == Kind::Preload { format!("LD_PRELOAD={text}") } else { text.clone() };
        Ok(Peer { arm, beside: Beside::of(&Given { kind, text })?, before })
    };
    libraries.chain(tunables).map(peer).collect()
}

/// The first of these files, by the order of names.
fn found(names: &[&str], folders: &[&Path]) -> Option<PathBuf> {
    let all = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.into_iter().find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_name_that_exists_is_found() {
        let folder = std::env::temp_dir().join(format!("underbar-peers-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("made");
        let names = ["libfirst.so", "libsecond.so"];
        assert_eq!(found(&names, &[Path::new("/no/such/folder"), &folder]), None);
        std::fs::write(folder.join("libsecond.so"), "").expect("written");
        let found = found(&names, &[Path::new("/no/such/folder"), &folder]);
        assert_eq!(found, Some(folder.join("libsecond.so")));
        std::fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn settings_of_glibc_are_always_there() {
        let all = installed().expect("good");
        let last = all.last().expect("some");
        assert_eq!(last.before, "GLIBC_TUNABLES=glibc.malloc.arena_max=1");
        let names: std::collections::HashSet<&str> = all.iter().map(|peer| peer.arm.name()).collect();
        assert_eq!(names.len(), all.len());
    }
}
