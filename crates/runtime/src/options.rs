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

use underbar_options::{Base, ProgramName, Settings, Severity, WhereSet, may_name_build_ids};
use underbar_preloadable::build_id::{LONGEST, build_id};
use underbar_sys::syscall;

use crate::environment::Environment;
use crate::ledger::{attach, own_reads, program};
use crate::orders::Orders;
use crate::{follow, resources};

/// Holds the option text.
pub const TEXT: &[u8] = b"UNDERBAR_OPTS";
/// `le` for the documented defaults of Language Environment.
pub const BASE: &[u8] = b"UNDERBAR_BASE";

/// Reads the options, and has all resources obey them.
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
        // The file is read only if the text may name a build id.
        build_id: if may_name_build_ids(text) { own_build_id(&mut id) } else { b"" },
    };
    let mut settings = Settings::new(Base::named(environment.value(BASE)));
    let mut errors = 0;
    settings.evaluate([(WhereSet::Environment, text)], &program, &mut |diagnostic| {
        errors += u64::from(diagnostic.severity() == Severity::Warning);
    });
    let is_accounted = follow::is_wanted(environment);
    resources::configure(&Orders {
        settings: &settings,
        errors,
        text,
        environment,
        program: name,
        is_accounted,
    });
}

fn own_build_id(room: &mut [u8; LONGEST]) -> &[u8] {
    let flags = syscall::O_RDONLY | syscall::O_CLOEXEC;
    let Ok(fd) = syscall::open(c"/proc/self/exe", flags, 0) else { return b"" };
    let id = build_id(|offset, buffer| own_reads::pread(fd, buffer, offset).unwrap_or(0), room);
    let _ = syscall::close(fd);
    id
}
