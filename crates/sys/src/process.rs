//! Starts a program in a child process, waits for it, and reports its resource use.
//!
//! ```text
//! command ── fork ──> child: die with the parent, wait, restore the state at exec (signals, mask, closed descriptors),
//!    │                       │       take over variables for its parent's number ([`crate::addressed`]),
//!    │                       │       try each path ── execve ──> the program
//!    ├── its account opened ─┘
//!    │<── shared page: reason and path, only if no path could be executed
//!    └── change: stopped, continued, ended (with its resource use)
//! ```
//!
//! Why fork, not vfork: if the terminal stops a child between vfork and exec, the parent sleeps in vfork, out of reach of
//! Ctrl-Z. And the kernel counts the memory of the process that calls exec as the program's first peak: after fork a few
//! hundred KiB without the heap, which the child does not get ([`crate::withheld`]), after vfork all our memory.
//! Why a page, not a pipe: a program starts even if no descriptor is left for us (`ulimit -n 4`).
//!
//! Invariant: between fork and exec the child makes system calls only, so it needs no lock that another
//! thread held at the fork.
//! Not here: the search for the program, and which signals are passed on (`host/launch`).

use crate::addressed::Addressed;
use crate::file::{execve, getppid};
use crate::inherited::Inherited;
use crate::shared::SharedPage;
use crate::signal::{Disposition, SignalSet, Taken, name, set_disposition, set_mask};
use crate::strings::Packed;
use crate::syscall::{Errno, Result, close, exit_group, getpid, kill, number, prctl, syscall3, syscall6};
use crate::transfers::{Account, Transfers};
use crate::withheld::Withheld;
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

pub use crate::strings::Strings;

/// A program to be started.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// The paths to try, in order, as `execvp` does.
    pub paths: Strings<'a>,
    /// The arguments, the program's name first.
    pub arguments: Strings<'a>,
    /// The environment, `NAME=VALUE` each.
    pub environment: Strings<'a>,
    /// The state that the command was given at exec, to be passed to the program.
    pub inherited: Inherited,
    /// For standard input, output and error: the descriptor that replaces it, above 2; None leaves it.
    pub streams: [Option<i32>; 3],
    /// The signals to be blocked in the program: those that were blocked when the command was started.
    pub mask: SignalSet,
}

/// No path could be executed: the kernel's reason, and the path concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The reason.
    pub reason: Errno,
    /// Which of the paths, counted from 0.
    pub path: usize,
}

/// A started child.
pub struct Child {
    /// Its process.
    pub pid: i32,
    /// The child's report of why it could not execute anything: the reason, 0 for none, and the path.
    complaint: SharedPage,
    /// The kernel's account of its reads and writes, if we may see it.
    account: Option<Account>,
}

/// Starts the program in a child process that dies (SIGKILL) when the calling thread does.
pub fn start(start: &Start<'_>) -> Result<Child> {
    let complaint = SharedPage::with_children()?;
    let parent = getpid();
    // Before the fork, since it may take locks.
    let another = execve_of_another();
    // A function of the preload library may use the heap, as the caller's strings do.
    let packed =
        if another.is_none() { Packed::new([start.paths, start.arguments, start.environment]) } else { None };
    let apart = packed.as_ref().map(|packed| {
        let [paths, arguments, environment] = packed.lists();
        Start { paths, arguments, environment, ..*start }
    });
    let _withheld = packed.as_ref().map(|_| Withheld::heap());
    let start = apart.as_ref().unwrap_or(start);
    // SAFETY: the child runs `become_program`, which makes system calls only and does not return.
    match unsafe { syscall3(number::FORK, 0, 0, 0) } {
        Ok(0) => become_program(start, parent, another, &complaint),
        Ok(pid) => {
            let pid = pid as i32;
            // Before it is a program: one that has ended or takes other rights hides its account from all but the superuser.
            let account = Account::open(pid);
            let goes = &complaint.words()[GOES];
            goes.store(1, Ordering::Relaxed);
            wake(goes);
            Ok(Child { pid, complaint, account })
        }
        Err(reason) => Err(reason),
    }
}

/// Makes a child that ends at once, and waits for it: the least that a fork costs this process.
///
/// # Errors
/// If there is no child to be had.
pub fn fork_for_nothing() -> Result<()> {
    const BY_NUMBER: usize = 1;
    const EXITED: usize = 4;
    // SAFETY: the child makes one system call, which does not return.
    let child = unsafe { syscall3(number::FORK, 0, 0, 0) }?;
    if child == 0 {
        exit_group(0);
    }
    // SAFETY: the kernel writes nothing.
    unsafe { syscall6(number::WAITID, BY_NUMBER, child, 0, EXITED, 0, 0) }.map(|_| ())
}

