//! Reads and writes, against what the program counts.

use super::*;

/// What is in the figures beyond what the program did: the loader's reads are in its own account, too; ours at its end,
/// where it comes to that, are not.
const OWN_READS: u64 = 24;

#[test]
fn reads_and_writes_are_those_that_the_program_counts() {
    if fs::read("/proc/self/io").is_err() {
        return skip("reads and writes: the kernel keeps no account of them");
    }
    let loaded = program("transfers");
    let plain = compiled("figures/transfers", "figures-transfers-static", &["-static"]);
    for (line, mode, own) in [
        (loaded.as_str(), "ends", OWN_READS),
        (&loaded, "threads", OWN_READS),
        (&loaded, "child", OWN_READS),
        (&loaded, "killed", 0),
        // Without the library nothing is added.
        (text(&plain), "ends", 0),
    ] {
        for (reads, writes) in [(0_u64, 0_u64), (1000, 500), (20, 4000)] {
            let file = scratch("transfers").join("report");
            let mut run = Command::new(underbar());
            run.args(["run", "--json", "-o", text(&file), "--", line, mode])
                .args([reads.to_string(), writes.to_string()])
                .env_remove("LD_PRELOAD")
                .env_remove("UNDERBAR_OPTS");
            let left = left(&mut run);
            let report: Value = serde_json::from_slice(&fs::read(&file).expect("a report")).expect("JSON");
            let step = |name: &str| {
                report["steps"][name].as_u64().unwrap_or_else(|| panic!("{name}: {report}: {left:?}"))
            };
            let account = Account { section: Value::Null, report: Value::Null, left: left.clone() };
            // The program's own read of its account and its write of what it says come on top.
            let (read, written) = (account.said("syscr") + 1, account.said("syscw") + 1);
            assert!(read > reads && written > writes, "{left:?}");
            assert!((read..=read + own).contains(&step("read_calls")), "{mode}: {report}: {left:?}");
            assert_eq!(step("write_calls"), written, "{mode}: {report}: {left:?}");
            let written = account.said("wchar") + left.output.len() as u64;
            assert_eq!(step("written_bytes"), written, "{mode}: {report}: {left:?}");
            assert!(written >= writes * 100 + left.output.len() as u64);
            let read = account.said("rchar") + account.said("own");
            assert!((read..=read + own * PAGE).contains(&step("read_bytes")), "{mode}: {report}: {left:?}");
            assert!(read >= reads * 100);
        }
    }
}
