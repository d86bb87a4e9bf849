//! The tests' requirements from the distribution: one table, from which everything is checked and installed.
//!
//! As root on Debian missing packages are installed; elsewhere they are named, with the tests that will not run.
//! The table has no `redis-server` and no `mariadb-server`: installing those packages starts a server. `redis-tools` carries
//! the same program under another name, which the test links; `mariadb-server-core` is what tests start themselves. Those of
//! memcached, PostgreSQL, PHP-FPM, ClickHouse and apache start one on loopback, where the machine starts services at all.

use crate::steps::{Sum, command, on_path, succeeds};
use std::path::Path;

/// A package, a file that shows its presence, and its users.
struct Package {
    /// Debian's name.
    name: &'static str,
    /// A program on the path; with a slash a file below the folder of the architecture's libraries; with a star, which
    /// matches a folder of any name, a file below /usr/lib.
    shows: &'static str,
    /// The tests that do not run without it.
    needed_by: &'static str,
}

/// Every package that a test or a check needs beyond git, a C compiler and Rust.
const TABLE: &[Package] = &[
    Package { name: "python3", shows: "python3", needed_by: "zoo: python3" },
    Package { name: "perl", shows: "perl", needed_by: "zoo: perl, figures" },
    Package { name: "g++", shows: "g++", needed_by: "zoo: g++; bench: snmalloc, tcmalloc-google" },
    Package { name: "make", shows: "make", needed_by: "bench: jemalloc" },
    Package { name: "gawk", shows: "gawk", needed_by: "zoo: cache_matrix, switch_counts" },
    Package { name: "sqlite3", shows: "sqlite3", needed_by: "zoo: sqlite3" },
    Package { name: "ruby", shows: "ruby", needed_by: "zoo: ruby, figures" },
    Package { name: "nodejs", shows: "node", needed_by: "zoo: node" },
    Package { name: "git", shows: "git", needed_by: "zoo: git; ci: paths" },
    Package { name: "xz-utils", shows: "xz", needed_by: "zoo: tar and xz" },
    Package { name: "redis-tools", shows: "redis-benchmark", needed_by: "zoo: redis" },
    Package { name: "php-cli", shows: "php", needed_by: "zoo: php" },
    Package { name: "php-mbstring", shows: "php/*/mbstring.so", needed_by: "zoo: php" },
    Package { name: "php-sqlite3", shows: "php/*/sqlite3.so", needed_by: "zoo: php" },
    Package { name: "php-xml", shows: "php/*/dom.so", needed_by: "zoo: php" },
    Package { name: "php-fpm", shows: "php/*/sapi/fpm", needed_by: "zoo: php_fpm" },
    Package { name: "libapache2-mod-php", shows: "php/*/sapi/apache2", needed_by: "zoo: apache2" },
    Package {
        name: "python3-numpy",
        shows: "./*/dist-packages/numpy/__init__.py",
        needed_by: "zoo: python3_deepbind, figures",
    },
    Package { name: "nginx", shows: "nginx", needed_by: "zoo: nginx, figures" },
    Package { name: "nginx-dev", shows: "dh_nginx", needed_by: "zoo: nginx with ECBs" },
    Package { name: "libxml2-dev", shows: "/libxml2.so", needed_by: "zoo: nginx with ECBs" },
    Package { name: "wrk", shows: "wrk", needed_by: "zoo: servers with ECBs; bench: ecb --soak" },
    Package { name: "ffmpeg", shows: "ffmpeg", needed_by: "zoo: ffmpeg" },
    Package { name: "pbzip2", shows: "pbzip2", needed_by: "zoo: lock_programs" },
    Package { name: "memcached", shows: "memcached", needed_by: "zoo: lock_programs" },
    Package {
        name: "mariadb-server-core",
        shows: "mariadb-install-db",
        needed_by: "zoo: mariadb, lock_programs",
    },
    Package { name: "mariadb-client-core", shows: "mariadb", needed_by: "zoo: mariadb, lock_programs" },
    Package { name: "sysbench", shows: "sysbench", needed_by: "zoo: mariadb, lock_programs" },
    Package {
        name: "postgresql",
        shows: "postgresql/*/bin/postgres",
        needed_by: "zoo: postgres, lock_programs, multi_fetch",
    },
    Package { name: "libpq-dev", shows: "/libpq.so", needed_by: "zoo: multi_fetch" },
    Package {
        name: "python3-psycopg2",
        shows: "./*/dist-packages/psycopg2/__init__.py",
        needed_by: "zoo: multi_fetch",
    },
    Package { name: "default-jdk-headless", shows: "javac", needed_by: "zoo: lock_programs" },
    Package { name: "gnucobol3", shows: "cobc", needed_by: "zoo: services" },
    Package { name: "golang-go", shows: "go", needed_by: "zoo: lock_programs" },
    Package { name: "dpkg-dev", shows: "dpkg-source", needed_by: "xtask: glibc-tests" },
    Package { name: "cmake", shows: "cmake", needed_by: "zoo: deployment" },
    Package { name: "pkg-config", shows: "pkg-config", needed_by: "zoo: deployment" },
    Package { name: "man-db", shows: "man", needed_by: "zoo: deployment" },
    Package { name: "zsh", shows: "zsh", needed_by: "zoo: deployment" },
    Package { name: "fish", shows: "fish", needed_by: "zoo: deployment" },
    Package { name: "strace", shows: "strace", needed_by: "tests that count system calls" },
    Package { name: "libcap2-bin", shows: "setcap", needed_by: "zoo: file capabilities" },
    Package { name: "libseccomp-dev", shows: "/libseccomp.so", needed_by: "zoo: sandboxes" },
    Package { name: "libjemalloc2", shows: "/libjemalloc.so.2", needed_by: "zoo: another heap inside" },
    Package { name: "hercules", shows: "dasdload", needed_by: "library: disks and tapes by another program" },
    Package {
        name: "python3-venv",
        shows: "./*/ensurepip/__init__.py",
        needed_by: "library: xmi-reader; zoo: fleet (DuckDB)",
    },
    Package { name: "clickhouse-server", shows: "clickhouse-server", needed_by: "zoo: fleet" },
    Package { name: "clickhouse-client", shows: "clickhouse-client", needed_by: "zoo: fleet" },
    Package { name: "libmagic1", shows: "/libmagic.so.1", needed_by: "library: xmi-reader" },
    Package { name: "valgrind", shows: "valgrind", needed_by: "tests that count instructions" },
    Package { name: "chromium", shows: "chromium", needed_by: "zoo: chromium, figures, page" },
    Package { name: "libssl-dev", shows: "/libssl.so", needed_by: "zoo: demo tls; bench: ecb" },
    Package { name: "libtalloc-dev", shows: "/libtalloc.so", needed_by: "bench: ecb" },
    Package { name: "libapr1-dev", shows: "/libapr-1.so", needed_by: "bench: ecb" },
    Package {
        name: "libtcmalloc-minimal4",
        shows: "/libtcmalloc_minimal.so.4",
        needed_by: "bench: tcmalloc-gperf",
    },
];