/// The child's path from fork to exec.
fn become_program(start: &Start<'_>, parent: i32, another: Option<Execve>, complaint: &SharedPage) -> ! {
    const PR_SET_PDEATHSIG: u32 = 1;
    // SAFETY: this operation takes a number only.
    let _ = unsafe { prctl(PR_SET_PDEATHSIG, name::KILL as usize, 0, 0, 0) };
    // The parent may have died before the line above; then the kernel would no longer send the signal.
    if getppid() != parent {
        exit_group(CANNOT_EXECUTE);
    }
    // The parent soon sets this word, or dies, and this process with it.
    let goes = &complaint.words()[GOES];
    while goes.load(Ordering::Relaxed) == 0 {
        wait(goes);
    }
    let mut own = Addressed::NONE;
    // SAFETY: this process alone has these strings, and it never leaves this function.
    unsafe { own.readdress(start.environment, parent, getpid()) };
    let refused = replace_by(start, another);
    // This line is reached only if nothing could be executed.
    let [reason, path, ..] = complaint.words();
    // The parent reads it after it learns that this process has ended: the kernel orders the two.
    path.store(refused.path as u64, Ordering::Relaxed);
    reason.store(u64::from(refused.reason.0), Ordering::Relaxed);
    exit_group(CANNOT_EXECUTE)
}

/// The word of the shared page that becomes 1 when the child may continue. It orders nothing else; relaxed.
const GOES: usize = 2;

/// Sleeps until [`wake`] is called, unless the word is no longer 0. May return early.
fn wait(word: &AtomicU64) {
    const WAIT: usize = 0;
    // SAFETY: four bytes of a mapped word, those that the store of 1 changes; the kernel only reads them.
    let _ = unsafe { syscall6(number::FUTEX, word.as_ptr() as usize, WAIT, 0, 0, 0, 0) };
}

/// Wakes the process that sleeps in [`wait`].
fn wake(word: &AtomicU64) {
    const WAKE: usize = 1;
    // SAFETY: the kernel takes the address as a name only.
    let _ = unsafe { syscall3(number::FUTEX, word.as_ptr() as usize, WAKE, 1) };
}

/// The child's exit code if nothing could be executed; only its report matters.
const CANNOT_EXECUTE: i32 = 126;

/// `execve` of C.
type Execve = unsafe extern "C" fn(*const c_char, *const *const c_char, *const *const c_char) -> c_int;

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn __errno_location() -> *mut c_int;
}

/// The function by which a library that keeps accounts of this process, if any, wants it to execute programs: the library
/// counts those that it does not follow. None: the system call is used.
fn execve_of_another() -> Option<Execve> {
    // SAFETY: the name is a C string; the function of that name in our library has this signature.
    unsafe {
        let found = dlsym(core::ptr::null_mut(), c"underbar_execve".as_ptr());
        core::mem::transmute::<*mut c_void, Option<Execve>>(found)
    }
}

/// Turns this process itself into the program. Returns only on failure, with the reason.
pub fn replace(start: &Start<'_>) -> Refused {
    replace_by(start, execve_of_another())
}

fn replace_by(start: &Start<'_>, another: Option<Execve>) -> Refused {
    hand_on(start);
    // As in execvp: a path that does not exist or may not be executed gives way to the next one; if none works, "not allowed"
    // says more than "not found".
    let mut worst = Refused { reason: Errno::ENOENT, path: 0 };
    for path in 0..start.paths.len() {
        let (path_c, arguments, environment) =
            (start.paths.get(path), start.arguments.first, start.environment.first);
        // SAFETY: the invariant of `Strings`; the C library gives each thread its own errno.
        let reason = unsafe {
            match another {
                Some(execve) => {
                    execve(path_c, arguments, environment);
                    Errno(__errno_location().read() as u16)
                }
                None => execve(path_c, arguments, environment),
            }
        };
        match reason {
            Errno::EACCES => worst = Refused { reason, path },
            Errno::ENOENT | Errno::ENOTDIR | Errno::ESTALE | Errno::ENODEV | Errno::ETIMEDOUT => {}
            _ => return Refused { reason, path },
        }
    }
    worst
}

