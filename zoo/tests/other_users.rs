//! Another user on the same machine: that user's files are not trusted, whatever they contain at the moment. Each test runs the
//! whole attack, as the attacking user.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use underbar_zoo::{Left, code, executable, is_superuser_or_skips, left, program, underbar};

/// Two user numbers that are unused on most machines.
const VICTIM: u32 = 47_811;
const ATTACKER: u32 = 47_812;

/// Folders in /tmp, which all users can reach: the path to the target folder may be closed to them.
struct Stage {
    folder: PathBuf,
}

impl Stage {
    /// None, with a message, if this is not root.
    fn set(name: &str) -> Option<Stage> {
        if !is_superuser_or_skips("what another user owns") {
            return None;
        }
        let folder = PathBuf::from(format!("/tmp/underbar-users-{name}-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        let stage = Stage { folder };
        for (from, to) in [(underbar().to_owned(), "underbar"), (program("loaded"), "loaded")] {
            executable::copy(from, stage.at(to));
        }
        stage.allow(&stage.folder, 0o755);
        stage.folder_of("attacker", ATTACKER);
        stage.folder_of("victim", VICTIM);
        Some(stage)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn text(&self, name: &str) -> String {
        self.at(name).to_str().expect("a path of text").to_owned()
    }

    fn allow(&self, path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("rights");
    }

    fn folder_of(&self, name: &str, user: u32) {
        fs::create_dir(self.at(name)).expect("a folder");
        self.allow(&self.at(name), 0o755);
        chown(self.at(name), Some(user), Some(user)).expect("an owner");
    }

    /// A command of this user, without variables of underbar in its environment.
    fn by(&self, user: u32, line: &[&str]) -> Command {
        let mut command = match user {
            0 => Command::new(line[0]),
            _ => {
                let mut command = Command::new("setpriv");
                let ids = [format!("--reuid={user}"), format!("--regid={user}"), "--clear-groups".to_owned()];
                command.args(ids).arg(line[0]);
                command
            }
        };
        command.args(&line[1..]).current_dir("/").env("HOME", "/nowhere");
        for name in ["LD_PRELOAD", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"] {
            command.env_remove(name);
        }
        command
    }

    /// Shell code of the attacker's, as a line for scripts of others: a signal to the attacker.
    fn attack(&self, script: &str) -> String {
        let path = self.at("attack");
        executable::write(&path, script);
        format!(
            "env -u LD_PRELOAD setpriv --reuid={ATTACKER} --regid={ATTACKER} --clear-groups sh -e {} >&2",
            path.display()
        )
    }

    /// A library that prints that it was loaded.
    fn evil_library(&self) -> String {
        let source = self.at("evil.c");
        fs::write(
            &source,
            "#include <unistd.h>\n__attribute__((constructor)) static void take(void) { write(1, \"taken\\n\", 6); }\n",
        )
        .expect("source");
        let library = self.text("evil.so");
        let made = left(Command::new("cc").args(["-shared", "-fPIC", "-w", "-o", &library]).arg(&source));
        assert_eq!(code(made.status), 0, "{}", made.error);
        library
    }

    /// The attacker's cache folder, with the true library in it.
    fn cache_of_the_attacker(&self, owner: u32) {
        let own = self.text("own-cache");
        fs::create_dir(&own).expect("a folder");
        let run = left(
            self.by(0, &[&self.text("underbar"), "run", "-q", "--", "true"]).env("XDG_CACHE_HOME", &own),
        );
        assert_eq!(code(run.status), 0, "{}", run.error);
        let copied =
            left(Command::new("cp").args(["-rp", &format!("{own}/underbar"), &self.text("attacker")]));
        assert_eq!(code(copied.status), 0, "{}", copied.error);
        let owned = format!("{owner}:{owner}");
        let chowned = left(Command::new("chown").args(["-R", &owned, &self.text("attacker/underbar")]));
        assert_eq!(code(chowned.status), 0, "{}", chowned.error);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// `victim` runs a program with the attacker's folder as the cache; while it runs, the attacker replaces the library there.
fn swap_the_library(name: &str, victim: u32, owner: u32) -> Option<Left> {
    let stage = Stage::set(name)?;
    stage.cache_of_the_attacker(owner);
    let evil = stage.evil_library();
    let attacker = stage.text("attacker");
    let attack = stage.attack(&format!(
        "cd {attacker} && cp -r underbar new && cp -f {evil} new/*/libunderbar.so && mv underbar old && mv new underbar"
    ));
    // Only root can run the attacker in the middle of the run; for another user it is a parallel process.
    let loaded = stage.text("loaded");
    let ready = stage.text("victim/ready");
    let go = stage.text("victim/go");
    let script = format!("mkfifo {go} && : > {ready} && read line < {go}; {loaded}");
    let mut run = stage.by(victim, &[&stage.text("underbar"), "run", "-q", "--", "sh", "-c", &script]);
    run.env("XDG_CACHE_HOME", &attacker)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = underbar_zoo::as_user(&mut run).spawn().expect("started");
    while !stage.at("victim/ready").exists() {
        assert!(child.try_wait().expect("our child").is_none(), "it ended before the attack");
        std::thread::yield_now();
    }
    let attacked = left(Command::new("sh").args(["-c", &attack]));
    assert_eq!(code(attacked.status), 0, "the attacker does as he likes in his folder: {}", attacked.error);
    fs::write(&go, "\n").expect("told");
    let output = child.wait_with_output().expect("ended");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Some(Left { status: output.status, output: text(output.stdout), error: text(output.stderr) })
}

#[test]
fn a_cache_folder_of_another_user_is_not_used_by_a_user() {
    let Some(result) = swap_the_library("cache-user", VICTIM, ATTACKER) else { return };
    assert_eq!((result.output.as_str(), result.error.as_str(), code(result.status)), ("followed\n", "", 0));
}

#[test]
fn a_cache_folder_of_another_user_is_not_used_by_root() {
    // Even if everything below it is root's own: its owner can rename entries of the folder.
    let Some(result) = swap_the_library("cache-root", 0, 0) else { return };
    assert_eq!((result.output.as_str(), result.error.as_str(), code(result.status)), ("followed\n", "", 0));
}

/// Shell code that replaces the ledger at `path` by a file of the attacker's with the same contents,
/// which the attacker can truncate.
fn replace(path: &str) -> String {
    format!(
        "mv $(dirname {path}) $(dirname {path}).old && mkdir $(dirname {path}) && cp {path}.copy {path} && chmod 666 {path}"
    )
}

#[test]
fn a_runtime_folder_of_another_user_is_not_used_by_root() {
    let Some(stage) = Stage::set("runtime") else { return };
    let folder = stage.text("attacker");
    let attack = stage.attack(&format!(
        "cd {folder} && mv underbar old && mkdir underbar && cp copy underbar/$1 && chmod 666 underbar/$1"
    ));
    // A real attacker would use a ledger of an own run; here it is a copy of this one.
    let script = format!(
        "if [ -d {folder}/underbar ]; then cp $UNDERBAR_LEDGER {folder}/copy && chmod 644 {folder}/copy && \
         {} $(basename $UNDERBAR_LEDGER); fi; sh -c 'test -O $UNDERBAR_LEDGER || : > $UNDERBAR_LEDGER; (true); true; echo alive'",
        attack.replace(" >&2", "")
    );
    let mut run = stage.by(0, &[&stage.text("underbar"), "run", "--json", "--", "sh", "-c", &script]);
    let result = left(run.env("XDG_RUNTIME_DIR", &folder));
    assert_eq!((result.output.as_str(), code(result.status)), ("alive\n", 0), "{}", result.error);
    assert!(!stage.at("attacker/underbar").exists(), "not even a folder of ours is there");
    let report: serde_json::Value = serde_json::from_str(&result.error).expect("a report");
    assert!(report["processes"].as_array().is_some_and(|all| !all.is_empty()), "{}", result.error);
}

#[test]
fn a_ledger_that_another_user_put_in_the_place_of_ours_is_not_mapped() {
    let Some(stage) = Stage::set("ledger") else { return };
    // If the user requests it, the ledger is in a folder of another user; that risk is the user's own, but harms
    // no program: neither one that is started after the replacement, nor one that is forked then.
    fs::create_dir(stage.at("attacker/asked")).expect("a folder");
    stage.allow(&stage.at("attacker/asked"), 0o777);
    let ledger = stage.text("attacker/asked/accounts");
    let attack =
        stage.attack(&replace(&ledger).replace(&format!("{ledger}.copy"), &stage.text("attacker/copy")));
    for after in ["sh -c 'test -s L && : > L; (true); true; echo alive'", "(: > L; (true); true; echo alive)"]
    {
        let script = format!(
            "cp {ledger} {copy} && chmod 644 {copy} && {attack} && {}",
            after.replace('L', &ledger),
            copy = stage.text("attacker/copy"),
        );
        let mut run = stage
            .by(0, &[&stage.text("underbar"), "run", "--exec", "-o", &ledger, "--", "sh", "-c", &script]);
        let result = left(&mut run);
        assert_eq!(
            (result.output.as_str(), code(result.status)),
            ("alive\n", 0),
            "{after}: {}",
            result.error
        );
        fs::remove_dir_all(format!("{}.old", stage.text("attacker/asked"))).expect("moved away");
        fs::remove_dir_all(stage.at("attacker/asked")).expect("put there");
        fs::create_dir(stage.at("attacker/asked")).expect("a folder");
        stage.allow(&stage.at("attacker/asked"), 0o777);
    }
}
