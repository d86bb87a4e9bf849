//! A server of PostgreSQL for a demo: its own, on a socket in the demo's folder, ended with the demo.
//!
//! Not here: what is asked of it.
#![allow(clippy::disallowed_methods, reason = "files in a folder of our own")]

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::measure::Problem;

/// The user for a server that root must not run: nobody.
const NOBODY: u32 = 65_534;
/// A server that is not ready by then has failed.
const PATIENCE: Duration = Duration::from_secs(120);
const NEEDS: &str = "the demo starts a server of its own (apt-get install postgresql libpq-dev gcc)";

/// A server that runs.
pub struct Server {
    child: Child,
    folder: PathBuf,
}

impl Server {
    /// Starts one in a new folder of only this user; its superuser is `postgres`.
    pub fn start(folder: &Path) -> Result<Server, Problem> {
        let programs = programs().ok_or_else(|| Problem::Missing(NEEDS.to_owned()))?;
        // Root gives the server a folder of its own.
        let place = folder.join("server");
        fs::create_dir(&place)?;
        let is_root = fs::metadata(&place)?.uid() == 0;
        if is_root {
            chown(&place, Some(NOBODY), Some(NOBODY))?;
            // The way to it: the name of this folder is by chance, and nothing else in it is given away.
            fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o711))?;
        }
        let log = folder.join("server.log");
        let output = || File::options().create(true).append(true).open(&log).map(Stdio::from);
        let command = |name: &str| {
            let mut command = Command::new(programs.join(name));
            command.current_dir("/").stdin(Stdio::null()).arg("-D").arg(place.join("data"));
            if is_root {
                command.uid(NOBODY).gid(NOBODY);
            }
            command
        };
        let failed = || {
            let text = fs::read_to_string(&log).unwrap_or_default();
            Problem::Missing(format!("{NEEDS}: {}", text.lines().last().unwrap_or("postgres failed")))
        };
        let mut create = command("initdb");
        create.args(["-U", "postgres", "-A", "trust", "--no-locale", "-E", "UTF8", "--no-sync"]);
        if !create.stdout(output()?).stderr(output()?).status()?.success() {
            return Err(failed());
        }
        let mut server = command("postgres");
        server.arg("-k").arg(&place).args([
            "-c",
            "listen_addresses=",
            "-c",
            "fsync=off",
            "-c",
            "shared_buffers=64MB",
        ]);
        server.args(["-c", "dynamic_shared_memory_type=mmap"]);
        let child = server.stdout(output()?).stderr(output()?).spawn()?;
        let mut server = Server { child, folder: place };
        let start = Instant::now();
        while server.execute("select 1").is_err() {
            if server.child.try_wait()?.is_some() || start.elapsed() > PATIENCE {
                return Err(failed());
            }
        }
        Ok(server)
    }

    /// The folder of its socket.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Executes statements with psql.
    pub fn execute(&self, statements: &str) -> Result<(), Problem> {
        let mut psql = Command::new("psql");
        psql.args(["-X", "-q", "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-c", statements, "-h"])
            .arg(&self.folder);
        let done = psql.stdin(Stdio::null()).output()?;
        if done.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        Err(Problem::Missing(format!("psql: {}", text.lines().next().unwrap_or("failed"))))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server whose data nobody needs may end at once; its processes end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder of the newest server's programs.
fn programs() -> Option<PathBuf> {
    let versions =
        fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|version| version.path().join("bin"));
    versions.filter(|folder| folder.join("postgres").is_file()).max()
}