/// Restores signals and standard descriptors to their state at the command's start, except for the streams that were asked
/// for.
fn hand_on(start: &Start<'_>) {
    const DUP2: usize = 33;
    for signal in [name::PIPE, name::CHLD, name::XFSZ] {
        let given =
            if start.inherited.ignored.has(signal) { Disposition::Ignore } else { Disposition::Default };
        let _ = set_disposition(signal, given);
    }
    for (fd, stream) in start.streams.into_iter().enumerate() {
        if let Some(other) = stream {
            // SAFETY: no memory is involved.
            let _ = unsafe { syscall3(DUP2, other as usize, fd, 0) };
        } else if start.inherited.closed >> fd & 1 == 1 {
            let _ = close(fd as i32);
        }
    }
    let _ = set_mask(start.mask);
}

/// A change of a child's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It exited with this code, 0 to 255.
    Exited(i32),
    /// It died by this signal.
    Killed(i32),
    /// It was stopped by this signal.
    Stopped(i32),
    /// It runs again.
    Continued,
}

/// The resource use of a child and those of its descendants that were waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    resources: Resources,
    transfers: Option<Transfers>,
}

/// `struct rusage`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Resources {
    user: [i64; 2],
    system: [i64; 2],
    peak_kib: i64,
    unused: [i64; 3],
    minor_faults: i64,
    major_faults: i64,
    swaps: i64,
    blocks_in: i64,
    blocks_out: i64,
    unused_too: [i64; 3],
    voluntary: i64,
    involuntary: i64,
}

const _: () = assert!(size_of::<Resources>() == 144, "struct rusage of x86-64");

impl Usage {
    /// CPU time spent in the program itself, nanoseconds (the kernel counts microseconds).
    #[must_use]
    pub fn user_nanoseconds(&self) -> u64 {
        nanoseconds(self.resources.user)
    }

    /// CPU time spent in the kernel for it, nanoseconds (the kernel counts microseconds).
    #[must_use]
    pub fn system_nanoseconds(&self) -> u64 {
        nanoseconds(self.resources.system)
    }

    /// The most memory that one process of the tree had resident at once, bytes.
    #[must_use]
    pub fn peak_resident_bytes(&self) -> u64 {
        (self.resources.peak_kib as u64).saturating_mul(1024)
    }

    /// Page faults served without reading from a device.
    #[must_use]
    pub fn minor_faults(&self) -> u64 {
        self.resources.minor_faults as u64
    }

    /// Page faults that had to wait for a device.
    #[must_use]
    pub fn major_faults(&self) -> u64 {
        self.resources.major_faults as u64
    }

    /// How often it gave the processor up to wait for something.
    #[must_use]
    pub fn voluntary_switches(&self) -> u64 {
        self.resources.voluntary as u64
    }

    /// How often the processor was taken from it.
    #[must_use]
    pub fn involuntary_switches(&self) -> u64 {
        self.resources.involuntary as u64
    }

    /// Blocks of 512 bytes read from devices.
    #[must_use]
    pub fn blocks_read(&self) -> u64 {
        self.resources.blocks_in as u64
    }

    /// Blocks of 512 bytes written to devices.
    #[must_use]
    pub fn blocks_written(&self) -> u64 {
        self.resources.blocks_out as u64
    }

    /// Its reads and writes. None before it has ended, if the kernel keeps no such account, or if the program took rights that
    /// hide it from us.
    #[must_use]
    pub fn transfers(&self) -> Option<Transfers> {
        self.transfers
    }
}

fn nanoseconds([seconds, microseconds]: [i64; 2]) -> u64 {
    (seconds as u64).saturating_mul(1_000_000_000).saturating_add(microseconds as u64 * 1000)
}

impl Child {
    /// The child's change since the last call; None if there is none. Does not sleep.
    pub fn change(&self) -> Result<Option<(Change, Usage)>> {
        const STOPPED_CONTINUED: usize = 2 | 8;
        const EXITED: usize = 4;
        const LEAVE_IT: usize = 0x0100_0000;
        // In two steps, since nothing remains of a child that was waited for: its account is read first.
        if self.wait(EXITED | LEAVE_IT)?.is_none() {
            match self.wait(STOPPED_CONTINUED) {
                // A child that has ended meanwhile can no longer stop.
                Err(Errno::ECHILD) => {}
                change => {
                    let without = |(change, resources)| (change, Usage { resources, transfers: None });
                    return Ok(change?.map(without));
                }
            }
        }
        let transfers = self.transfers();
        let change = self.wait(EXITED)?;
        Ok(change.map(|(change, resources)| (change, Usage { resources, transfers })))
    }