/// Installs missing packages if possible, and reports those still missing.
pub fn provide(sum: &mut Sum) {
    let missing: Vec<&Package> = TABLE.iter().filter(|package| !package.is_there()).collect();
    if missing.is_empty() {
        return;
    }
    let names: Vec<&str> = missing.iter().map(|package| package.name).collect();
    println!("missing packages: {}", names.join(" "));
    if is_root() && on_path("apt-get").is_some() {
        let apt =
            |words: &[&str]| succeeds(command("apt-get", words).env("DEBIAN_FRONTEND", "noninteractive"));
        // The update may fail for one of several sources; the install then reports missing packages.
        apt(&["update", "-qq"]);
        let words = ["install", "-y", "-qq", "--no-install-recommends"];
        if !apt(&[&words, names.as_slice()].concat()) {
            // One package that a distribution lacks must not block the others.
            for name in &names {
                apt(&[&words[..], &[name]].concat());
            }
        }
    } else {
        println!("not installed, since this is not root on a machine with apt-get");
    }
    for package in missing.into_iter().filter(|package| !package.is_there()) {
        sum.skip(format!("package {} is missing: {}", package.name, package.needed_by));
    }
}

impl Package {
    fn is_there(&self) -> bool {
        if let Some((before, after)) = self.shows.split_once("/*/") {
            let mut folders =
                std::fs::read_dir(Path::new("/usr/lib").join(before)).into_iter().flatten().flatten();
            return folders.any(|folder| folder.path().join(after).exists());
        }
        match self.shows.strip_prefix('/') {
            Some(library) => Path::new("/usr/lib")
                .join(format!("{}-linux-gnu", std::env::consts::ARCH))
                .join(library)
                .exists(),
            // Servers are in folders outside of an ordinary user's path.
            None => on_path(self.shows).is_some() || Path::new("/usr/sbin").join(self.shows).is_file(),
        }
    }
}

/// Whether this process may install packages: the owner of its own entry in /proc is root.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::TABLE;

    #[test]
    fn packages_are_named_once_and_say_who_needs_them() {
        for package in TABLE {
            assert_eq!(
                TABLE.iter().filter(|other| other.name == package.name).count(),
                1,
                "{}",
                package.name
            );
            assert!(!package.needed_by.is_empty() && !package.shows.is_empty());
        }
    }
}
