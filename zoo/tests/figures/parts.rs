//! The owners of the memory of real programs: the parts of a look, against the kernel's data about each mapping.

use super::*;
use std::os::unix::process::CommandExt;

/// Programs and their arguments.
const PROGRAMS: [(&str, &[&str]); 14] = [
    ("python3", &["-c", "x = [str(i) * 10 for i in range(300000)]"]),
    // Shared memory is written to, and is no part of anonymous memory.
    (
        "python3",
        &[
            "-c",
            "import mmap; s = mmap.mmap(-1, 100 << 20); s.write(b'x' * (100 << 20)); x = [i for i in range(300000)]",
        ],
    ),
    // Pages of zeros that are only read take no memory, and are resident for mincore.
    (
        "python3",
        &[
            "-c",
            "import mmap; s = mmap.mmap(-1, 60 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); s.find(b'x')",
        ],
    ),
    ("perl", &["-e", "my @x = map { \"text $_\" } 1..200000;"]),
    ("ruby", &["-e", "x = (1..200000).map { |i| \"text #{i}\" }"]),
    ("node", &["-e", "const x = Array.from({length: 200000}, (_, i) => 'text' + i)"]),
    ("php", &["-r", "$x = range(0, 500000);"]),
    ("java", &["-version"]),
    (
        "sqlite3",
        &[
            ":memory:",
            "create table t as with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000) select i, 'text' || i from n",
        ],
    ),
    ("git", &["log", "--stat", "-n", "40"]),
    ("gcc", &["-O2", "-c", "-o", "/dev/null", "programs/figures/counted.c"]),
    ("sh", &["-c", "exec xz -6 -c programs/figures/counted.c > /dev/null"]),
    (
        "/usr/bin/python3",
        &[
            "-c",
            "import numpy as n, multiprocessing.shared_memory as s; m = s.SharedMemory(create=True, size=64 << 20); \
             a = n.ndarray(8 << 20, buffer=m.buf); a[:] = 1; b = n.arange(3 << 20) * 2.0; del a; m.close(); m.unlink()",
        ],
    ),
    // It has a heap of its own, in terabytes of address space.
    (
        "chromium",
        &[
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--dump-dom",
            "data:text/html,<p>memory</p>",
        ],
    ),
];

/// These end as large as they were; others give back large blocks, as perl its array.
const KEEP_ALL: [&str; 3] = ["java", "sqlite3", "git"];

#[test]
fn parts_of_memory_add_up_to_what_the_kernel_counts() {
    let library = compiled("figures/parts", "figures-parts.so", &["-shared", "-fPIC"]);
    let mut compared = 0;
    for (at, (name, arguments)) in PROGRAMS.into_iter().enumerate() {
        let found = Command::new(name).arg("--version").output().is_ok();
        if !found {
            skipped(&format!("{name}: is not there"));
            continue;
        }
        let folder = scratch(&format!("parts-{at}"));
        let mut run = Command::new(underbar());
        run.args(["run", "--json", "-o"]).arg(folder.join("report")).arg("--").arg(name).args(arguments);
        run.env("LD_PRELOAD", &library).env("PARTS", folder.join("of")).env_remove("UNDERBAR_OPTS");
        run.env("XDG_CONFIG_HOME", &folder).env("XDG_CACHE_HOME", &folder);
        let left = left(run.current_dir(env!("CARGO_MANIFEST_DIR")));
        compared += compare(name, &folder, &left);
        fs::remove_dir_all(folder).expect("removed");
    }
    assert!(compared >= 5, "only {compared} were looked at");
}

/// Compares each process of the folder's report with the kernel's data at its end; returns their number.
fn compare(name: &str, folder: &Path, left: &Left) -> usize {
    let text = fs::read(folder.join("report")).unwrap_or_else(|error| panic!("{name}: {error}: {left:?}"));
    let report: Value = serde_json::from_slice(&text).expect("a report");
    let mut compared = 0;
    // One that continues, as Python's tracker of shared memory, was not looked at when it ended.
    let has_ended = |section: &&Value| section["state"] == "ended";
    for section in report["processes"].as_array().expect("processes").iter().filter(has_ended) {
        let file = folder.join(format!("of.{}", section["process"]));
        let whole = section["counters"]["coverage"]["anonymous"].as_u64();
        let (Ok(said), Some(whole)) = (fs::read_to_string(&file), whole) else { continue };
        let said: u64 = said.trim().parse().expect("a number");
        let owners = section["owners"].as_array().expect("owners").iter();
        let others: u64 = owners.map(|owner| owner["bytes"].as_u64().expect("bytes")).sum();
        let parts = figure(section, Key::CoverageHeap) + others;
        assert_eq!(parts, whole, "{name}: {section}");
        // A look before the end may have seen more; of these there is nothing that they give back.
        if KEEP_ALL.contains(&name) {
            assert!(whole <= said + said / 50 + MIB / 4, "{name}: {whole} of {said}: {section}");
        }
        assert!(whole + said / 50 + MIB / 4 >= said, "{name}: {whole} of {said}: {section}");
        let most = report["steps"]["peak_resident_bytes"].as_u64().expect("a peak");
        assert!(whole <= most, "{name}: {whole}, and {most} was resident: {section}");
        eprintln!(
            "{name} {}: {whole}, smaps {said}, heap {}",
            section["program"],
            figure(section, Key::CoverageHeap)
        );
        compared += 1;
    }
    compared
}