    /// Waits for other children of this process that have ended, without sleep; this child keeps its state. For a process that inherits
    /// children of others.
    pub fn reap_others(&self) {
        const ANY: usize = 0;
        const BY_NUMBER: usize = 1;
        const WITHOUT_SLEEP: usize = 1;
        const EXITED: usize = 4;
        const LEAVE_IT: usize = 0x0100_0000;
        loop {
            let mut info = [0i32; 32];
            // SAFETY: the kernel writes one siginfo_t, which has 128 bytes.
            let found = unsafe {
                syscall6(
                    number::WAITID,
                    ANY,
                    0,
                    info.as_mut_ptr() as usize,
                    EXITED | LEAVE_IT | WITHOUT_SLEEP,
                    0,
                    0,
                )
            };
            // Its signal's number (0: nobody has ended), and the process.
            let (is_found, process) = (found.is_ok() && info[0] != 0, info[4]);
            if !is_found || process == self.pid {
                return;
            }
            // SAFETY: no memory is involved: neither the state nor the use of resources is asked for.
            let waited = unsafe {
                syscall6(number::WAITID, BY_NUMBER, process as usize, 0, EXITED | WITHOUT_SLEEP, 0, 0)
            };
            if waited.is_err() {
                return;
            }
        }
    }

    fn wait(&self, what: usize) -> Result<Option<(Change, Resources)>> {
        const BY_NUMBER: usize = 1;
        const WITHOUT_SLEEP: usize = 1;
        // `siginfo_t`: the signal's number (0: nothing happened), an error, a code; then process, user and status.
        let mut info = [0i32; 32];
        let mut resources = Resources::default();
        // SAFETY: the kernel writes one siginfo_t, which has 128 bytes, and one struct rusage.
        unsafe {
            syscall6(
                number::WAITID,
                BY_NUMBER,
                self.pid as usize,
                info.as_mut_ptr() as usize,
                what | WITHOUT_SLEEP,
                &raw mut resources as usize,
                0,
            )?
        };
        let (code, status) = (info[2], info[6]);
        let change = match code {
            _ if info[0] == 0 => return Ok(None),
            1 => Change::Exited(status),
            2 | 3 => Change::Killed(status),
            6 => Change::Continued,
            _ => Change::Stopped(status),
        };
        Ok(Some((change, resources)))
    }

    /// The account of a child that has ended. If it could not be opened in time, the superuser still can.
    fn transfers(&self) -> Option<Transfers> {
        if let Some(account) = &self.account {
            return account.read();
        }
        let account = Account::open(self.pid)?;
        let transfers = account.read();
        account.close();
        transfers
    }

    /// Sends the child a signal. The child must not have been reported as ended yet: its number may have been reused.
    pub fn send(&self, signal: i32) {
        let _ = kill(self.pid, signal);
    }

    /// Passes on a signal that was taken, with its sender's value (`sigqueue`), if it has one. The condition of
    /// [`Child::send`] applies.
    pub fn send_on(&self, taken: &Taken) {
        const RT_SIGQUEUEINFO: usize = 129;
        const SI_QUEUE: i32 = -1;
        // SAFETY: the kernel reads one siginfo_t, 128 bytes.
        let queued = taken.code == SI_QUEUE
            && unsafe {
                syscall3(
                    RT_SIGQUEUEINFO,
                    self.pid as usize,
                    taken.signal as usize,
                    core::ptr::from_ref(taken) as usize,
                )
            }
            .is_ok();
        if !queued {
            self.send(taken.signal);
        }
    }

    /// After the child has ended: did it end because nothing could be executed?
    #[must_use]
    pub fn refused(self) -> Option<Refused> {
        if let Some(account) = self.account {
            account.close();
        }
        let [reason, path, ..] = self.complaint.words();
        match reason.load(Ordering::Relaxed) {
            0 => None,
            reason => {
                Some(Refused { reason: Errno(reason as u16), path: path.load(Ordering::Relaxed) as usize })
            }
        }
    }
}

/// Sends a signal to a thread of a process; nothing happens if the thread is no longer that process's.
///
/// # Errors
/// `ESRCH`: there is no such thread in that process. `EPERM`: it is another user's.
pub fn signal_thread(process: u32, thread: u32, signal: i32) -> Result<()> {
    // SAFETY: no memory of this process is involved.
    unsafe { syscall3(number::TGKILL, process as usize, thread as usize, signal as usize)? };
    Ok(())
}

