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
use super::{entries, files, others, reads, slot, vfork};

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
    if !entries::any() && !matters && !others::may_be() {
        return;
    }
    let held = lock::enter();
    act(about, arguments, &held);
}

/// The process makes a child that executes a program at once.
pub(super) fn spawns() {
    if !entries::is_active() || vfork::is_child() {
        return;
    }
    let held = lock::enter();
    act(About::Spawn, &[0; 6], &held);
}

fn act(about: About, arguments: &[usize; 6], held: &Held) {
    let [first, second, third, _, fifth, _] = *arguments;
    let fd = first as i32;
    match about {
        About::End => files::flush_all(Flush::Exit),
        About::ChildInside => {
            share_with_program();
            vfork::begins();
        }
        About::Child => {
            files::flush_all(Flush::Fork);
            make_all_plain(Plain::Fork);
            others::escapes();
            files::share_unknown();
        }
        About::Spawn => {
            share_with_program();
            slot::places_are_unknown();
        }
        About::Exec => {
            files::flush_all(Flush::Exec);
            make_all_plain(Plain::Fork);
        }
        About::SyncAll => files::flush_all(Flush::Sync),
        About::WriteInside => files::flush_all(Flush::Change),
        About::Path => files::flush_all(Flush::Path),
        About::Truncate => {
            files::flush_all(Flush::Path);
            reads::settle_all(Flush::Path);
        }
        About::Open => opens(AT_FDCWD, first),
        About::OpenAt => opens(fd, second),
        About::Reopen => {
            opens(AT_FDCWD, first);
            make_all_plain(Plain::Duplicated);
        }
        About::Descriptor => entries::descriptor_is_made(),
        About::Look => files::flush(fd, Flush::Look),
        About::LookSecond => files::flush(second as i32, Flush::Look),
        About::Change => {
            files::flush(fd, Flush::Change);
            files::moves(fd);
        }
        About::Read => {
            looks_by_reading(fd, held);
            reads::seeks_to(fd, None);
        }
        About::Duplicate => {
            make_plain(fd, Plain::Duplicated);
            others::duplicates(fd, None);
            entries::descriptor_is_made();
        }
        About::DuplicateTo => {
            if fd != second as i32 {
                make_plain(fd, Plain::Duplicated);
                closes(second as i32);
                others::duplicates(fd, Some(second as i32));
            }
        }
        About::Control => controls(fd, second),
        About::DeviceControl => controls_device(fd, second),
        About::Lock => make_plain(fd, Plain::Locked),
        About::Map => {
            make_plain(fifth as i32, Plain::Mapped);
            others::escape_if_shared(fifth as i32);
        }
        About::Copy => [first, second].iter().for_each(|fd| make_plain(*fd as i32, Plain::Transfer)),
        About::CopyThird => [first, third].iter().for_each(|fd| make_plain(*fd as i32, Plain::Transfer)),
        About::Asynchronous => {
            make_all_plain(Plain::Transfer);
            others::escape_all_shared();
        }
        About::Message if has_control(second) => sends_descriptors(),
        About::Messages if (0..third).any(|at| has_control(second + at * MESSAGE)) => sends_descriptors(),
        About::Message | About::Messages => {}
        About::Wait => files::flush_printed(Flush::Input),
        About::CloseRange => closes_range(first as u32, second as u32),
        About::CloseFrom => closes_range(first as u32, u32::MAX),
        About::Limit if first == FILE_SIZE => make_all_plain(Plain::Limit),
        About::LimitOf if second == FILE_SIZE && third != 0 => make_all_plain(Plain::Limit),
        About::Limit | About::LimitOf => {}
        About::SystemCall => system_call(first),
    }
}

fn sends_descriptors() {
    make_all_plain(Plain::Duplicated);
    others::escape_all_shared();
}

/// Bytes of a message among several.
const MESSAGE: usize = 64;

/// Whether a message has control data, which may be descriptors.
fn has_control(message: usize) -> bool {
    const CONTROL_LENGTH: usize = 40;
    // SAFETY: the program's message, which the function reads, too.
    message != 0 && unsafe { *((message + CONTROL_LENGTH) as *const usize) } > 0
}

/// A descriptor's file is cached no more, however it was.
fn make_plain(fd: i32, reason: Plain) {
    files::make_plain(fd, reason);
    reads::make_plain(fd, reason);
}

/// The same for all.
pub(super) fn make_all_plain(reason: Plain) {
    files::make_all_plain(reason);
    reads::make_all_plain(reason);
}

fn share_with_program() {
    reads::share_with_program();
    files::share_with_program();
}

/// A descriptor is about to be closed. Returns an error that earlier bytes met.
pub(super) fn closes(fd: i32) -> Option<i32> {
    reads::closes(fd);
    files::closes(fd)
}

/// Descriptors from one to another are about to be closed.
fn closes_range(first: u32, last: u32) {
    for fd in first..=last.min(entries::DESCRIPTORS as u32 - 1) {
        closes(fd as i32);
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
            others::look_at_file(status.device, status.inode);
            reads::make_file_plain(status.device, status.inode);
        }
    }
    entries::descriptor_is_made();
}

/// A descriptor is read: its own buffer is emptied, and printed output before input from a terminal or a pipe.
pub(super) fn looks_by_reading(fd: i32, _: &Held) {
    if files::is_written(fd) {
        files::flush(fd, Flush::Look);
        files::moves(fd);
        return;
    }
    others::look_at(fd);
    if files::has_printed() {
        if fstat(fd).is_ok_and(|status| status.is_regular()) {
            others::is_read(fd);
        } else {
            files::flush_printed(Flush::Input);
        }
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
            make_plain(fd, Plain::Duplicated);
            others::duplicates(fd, None);
            entries::descriptor_is_made();
        }
        _ => make_plain(fd, Plain::Locked),
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
        make_plain(fd, Plain::Locked);
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
        make_all_plain(Plain::SystemCall);
        if CHILDREN.contains(&number) {
            files::share_unknown();
        }
    }
}
