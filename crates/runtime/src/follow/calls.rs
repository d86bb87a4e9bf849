//! The C functions that start a program, each with the environment seen through [`super::with_environment`].
//!
//! ```text
//! execl, execlp, execle ── gather the arguments ──> execv, execvp, execve
//! execv, execvp (the program's own `environ`)   ──> execve, execvpe
//! execve, execvpe, fexecve, execveat, posix_spawn, posix_spawnp ── the next library's function of the name
//! ```
//!
//! The next library's function is called, not a system call: it may be another preloaded library's, which changes paths or
//! forbids programs, and the user put it there.
//!
//! Invariant: results and `errno` are those of the next function. If it cannot be found, `execve` becomes the system call,
//! and functions that cannot be one answer ENOSYS.
//! Not here: the symbols under which C programs find these functions (`preload`).

use super::target::Target;
use super::{Runner, with_environment};
use crate::environment::Environment;
use crate::ledger;
use crate::next::Next;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::MaybeUninit;
use underbar_sys::file::{execve as execve_now, execveat as execveat_now};
use underbar_sys::syscall::{AT_EMPTY_PATH, AT_FDCWD, Errno, map_anonymous, munmap};

/// Arguments or an environment: pointers to C strings, ended by a null pointer.
type Strings = *const *const c_char;

// ---- the next library's functions ------------------------------------------------------------------------

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
    static environ: Strings;
}

static EXECVE: Next = Next::new(c"execve");
static EXECVPE: Next = Next::new(c"execvpe");
static FEXECVE: Next = Next::new(c"fexecve");
static EXECVEAT: Next = Next::new(c"execveat");
static POSIX_SPAWN: Next = Next::new(c"posix_spawn");
static POSIX_SPAWNP: Next = Next::new(c"posix_spawnp");

/// Looks for all of them.
pub(super) fn find_next() {
    for next in [&EXECVE, &EXECVPE, &FEXECVE, &EXECVEAT, &POSIX_SPAWN, &POSIX_SPAWNP] {
        let _ = next.get();
    }
}

fn fail(reason: Errno) -> c_int {
    // SAFETY: the C library's own errno of the calling thread.
    unsafe { *__errno_location() = reason.number() };
    -1
}

/// A C string that may be null, which exec is left to refuse.
///
/// # Safety
/// `text` is null or a C string for `'a`.
unsafe fn string<'a>(text: *const c_char) -> &'a CStr {
    // SAFETY: the caller's promise.
    if text.is_null() { c"" } else { unsafe { CStr::from_ptr(text) } }
}

/// The program's own environment.
fn own_environment() -> Strings {
    // SAFETY: a plain read of the C library's variable, as the C library itself does in `execv`.
    unsafe { environ }
}

/// Where names are searched: PATH of this process, even if the new program gets another.
fn folders<'a>() -> Option<&'a CStr> {
    // SAFETY: a program that changes its environment while it starts another races in C, too.
    unsafe { Environment::new(own_environment()) }.value_c(b"PATH")
}

// ---- with arrays -----------------------------------------------------------------------------------------

/// `execve`.
///
/// # Safety
/// As C's.
pub unsafe fn execve(path: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    type Function = unsafe extern "C" fn(*const c_char, Strings, Strings) -> c_int;
    // SAFETY: the caller's promise is passed on; the next `execve` has this signature.
    unsafe {
        with_environment(Runner::Myself, Target::At(AT_FDCWD, string(path)), environment, |changed, _| {
            match EXECVE.get() {
                Some(next) => core::mem::transmute::<usize, Function>(next)(path, arguments, changed),
                None => fail(execve_now(path, arguments, changed)),
            }
        })
    }
}

/// `execve` for an `underbar` that runs under another one: the system call, so that the user's libraries are called no more
/// than by a command without accounts.
///
/// # Safety
/// As C's.
pub unsafe fn underbar_execve(path: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        with_environment(Runner::Myself, Target::At(AT_FDCWD, string(path)), environment, |changed, _| {
            fail(execve_now(path, arguments, changed))
        })
    }
}

/// `execv`.
///
/// # Safety
/// As C's.
pub unsafe fn execv(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the caller's promise is passed on.
    unsafe { execve(path, arguments, own_environment()) }
}

/// `execvpe`.
///
/// # Safety
/// As C's.
pub unsafe fn execvpe(file: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    type Function = unsafe extern "C" fn(*const c_char, Strings, Strings) -> c_int;
    // SAFETY: the caller's promise is passed on; the next `execvpe` has this signature.
    unsafe {
        with_environment(
            Runner::Myself,
            Target::Search(string(file), folders()),
            environment,
            |changed, _| match EXECVPE.get() {
                Some(next) => core::mem::transmute::<usize, Function>(next)(file, arguments, changed),
                None => fail(Errno::ENOSYS),
            },
        )
    }
}

