//! Figures that the kernel gives for the whole run, and the one table that describes them.
//!
//! They are figures of the run, with all children that were waited for; the ledger's counters are of each process by itself.

use serde::{Deserialize, Serialize};
use underbar_ledger::Unit;

/// The resources that the run used, by the kernel's accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    /// Time from start to end, in nanoseconds.
    pub elapsed_ns: u64,
    /// CPU time in the program, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// Largest resident set of any one process, in bytes.
    pub peak_resident_bytes: u64,
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that needed a read.
    pub major_faults: u64,
    /// Times that a thread gave up the processor to wait.
    pub voluntary_switches: u64,
    /// Times that the processor was taken from a thread.
    pub involuntary_switches: u64,
    /// Calls of read and its relatives, if the kernel counts them.
    pub read_calls: Option<u64>,
    /// Calls of write and its relatives, if the kernel counts them.
    pub write_calls: Option<u64>,
    /// Bytes that these calls read.
    pub read_bytes: Option<u64>,
    /// Bytes that these calls wrote.
    pub written_bytes: Option<u64>,
    /// All system calls, under SWITCHES(,KERNEL), if the kernel's tracing may be used.
    pub kernel_entries: Option<u64>,
}

/// One entry of the table of step figures.
#[derive(Clone, Copy)]
pub struct Step {
    /// Key path, as in gates and `explain`.
    pub key: &'static str,
    /// The words printed before the figure.
    pub label: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// What it means.
    pub meaning: &'static str,
    /// Takes the figure from the steps; None if it is not known.
    pub get: fn(&Steps) -> Option<u64>,
}

/// The scope of the figures of reads and writes.
macro_rules! as_counted {
    () => {
        "Exact as the kernel counts for the program and all processes that were waited for, also after SIGKILL; recv, \
         send, mapped files and io_uring are not among it. Reads of underbar's own are taken off as far as processes count them \
         (process.own_reads): those of a process without a place in the ledger remain, and what the kernel reads of a program to start it. Not known where the kernel keeps no such account, the program took other rights than ours, or there was no place for accounts."
    };
}

macro_rules! steps {
    ($($key:literal, $label:literal, $unit:ident, $get:expr, $meaning:expr;)*) => {
        /// All step figures, in the order of the report.
        pub static STEPS: [Step; [$($key),*].len()] = [$(Step {
            key: concat!("steps.", $key), label: $label, unit: Unit::$unit, meaning: $meaning, get: $get,
        }),*];
    };
}

steps! {
    "elapsed_ns", "Elapsed time", Nanoseconds, |steps| Some(steps.elapsed_ns),
        "Time from the start of the program to its end.";
    "user_ns", "CPU time, user", Nanoseconds, |steps| Some(steps.user_ns),
        "Processor time spent in the programs of the run, as the kernel accounts it when a process is waited for.";
    "system_ns", "CPU time, system", Nanoseconds, |steps| Some(steps.system_ns),
        "Processor time that the kernel spent for the programs of the run.";
    "peak_resident_bytes", "Peak resident storage", Bytes, |steps| Some(steps.peak_resident_bytes),
        "The largest resident set that any one process of the run reached; not a sum over processes.";
    "minor_faults", "Page faults without I/O", Count, |steps| Some(steps.minor_faults),
        "First touches of a page, and other page faults that the kernel served from memory.";
    "major_faults", "Page faults with I/O", Count, |steps| Some(steps.major_faults),
        "Page faults for which the kernel had to read from a device.";
    "voluntary_switches", "Waits", Count, |steps| Some(steps.voluntary_switches),
        "Times that a thread gave up the processor because it had to wait.";
    "involuntary_switches", "Preemptions", Count, |steps| Some(steps.involuntary_switches),
        "Times that the kernel took the processor from a thread that could have gone on.";
    "read_calls", "Read calls", Count, |steps| steps.read_calls,
        concat!("System calls that read: read and its relatives, sendfile and copy_file_range. ", as_counted!());
    "write_calls", "Write calls", Count, |steps| steps.write_calls,
        concat!("System calls that write: write and its relatives, sendfile and copy_file_range. ", as_counted!());
    "read_bytes", "Bytes read", Bytes, |steps| steps.read_bytes,
        concat!("Bytes that the read calls read, from wherever: not what a device was asked for. ", as_counted!());
    "written_bytes", "Bytes written", Bytes, |steps| steps.written_bytes,
        concat!("Bytes that the write calls wrote, to wherever: not what a device was sent. ", as_counted!());
    "kernel_entries", "Entries to the kernel", Count, |steps| steps.kernel_entries,
        "System calls of the program and of all processes and threads that it started, as the kernel's own tracing counts them \
         (raw_syscalls:sys_enter): exact, from the program's exec on, also of what no library sees. Those that underbar makes in these \
         processes are among them. Known under SWITCHES(,KERNEL) where the kernel lets this user count: the \
         superuser, or CAP_PERFMON, with the kernel's tracing files.";
}

impl Steps {
    /// CPU time, user and system together, in nanoseconds.
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_and_the_fields_are_the_same() {
        let steps = Steps {
            elapsed_ns: 1,
            user_ns: 2,
            system_ns: 3,
            peak_resident_bytes: 4,
            minor_faults: 5,
            major_faults: 6,
            voluntary_switches: 7,
            involuntary_switches: 8,
            read_calls: Some(9),
            write_calls: Some(10),
            read_bytes: Some(11),
            written_bytes: Some(12),
            kernel_entries: Some(13),
        };
        let json = serde_json::to_value(&steps).expect("steps are plain");
        assert_eq!(json.as_object().map(serde_json::Map::len), Some(STEPS.len()));
        for (at, step) in STEPS.iter().enumerate() {
            let name = step.key.strip_prefix("steps.").expect("a step's key");
            assert_eq!(json[name].as_u64(), (step.get)(&steps), "{}", step.key);
            assert_eq!((step.get)(&steps), Some(at as u64 + 1), "{}", step.key);
            assert!(step.meaning.ends_with('.') && underbar_ledger::Key::find(step.key).is_none());
        }
    }
}
