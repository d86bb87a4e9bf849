//! The costs of switches on a machine, and the time of the calls of a run by them.
//!
//! A count alone tells little: a fork costs a thousand times what a call costs that does nothing. So calls are ranked by their count
//! times the cost of their kind.
//!
//! Invariant: a cost that was not measured is 0, and the time of such calls is not known. What a call waits for is never part of it.
//! Not here: the calls ([`crate::switches`]), and the measurement (the command's).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use underbar_ledger::switch_names::{Function, SwitchKind};

use crate::switches::{Calls, MUTEX};

/// Costs of switches on the machine, in nanoseconds; 0: not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchCosts {
    /// A call that does nothing in the kernel.
    pub system_call_ns: u64,
    /// A read of 80 bytes.
    pub read_ns: u64,
    /// A write of 132 bytes.
    pub write_ns: u64,
    /// A call that changes mappings.
    pub mapping_ns: u64,
    /// A hand-over to another thread and back.
    pub hand_over_ns: u64,
    /// A thread made, and its end waited for.
    #[serde(default)]
    pub thread_ns: u64,
    /// A fork of a small process, with the end of the child.
    #[serde(default)]
    pub fork_ns: u64,
    /// A small program started, with its end.
    #[serde(default)]
    pub start_ns: u64,
}

/// Functions whose cost is that of the work which they start or wait for: no figure of the machine tells it.
const UNWEIGHED: [&str; 10] = [
    "sigwait",
    "sigwaitinfo",
    "sigtimedwait",
    "sigsuspend",
    "pause",
    "dlopen",
    "dlmopen",
    "getaddrinfo",
    "LINK",
    "CALL",
];
/// The function that makes a thread.
const THREAD: &str = "pthread_create";
/// Functions that make a process of this one.
const FORKS: [&str; 3] = ["fork", "vfork", "clone"];
/// Functions that make another program of a process.
const EXECS: [&str; 9] =
    ["execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat"];
/// Functions that start a program in a process of its own.
const STARTS: [&str; 4] = ["posix_spawn", "posix_spawnp", "system", "popen"];

impl SwitchCosts {
    /// The cost of one call, without what the program waits for. None: not known.
    fn of(&self, calls: &Calls) -> Option<u64> {
        let name = calls.function.as_str();
        let is_one_of = |names: &[&str]| names.contains(&name);
        if is_one_of(&UNWEIGHED) {
            return None;
        }
        let of_process = match name {
            _ if is_one_of(&FORKS) => Some(self.fork_ns),
            _ if is_one_of(&EXECS) => Some(self.start_ns.saturating_sub(self.fork_ns)),
            _ if is_one_of(&STARTS) => Some(self.start_ns),
            THREAD => Some(self.thread_ns),
            MUTEX => Some(self.hand_over_ns),
            _ => None,
        };
        if let Some(cost) = of_process {
            return (cost > 0).then_some(cost);
        }
        let function = calls.known()?;
        // There and back are two writes and two reads.
        if calls.kind == SwitchKind::HandOver.name() && calls.is_of_read_or_write() {
            let cost = self.read_ns.max(self.hand_over_ns / 4);
            return (cost > 0).then_some(cost);
        }
        let both = (function.is(Function::READS), function.is(Function::WRITES));
        let cost = match (both, function.kind) {
            ((true, true), _) => self.read_ns.saturating_add(self.write_ns),
            ((true, false), _) => self.read_ns,
            ((false, true), _) => self.write_ns,
            (_, SwitchKind::Storage) => self.mapping_ns,
            (_, SwitchKind::Lock | SwitchKind::HandOver) => self.hand_over_ns,
            _ => self.system_call_ns,
        };
        (cost > 0).then_some(cost)
    }

    /// The time of all these calls, in nanoseconds, without what the program waits for. None: not known.
    #[must_use]
    pub fn time(&self, calls: &Calls) -> Option<u64> {
        Some(self.of(calls)?.saturating_mul(calls.count))
    }
}

impl Calls {
    /// Whether they make a thread, a process or a program.
    pub(crate) fn starts_process(&self) -> bool {
        let name = self.function.as_str();
        name == THREAD || FORKS.iter().chain(&EXECS).chain(&STARTS).any(|other| *other == name)
    }
}

/// The schema of the costs.
pub(crate) fn schema() -> Value {
    let number = |words: &str| json!({"type": "integer", "minimum": 0, "description": words});
    json!({
        "type": "object",
        "description": "Costs of switches on this machine, in nanoseconds, 0 where not measured; absent without SWITCHES(ON).",
        "properties": {
            "system_call_ns": number("A call that does nothing in the kernel."),
            "read_ns": number("A read of 80 bytes."),
            "write_ns": number("A write of 132 bytes."),
            "mapping_ns": number("A call that changes mappings."),
            "hand_over_ns": number("A hand-over to another thread and back."),
            "thread_ns": number("A thread made, and its end waited for."),
            "fork_ns": number("A fork of a small process, with the end of the child."),
            "start_ns": number("A small program started, with its end."),
        },
        "required": ["system_call_ns", "read_ns", "write_ns", "mapping_ns", "hand_over_ns"],
    })
}

#[cfg(test)]
mod tests {
    use underbar_ledger::switch_names;

    use super::*;

    #[test]
    fn each_call_has_the_cost_of_its_kind() {
        let costs = SwitchCosts {
            system_call_ns: 1,
            read_ns: 2,
            write_ns: 3,
            mapping_ns: 4,
            hand_over_ns: 5,
            thread_ns: 6,
            fork_ns: 7,
            start_ns: 15,
        };
        let time = |function: &str| {
            let (component, kind) = (String::new(), String::new());
            costs.time(&Calls { component, kind, function: function.to_owned(), count: 10, bytes: None })
        };
        let all = ["getpid", "stream read", "pwrite64", "sendfile", "mmap", "pthread_cond_wait"].map(time);
        assert_eq!(all, [10, 20, 30, 50, 40, 50].map(Some));
        let all = ["pthread_create", "vfork", "execl", "posix_spawn", "system", "waitpid"].map(time);
        assert_eq!(all, [60, 70, 80, 150, 150, 10].map(Some));
        let by_pipe = |function: &str| {
            let [component, kind, function] = ["", "hand-over", function].map(str::to_owned);
            SwitchCosts { hand_over_ns: 20, ..costs }.time(&Calls {
                component,
                kind,
                function,
                count: 10,
                bytes: None,
            })
        };
        assert_eq!(["read", "write", MUTEX].map(by_pipe), [50, 50, 200].map(Some));
        assert!(UNWEIGHED.into_iter().all(|name| time(name).is_none()));
        let names = || (0..switch_names::FUNCTIONS).map(switch_names::name);
        let special = UNWEIGHED.iter().chain(&FORKS).chain(&EXECS).chain(&STARTS);
        assert!(special.into_iter().all(|name| names().any(|other| other == *name)));
        assert_eq!(SwitchCosts::default().time(&Calls { count: 1, ..sample() }), None, "not measured");
    }

    fn sample() -> Calls {
        let [component, kind, function] = ["print", "file", "write"].map(str::to_owned);
        Calls { component, kind, function, count: 1, bytes: Some(1) }
    }
}