/// `execvp`.
///
/// # Safety
/// As C's.
pub unsafe fn execvp(file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the caller's promise is passed on.
    unsafe { execvpe(file, arguments, own_environment()) }
}

/// `fexecve`.
///
/// # Safety
/// As C's.
pub unsafe fn fexecve(fd: c_int, arguments: Strings, environment: Strings) -> c_int {
    type Function = unsafe extern "C" fn(c_int, Strings, Strings) -> c_int;
    // SAFETY: the caller's promise is passed on; the next `fexecve` has this signature.
    unsafe {
        with_environment(Runner::Myself, Target::Open(fd), environment, |changed, _| match FEXECVE.get() {
            Some(next) => core::mem::transmute::<usize, Function>(next)(fd, arguments, changed),
            None => fail(execveat_now(fd, c"".as_ptr(), arguments, changed, AT_EMPTY_PATH as i32)),
        })
    }
}

/// `execveat`.
///
/// # Safety
/// As C's.
pub unsafe fn execveat(
    directory: c_int,
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
    flags: c_int,
) -> c_int {
    type Function = unsafe extern "C" fn(c_int, *const c_char, Strings, Strings, c_int) -> c_int;
    // SAFETY: the caller's promise is passed on; the next `execveat` has this signature.
    unsafe {
        let file = string(path);
        let empty = file.is_empty() && flags & AT_EMPTY_PATH as c_int != 0;
        let target = if empty { Target::Open(directory) } else { Target::At(directory, file) };
        with_environment(Runner::Myself, target, environment, |changed, _| match EXECVEAT.get() {
            Some(next) => {
                core::mem::transmute::<usize, Function>(next)(directory, path, arguments, changed, flags)
            }
            None => fail(execveat_now(directory, path, arguments, changed, flags)),
        })
    }
}

/// `posix_spawn`; answers an error number and does not write `errno`.
///
/// # Safety
/// As C's.
pub unsafe fn posix_spawn(
    pid: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let target = Target::At(AT_FDCWD, string(path));
        spawn(&POSIX_SPAWN, target, pid, path, actions, attributes, arguments, environment)
    }
}

/// `posix_spawnp`; answers an error number and does not write `errno`.
///
/// # Safety
/// As C's.
pub unsafe fn posix_spawnp(
    pid: *mut c_int,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let target = Target::Search(string(file), folders());
        spawn(&POSIX_SPAWNP, target, pid, file, actions, attributes, arguments, environment)
    }
}

/// # Safety
/// As `posix_spawn`; `next` is one of the two.
#[allow(clippy::too_many_arguments, reason = "they are C's")]
unsafe fn spawn(
    next: &Next,
    target: Target<'_>,
    pid: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    type Function = unsafe extern "C" fn(
        *mut c_int,
        *const c_char,
        *const c_void,
        *const c_void,
        Strings,
        Strings,
    ) -> c_int;
    let mut unasked = 0;
    let pid = if pid.is_null() { &raw mut unasked } else { pid };
    // SAFETY: the caller's promise is passed on; both functions have this signature. If they succeed they have written the
    // child's number.
    unsafe {
        with_environment(Runner::Child, target, environment, |changed, is_followed| {
            let Some(next) = next.get() else { return Errno::ENOSYS.number() };
            let next = core::mem::transmute::<usize, Function>(next);
            let result = next(pid, path, actions, attributes, arguments, changed);
            if result == 0 && is_followed {
                // This process may end before the child attaches to the ledger.
                let _ = ledger::expected::expect(Some(pid.read()));
            }
            result
        })
    }
}

// ---- with arguments one by one ---------------------------------------------------------------------------

/// The arguments of a C function with a variable number of them, as its first instruction finds them.
#[derive(Clone, Copy)]
pub struct Arguments {
    /// rdi, rsi, rdx, rcx, r8, r9, in this order.
    pub registers: *const *const c_char,
    /// From the seventh on.
    pub stack: *const *const c_char,
}

impl Arguments {
    /// # Safety
    /// The caller of the C function has passed at least `index` + 1 arguments.
    unsafe fn get(self, index: usize) -> *const c_char {
        const REGISTERS: usize = 6;
        // SAFETY: the calling convention puts six in registers and the rest on the stack.
        unsafe {
            if index < REGISTERS {
                self.registers.add(index).read()
            } else {
                self.stack.add(index - REGISTERS).read()
            }
        }
    }

