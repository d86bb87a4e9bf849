//! `underbar heap` with programs that request through wrappers of malloc: the site is the function that calls the wrapper, also in real
//! programs.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use underbar_zoo::{compiled, left, scratch, text, underbar};

/// The sites of a run of a command.
fn sites(name: &str, flags: &[&str], line: &[&str]) -> Vec<Value> {
    let output = scratch(&format!("wrappers-{name}")).join("sites.json");
    let mut command = Command::new(underbar());
    command.args(["heap", "--json", "-o", text(&output)]).args(flags).arg("--").args(line);
    let ran = left(&mut command);
    let json = fs::read(&output).unwrap_or_else(|error| panic!("{line:?}: {error}: {}", ran.error));
    let report: Value = serde_json::from_slice(&json).expect("JSON");
    report["sites"].as_array().expect("sites").clone()
}

fn name_of<'a>(site: &'a Value, key: &str) -> &'a str {
    site[key].as_str().unwrap_or_default()
}

#[test]
fn a_function_that_only_hands_on_is_found_by_its_samples() {
    let program = compiled("sites/wrapped", "wrapped", &["-g", "-O1"]);
    let flags = ["--opts", "SITES(ON,64K,,0)"];
    let all = sites("found", &flags, &[text(&program)]);
    for keeper in ["keep_names", "keep_lines", "keep_pages", "keep_marks", "keep_words"] {
        let site = all.iter().find(|site| name_of(site, "function") == keeper);
        let site = site.unwrap_or_else(|| panic!("{keeper}: {all:?}"));
        assert_eq!(name_of(site, "by"), "grab", "{site}");
    }
    assert!(all.iter().all(|site| name_of(site, "function") != "grab"), "{all:?}");
    // The flag shows it as a site.
    let all = sites("shown", &[&flags[..], &["--wrappers"]].concat(), &[text(&program)]);
    assert!(all.iter().any(|site| name_of(site, "function") == "grab"), "{all:?}");
    assert!(all.iter().all(|site| site["by"].is_null()), "{all:?}");
}

/// No site is one of these functions, and some name one of them behind it, if the program's names are there.
fn check(name: &str, mean: &str, line: &[&str], wrappers: &[&str]) {
    let found = Command::new("sh").args(["-c", &format!("command -v {}", line[0])]).output();
    if !found.is_ok_and(|found| found.status.success()) {
        underbar_zoo::skip(&format!("{name}: it is not installed"));
        return;
    }
    let all = sites(name, &["--opts", &format!("SITES(ON,{mean},,0)")], line);
    assert!(!all.is_empty(), "{name}: no sites");
    let is_one = |function: &str| wrappers.iter().any(|wrapper| function.starts_with(wrapper));
    for site in &all {
        assert!(!is_one(name_of(site, "function")), "{name}: {site}");
    }
    let by: Vec<&str> = all.iter().map(|site| name_of(site, "by")).filter(|by| is_one(by)).collect();
    eprintln!("{name}: {} sites, {} by wrappers", all.len(), by.len());
}

#[test]
fn sites_of_perl_are_not_its_wrappers() {
    let script = "my %h; $h{$_} = \"x\" x ($_ % 900) for 1..40000; print scalar keys %h";
    check("perl", "16K", &["perl", "-e", script], &["Perl_safesys"]);
}

#[test]
fn sites_of_sqlite_are_not_its_wrappers() {
    let statements = "create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 50000) \
                      insert into t select x, hex(randomblob(40)) from c; create index i on t(b); select count(*) from t;";
    let wrappers =
        ["sqlite3_malloc", "sqlite3Malloc", "sqlite3_realloc", "sqlite3DbMalloc", "sqlite3MemMalloc"];
    check("sqlite3", "16K", &["sqlite3", ":memory:", statements], &wrappers);
}

#[test]
fn sites_of_python_are_not_its_wrappers() {
    let script = "x = {i: [str(i)] * 5 for i in range(60000)}; print(len(x))";
    let wrappers =
        ["PyMem_", "_PyMem_", "_PyObject_Malloc", "_PyObject_GC_", "PyType_GenericAlloc", "gc_alloc"];
    check("python3", "64K", &["python3", "-c", script], &wrappers);
}

#[test]
fn sites_of_java_are_not_its_wrappers() {
    let wrappers = ["os::malloc", "os::realloc", "AllocateHeap", "Arena::grow", "CHeapObj"];
    check("java", "64K", &["java", "-Xshare:auto", "-version"], &wrappers);
}

#[test]
fn sites_of_nginx_are_not_its_wrappers() {
    let folder = scratch("wrappers-nginx-server");
    let servers: String = (0..200)
        .map(|at| format!("server {{ listen 127.0.0.1:0; server_name host{at}.example; location / {{ return 204; }} }}\n"))
        .collect();
    let place = |name: &str| text(&folder.join(name)).to_owned();
    let configuration = format!(
        "error_log {}; pid {}; events {{}}\nhttp {{ access_log off; server_names_hash_bucket_size 128; {servers} }}\n",
        place("error.log"),
        place("pid")
    );
    let file = folder.join("nginx.conf");
    fs::write(&file, configuration).expect("written");
    let nginx =
        ["/usr/sbin/nginx", "nginx"].into_iter().find(|path| Path::new(path).exists()).unwrap_or("nginx");
    let wrappers = ["ngx_alloc", "ngx_calloc", "ngx_palloc", "ngx_memalign", "ngx_pcalloc", "ngx_pnalloc"];
    check("nginx", "2K", &[nginx, "-t", "-c", text(&file), "-p", text(&folder)], &wrappers);
}
