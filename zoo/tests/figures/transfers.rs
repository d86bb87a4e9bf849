//! Reads and writes, against the program's own counts and `strace`; page faults, against the kernel's answer to the program.

use std::os::unix::process::CommandExt as _;

use super::*;

/// Only root can read the account of a process that has ended: the command opens it before the program begins.
#[test]
fn an_ordinary_user_is_told_the_reads_of_the_shortest_program() {
    if fs::read("/proc/self/io").is_err() {
        return skip("reads and writes: the kernel keeps no account of them");
    }
    const NOBODY: u32 = 65_534;
    // Not in the target folder: the path to it may be closed to others.
    let folder = std::env::temp_dir().join(format!("underbar-reads-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let command = folder.join("underbar");
    executable::copy(underbar(), &command);
    for round in 0..60 {
        let mut run = Command::new(&command);
        run.args(["run", "--json", "--", "/bin/true"]).env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
        if underbar_zoo::is_superuser() {
            run.uid(NOBODY).gid(NOBODY).current_dir("/").env("HOME", "/").env_remove("XDG_RUNTIME_DIR");
        }
        let left = left(&mut run);
        let report: Value =
            serde_json::from_str(&left.error).unwrap_or_else(|error| panic!("{error}: {left:?}"));
        assert!(report["steps"]["read_calls"].is_u64(), "round {round}: {}", report["steps"]);
    }
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn reads_and_writes_are_those_that_the_program_counts() {
    if fs::read("/proc/self/io").is_err() {
        return skip("reads and writes: the kernel keeps no account of them");
    }
    let loaded = program("transfers");
    let plain = compiled("figures/transfers", "figures-transfers-static", &["-static"]);
    for (line, mode) in [
        (loaded.as_str(), "ends"),
        (&loaded, "threads"),
        (&loaded, "child"),
        (&loaded, "killed"),
        (text(&plain), "ends"),
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
            // The same without underbar, whose own reads are subtracted.
            // The program's own read of its account and its write of its output are added.
            let bare = Command::new(line)
                .args([mode, &reads.to_string(), &writes.to_string()])
                .output()
                .expect("runs");
            let said = |word: &str| {
                let output = String::from_utf8_lossy(&bare.stdout);
                let mut words = output.split_whitespace().skip_while(|other| *other != word);
                words.nth(1).and_then(|number| number.parse::<u64>().ok()).expect(word)
            };
            let (read, written) = (said("syscr") + 1, said("syscw") + 1);
            assert!(read > reads && written > writes, "{bare:?}");
            assert_eq!(step("read_calls"), read, "{mode}: {report}: {left:?}");
            assert_eq!(step("write_calls"), written, "{mode}: {report}: {left:?}");
            let (read, written) = (said("rchar") + said("own"), said("wchar") + bare.stdout.len() as u64);
            // Figures in its input and output may have more digits.
            let digits = 24;
            assert!(
                (written..=written + digits).contains(&step("written_bytes")),
                "{mode}: {report}: {left:?}"
            );
            assert!(
                (read..=read + digits).contains(&step("read_bytes")),
                "{mode}: {read} {report}: {left:?}"
            );
            let own: u64 = report["tree"]["counters"]["process"]["own_reads"].as_u64().unwrap_or(0);
            assert_eq!(own > 0, line == loaded, "{report}");
        }
    }
}

/// Read calls of the program in `strace`, and their bytes.
fn seen(file: &Path) -> (u64, u64) {
    let trace = fs::read_to_string(file).expect("the trace");
    let bytes =
        trace.lines().filter_map(|line| line.rsplit_once(" = ")).map(|(_, said)| said.parse().unwrap_or(0));
    bytes.fold((0, 0), |(calls, sum), bytes: u64| (calls + 1, sum + bytes))
}

pub(super) fn reads_of_underbar_are_those_that_the_program_does_not_make() {
    let folder = scratch("own-reads");
    if code(left(Command::new("/bin/sh").args(["-c", "strace -o /dev/null true"])).status) != 0 {
        return skipped("reads of underbar: strace does not work here");
    }
    let program = program("faults");
    for pages in ["10", "20000"] {
        let (with, without) = (folder.join("with"), folder.join("without"));
        let line =
            |file| ["strace", "-qq", "-o", text(file), "-e", "trace=read,pread64", "--", &program, pages];
        let account = account_of(&[], &line(&with), &program);
        assert_eq!(code(left(Command::new(line(&without)[0]).args(&line(&without)[1..])).status), 0);
        let (with, without) = (seen(&with), seen(&without));
        exact(&account, Key::OwnReads, with.0 - without.0);
        exact(&account, Key::OwnReadBytes, with.1 - without.1);
    }
}

pub(super) fn page_faults_are_those_of_the_program_itself() {
    let faults = program("faults");
    for pages in [10_u64, 20_000] {
        // A shell that touches its own memory comes before it in the same process, and another program runs next to it.
        let script = format!("x=$(seq 100000); {faults} 30000 >/dev/null; exec {faults} {pages}");
        let account = account_of(&[], &["/bin/sh", "-c", &script], &faults);
        let sections = account.report["processes"].as_array().expect("processes");
        let is_this = |section: &&Value| section["arguments"][1] == *pages.to_string();
        let section = sections.iter().find(is_this).expect("the program").clone();
        let account = Account { section, report: account.report.clone(), left: account.left };
        let touched = account.said("after") - account.said("before");
        assert!(touched >= pages, "{touched}");
        // Pages that the library touches at the start and at the end.
        between(&account, Key::ProcessFaults, touched..=touched + 300);
    }
}
