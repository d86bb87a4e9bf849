//! Limits of the shell (`ulimit`): memory that runs out, or is scarce, and files that may not grow, end no program otherwise
//! than bare.

use std::path::Path;
use std::process::Command;

use underbar_zoo::{code, compiled, left, text, underbar};

#[test]
fn memory_that_runs_out_is_the_program_s_to_handle() {
    const LIMITED: &str = "ulimit -v 150000; exec \"$@\"";
    let exhaust = compiled("faults/exhaust", "faults-exhaust", &[]);
    for size in ["16", "1000", "100000", "3000000"] {
        for options in ["", "HEAP(4K,4K,,KEEP)", "HEAP(64K,64K,,FREE)", "HEAP(1G,1G)", "HEAP(4G)"] {
            let limited = |line: &[&str]| {
                left(Command::new("/bin/sh").args(["-c", LIMITED, "sh"]).args(line).env_remove("LD_PRELOAD"))
            };
            let bare = limited(&[text(&exhaust), size]);
            assert_eq!(bare.output, "done\n");
            let with =
                limited(&[text(underbar()), "run", "-q", "--opts", options, "--", text(&exhaust), size]);
            assert_eq!(with, bare, "{size} {options}");
        }
    }
}

/// Under limits of a few megabytes, with no room for our heap, a shell found no end of its stack and perl had no memory.
#[test]
fn little_memory_changes_no_end() {
    for limit in ["-d 1000", "-d 4000", "-d 8000", "-v 5000", "-v 6000", "-v 16000"] {
        let script = format!("ulimit {limit}; sh -c 'echo out; exit 3'");
        let shell = left(Command::new("/bin/sh").args(["-c", &script]));
        assert_eq!(code(shell.status), 3, "{limit} plain: {}", shell.error);
        let with = left(Command::new(underbar()).args(["run", "-q", "--", "/bin/sh", "-c", &script]));
        assert_eq!(with, shell, "{limit}");
    }
}

#[test]
fn limits_of_the_shell_change_no_end() {
    let underbar = text(underbar());
    for limit in ["-f 0", "-f 10", "-d 4000", "-d 8000", "-v 8000", "-v 10000", "-v 12000"] {
        let starts = format!("ulimit {limit}; exec {underbar} --version");
        if !left(Command::new("/bin/sh").args(["-c", &starts])).status.success() {
            // There is no room even for its loader: a build with all its checks is larger.
            continue;
        }
        for flags in ["-q", "--json"] {
            let line =
                format!("ulimit {limit}; exec {underbar} run {flags} -- /bin/sh -c 'echo out; exit 3'");
            let left = left(Command::new("/bin/sh").args(["-c", &line]));
            assert_eq!((code(left.status), left.output.as_str()), (3, "out\n"), "{limit}: {}", left.error);
        }
    }
}
