//! `underbar fleet` over 10,000 hosts, with broken files among them, and the shipped queries in DuckDB and in ClickHouse.
//!
//! ```text
//! hosts 0 to 9,999 (underbar_fleet::sample) ── files ── underbar fleet ── lines ── DuckDB, ClickHouse ──┐
//!                                          └── computed here, from the reports ─────────────────────── the same?
//! ```
//!
//! Each query runs as it is shipped, in both engines, and its figures for one program are compared with ours.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use underbar_advise::advise;
use underbar_fleet::sample;
use underbar_zoo::{scratch, skip, underbar};

const HOSTS: u64 = 10_000;
/// The program whose figures are computed here.
const PROGRAM: &str = "nginx";
/// The queries, by the names of their files.
const QUERIES: [&str; 5] = ["suggestions", "offenders", "drift", "options", "compare"];

/// Its hosts.
fn numbers() -> impl Iterator<Item = u64> {
    (0..HOSTS).filter(|number| sample::PROGRAMS[(number % 8) as usize] == PROGRAM)
}

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../share/fleet").join(name)
}

/// The lines of the fleet, made once for all tests.
fn lines() -> &'static Path {
    static LINES: OnceLock<PathBuf> = OnceLock::new();
    LINES.get_or_init(|| {
        let folder = scratch("fleet");
        let reports = folder.join("reports");
        // A folder for a thousand hosts, and in the first of them one file for all others of its thousand.
        let mut day = String::new();
        for number in 0..HOSTS {
            let folder = reports.join(format!("{:02}", number / 1_000));
            let json = sample::host(number).to_json();
            if number < 1_000 {
                day += &json;
                continue;
            }
            if number % 1_000 == 0 {
                fs::create_dir_all(&folder).expect("a folder");
            }
            fs::write(folder.join(format!("{number:05}.json")), json).expect("written");
        }
        fs::write(reports.join("day.ndjson"), day).expect("written");
        let file = folder.join("fleet.ndjson");
        let made = Command::new(underbar())
            .arg("fleet")
            .arg("-o")
            .args([&file, &reports])
            .output()
            .expect("the command starts");
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{said}");
        assert_eq!(said, "underbar: 10,000 reports, 10,000 lines\n");
        file
    })
}

/// Lines of a fleet in which all hosts have the same figures of time and memory, made once for all tests.
fn even_lines() -> &'static Path {
    static LINES: OnceLock<PathBuf> = OnceLock::new();
    LINES.get_or_init(|| {
        let folder = lines().parent().expect("a folder").join("even");
        fs::create_dir_all(&folder).expect("a folder");
        let text = fs::read_to_string(lines()).expect("just written");
        let even = |line: &str| {
            let mut host: Value = serde_json::from_str(line).expect("JSON");
            for figure in ["user_ns", "system_ns", "elapsed_ns", "peak_resident_bytes"] {
                host[format!("steps_{figure}")] = 7_000_000_u64.into();
            }
            format!("{host}\n")
        };
        let file = folder.join("fleet.ndjson");
        fs::write(&file, text.lines().map(even).collect::<String>()).expect("written");
        file
    })
}

