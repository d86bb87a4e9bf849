//! What is done before a function that a cache must not be seen by.
//!
//! Invariant: nothing here changes an argument, or `errno`.
//! Not here: the functions (`names`), and how they come here (`stubs`).

use core::ffi::{CStr, c_char};

use underbar_ledger::caches::{Flush, Plain};
use underbar_sys::file::{fstat, statat};
use underbar_sys::syscall::AT_FDCWD;

use super::lock::{self, Held};
use super::names::{About, about};
use super::{files, vfork};

/// A function of that number is called with these six arguments.
pub(super) extern "C" fn before(number: usize, arguments: &[usize; 6]) {
    let Some(about) = about(number) else { return };
    if vfork::is_child() {
        return;
    }
    // What makes descriptors another file, or a child, matters before any file is cached.
    let matters = matches!(
        about,
        About::ChildInside
            | About::Child
            | About::Spawn
            | About::DuplicateTo
            | About::CloseRange
            | About::CloseFrom
            | About::SystemCall
    );
    if !files::any() && !matters {
        return;
    }
    let held = lock::enter();
    act(about, arguments, &held);
}

fn act(about: About, arguments: &[usize; 6], held: &Held) {
    let [first, second, third, _, fifth, _] = *arguments;
    let fd = first as i32;
    match about {
        About::End => files::flush_all(Flush::Exit),
        About::ChildInside => {
            files::share_with_program();
            vfork::begins();
        }
        About::Child => {
            files::flush_all(Flush::Fork);
            files::make_all_plain(Plain::Fork);
            files::share_unknown(true);
        }
        About::Spawn => {
            files::share_with_program();
            files::places_are_unknown();
        }
        About::Exec => {
            files::flush_all(Flush::Exec);
            files::make_all_plain(Plain::Fork);
        }
        About::SyncAll => files::flush_all(Flush::Sync),
        About::WriteInside => files::flush_all(Flush::Change),
        About::Path => files::flush_all(Flush::Path),
        About::Open => opens(AT_FDCWD, first),
        About::OpenAt => opens(fd, second),
        About::Reopen => {
            opens(AT_FDCWD, first);
            files::make_all_plain(Plain::Duplicated);
        }
        About::Descriptor => files::descriptor_is_made(),
        About::Look => files::flush(fd, Flush::Look),
        About::LookSecond => files::flush(second as i32, Flush::Look),
        About::Change => {
            files::flush(fd, Flush::Change);
            files::moves(fd);
        }
        About::Read => reads(fd, held),
        About::Duplicate => {
            files::make_plain(fd, Plain::Duplicated);
            files::descriptor_is_made();
        }
        About::DuplicateTo => {
            if fd != second as i32 {
                files::make_plain(fd, Plain::Duplicated);
                files::closes(second as i32);
            }
        }
        About::Control => controls(fd, second),
        About::DeviceControl => controls_device(fd, second),
        About::Lock => files::make_plain(fd, Plain::Locked),
        About::Map => files::make_plain(fifth as i32, Plain::Mapped),
        About::Copy => [first, second].iter().for_each(|fd| files::make_plain(*fd as i32, Plain::Transfer)),
        About::CopyThird => {
            [first, third].iter().for_each(|fd| files::make_plain(*fd as i32, Plain::Transfer))
        }
        About::Asynchronous => files::make_all_plain(Plain::Transfer),
        About::Message => files::make_all_plain(Plain::Duplicated),
        About::CloseRange => files::closes_range(first as u32, second as u32),
        About::CloseFrom => files::closes_range(first as u32, u32::MAX),
        About::Limit if first == FILE_SIZE => files::make_all_plain(Plain::Limit),
        About::LimitOf if second == FILE_SIZE && third != 0 => files::make_all_plain(Plain::Limit),
        About::Limit | About::LimitOf => {}
        About::SystemCall => system_call(first),
    }
}

/// RLIMIT_FSIZE.
const FILE_SIZE: usize = 1;

/// A path is opened. The file may be one that is cached.
fn opens(directory: i32, path: usize) {
    files::flush_all(Flush::Path);
    if path != 0 {
        // SAFETY: the program's path, which the function reads, too.
        let path = unsafe { CStr::from_ptr(path as *const c_char) };
        if let Ok(status) = statat(directory, path) {
            files::make_file_plain(status.device, status.inode);
        }
    }
    files::descriptor_is_made();
}

/// A descriptor is read: its own buffer is emptied, and printed output before input from a terminal or a pipe.
pub(super) fn reads(fd: i32, _: &Held) {
    if files::is_cached(fd) {
        files::flush(fd, Flush::Look);
        files::moves(fd);
    } else if files::has_printed() && !fstat(fd).is_ok_and(|status| status.is_regular()) {
        files::flush_printed(Flush::Input);
    }
}

/// fcntl: what asks only, and closing on exec, changes nothing.
fn controls(fd: i32, command: usize) {
    const F_DUPFD: usize = 0;
    const F_GETFD: usize = 1;
    const F_SETFD: usize = 2;
    const F_GETFL: usize = 3;
    const F_DUPFD_CLOEXEC: usize = 1030;
    match command {
        F_GETFD | F_SETFD | F_GETFL => {}
        F_DUPFD | F_DUPFD_CLOEXEC => {
            files::make_plain(fd, Plain::Duplicated);
            files::descriptor_is_made();
        }
        _ => files::make_plain(fd, Plain::Locked),
    }
}

/// ioctl: what terminals are asked, and closing on exec.
fn controls_device(fd: i32, request: usize) {
    const TCGETS: usize = 0x5401;
    const TIOCGWINSZ: usize = 0x5413;
    const TIOCGPGRP: usize = 0x540f;
    const FIONCLEX: usize = 0x5450;
    const FIOCLEX: usize = 0x5451;
    if !matches!(request & 0xffff_ffff, TCGETS | TIOCGWINSZ | TIOCGPGRP | FIONCLEX | FIOCLEX) {
        files::make_plain(fd, Plain::Locked);
    }
}

/// A system call that the program makes itself: known ones do nothing to files.
fn system_call(number: usize) {
    const HARMLESS: &[usize] = &[
        24,  // sched_yield
        28,  // madvise
        35,  // nanosleep
        39,  // getpid
        98,  // getrusage
        102, // getuid
        104, // getgid
        107, // geteuid
        108, // getegid
        110, // getppid
        186, // gettid
        201, // time
        202, // futex
        203, // sched_setaffinity
        204, // sched_getaffinity
        228, // clock_gettime
        230, // clock_nanosleep
        234, // tgkill
        237, // mbind
        238, // set_mempolicy
        239, // get_mempolicy
        273, // set_robust_list
        309, // getcpu
        318, // getrandom
        324, // membarrier
        334, // rseq
    ];
    /// clone, fork, vfork, clone3.
    const CHILDREN: [usize; 4] = [56, 57, 58, 435];
    if !HARMLESS.contains(&number) {
        files::flush_all(Flush::Change);
        files::make_all_plain(Plain::SystemCall);
        if CHILDREN.contains(&number) {
            files::share_unknown(true);
        }
    }
}
