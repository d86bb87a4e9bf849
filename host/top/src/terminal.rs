//! The terminal: its mode, its other screen, its keys and the signals that concern it.
//!
//! ```text
//! enter ── mode saved, keys one by one, other screen ── ... ── leave: all as it was
//!    │                                                          ^ q, a signal, a panic, Ctrl-Z (until CONT)
//!    ├─ thread: bytes of the keyboard ─┐
//!    └─ thread: signals, taken       ──┴─> Event
//! ```
//!
//! Invariant: whoever ends this process but by SIGKILL finds the terminal as it was before. The saved mode is in one place, which the
//! panic's hook reads as well; there is no signal handler, since signals are blocked and taken one by one.
//! Known limit: after SIGKILL the terminal stays as it is; `reset` repairs it.
//! Not here: what keys mean ([`crate::view`]), and the picture ([`crate::screen`]).

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use underbar_shown::door::{self, Form};
use underbar_sys::process::die_by;
use underbar_sys::signal::{self, Disposition, SignalSet, name};
use underbar_sys::syscall::{getpid, kill};

/// The signals that end a view.
const ENDING: [i32; 4] = [name::INT, name::TERM, name::HUP, name::QUIT];

/// The other screen, without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[0m\x1b[2J";
const LEAVE: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";

/// The mode of the terminal before it was entered; None: it is not.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// What happens to a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Bytes of the keyboard.
    Typed(Vec<u8>),
    /// The keyboard is gone.
    Closed,
    /// A signal.
    Signal(i32),
}

/// A terminal that is in use for a picture.
pub struct Terminal {
    events: Receiver<Event>,
}

impl Terminal {
    /// Enters it.
    ///
    /// # Errors
    /// If standard input or output is no terminal, or the system refuses signals or threads.
    pub fn enter() -> io::Result<Terminal> {
        if !door::output_is_terminal() {
            return Err(io::Error::other("standard output is no terminal"));
        }
        if !rustix::termios::isatty(rustix::stdio::stdin()) {
            return Err(io::Error::other(
                "standard input is no terminal, so there are no keys; --once prints one table",
            ));
        }
        leave_at_a_panic();
        // In the order of their threads: those inherit what is blocked here.
        let taken = ENDING
            .into_iter()
            .filter(|&signal| signal::disposition(signal) != Disposition::Ignore)
            .chain([name::WINCH, name::TSTP, name::CONT])
            .fold(SignalSet::NONE, SignalSet::with);
        signal::block(taken).map_err(|error| io::Error::from_raw_os_error(error.0.into()))?;
        mode()?;
        let (sender, events) = channel();
        let terminal = Terminal { events };
        let keyboard = sender.clone();
        thread::Builder::new().name("keys".to_owned()).spawn(move || read_keys(&keyboard))?;
        thread::Builder::new().name("signals".to_owned()).spawn(move || take_signals(taken, &sender))?;
        Ok(terminal)
    }

    /// The next event; None: none came in this time.
    #[must_use]
    pub fn event(&self, patience: Duration) -> Option<Event> {
        match self.events.recv_timeout(patience) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Event::Closed),
        }
    }

    /// Writes to it.
    ///
    /// # Errors
    /// Those of writing; a terminal that is gone.
    pub fn write(&self, picture: &str) -> io::Result<()> {
        if picture.is_empty() {
            return Ok(());
        }
        // All at once, where the terminal can.
        match door::is_read(Form::Screen, &format!("\x1b[?2026h{picture}\x1b[?2026l"))? {
            true => Ok(()),
            false => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Leaves the terminal, stops this process until it is continued, and enters it again.
    ///
    /// # Errors
    /// If the terminal is gone meanwhile.
    pub fn suspend(&self) -> io::Result<()> {
        leave();
        let _ = kill(getpid(), name::STOP);
        // In the background the kernel stops this process again, until it is in the foreground.
        mode()
    }

    /// Sets its mode again, and has all written anew: others may have changed it while this process was stopped.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn again(&self) -> io::Result<()> {
        mode()
    }

    /// Leaves it, and ends this process by a signal, as if it had not been taken.
    pub fn die_by(self, signal: i32) -> ! {
        drop(self);
        die_by(signal);
        std::process::exit(128 + signal)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        leave();
    }
}

/// Saves the mode of the terminal, unless it is saved, and sets that of a picture: keys come at once and are not shown.
fn mode() -> io::Result<()> {
    let input = rustix::stdio::stdin();
    let now = tcgetattr(input.as_fd())?;
    let mut mode = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(now).clone();
    mode.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
    mode.special_codes[SpecialCodeIndex::VMIN] = 1;
    mode.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(input.as_fd(), OptionalActions::Drain, &mode)?;
    door::to_output(Form::Screen, ENTER)
}

/// Puts all back as it was. Does nothing if it is so already.
fn leave() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        let _ = door::to_output(Form::Screen, LEAVE);
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Drain, &before);
    }
}

/// From now on a panic leaves the terminal before it prints its message, also where it ends the process at once.
fn leave_at_a_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let then = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            then(panic);
        }));
    });
}

fn read_keys(events: &Sender<Event>) {
    let mut input = io::stdin().lock();
    let mut bytes = [0; 256];
    loop {
        let event = match input.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => Event::Closed,
            Ok(length) => Event::Typed(bytes[..length].to_vec()),
        };
        let is_last = event == Event::Closed;
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

fn take_signals(taken: SignalSet, events: &Sender<Event>) {
    const LONG: Duration = Duration::from_secs(3_600);
    loop {
        if let Ok(Some(signal)) = signal::wait_for(taken, LONG)
            && events.send(Event::Signal(signal.signal)).is_err()
        {
            return;
        }
    }
}