#[test]
fn broken_files_are_named_and_the_rest_goes_on() {
    let folder = scratch("fleet-broken");
    for (name, bytes) in sample::broken() {
        fs::write(folder.join(name), bytes).expect("written");
    }
    for number in 0..3 {
        fs::write(folder.join(format!("good{number}.json")), sample::host(number).to_json())
            .expect("written");
    }
    let made = Command::new(underbar()).arg("fleet").arg(&folder).output().expect("the command starts");
    let said = String::from_utf8_lossy(&made.stderr);
    assert_eq!(made.status.code(), Some(1), "{said}");
    let lines: Vec<Value> = String::from_utf8_lossy(&made.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let hosts: Vec<&str> = lines.iter().filter_map(|line| line["host"].as_str()).collect();
    assert_eq!(hosts, ["host-00000", "host-00001", "host-00002"]);
    for (name, _) in sample::broken() {
        let place = folder.join(name);
        let named = format!("underbar: error: {}:", place.display());
        assert!(said.lines().any(|line| line.starts_with(&named)), "{name}: {said}");
    }
    assert!(said.contains("cut.json:1: the report is cut short"), "{said}");
    assert!(said.ends_with(" refused\n"), "{said}");
}

/// The result of a query: its rows.
type Rows = Vec<Vec<Value>>;

#[test]
fn duckdb_runs_each_query() {
    let python = std::env::var_os("DUCKDB_PYTHON").map(PathBuf::from).filter(|python| python.exists());
    let Some(python) = python else {
        return skip("fleet: DuckDB is not installed (DUCKDB_PYTHON names a Python that has it)");
    };
    // One connection; the table of rows of each query as JSON.
    const PROGRAM: &str = "
import duckdb, json, sys
c = duckdb.connect()
c.execute(open(sys.argv[1]).read())
for name in sys.argv[2:]:
    print(json.dumps([[v for v in row] for row in c.execute(open(name).read()).fetchall()], default=str))
";
    let rows = |lines: &Path, queries: &[&str]| -> Vec<Rows> {
        let mut run = Command::new(&python);
        run.current_dir(lines.parent().expect("a folder")).args(["-c", PROGRAM]).arg(shipped("parquet.sql"));
        run.args(queries.iter().map(|name| shipped(&format!("{name}.sql"))));
        let output = run.output().expect("Python");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    check(&QUERIES.into_iter().zip(rows(lines(), &QUERIES)).collect());
    check_even(&rows(even_lines(), &["compare"])[0]);
}

#[test]
fn clickhouse_runs_each_query() {
    let Some(server) = ClickHouse::start() else { return };
    server.answer(&fs::read_to_string(shipped("clickhouse/table.sql")).expect("shipped"), None);
    server.answer("INSERT INTO fleet FORMAT JSONEachRow", Some(lines()));
    let rows = |name: &str| {
        let query = fs::read_to_string(shipped(&format!("clickhouse/{name}.sql"))).expect("shipped");
        let answer: Value = serde_json::from_str(&server.answer(&query, None)).expect("JSON");
        serde_json::from_value::<Rows>(answer["data"].clone()).expect("rows")
    };
    check(&QUERIES.map(|name| (name, rows(name))).into_iter().collect());
    server.answer("DROP TABLE fleet", None);
    server.answer(&fs::read_to_string(shipped("clickhouse/table.sql")).expect("shipped"), None);
    server.answer("INSERT INTO fleet FORMAT JSONEachRow", Some(even_lines()));
    check_even(&rows("compare"));
}

/// Hosts that are all equal have no interval: one without width would be a verdict.
fn check_even(rows: &Rows) {
    assert_eq!(rows.len(), 3 * sample::PROGRAMS.len());
    for row in rows {
        assert_eq!(row[4].as_f64(), Some(1.0), "{row:?}");
        assert!(row[5].is_null() && row[6].is_null(), "{row:?}");
        assert_eq!(row[7], "no spread among hosts", "{row:?}");
    }
}

/// Compares the figures of one program with those that follow from its reports.
fn check(results: &BTreeMap<&str, Rows>) {
    let of = |name: &str| -> Vec<&Vec<Value>> {
        let rows = results[name].iter();
        rows.filter(|row| row.iter().any(|value| value == PROGRAM)).collect()
    };
    // All programs are there, also the one that tries to leave its place.
    for name in ["suggestions", "drift", "options", "compare"] {
        for program in sample::PROGRAMS {
            assert!(results[name].iter().any(|row| row[0] == program), "{name}: {program:?}");
        }
    }
    // p95 of each suggestion.
    let values = suggested();
    for (parameter, sizes) in [(1, &values[0]), (2, &values[1])] {
        let is_it = |row: &&&Vec<Value>| row[1] == "heap-size" && row[2] == "HEAP" && row[3] == parameter;
        let suggestions = of("suggestions");
        let row = suggestions.iter().find(is_it).expect("a row");
        let expect = [sizes.len() as u64, quantile(sizes, 0.5), quantile(sizes, 0.95), quantile(sizes, 1.0)];
        assert_eq!(row[4..8].iter().map(Value::as_u64).collect::<Vec<_>>(), expect.map(Some), "{row:?}");
    }
    // The worst: the one host with the most resident memory.
    let peak = |number: &u64| sample::host(*number).steps.map_or(0, |steps| steps.peak_resident_bytes);
    let worst = (0..HOSTS).max_by_key(peak).expect("a host");
    let first = results["offenders"].iter().find(|row| row[0] == "peak resident bytes").expect("a row");
    assert_eq!(
        (first[1].as_str(), first[4].as_u64()),
        (Some(&*format!("host-{worst:05}")), Some(peak(&worst)))
    );
    assert_eq!(results["offenders"].iter().filter(|row| row[0] == "peak resident bytes").count(), 10);
    // Medians of each version.
    for version in sample::VERSIONS {
        let reports = numbers().map(sample::host).filter(|report| report.underbar == version);
        let mut used: Vec<u64> =
            reports.map(|report| report.tree.counters.get(underbar_ledger::Key::HeapUsedPeak)).collect();
        used.sort_unstable();
        let drift = of("drift");
        let row = drift.iter().find(|row| row[1] == version).expect("a row");
        assert_eq!((row[2].as_u64(), row[3].as_u64()), (Some(used.len() as u64), Some(quantile(&used, 0.5))));
    }
    // One options file, and the hosts that it covers: HEAP by its sizes, HUGEPAGES by its word.
    let chosen = [quantile(&values[0], 0.95), quantile(&values[1], 0.95)];
    let words: Vec<Option<String>> = numbers().map(huge_pages_of).collect();
    let count = |word: &str| words.iter().flatten().filter(|known| *known == word).count();
    let word = if count("ON") > count("AUTO") { "ON" } else { "AUTO" };
    let covered = numbers().zip(&words).filter(|(number, own)| {
        let [first, second] = sizes_of(*number);
        first <= chosen[0] && second <= chosen[1] && own.as_ref().is_none_or(|own| own == word)
    });
    let (covered, all) = (covered.count() as u64, numbers().count() as u64);
    let row = of("options")[0];
    let settings = row[1].as_str().expect("a text");
    let size = |bytes| underbar_report::units::size(bytes);
    let expect = format!("HEAP({},{}),HUGEPAGES({word})", size(chosen[0]), size(chosen[1]));
    assert_eq!(settings, expect);
    assert!(0 < covered && covered < all, "some hosts are not covered: {covered}");
    assert_eq!(row[2..5].iter().map(Value::as_u64).collect::<Vec<_>>(), [all, all, covered].map(Some));
    close(&row[5], covered as f64 / all as f64);
    // Hosts under options against hosts without.
    let logs = |with: bool| -> Vec<f64> {
        let hosts = numbers().filter(|number| sample::has_options(*number) == with).map(sample::host);
        hosts.filter_map(|report| Some((report.steps?.cpu_ns() as f64).ln())).collect()
    };
    let ([mean_a, error_a], [mean_b, error_b]) = (moments(&logs(false)), moments(&logs(true)));
    let half = 1.959_964 * (error_a + error_b).sqrt();
    let compare = of("compare");
    let row = compare.iter().find(|row| row[1] == "CPU time").expect("a row");
    assert_eq!(row[2].as_u64().zip(row[3].as_u64()), Some((all / 2, all / 2)), "{row:?}");
    for (value, expect) in [(&row[4], 0.0), (&row[5], -half), (&row[6], half)] {
        close(value, (mean_b - mean_a + expect).exp());
    }
    assert_eq!(row[7], "B needs less");
    let low_and_high = row[5].as_f64().zip(row[6].as_f64()).expect("an interval");
    assert!(low_and_high.0 < 0.9 && 0.9 < low_and_high.1, "the truth is a tenth less: {row:?}");
    let row = compare.iter().find(|row| row[1] == "elapsed time").expect("a row");
    assert_eq!(row[7], "no difference shown", "{row:?}");
}

/// The sizes that are suggested to a host: HEAP's first and second sub-option.
fn sizes_of(number: u64) -> [u64; 2] {
    let suggestions = advise(&sample::host(number));
    let setting =
        suggestions.iter().find(|advice| advice.rule == "heap-size").and_then(|advice| advice.option.clone());
    let words = setting.expect("a setting").sub_options;
    [0, 1].map(|at| {
        let word = words[at].as_deref().expect("a size");
        underbar_report::units::parse_size(word).expect("a size")
    })
}

/// The word of HUGEPAGES that is suggested to a host.
fn huge_pages_of(number: u64) -> Option<String> {
    let suggestions = advise(&sample::host(number));
    let settings = suggestions.into_iter().filter_map(|advice| advice.option);
    settings
        .filter(|setting| setting.option == "HUGEPAGES")
        .find_map(|setting| setting.sub_options[0].clone())
}

/// Both, of all hosts of the program, sorted.
fn suggested() -> [Vec<u64>; 2] {
    let (mut first, mut second): (Vec<u64>, Vec<u64>) = numbers().map(sizes_of).map(|[a, b]| (a, b)).unzip();
    first.sort_unstable();
    second.sort_unstable();
    [first, second]
}

/// The smallest value that at least this share of them does not exceed.
fn quantile(sorted: &[u64], share: f64) -> u64 {
    sorted[((share * sorted.len() as f64).ceil() as usize).max(1) - 1]
}

/// Mean, and the square of its standard error.
fn moments(values: &[f64]) -> [f64; 2] {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    [mean, squares / (count - 1.0) / count]
}

/// Equal, as far as four decimals tell.
#[track_caller]
fn close(value: &Value, expect: f64) {
    let value = value.as_f64().expect("a number");
    assert!((value - expect).abs() < 1.01e-4, "{value}, not {expect}");
}

/// A server of ClickHouse for one test, in a folder of its own, on a port of its own, ended with the test.
struct ClickHouse {
    child: Child,
    port: u16,
}

impl ClickHouse {
    fn start() -> Option<Self> {
        let server = ["/usr/sbin/clickhouse-server", "/usr/bin/clickhouse-server"].map(Path::new);
        let server = server.into_iter().find(|path| path.exists());
        let (Some(program), true) = (server, Path::new("/usr/bin/clickhouse-client").exists()) else {
            skip("fleet: clickhouse-server or clickhouse-client is not installed");
            return None;
        };
        let folder = scratch("fleet-clickhouse");
        let of = |name: &str| folder.join(name).display().to_string();
        // Free a moment ago; nobody else on this machine takes ports at random while tests run.
        let port = TcpListener::bind("127.0.0.1:0").and_then(|any| any.local_addr()).expect("a port").port();
        let config = format!(
            "<yandex><logger><level>warning</level><log>{}</log><errorlog>{}</errorlog></logger>\
             <tcp_port>{port}</tcp_port><listen_host>127.0.0.1</listen_host><path>{}/</path><tmp_path>{}/</tmp_path>\
             <user_files_path>{}/</user_files_path><format_schema_path>{}/</format_schema_path>\
             <mark_cache_size>67108864</mark_cache_size><users_config>{}</users_config>\
             <default_profile>default</default_profile><default_database>default</default_database></yandex>",
            of("log"),
            of("errors"),
            of("data"),
            of("tmp"),
            of("files"),
            of("schemas"),
            of("users.xml")
        );
        let users = "<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>\
                     <networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>";
        fs::write(of("config.xml"), config).expect("written");
        fs::write(of("users.xml"), users).expect("written");
        let output = || Stdio::from(fs::File::create(of("output")).expect("a file"));
        let mut start = Command::new(program);
        start.arg(format!("--config-file={}", of("config.xml"))).current_dir(&folder);
        let child =
            start.stdin(Stdio::null()).stdout(output()).stderr(output()).spawn().expect("clickhouse-server");
        let mut started = Self { child, port };
        // Each question takes a moment, until the server listens, or has ended.
        while !started.client("SELECT 1").output().expect("clickhouse-client").status.success() {
            let ended = started.child.try_wait().expect("our child");
            let words =
                || ["output", "errors"].map(|name| fs::read_to_string(of(name)).unwrap_or_default()).concat();
            assert!(ended.is_none(), "clickhouse-server ended: {}", words());
        }
        Some(started)
    }

    fn client(&self, query: &str) -> Command {
        let mut client = Command::new("/usr/bin/clickhouse-client");
        client.args(["--host", "127.0.0.1", "--port", &self.port.to_string(), "--query", query]);
        client.args(["--format", "JSONCompact", "--output_format_json_quote_64bit_integers", "0"]);
        client.stdin(Stdio::null());
        client
    }

    /// The answer to a statement, which may read a file.
    fn answer(&self, query: &str, input: Option<&Path>) -> String {
        let mut client = self.client(query);
        if let Some(input) = input {
            client.stdin(fs::File::open(input).expect("a file"));
        }
        let output = client.output().expect("clickhouse-client");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{query}\n{error}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }
}

impl Drop for ClickHouse {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
