//! Obeying the run-time options: read once, at the start, from the environment.
//!
//! ```text
//! UNDERBAR_BASE=le        defaults of Language Environment instead of our own
//! UNDERBAR_OPTS=TEXT      option text, sections for programs included; laid over the defaults
//! UNDERBAR_SAMPLES=PERIOD  sample by timers, which needs a ledger
//! UNDERBAR_LEDGER=PATH    the ledger to write to; without it, MSGFILE in the text may name one to make
//! ```
//!
//! Complaints about the text are the command's to print; here they are only counted.
//! Invariant: whatever the text says, the program runs; what cannot be done is left at its default.
//! Not here: the grammar (`options` crate), and what the options do (`heap`, `stack`).

use core::ffi::CStr;
use core::sync::atomic::Ordering;

use underbar_ledger::samples;
use underbar_options::{Base, Dsa, ProgramName, Settings, Severity, Size, WhereSet, may_name_build_ids};
use underbar_preloadable::LEDGER;
use underbar_preloadable::build_id::{LONGEST, build_id};
use underbar_sys::syscall;

use crate::follow::environment::Environment;
use crate::ledger::{attach, program};
use crate::{follow, heap, ledger, lock, own, sample, stack};

/// Holds the option text.
pub const TEXT: &[u8] = b"UNDERBAR_OPTS";
/// `le` for the documented defaults of Language Environment.
pub const BASE: &[u8] = b"UNDERBAR_BASE";

/// Reads the options, sets the heap up, and finds the ledger.
pub fn obey() {
    attach::with_environment(|environment| {
        program::find_out(|name, started_as| obey_for(environment, name, started_as));
    });
}

fn obey_for(environment: Environment<'_>, name: &[u8], started_as: &[u8]) {
    let text = environment.value(TEXT).unwrap_or_default();
    let mut id = [0; LONGEST];
    let program = ProgramName {
        name,
        started_as,
        // The file is read only where somebody asks for it.
        build_id: if may_name_build_ids(text) { own_build_id(&mut id) } else { b"" },
    };
    let (base, texts) = (Base::named(environment.value(BASE)), [(WhereSet::Environment, text)]);
    let mut errors = 0;
    let settings = Settings::evaluate(base, texts, &program, &mut |diagnostic| {
        errors += u64::from(diagnostic.severity() == Severity::Warning);
    });
    set_up_heap(&settings);
    lock::configure(settings.locks());
    if let Some((place, how)) = settings.one_lock() {
        lock::configure_one(place, how);
    }
    if follow::is_wanted(environment) {
        find_ledger(environment, &settings, text, name);
        sample::configure(environment.value(samples::VARIABLE.as_bytes()));
    }
    ledger::slot().option_errors.store(errors, Ordering::Relaxed);
}

fn own_build_id(room: &mut [u8; LONGEST]) -> &[u8] {
    let flags = syscall::O_RDONLY | syscall::O_CLOEXEC;
    let Ok(fd) = syscall::open(c"/proc/self/exe", flags, 0) else { return b"" };
    let id = build_id(|offset, buffer| own::pread(fd, buffer, offset).unwrap_or(0), room);
    let _ = syscall::close(fd);
    id
}

fn set_up_heap(settings: &Settings) {
    let bytes = |size| match size {
        Size::Auto => 0,
        Size::Bytes(bytes) => usize::try_from(bytes).unwrap_or(0),
    };
    let said = settings.heap();
    let policy = heap::Policy {
        initial: bytes(said.init),
        increment: bytes(said.increment),
        disposition: said.disposition,
        huge_pages: settings.huge_pages(),
    };
    let storage = settings.storage();
    let threads = settings.thread_stack();
    stack::configure(if threads.on { bytes(threads.init) as u64 } else { 0 });
    stack::fill::configure(
        storage.dsa == Dsa::Clear,
        if let Dsa::Byte(byte) = storage.dsa { Some(byte) } else { None },
    );
    heap::configure(policy, storage.getheap, storage.freeheap, settings.heap_check());
}

fn find_ledger(environment: Environment<'_>, settings: &Settings, text: &[u8], program: &[u8]) {
    if let Some(path) = environment.value_c(LEDGER) {
        attach::attach(path);
        return;
    }
    let mut host = [0; 64];
    let mut room = [0; 512];
    if let Some(pattern) = settings.message_file()
        && let Some(length) = pattern
            .fill_in(syscall::getpid() as u32, program, host_name(&mut host), &mut room[..511])
            .map(<[u8]>::len)
        && let Ok(path) = CStr::from_bytes_until_nul(&room[..=length])
    {
        attach::make(path, text);
    }
}

fn host_name(room: &mut [u8]) -> &[u8] {
    let Ok(fd) = syscall::open(c"/proc/sys/kernel/hostname", syscall::O_RDONLY | syscall::O_CLOEXEC, 0)
    else {
        return b"";
    };
    let length = own::read(fd, room).unwrap_or(0);
    let _ = syscall::close(fd);
    room.get(..length).unwrap_or_default().trim_ascii()
}
