//! HEAPPOOLS: what pools serve is as the program wants it, and their figures are those that the program itself counts.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::Value;
use underbar_zoo::{code, compiled, left, scratch, underbar};

/// Pools of many kinds, and the options around them.
const POOLS: [&str; 8] = [
    "HEAPPOOLS(ON)",
    "HEAPPOOLS(ALIGN),RPTSTG(ON)",
    "HEAPPOOLS(ON,8,1,24,1,40,1,136,1,1000,1,4096,1,65536,1,0),HEAP(32K,32K,,KEEP)",
    "HEAPPOOLS(ON,(64,3),1,(512,2),1,0),HEAP(64K,16K,,FREE)",
    "HEAPPOOLS(ALIGN,72,90,0),HEAP(16M,4M,,KEEP)",
    "HEAPPOOLS64(ON)",
    "HEAPPOOLS(ON),STORAGE(AA,55)",
    "RPTSTG(ON),HEAP(1M,1M,,KEEP)",
];

/// Runs a program, and gives its report and its output.
fn run(name: &str, options: &str, line: &[&str]) -> (Value, String) {
    let file = scratch(&format!("heap-pools-{name}")).join("report.json");
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "-o"]).arg(&file).args(["--opts", options, "--"]).args(line);
    let left = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    assert_eq!((code(left.status), left.error.as_str()), (0, ""), "{line:?} under {options:?}");
    let report = serde_json::from_slice(&fs::read(file).expect("a report")).expect("JSON");
    (report, left.output)
}

fn program(source: &str, name: &str) -> String {
    let path = compiled(source, name, &["-O1", "-pthread", "-fno-builtin"]);
    path.into_os_string().into_string().expect("a path of text")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number: {value}"))
}

fn each(section: &Value) -> &Vec<Value> {
    section["pools"]["each"].as_array().unwrap_or_else(|| panic!("pools in {section}"))
}

/// A cell in use is in an extent, and was used at most once more.
fn check_pools(section: &Value) {
    for pool in each(section) {
        let of = |name: &str| number(&pool[name]);
        assert!(of("used") <= of("used_peak"), "{pool}");
        assert!(of("used_peak") <= of("extents") * of("cells_per_extent"), "{pool}");
    }
}

#[test]
fn contents_are_whole_across_threads_forks_and_pools() {
    let program = program("heap/pools", "heap-pools");
    for (at, options) in POOLS.iter().enumerate() {
        let (report, output) = run(&format!("whole-{at}"), options, &[&program]);
        assert_eq!(output, "checked\n", "under {options:?}");
        for section in report["processes"].as_array().expect("processes") {
            assert_eq!(section["pools"].is_object(), options.contains("HEAPPOOLS"), "{options}");
            assert_eq!(section["ranges"].is_object(), options.contains("RPTSTG"), "{options}");
            if options.contains("HEAPPOOLS") {
                check_pools(section);
            }
        }
    }
}

/// What each process printed: process, size, count.
fn counted(output: &str) -> BTreeMap<u64, BTreeMap<u64, u64>> {
    let mut all: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
    for line in output.lines().filter(|line| *line != "end") {
        let words: Vec<u64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
        let [process, size, count] = words[..] else { panic!("{line}") };
        *all.entry(process).or_default().entry(size).or_default() += count;
    }
    all
}

/// Requests above `from`, up to `to`. A request of no bytes is one of one byte.
fn between(sizes: &BTreeMap<u64, u64>, from: u64, to: u64) -> u64 {
    sizes.iter().filter(|(size, _)| (from + 1..=to).contains(&(**size).max(1))).map(|(_, count)| count).sum()
}

#[test]
fn each_pool_has_the_requests_that_the_program_counted() {
    let program = program("requests", "pooled-requests");
    for (at, (options, sizes)) in [
        ("HEAPPOOLS(ON,64,10,256,10,1024,10,4096,10,0)", &[64, 256, 1024, 4096][..]),
        ("HEAPPOOLS64(ON,64,100,1024,10,0),RPTSTG(ON)", &[64, 1024]),
        ("HEAPPOOLS(ALIGN,(64,2),10,(256,3),10,1024,10,4096,10,0)", &[64, 256, 1024, 4096]),
    ]
    .into_iter()
    .enumerate()
    {
        for mode in ["ends", "forks"] {
            let (report, output) = run(&format!("{mode}-{at}"), options, &[&program, mode]);
            let processes = counted(&output);
            assert_eq!(processes.len(), if mode == "ends" { 1 } else { 2 });
            for (process, true_sizes) in processes {
                let all = report["processes"].as_array().expect("processes");
                let section = all.iter().find(|section| section["process"] == process).expect("a section");
                check_pools(section);
                let mut below = 0;
                for &size in sizes {
                    let of_size = each(section).iter().filter(|pool| pool["cell"] == size);
                    let gets: u64 = of_size.map(|pool| number(&pool["gets"])).sum();
                    assert_eq!(gets, between(&true_sizes, below, size), "{size} under {options:?}, {mode}");
                    below = size;
                }
                // The program counts a realloc that moved; the kernel may have moved its pages without a request.
                let (found, larger) =
                    (number(&section["pools"]["larger_requests"]), between(&true_sizes, below, u64::MAX - 1));
                assert!(found <= larger && found + 9 > larger, "{found} of {larger}, {options:?}, {mode}");
            }
        }
    }
}

