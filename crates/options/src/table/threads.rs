//! The options of waits and of time.
//!
//! Not here: the order of the table (`table`), and the vocabulary of the rows (`row`).

use crate::entry::Effect::Honoured;
use crate::entry::{Entry, words};
use crate::row::*;
use crate::value::Value::{Number, Unset};

pub(super) const LOCK: Entry = Entry {
    name: "LOCK",
    least: 3,
    alias: "",
    sub_options: &[
        sub("OFF|COUNT|SIMPLE", OFF_COUNT_SIMPLE, LOCKS_COUNT, Unset, "how threads wait for mutexes"),
        sub("place", COUNT, Unset, Unset, "one mutex, by its place in the program's file"),
        sub("COUNT|SIMPLE|SLEEP", COUNT_SIMPLE_SLEEP, Unset, Unset, "how threads wait for that mutex"),
    ],
    meaning: words("How threads wait for a mutex that another thread holds, and whether waits are recorded. An underbar option."),
    explanation: words("\
LOCK applies to private mutexes of the C library of the normal or the adaptive kind; it does not change others. A mutex
without waiters costs the same under all three values. COUNT, underbar's default, leaves waiting to the C library and
records which thread waits for which, how long, and where. SIMPLE also replaces the waiting: a few threads spin for a
moment, reading only; the others sleep. OFF leaves everything to the C library and records nothing.
One mutex may have a separate value; under SLEEP, threads sleep without spinning. place is the address of the variable
in the program's file or, if the mutex is no variable, the return address of a call that waited for it. underbar tune
--live finds the best value for one mutex and writes the option. A place is valid for one build of the program."),
    effect: Honoured,
};

pub(super) const MT: Entry = Entry {
    name: "MT",
    least: 2,
    alias: "",
    sub_options: &[sub("seconds", COUNT, Number(0), Unset, "CPU time of one program start, in seconds; 0: no limit")],
    meaning: words("The CPU time that a program may use from its start. An underbar option."),
    explanation: words("\
MT(60) limits each program start to 60 seconds of CPU time, over all threads of the process. A process starts when it
is forked or executes a program, and has a limit of its own. A program that is LINKed, and not from within another
one, is a start, too: then the limit is that of the LINKing thread, and its time does not count for the process. No
timer is set: the command, which looks at all processes of the run five times a second, sends SIGXCPU. A program that
does not handle it ends (shells show status 152). One that goes on gets SIGKILL after another tenth of the limit, at
least a second. Without the command as parent (--exec), the kernel's limit RLIMIT_CPU is set when a process starts,
and LINKs are not limited. Natural has the same parameter, and the message NAT0953; its default is 60, and 0 here."),
    effect: Honoured,
};

pub(super) const TIMER: Entry = Entry {
    name: "TIMER",
    least: 3,
    alias: "",
    sub_options: &[sub("OFF|COALESCE", OFF_COALESCE, OFF, Unset, "whether timers are kept outside the kernel while they are set again and again")],
    meaning: words("What it costs to set a timer again before it has expired. An underbar option."),
    explanation: words("\
A server that sets a timer anew for each message calls the kernel each time. Under COALESCE, a process that has set
one-shot timers a few times keeps them itself, and setting one to a later time, or ending it, is a store into memory.
A thread of underbar sleeps until the earliest time for which a timer was set, and sends the signal when it is due:
never earlier, and with the values that the kernel gives it. It applies to alarm, setitimer(ITIMER_REAL), and
timer_settime for timers of CLOCK_MONOTONIC with an ordinary signal. Timers with an interval, other clocks and other
notifications are left alone, and so is a process that changes its user, its namespaces, or forbids itself system
calls. The report counts calls and those that the kernel did not see."),
    effect: Honoured,
};
