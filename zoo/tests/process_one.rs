//! `underbar run` as the first process of a container: it waits for processes whose parents have ended.

use std::process::Command;

use underbar_zoo::{code, left, skip, underbar};

/// Two children lose their parent, and end. Waits until nobody but the script's own processes is a child of process 1, for ten seconds;
/// prints how many there are.
const SCRIPT: &str = "(sleep 0.01 & sleep 0.02 &)
left=2
for look in $(seq 200); do
    left=$(cat /proc/[0-9]*/stat 2>/dev/null | grep -c '^[0-9]* (sleep) . 1 ')
    [ \"$left\" = 0 ] && break
    sleep 0.05
done
echo \"left: $left\"
exit 7";

#[test]
fn the_first_process_of_a_container_leaves_no_zombies() {
    let flags = ["--pid", "--fork", "--mount-proc"];
    if code(left(Command::new("unshare").args(flags).arg("true")).status) != 0 {
        skip("the_first_process_of_a_container_leaves_no_zombies: unshare is not allowed here");
        return;
    }
    let mut run = Command::new("unshare");
    run.args(flags).arg(underbar()).args(["run", "-q", "--", "sh", "-c", SCRIPT]).env_remove("LD_PRELOAD");
    let run = left(&mut run);
    assert_eq!((code(run.status), run.output.as_str()), (7, "left: 0\n"), "{}", run.error);
}
