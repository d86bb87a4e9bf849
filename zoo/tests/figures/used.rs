//! "Used at most" of real programs, against a library that precedes the heap and counts at each request.

use super::*;

/// Programs and their arguments.
const PROGRAMS: [(&str, &[&str]); 18] = [
    ("ls", &["-la", "/usr/bin"]),
    // Sizes come and go: freed storage of one size is not requested again.
    (
        "perl",
        &[
            "-e",
            "my %h; for my $i (1..3000) { $h{\"key$i\"} = 'x' x ($i % 300); } \
             for my $i (1..3000) { delete $h{\"key$i\"} if $i % 3; $h{\"other$i\"} = 'y' x ($i % 211); }",
        ],
    ),
    (
        "perl",
        &[
            "-e",
            "my @x; for my $r (1..30) { push @x, map { \"text $_ \" x ($_ % 20) } 1..400; @x = @x[0..200]; }",
        ],
    ),
    ("perl", &["-e", "my %c; $c{$_ % 977} .= $_ for split /,/, join(',', 1..50000);"]),
    (
        "python3",
        &["-c", "import json; x = [json.loads(json.dumps({str(i): [i, 'a' * i]})) for i in range(3000)]"],
    ),
    (
        "sqlite3",
        &[
            ":memory:",
            "create table t as with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000) \
             select i, 'text' || i x from n; select count(*), max(x) from t group by i % 100; \
             select a.x from t a, t b where a.i = b.i and b.x like '%9%' order by a.x;",
        ],
    ),
    (
        "sqlite3",
        &[
            ":memory:",
            "create table t as with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000) \
             select i, 'text' || i x from n; create index k on t(x); select count(*) from t;",
        ],
    ),
    // What `git log` needs depends on the history of the clone.
    ("git", &["diff", "--no-index", "--stat", "programs", "tests"]),
    ("git", &["diff", "--no-index", "programs/figures", "tests/figures"]),
    ("sort", &["-k2", "programs/figures/counted.c"]),
    ("awk", &["{ for (i = 1; i <= NF; i++) n[$i]++; } END { for (w in n) print w, n[w]; }", "src/lib.rs"]),
    ("gcc", &["-O2", "-c", "-o", "/dev/null", "programs/figures/counted.c"]),
    ("tar", &["cf", "/dev/null", "programs"]),
    ("xz", &["-0", "-c", "programs/figures/counted.c"]),
    ("ruby", &["-e", "x = (1..2000).map { |i| \"text #{i}\" }"]),
    ("grep", &["-rE", "fn (look|settle)", "programs"]),
    ("sed", &["-n", "/a.*b/p", "programs/figures/counted.c"]),
    ("diff", &["programs/figures/counted.c", "programs/figures/owners.c"]),
];

#[test]
fn the_peak_of_real_programs_is_that_of_an_independent_count() {
    let library = compiled("figures/live_peak", "figures-live-peak.so", &["-shared", "-fPIC"]);
    // The library has to come first: then it sees the requests to the heap.
    let script = format!("LD_PRELOAD=\"{} $LD_PRELOAD\" exec \"$@\" > /dev/null", text(&library));
    let (mut small, mut large, mut wrong) = (0, 0, Vec::new());
    for (at, (name, arguments)) in PROGRAMS.into_iter().enumerate() {
        if Command::new(name).arg("--version").output().is_err() {
            skipped(&format!("{name}: is not there"));
            continue;
        }
        let folder = scratch(&format!("used-{at}"));
        let report = folder.join("report");
        let mut run = Command::new(underbar());
        run.args(["run", "--json", "-o"]).arg(&report).args(["--", "sh", "-c", &script, "sh", name]);
        run.args(arguments).env("LIVE_PEAK", folder.join("of")).env("PYTHONMALLOC", "malloc");
        run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS");
        let left = left(run.current_dir(env!("CARGO_MANIFEST_DIR")));
        let text = fs::read(&report).unwrap_or_else(|error| panic!("{name}: {error}: {left:?}"));
        let report: Value = serde_json::from_slice(&text).expect("a report");
        for section in report["processes"].as_array().expect("processes") {
            // A process may have been several programs, one after the other: the last one wrote the file.
            let counted = fs::read_to_string(folder.join(format!("of.{}", section["process"])));
            let program = section["program"].as_str().expect("a path");
            let Ok(counted) = counted else { continue };
            // A child by fork knows the published part of its parent's storage.
            if figure(section, Key::HeapInherited) > 0 {
                continue;
            }
            let Some((held, _)) = counted.split_once(' ').filter(|(_, of)| *of == program) else { continue };
            let held: u64 = held.parse().expect("a number");
            let said = figure(section, Key::HeapUsedPeak);
            let bound = if held < 4 * MIB { held * 15 / 100 } else { held / 50 };
            eprintln!("{name} {program}: {said}, counted {held}");
            if said.abs_diff(held) > bound {
                wrong.push(format!("{name} {program}: {said}, counted {held}"));
            }
            *(if held < 4 * MIB { &mut small } else { &mut large }) += 1;
        }
        fs::remove_dir_all(folder).expect("removed");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(SKIPPED.get() || small >= 10 && large >= 2, "only {small} and {large} were compared");
}
