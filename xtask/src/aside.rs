//! A step that runs next to others: started, and joined where its result is needed.
//!
//! ```text
//! Aside::start ──> child, output into a file ....... join ──> output shown, duration, held or not
//!      other steps run here
//! ```
//!
//! A link of the whole command, or one long test, leaves a processor idle; another step can have it.
//! Invariant: the output of the child appears in one piece, when it is joined; so no line of another step is between its lines.
//! Not here: which steps may run side by side (`test`, `ci`).

use std::fs::{self, File};
use std::process::{Child, Command};
use std::time::Instant;

use crate::steps::{taken, target};

/// A command that runs in the background.
pub struct Aside {
    name: &'static str,
    start: Instant,
    child: Option<Child>,
}

impl Aside {
    /// Starts a command. Its output goes into a file of that name in the target folder.
    pub fn start(name: &'static str, command: &mut Command) -> Self {
        println!("== {name}, in the background");
        let start = Instant::now();
        let child = output_into(name, command).and_then(|command| command.spawn());
        let child = child.inspect_err(|error| println!("{name}: {error}")).ok();
        Self { name, start, child }
    }

    /// Waits for its end and shows its output; true and the output where it ended with status 0.
    pub fn join(mut self) -> (bool, String) {
        let waited = Instant::now();
        let held =
            self.child.take().is_some_and(|mut child| child.wait().is_ok_and(|status| status.success()));
        let text = fs::read(log(self.name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        println!("== {}, from the background\n{text}", self.name);
        taken(&format!("{}, waited for", self.name), waited.elapsed());
        println!("== {}: begun {:.0} s ago", self.name, self.start.elapsed().as_secs_f64());
        (held, text)
    }
}

impl Drop for Aside {
    /// Nobody joined it: an earlier step has failed.
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            crate::processes::end_all_of(child.id());
            let _ = child.wait();
        }
    }
}

fn log(name: &str) -> std::path::PathBuf {
    target().join("aside").join(name.replace(' ', "-"))
}

fn output_into<'a>(name: &str, command: &'a mut Command) -> std::io::Result<&'a mut Command> {
    fs::create_dir_all(target().join("aside"))?;
    let file = File::create(log(name))?;
    Ok(command.stdout(file.try_clone()?).stderr(file))
}

#[cfg(test)]
mod tests {
    use super::Aside;
    use crate::steps::command;

    #[test]
    fn what_a_background_step_says_and_how_it_ends_is_known_when_it_is_joined() {
        let good = Aside::start("test a", &mut command("sh", &["-c", "echo one; echo two >&2"]));
        let bad = Aside::start("test b", &mut command("sh", &["-c", "echo three; exit 3"]));
        assert_eq!(good.join(), (true, "one\ntwo\n".to_owned()));
        assert_eq!(bad.join(), (false, "three\n".to_owned()));
        let none = Aside::start("test c", &mut command("/no/such/program", &[]));
        assert!(!none.join().0);
    }
}
