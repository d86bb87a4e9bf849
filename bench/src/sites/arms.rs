//! The arms: each profiler, and the allocator that it samples without its profiler.
//!
//! | arm | its cost is measured against |
//! |---|---|
//! | underbar with SITES, `underbar heap` | underbar |
//! | jemalloc with `prof:true` | jemalloc |
//! | tcmalloc with a sample parameter | tcmalloc |
//! | heaptrack, which records every request | plain, with as little work |
//!
//! heaptrack takes many times as long, so its arm and the plain one next to it have a tenth of a workload's steps.
//!
//! Invariant: arms differ in what is in front of the program only. A profiler's own variables are the program's alone.

use crate::Error;
use crate::build;
use crate::programs::batch::Front;
use std::path::{Path, PathBuf};

/// Mean distance of samples in bytes, in all sampling profilers: 512 KiB.
const MEAN: u64 = 512 << 10;

/// The name of the plain arm.
pub const PLAIN: &str = "plain";

/// One arm.
#[derive(Debug, Clone)]
pub struct Arm {
    /// Its name in tables, files and on the command line.
    pub name: &'static str,
    /// Its version.
    pub version: String,
    /// The arm with the same allocator and no profiler. None: it has no profiler itself.
    pub base: Option<&'static str>,
    /// Its work is a workload's steps divided by this.
    pub divisor: usize,
    /// Words before the program.
    before: Vec<String>,
    /// Variables of the program.
    variables: Vec<String>,
}

/// Arms that can be measured, and those that cannot, with the reason.
#[derive(Debug, Default)]
pub struct Arms {
    /// In the order of the table.
    pub found: Vec<Arm>,
    /// Name and reason of the others.
    pub missing: Vec<(&'static str, String)>,
}

impl Arm {
    /// What is in front of the program.
    pub fn front(&self) -> Front<'_> {
        Front { before: &self.before, variables: &self.variables }
    }
}

/// heaptrack's library for the program, and the program that reads what it writes.
pub const HEAPTRACK: [&str; 2] =
    ["/usr/lib/heaptrack/libheaptrack_preload.so", "/usr/lib/heaptrack/libexec/heaptrack_interpret"];

/// As `heaptrack --record-only` does, but for the launcher that measures the program. The last line wakes the reader if the program
/// never opened the pipe.
const RECORD: &str = "\
rm -f pipe && mkfifo pipe || exit 125
INTERPRETER < pipe | zstd -c > heaptrack.zst &
\"$@\"
status=$?
: <> pipe
wait
exit $status";

/// All arms.
pub fn all(underbar: &Path) -> Arms {
    let mut arms = Arms::default();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let command = underbar.display().to_string();
    let own = |rest: &[&str]| words(&[&[command.as_str()], rest].concat());
    let version = env!("CARGO_PKG_VERSION");
    let glibc = build::output("getconf", &["GNU_LIBC_VERSION"]).unwrap_or_default();
    let mut add = |name, version: &str, base, before, variables| {
        let divisor = if name == "plain-short" || name == "heaptrack" { 10 } else { 1 };
        arms.found.push(Arm { name, version: version.to_owned(), base, divisor, before, variables });
    };
    add(PLAIN, &glibc, None, Vec::new(), Vec::new());
    add("underbar", version, None, own(&["run", "-q", "--"]), Vec::new());
    let sites = ["run", "-q", "--opts", "SITES(ON)", "--"];
    add("underbar SITES", version, Some("underbar"), own(&sites), Vec::new());
    let heap = ["heap", "--json", "-o", "sites.json", "--"];
    add("underbar heap", version, Some("underbar"), own(&heap), Vec::new());
    let mut missing = Vec::new();
    for (name, profiled, package, file, variable) in [
        (
            "jemalloc",
            "jemalloc prof",
            "libjemalloc2",
            "libjemalloc.so.2",
            format!("MALLOC_CONF=prof:true,lg_prof_sample:{}", MEAN.ilog2()),
        ),
        (
            "tcmalloc",
            "tcmalloc samples",
            "libgoogle-perftools4",
            "libtcmalloc.so.4",
            format!("TCMALLOC_SAMPLE_PARAMETER={MEAN}"),
        ),
    ] {
        match library(package, file) {
            Ok((preload, version)) => {
                add(name, &version, None, Vec::new(), vec![preload.clone()]);
                add(profiled, &version, Some(name), Vec::new(), vec![preload, variable]);
            }
            Err(error) => missing.extend([name, profiled].map(|name| (name, error.to_string()))),
        }
    }
    match heaptrack() {
        Ok(version) => {
            add("plain-short", &glibc, None, Vec::new(), Vec::new());
            let script = RECORD.replace("INTERPRETER", HEAPTRACK[1]);
            let variables = [format!("LD_PRELOAD={}", HEAPTRACK[0]), "DUMP_HEAPTRACK_OUTPUT=pipe".to_owned()];
            let before = words(&["sh", "-c", &script, "sh"]);
            add("heaptrack", &version, Some("plain-short"), before, variables.to_vec());
        }
        Err(error) => missing.push(("heaptrack", error.to_string())),
    }
    missing.push(("bytehound", "no package of Debian and no crate has it".to_owned()));
    arms.missing = missing;
    arms
}

/// The variable that preloads a library of an installed package, and the version of the package.
fn library(package: &str, file: &str) -> Result<(String, String), Error> {
    let path = crate::programs::arms::library(file);
    let version = installed(package, &[&path])?;
    Ok((format!("LD_PRELOAD={}", path.display()), version))
}

/// The version of heaptrack.
pub fn heaptrack() -> Result<String, Error> {
    installed("zstd", &[Path::new("/usr/bin/zstd")])?;
    installed("heaptrack", &HEAPTRACK.map(Path::new))
}

fn installed<P: AsRef<Path>>(package: &str, files: &[P]) -> Result<String, Error> {
    if let Some(file) = files.iter().find(|file| !file.as_ref().exists()) {
        let file: PathBuf = file.as_ref().to_owned();
        return Err(Error::Missing(format!("{}: apt-get install {package}", file.display())));
    }
    build::output("dpkg-query", &["-W", "-f", "${Version}", package])
}

#[cfg(test)]
mod tests {
    use super::{PLAIN, all};
    use std::path::Path;

    #[test]
    fn names_are_unique_and_each_profiler_has_an_allocator_with_as_much_work() {
        let arms = all(Path::new("underbar")).found;
        for arm in &arms {
            assert_eq!(arms.iter().filter(|other| other.name == arm.name).count(), 1, "{}", arm.name);
            if let Some(base) = arm.base {
                let base = arms.iter().find(|other| other.name == base).expect("its allocator");
                assert_eq!((base.divisor, base.base), (arm.divisor, None), "{}", arm.name);
            }
        }
        assert_eq!(arms[0].name, PLAIN);
    }
}
