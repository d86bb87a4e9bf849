//! A server of PostgreSQL for tests: its own, on a socket in a folder of the test, ended by its number.
//!
//! Not here: what is asked of it.

use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{as_user, is_superuser, skip};

/// The user for a server that root must not run: nobody.
const NOBODY: u32 = 65_534;

/// A server that runs.
pub struct Server {
    child: Child,
    /// The folder with its socket.
    pub folder: PathBuf,
}

impl Server {
    /// Starts one whose superuser is `postgres`; None, and a skip, if it is not installed.
    ///
    /// # Panics
    /// If an installed server does not start.
    #[must_use]
    pub fn start(test: &str) -> Option<Server> {
        let Some(programs) = programs() else {
            skip(&format!("{test}: postgres is not installed"));
            return None;
        };
        // A socket's path has at most 107 bytes.
        let folder = std::env::temp_dir().join(format!("underbar-postgres-{test}-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder that nobody has");
        if is_superuser() {
            chown(&folder, Some(NOBODY), Some(NOBODY)).expect("given away");
        }
        let data = folder.join("data");
        let log = folder.join("log");
        let output = || Stdio::from(File::options().create(true).append(true).open(&log).expect("a file"));
        let mut create = command(&programs.join("initdb"));
        create.arg("-D").arg(&data).args([
            "-U",
            "postgres",
            "-A",
            "trust",
            "--no-locale",
            "-E",
            "UTF8",
            "--no-sync",
        ]);
        let created = create.stdout(output()).stderr(output()).status().expect("initdb");
        assert!(created.success(), "{}", fs::read_to_string(&log).unwrap_or_default());
        let mut server = command(&programs.join("postgres"));
        server.arg("-D").arg(&data).arg("-k").arg(&folder);
        server.args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB"]);
        server.args(["-c", "dynamic_shared_memory_type=mmap"]);
        let child = server.stdin(Stdio::null()).stdout(output()).stderr(output()).spawn().expect("postgres");
        let mut server = Server { child, folder };
        while !server.is_ready() {
            let ended = server.child.try_wait().expect("our child");
            assert!(ended.is_none(), "{}", fs::read_to_string(&log).unwrap_or_default());
            std::thread::yield_now();
        }
        Some(server)
    }

    /// Executes statements with psql.
    ///
    /// # Panics
    /// If one of them fails.
    pub fn execute(&self, statements: &str) {
        let mut psql = Command::new("psql");
        psql.args(["-X", "-q", "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-c", statements, "-h"])
            .arg(&self.folder);
        let output = as_user(&mut psql).output().expect("psql");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn is_ready(&self) -> bool {
        let mut psql = Command::new("psql");
        psql.args(["-X", "-q", "-U", "postgres", "-c", "select 1", "-h"]).arg(&self.folder);
        as_user(&mut psql)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }
}

impl Drop for Server {
    /// INT: connected clients are disconnected.
    fn drop(&mut self) {
        let number = i32::try_from(self.child.id()).unwrap_or(0);
        let _ = underbar_sys::syscall::kill(number, underbar_sys::signal::name::INT);
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    if is_superuser() {
        command.uid(NOBODY).gid(NOBODY);
    }
    // The server wants a folder that it may enter.
    command.current_dir("/");
    as_user(&mut command);
    command
}

/// The folder of the newest server's programs.
fn programs() -> Option<PathBuf> {
    let versions =
        fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|version| version.path().join("bin"));
    versions.filter(|folder| folder.join("postgres").is_file()).max()
}