    /// Calls `then` with the arguments from the second on as an array, and with the one after their null.
    ///
    /// # Safety
    /// As C's `execl`: the first is the program, then come the arguments and a null pointer.
    unsafe fn gather(self, then: impl FnOnce(Strings, usize) -> c_int) -> c_int {
        let mut end = 1;
        // SAFETY: a null pointer ends the arguments, and has not been seen before `end`.
        while !unsafe { self.get(end) }.is_null() {
            end += 1;
        }
        let mut slots = [MaybeUninit::uninit(); 256];
        if end <= slots.len() {
            // SAFETY: `end` slots from 1 to the null pointer were passed.
            unsafe { self.copy(end, &mut slots) };
            return then(slots.as_ptr().cast(), end + 1);
        }
        let bytes = end * size_of::<*const c_char>();
        let room = match map_anonymous(bytes) {
            Ok(room) => room,
            Err(reason) => return fail(reason),
        };
        // SAFETY: the mapping is only this call's, page-aligned and long enough; the copy as above.
        unsafe { self.copy(end, core::slice::from_raw_parts_mut(room.cast(), end)) };
        let result = then(room.cast(), end + 1);
        // SAFETY: `then` has returned, so exec failed and no code reads the array any more.
        let _ = unsafe { munmap(room, bytes) };
        result
    }

    /// # Safety
    /// Arguments 1 to `end` were passed.
    unsafe fn copy(self, end: usize, slots: &mut [MaybeUninit<*const c_char>]) {
        for (index, slot) in (1..=end).zip(slots) {
            // SAFETY: `index` is at most `end`.
            slot.write(unsafe { self.get(index) });
        }
    }
}

/// `execl`.
///
/// # Safety
/// As C's.
pub unsafe fn execl(arguments: Arguments) -> c_int {
    // SAFETY: the caller's promise is passed on.
    unsafe { arguments.gather(|strings, _| execv(arguments.get(0), strings)) }
}

/// `execlp`.
///
/// # Safety
/// As C's.
pub unsafe fn execlp(arguments: Arguments) -> c_int {
    // SAFETY: the caller's promise is passed on.
    unsafe { arguments.gather(|strings, _| execvp(arguments.get(0), strings)) }
}

/// `execle`: the environment follows the null pointer.
///
/// # Safety
/// As C's.
pub unsafe fn execle(arguments: Arguments) -> c_int {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        arguments.gather(|strings, after| {
            execve(arguments.get(0), strings, arguments.get(after).cast::<*const c_char>())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn arguments_are_gathered_from_registers_and_stack() {
        for count in [0usize, 1, 4, 5, 6, 7, 300] {
            // The program, `count` arguments, null, the environment; each a number in place of a pointer.
            let mut passed: Vec<*const c_char> = (0..=count).map(|n| (n + 100) as *const c_char).collect();
            passed.extend([core::ptr::null(), 7777 as *const c_char]);
            passed.resize(passed.len().max(7), core::ptr::null());
            let arguments = Arguments { registers: passed.as_ptr(), stack: passed[6..].as_ptr() };
            let check = |strings: Strings, after: usize| {
                // SAFETY: `gather` passes `count` pointers and a null.
                let gathered = unsafe { core::slice::from_raw_parts(strings, count + 1) };
                assert_eq!(gathered, &passed[1..count + 2]);
                // SAFETY: one more argument was passed.
                assert_eq!(unsafe { arguments.get(after) } as usize, 7777);
                42
            };
            // SAFETY: a null pointer was passed after the arguments.
            assert_eq!(unsafe { arguments.gather(check) }, 42, "{count}");
        }
    }

    #[test]
    fn the_next_functions_are_found_and_say_what_is_wrong() {
        find_next();
        for next in [&EXECVE, &EXECVPE, &FEXECVE, &POSIX_SPAWN, &POSIX_SPAWNP] {
            assert!(next.get().is_some(), "{:?}", next.name);
        }
        let none: [*const c_char; 1] = [core::ptr::null()];
        let path = c"/no/such/program".as_ptr();
        // SAFETY: arrays that end with null; nothing can be executed, so the calls return.
        unsafe {
            assert_eq!(execve(path, none.as_ptr(), none.as_ptr()), -1);
            assert_eq!(*__errno_location(), Errno::ENOENT.number());
            let (mut pid, null) = (0, core::ptr::null());
            let result = posix_spawn(&raw mut pid, path, null, null, none.as_ptr(), none.as_ptr());
            assert_eq!(result, Errno::ENOENT.number());
        }
    }
}