/// Ends this process by `signal`, as if it had received it, without a core dump: the program has written its own if it
/// wanted one. Returns only if the signal could not kill.
pub fn die_by(signal: i32) {
    const RLIMIT_CORE: usize = 4;
    const PR_SET_DUMPABLE: u32 = 4;
    let none = [0u64; 2];
    // SAFETY: the kernel reads two u64; the second call takes numbers only. The second is for cores that are piped to a program,
    // which the limit does not suppress.
    unsafe {
        let _ = syscall6(number::PRLIMIT64, 0, RLIMIT_CORE, none.as_ptr() as usize, 0, 0, 0);
        let _ = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    }
    let _ = set_disposition(signal, Disposition::Default);
    let _ = kill(getpid(), signal);
    let _ = set_mask(SignalSet::NONE);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inherited::inherited;
    use core::ffi::CStr;

    /// Runs `arguments` at the first of `paths` that works, and waits for its end.
    fn check(paths: &[&CStr], arguments: &[&CStr]) -> (Change, Option<Refused>, Usage) {
        let slots = |strings: &[&CStr]| std::vec![core::ptr::null(); strings.len() + 1];
        let (mut first, mut second, mut third) = (slots(paths), slots(arguments), slots(&[]));
        let child = start(&Start {
            paths: Strings::new(&mut first, paths.iter().copied()).expect("room"),
            arguments: Strings::new(&mut second, arguments.iter().copied()).expect("room"),
            environment: Strings::new(&mut third, []).expect("room"),
            inherited: inherited(),
            streams: [None; 3],
            mask: SignalSet::NONE,
        })
        .expect("started");
        loop {
            match child.change().expect("our own child") {
                Some((change @ (Change::Exited(_) | Change::Killed(_)), usage)) => {
                    return (change, child.refused(), usage);
                }
                _ => crate::syscall::sched_yield(),
            }
        }
    }

    #[test]
    fn exit_codes_and_signals_come_back() {
        let _turn = crate::process_wide();
        let (change, refused, usage) = check(&[c"/bin/sh"], &[c"sh", c"-c", c"exit 3"]);
        assert_eq!((change, refused), (Change::Exited(3), None));
        assert!(usage.peak_resident_bytes() > 100_000 && usage.minor_faults() > 10);
        let (change, refused, _) = check(&[c"/bin/sh"], &[c"sh", c"-c", c"kill -TERM $$"]);
        assert_eq!((change, refused), (Change::Killed(name::TERM), None));
    }

    #[test]
    fn our_heap_is_no_part_of_the_programs_peak() {
        unsafe extern "C" {
            fn sbrk(bytes: isize) -> *mut u8;
        }
        const MORE: usize = 32 << 20;
        let _turn = crate::process_wide();
        let before = check(&[c"/bin/true"], &[c"true"]).2.peak_resident_bytes();
        // SAFETY: the C library's heap tolerates that others took bytes after its own.
        let bytes = unsafe { sbrk(MORE as isize) };
        assert_ne!(bytes, usize::MAX as *mut u8);
        // SAFETY: these bytes stay ours for the rest of the process.
        unsafe { bytes.write_bytes(1, MORE) };
        let after = check(&[c"/bin/true"], &[c"true"]).2.peak_resident_bytes();
        assert!(after < before + MORE as u64 / 2, "{before}, then {after}");
    }

    #[test]
    fn reads_and_writes_come_back_also_of_the_killed() {
        let _turn = crate::process_wide();
        let transfers = |script: &CStr| {
            let (change, _, usage) = check(&[c"/bin/sh"], &[c"sh", c"-c", script]);
            (change, usage.transfers().unwrap_or_default().write_calls)
        };
        let (change, none) = transfers(c":");
        assert_eq!(change, Change::Exited(0));
        let (change, killed) =
            transfers(c"for i in 1 2 3 4 5 6 7; do echo $i > /dev/null; done; kill -KILL $$");
        assert_eq!(change, Change::Killed(name::KILL));
        // A kernel without the account returns none for both.
        let kept = Account::open(getpid()).map(Account::close).is_some();
        assert_eq!(killed - none, if kept { 7 } else { 0 });
    }

    #[test]
    fn paths_are_tried_in_order_and_the_best_reason_comes_back() {
        let _turn = crate::process_wide();
        let (change, refused, _) =
            check(&[c"/no/sh", c"/etc/passwd/sh", c"/bin/sh"], &[c"sh", c"-c", c"exit 4"]);
        assert_eq!((change, refused), (Change::Exited(4), None));
        let refused = |paths: &[&CStr]| check(paths, &[c"x"]).1;
        assert_eq!(refused(&[c"/no/x"]), Some(Refused { reason: Errno::ENOENT, path: 0 }));
        assert_eq!(refused(&[c"/no/x", c"/etc", c"/no/y"]), Some(Refused { reason: Errno::EACCES, path: 1 }));
    }
}
