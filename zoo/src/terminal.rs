//! A terminal of a test's own: a program runs on it, keys are pressed, and what it shows is read.
//!
//! ```text
//! test ── keys, size ──> master ═ pseudo-terminal ═ slave ──> the program, whose controlling terminal it is
//!      <── bytes ── what they draw on a screen of that size: moves, erasures, the other screen
//! ```
//!
//! Invariant: a test waits for what is shown, never for time; a program that goes on drawing something else ends the test with its screen.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::as_user;

/// The most pieces of output for which a test waits.
const MOST_PIECES: usize = 3_000;

/// A terminal with a program on it.
pub struct Terminal {
    master: File,
    child: Child,
    /// All bytes that were written to it.
    log: Vec<u8>,
    columns: u16,
    rows: u16,
}

impl Terminal {
    /// Runs a shell script on a new terminal of that size. The script is the leader of its session.
    ///
    /// # Panics
    /// If there is no terminal, or no `setsid` of util-linux.
    #[must_use]
    pub fn start(script: &str, columns: u16, rows: u16, prepare: impl FnOnce(&mut Command)) -> Terminal {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal");
        let name = ptsname(&master, Vec::new()).expect("its name").into_string().expect("text");
        let master = File::from(master);
        set_size(&master, columns, rows);
        let slave = || {
            let file = OpenOptions::new().read(true).write(true).open(&name).expect("its other end");
            Stdio::from(file)
        };
        let mut command = Command::new("setsid");
        command.args(["--ctty", "sh", "-c", script]).env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
        command.env_remove("NO_COLOR").env_remove("UNDERBAR_LEDGER").env_remove("LD_PRELOAD");
        prepare(&mut command);
        let child = as_user(&mut command)
            .stdin(slave())
            .stdout(slave())
            .stderr(slave())
            .spawn()
            .expect("setsid of util-linux");
        Terminal { master, child, log: Vec::new(), columns, rows }
    }

    /// Another size.
    ///
    /// # Panics
    /// If the terminal is gone.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        (self.columns, self.rows) = (columns, rows);
        set_size(&self.master, columns, rows);
    }

    /// Presses keys.
    ///
    /// # Panics
    /// If the terminal is gone.
    pub fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("pressed");
    }

    /// Waits until what the screen shows is as wanted, and returns it.
    ///
    /// # Panics
    /// If the program ends, or draws too much else, before that.
    pub fn shows(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        for _ in 0..MOST_PIECES {
            let screen = self.screen();
            if wanted(&screen) {
                return screen;
            }
            assert!(self.read(), "it has ended:\n{screen}\n{}", self.written());
        }
        panic!("it shows something else:\n{}", self.screen());
    }

    /// Waits until it has written this text, wherever that is on the screen, and returns all that came before and with it.
    ///
    /// # Panics
    /// As [`Terminal::shows`].
    pub fn writes(&mut self, wanted: &str) -> String {
        self.writes_so(wanted, |written| written.contains(wanted))
    }

    /// Waits until all that it has written is as wanted; `what` is for the message of a test that fails.
    ///
    /// # Panics
    /// As [`Terminal::shows`].
    pub fn writes_so(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        for _ in 0..MOST_PIECES {
            let written = self.written();
            if wanted(&written) {
                return written;
            }
            assert!(self.read(), "it has ended without {what:?}:\n{written}");
        }
        panic!("no {what:?} in:\n{}", self.written());
    }

    /// All that was written so far.
    #[must_use]
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.log).into_owned()
    }

    /// Is it in the mode in which a shell leaves it: lines are edited, and keys are shown?
    ///
    /// # Panics
    /// If it is gone.
    #[must_use]
    pub fn is_as_usual(&self) -> bool {
        let mode = tcgetattr(&self.master).expect("a terminal");
        mode.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// The script's process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Reads to the end, and waits for it.
    ///
    /// # Panics
    /// If it is not our child.
    pub fn end(&mut self) -> ExitStatus {
        while self.read() {}
        self.child.wait().expect("our child")
    }

    /// Reads what there is; false at the end.
    fn read(&mut self) -> bool {
        let mut piece = [0; 65_536];
        // Without a process at its other end, reading fails.
        let length = self.master.read(&mut piece).unwrap_or(0);
        self.log.extend_from_slice(&piece[..length]);
        length > 0
    }

    /// The screen: its lines, without blanks at their ends.
    #[must_use]
    pub fn screen(&self) -> String {
        drawn(&self.written(), self.columns.into(), self.rows.into())
    }
}

impl Drop for Terminal {
    /// A failing test leaves nothing running: a terminal that is gone sends HUP.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn set_size(master: &File, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(master, size).expect("a terminal");
}

/// What these bytes draw on a screen: as much of a terminal as the command's pictures need. A character is taken for one cell.
#[must_use]
pub fn drawn(text: &str, columns: usize, rows: usize) -> String {
    let mut cells = vec![vec![' '; columns]; rows];
    let (mut x, mut y) = (0, 0);
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '\x1b' => {
                if rest.next() != Some('[') {
                    continue;
                }
                let mut numbers = String::new();
                let last = rest.find(|character| {
                    let is_last = character.is_ascii_alphabetic();
                    if !is_last {
                        numbers.push(*character);
                    }
                    is_last
                });
                let number = |at: usize, default: usize| {
                    numbers.split(';').nth(at).and_then(|number| number.parse().ok()).unwrap_or(default)
                };
                match (last, numbers.as_str()) {
                    (Some('H'), _) => {
                        y = number(0, 1).saturating_sub(1).min(rows.saturating_sub(1));
                        x = number(1, 1).saturating_sub(1);
                    }
                    (Some('J'), "2") | (Some('h' | 'l'), "?1049") => {
                        cells.iter_mut().for_each(|line| line.fill(' '));
                    }
                    (Some('K'), _) => cells[y].iter_mut().skip(x).for_each(|cell| *cell = ' '),
                    _ => {}
                }
            }
            '\r' => x = 0,
            '\n' => {
                y += 1;
                if y >= rows {
                    cells.remove(0);
                    cells.push(vec![' '; columns]);
                    y = rows - 1;
                }
            }
            character => {
                if let Some(cell) = cells.get_mut(y).and_then(|line| line.get_mut(x)) {
                    *cell = character;
                }
                x += 1;
            }
        }
    }
    cells.into_iter().map(|line| String::from_iter(line).trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::drawn;

    #[test]
    fn a_picture_is_what_its_last_bytes_made_it() {
        assert_eq!(drawn("a\r\nb\x1b[2J\x1b[2;3Hx\x1b[0;7my\x1b[1;1Hz", 6, 2), "z\n  xy\n");
        assert_eq!(drawn("1\r\n2\r\n3", 3, 2), "2\n3\n");
        assert_eq!(drawn("abc\x1b[1;2H\x1b[K", 3, 1), "a\n");
    }
}