#[test]
fn requests_are_counted_by_ranges_of_eight_bytes() {
    let program = program("requests", "ranged-requests");
    for (at, options) in
        ["RPTSTG(ON)", "RPTSTG(ON),HEAPPOOLS(ON)", "RPTSTG(ON),HEAP(64K,32K,,FREE)"].iter().enumerate()
    {
        for mode in ["ends", "forks"] {
            let (report, output) = run(&format!("ranges-{mode}-{at}"), options, &[&program, mode]);
            for (process, sizes) in counted(&output) {
                let all = report["processes"].as_array().expect("processes");
                let section = all.iter().find(|section| section["process"] == process).expect("a section");
                let ranges = section["ranges"].as_object().expect("ranges");
                for limit in (8..=4096).step_by(8) {
                    let found = ranges.get(&format!("up_to_{limit}")).map_or(0, number);
                    assert_eq!(
                        found,
                        between(&sizes, limit - 8, limit),
                        "up to {limit} under {options:?}, {mode}"
                    );
                }
                assert!(ranges.len() > 70, "{ranges:?}");
            }
        }
    }
}

/// Programs that people run, each with a file of its own that they write in their folder.
const REAL: [(&str, &str); 12] = [
    (
        "python3",
        "print(sum(len(str(n) * (n % 40)) for n in range(30000)), sorted({str(n) for n in range(500)})[:9])",
    ),
    ("perl", "my %h = map { $_ => 'x' x ($_ % 300) } 1..20000; print join ',', map { length $h{$_} } 1..99"),
    (
        "awk",
        "BEGIN { for (n = 0; n < 30000; n++) a[n % 977] = a[n % 977] n; s = 0; for (n in a) s += length(a[n]); print s }",
    ),
    (
        "sqlite3",
        "create table t (a, b); with recursive c(n) as (select 1 union all select n + 1 from c where n < 20000) \
      insert into t select n, n * n % 977 || 'text' || n from c; create index i on t (b); select count(*), max(b), sum(a) from t;",
    ),
    ("sh", "printf 'int main(void) { return 0; }\\n' > a.c && gcc -O2 -S -o - a.c | grep -c main"),
    (
        "sh",
        "git init -q r && cd r && for n in 1 2 3; do echo $n > f; git add f; git -c user.name=n -c user.email=e commit -qm $n; \
      done; git log --format=%s; git fsck --full 2>&1 | wc -l",
    ),
    ("sh", "seq 50000 | sort -R --random-source=/bin/sh | sort -n --parallel=2 | md5sum"),
    ("sh", "seq 60000 > n; xz -T2 -k n && xz -dc n.xz | cmp - n && echo same"),
    ("sh", "mkdir t; seq 20000 > t/n; tar czf t.tgz t && tar xzOf t.tgz t/n | md5sum"),
    ("sh", "seq 3000 | xargs -n 50 -P 2 echo | wc -l"),
    ("sh", "seq 20000 | sed -E 's/([0-9])([0-9])/\\2\\1/g' | grep -E '1.*9' | md5sum"),
    (
        "bash",
        "declare -A a; for ((n = 0; n < 9000; n++)); do a[k$((n % 700))]+=$n; done; echo ${#a[@]} ${#a[k5]}",
    ),
];

#[test]
fn real_programs_do_the_same_with_pools_as_plain() {
    let options =
        ["HEAPPOOLS(ON)", "HEAPPOOLS(ALIGN,24,1,(72,2),1,400,1,3000,1,0),HEAP(64K,64K,,KEEP),RPTSTG(ON)"];
    for (at, (program, text)) in REAL.iter().enumerate() {
        let flag = match *program {
            "awk" => "--",
            "perl" => "-e",
            "sqlite3" => ":memory:",
            _ => "-c",
        };
        let is_there =
            |name: &str| Command::new("sh").args(["-c", &format!("command -v {name} >&2")]).output();
        if !is_there(program).is_ok_and(|found| found.status.success()) {
            underbar_zoo::skip(&format!("{program} is not installed"));
            continue;
        }
        let folder = |way: &str| scratch(&format!("heap-pools-real-{at}-{way}"));
        let plain = left(Command::new(program).args([flag, text]).current_dir(folder("plain")));
        assert!(plain.status.success() && plain.output.len() > 1, "{text}: {plain:?}");
        for (way, options) in options.iter().enumerate() {
            let mut run = Command::new(underbar());
            run.args(["run", "-q", "-o", "/dev/null", "--opts", options, "--", program, flag, text]);
            let pooled = left(run.current_dir(folder(&way.to_string())));
            assert_eq!(pooled.output, plain.output, "{text} under {options}: {}", pooled.error);
            assert_eq!(code(pooled.status), code(plain.status), "{text} under {options}");
        }
    }
}

/// Without the options there is nothing to see, and nothing was counted.
#[test]
fn a_program_without_pools_has_none_in_its_report() {
    for options in ["", "HEAPPOOLS(OFF)", "HEAPPOOLS(ON),HEAPCHK(ON)"] {
        let (report, output) = run("none", options, &["sh", "-c", "seq 3 | sort -r"]);
        assert_eq!(output, "3\n2\n1\n");
        for section in report["processes"].as_array().expect("processes") {
            assert!(section["pools"].is_null() && section["ranges"].is_null(), "{options}: {section}");
        }
    }
}
