//! Obeying the run-time options: read once, at the start, from the environment.
//!
//! ```text
//! UNDERBAR_BASE=le        defaults of Language Environment instead of underbar's
//! UNDERBAR_OPTS=TEXT      option text, including sections for programs; overrides the defaults
//! UNDERBAR_SAMPLES=PERIOD  sample by timers, which needs a ledger
//! UNDERBAR_LEDGER=PATH    the ledger to write to; without it, MSGFILE in the text may name one to make
//! ```
//!
//! Complaints about the text are the command's to print; here they are only counted.
//! Invariant: whatever the text says, the program runs; settings that cannot be obeyed keep their defaults.
//! Not here: the grammar and its evaluation (`options` crate), and the resources that obey (`resources`).

use core::ffi::c_char;

use underbar_options::{Base, ProgramName, Settings, Severity, WhereSet, may_name_build_ids};
use underbar_preloadable::build_id::{LONGEST, build_id};
use underbar_sys::syscall;

use crate::environment::Environment;
use crate::ledger::{own_reads, program};
use crate::orders::Orders;
use crate::{follow, resources};

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// Holds the option text.
pub const TEXT: &[u8] = crate::environment::OPTION_TEXT;
/// `le` for the documented defaults of Language Environment.
pub const BASE: &[u8] = b"UNDERBAR_BASE";

/// Reads the options, and has all resources obey them.
pub fn obey() {
    with_environment(|environment| {
        program::find_out(|name, started_as| obey_for(environment, name, started_as));
    });
}

fn obey_for(environment: Environment<'_>, name: &[u8], started_as: &[u8]) {
    let text = environment.value(TEXT).unwrap_or_default();
    let defaults = Settings::defaults(Base::named(environment.value(BASE)));
    if text.is_empty() {
        // As most programs: without a copy of the settings, which with the parser takes three pages of each process's stack.
        give_out(environment, name, text, (defaults, 0));
    } else {
        obey_text(environment, name, started_as, (text, defaults));
    }
}

#[inline(never)]
fn obey_text(
    environment: Environment<'_>,
    name: &[u8],
    started_as: &[u8],
    (text, defaults): (&[u8], &Settings),
) {
    let mut id = [0; LONGEST];
    let program = ProgramName {
        name,
        started_as,
        // The file is read only if the text may name a build id.
        build_id: if may_name_build_ids(text) { own_build_id(&mut id) } else { b"" },
    };
    let mut settings = *defaults;
    let mut errors = 0;
    settings.evaluate([(WhereSet::Environment, text)], &program, &mut |diagnostic| {
        errors += u64::from(diagnostic.severity() == Severity::Warning);
    });
    give_out(environment, name, text, (&settings, errors));
}

/// Has the resources obey these settings, in whose text there were so many errors.
fn give_out(environment: Environment<'_>, name: &[u8], text: &[u8], (settings, errors): (&Settings, u64)) {
    let is_accounted = follow::is_wanted(environment);
    resources::configure(&Orders { settings, errors, text, environment, program: name, is_accounted });
}

/// Calls `then` with the environment. The first request for storage may come before the C library knows it;
/// then the kernel is asked.
fn with_environment<R>(then: impl FnOnce(Environment<'_>) -> R) -> R {
    // SAFETY: no code changes the environment before the program runs.
    let known = unsafe { environ };
    if known.is_null() {
        return with_environment_of_kernel(then);
    }
    // SAFETY: the C library's environment.
    then(unsafe { Environment::new(known) })
}

/// As the kernel has it. Apart, since its room would be four pages of each process's stack.
#[cold]
#[inline(never)]
fn with_environment_of_kernel<R>(then: impl FnOnce(Environment<'_>) -> R) -> R {
    let mut text = [0_u8; 16 * 1024];
    let mut pointers = [core::ptr::null::<c_char>(); 512];
    let mut length = 0;
    if let Ok(fd) = syscall::open(c"/proc/self/environ", syscall::O_RDONLY | syscall::O_CLOEXEC, 0) {
        let room = text.len() - 1;
        while let Some(rest) = text.get_mut(length..room)
            && let Ok(read) = own_reads::read(fd, rest)
            && read > 0
        {
            length += read;
        }
        let _ = syscall::close(fd);
    }
    let strings = text[..length].split_inclusive(|&byte| byte == 0).filter(|string| string.ends_with(b"\0"));
    for (pointer, string) in pointers[..511].iter_mut().zip(strings) {
        *pointer = string.as_ptr().cast();
    }
    // SAFETY: C strings in `text`, and a null pointer after them.
    then(unsafe { Environment::new(pointers.as_ptr()) })
}

fn own_build_id(room: &mut [u8; LONGEST]) -> &[u8] {
    let flags = syscall::O_RDONLY | syscall::O_CLOEXEC;
    let Ok(fd) = syscall::open(c"/proc/self/exe", flags, 0) else { return b"" };
    let id = build_id(|offset, buffer| own_reads::pread(fd, buffer, offset).unwrap_or(0), room);
    let _ = syscall::close(fd);
    id
}