/// It refuses to be run by root, so `nobody` runs it, with files that `nobody` can read.
#[test]
fn parts_of_postgresql_add_up() {
    const NOBODY: u32 = 65_534;
    let Some(commands) = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|version| version.path().join("bin"))
        .find(|bin| bin.join("postgres").exists())
    else {
        return skipped("postgres: is not there");
    };
    let folder = std::env::temp_dir().join(format!("underbar-parts-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let (command, library) = (folder.join("underbar"), folder.join("parts.so"));
    executable::copy(underbar(), &command);
    fs::copy(compiled("figures/parts", "figures-parts.so", &["-shared", "-fPIC"]), &library).expect("a copy");
    let run = |program: &Path| {
        let mut run = Command::new("sh");
        run.args(["-c", "exec \"$0\" \"$@\" < input"]).arg(program).current_dir(&folder);
        if is_superuser() {
            run.uid(NOBODY).gid(NOBODY);
        }
        run.env("XDG_CONFIG_HOME", folder.join("none")).env("XDG_CACHE_HOME", folder.join("none"));
        run.env_remove("UNDERBAR_OPTS");
        run
    };
    if is_superuser() {
        chown(&folder, Some(NOBODY), Some(NOBODY)).expect("given away");
    }
    let sort = "set work_mem = '64MB'; \
                select count(*) from (select i, md5(i::text) m from generate_series(1, 200000) i order by m) s;\n";
    fs::write(folder.join("input"), sort).expect("written");
    let made = left(run(&commands.join("initdb")).args(["--auth", "trust", "-D", "data"]));
    assert_eq!(code(made.status), 0, "{made:?}");
    let mut postgres = run(&command);
    postgres.args(["run", "--json", "-o", "report", "--"]).arg(commands.join("postgres"));
    postgres.args(["--single", "-D", "data", "postgres"]);
    let left = left(postgres.env("LD_PRELOAD", &library).env("PARTS", folder.join("of")));
    assert!(left.output.contains("count = \"200000\""), "{left:?}");
    let compared = compare("postgres", &folder, &left);
    fs::remove_dir_all(folder).expect("removed");
    assert_eq!(compared, 1, "{left:?}");
}

/// A look did not end when terabytes were reserved: more pages than a look queries.
#[test]
fn memory_in_a_large_reserve_is_seen() {
    let program = compiled("figures/reserves", "figures-reserves", &[]);
    for mode in ["locked", "open"] {
        let mut run = Command::new(underbar());
        run.args(["run", "--json", "--"]).arg(&program).arg(mode).env_remove("UNDERBAR_OPTS");
        let report: Value = serde_json::from_str(&left(&mut run).error).expect("a report");
        let section = &report["processes"][0];
        let whole = section["counters"]["coverage"]["anonymous"].as_u64();
        assert!(whole.is_some_and(|bytes| (24 * MIB..26 * MIB).contains(&bytes)), "{mode}: {section}");
        let owners = section["owners"].as_array().expect("owners").iter();
        let parts: u64 = owners.map(|owner| owner["bytes"].as_u64().expect("bytes")).sum();
        assert_eq!(Some(parts + figure(section, Key::CoverageHeap)), whole, "{mode}: {section}");
    }
}

/// Memory had not doubled since the last look, and the block was less than half of the resident memory then:
/// the look at 44 MiB was the one in the report.
#[test]
fn what_goes_soon_is_looked_at_before_it_goes() {
    let program = compiled("figures/transient", "figures-transient", &[]);
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "--opts", "HEAP(1M,1M,,FREE)", "--"])
        .arg(&program)
        .env_remove("UNDERBAR_OPTS");
    let report: Value = serde_json::from_str(&left(&mut run).error).expect("a report");
    let anonymous = report["processes"][0]["counters"]["coverage"]["anonymous"].as_u64();
    assert!(anonymous.is_some_and(|bytes| bytes >= 57 * MIB), "{anonymous:?}");
}

/// Ranges without a written page went before, so that the third was not looked at: 5 MiB of 67 were counted for a script.
#[test]
fn what_goes_after_empty_ranges_is_looked_at() {
    let program = compiled("figures/aligned", "figures-aligned", &[]);
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "--"]).arg(&program).env_remove("UNDERBAR_OPTS");
    let report: Value = serde_json::from_str(&left(&mut run).error).expect("a report");
    let anonymous = figure(&report["processes"][0], Key::CoverageAnonymous);
    assert!(anonymous >= 48 * MIB, "{anonymous}");
}

/// A program that has its memory before the ledger is found: the sum came into the ledger, and its parts did not.
#[test]
fn a_look_before_the_ledger_keeps_its_parts() {
    let program = compiled("figures/served", "figures-served", &["-fno-builtin"]);
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "--"]).arg(&program).env_remove("UNDERBAR_OPTS").env_remove("LD_PRELOAD");
    let report: Value = serde_json::from_str(&left(&mut run).error).expect("a report");
    let section = &report["processes"][0];
    let whole = figure(section, Key::CoverageAnonymous);
    let owners = section["owners"].as_array().expect("owners").iter();
    let parts: u64 = owners.map(|owner| owner["bytes"].as_u64().expect("bytes")).sum();
    assert!(whole >= 12 * MIB, "{section}");
    assert_eq!(parts + figure(section, Key::CoverageHeap), whole, "{section}");
}
