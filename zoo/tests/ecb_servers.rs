//! Servers that give each request an ECB: answers are the same, and what requests leak does not stay.
//!
//! One in Rust on hyper (`zoo/http`), and nginx of the distribution with a module in C (`zoo/programs/nginx`), as `docs/ecb.md` has
//! both.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use underbar_sys::signal::name::{KILL, QUIT, TERM};
use underbar_zoo::served::{Client, free_port, http, kept_per_request, when_ready};
use underbar_zoo::{Running, Way, command, executable, folder, is_superuser, run, scratch, skip};

/// Bytes that each request of `zoo/http` forgets where a test wants it.
const LEAK: &str = "2048";

/// A process that a failing test does not leave running.
struct Process(u32);

impl Drop for Process {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // It may have ended by itself: that is why the test fails.
            let _ = underbar_sys::syscall::kill(self.0.cast_signed(), KILL);
        }
    }
}

/// A running server of `zoo/http`.
struct Http {
    running: Running,
    port: u16,
    process: Process,
}

impl Http {
    fn start(command: &mut Command) -> Http {
        let mut running = Running::start(command);
        let line = running.line();
        let (port, process) = line.split_once(' ').unwrap_or_else(|| panic!("port and process: {line}"));
        Http {
            running,
            port: port.parse().expect("a port"),
            process: Process(process.parse().expect("a process")),
        }
    }

    /// Ends it; how many requests it answered.
    fn end(mut self) -> u64 {
        kill(self.process.0, TERM);
        let line = self.running.line();
        assert_eq!(self.running.end(), 0);
        line.strip_prefix("answered ")
            .and_then(|count| count.parse().ok())
            .unwrap_or_else(|| panic!("{line}"))
    }
}

fn kill(process: u32, signal: i32) {
    underbar_sys::syscall::kill(i32::try_from(process).expect("a process number"), signal).expect("sent");
}

/// The classes of ECBs in a report, of all processes.
fn classes(report: &Path) -> Vec<Value> {
    let text = fs::read_to_string(report).expect("a report");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let processes = report["processes"].as_array().cloned().unwrap_or_default();
    processes.iter().filter_map(|process| process["ecbs"].as_array()).flatten().cloned().collect()
}

/// What a server answers to all kinds of requests, byte by byte.
fn answers(port: u16) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let post = |body: &str| {
        format!("POST /json HTTP/1.1\r\nHost: zoo\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    // Several connections, so that requests are in work at the same time.
    let mut clients: Vec<Client> = (0..8).map(|_| when_ready(port)).collect();
    for round in 0..40 {
        for (at, client) in clients.iter_mut().enumerate() {
            let rows = [0, 1, 7, 40, 300][(round + at) % 5];
            client.send(format!("GET /table?rows={rows} HTTP/1.1\r\nHost: zoo\r\n\r\n").as_bytes());
            // The next one before the first is answered.
            client.send(
                post(&format!("{{\"b\": [{at}, {round}.5], \"a\": \"{}\"}}", "x".repeat(rows))).as_bytes(),
            );
        }
        for client in &mut clients {
            all.push(client.response());
            all.push(client.response());
        }
    }
    let client = &mut clients[0];
    all.push(client.get("/table?rows=10000"));
    for path in ["/table?rows=10001", "/table", "/nothing", "/table?rows=x"] {
        all.push(client.get(path));
    }
    for body in ["", "{", "[1, 2, {\"x\": [3.25, null, true]}]", &format!("[{}0]", "[1],".repeat(5_000))] {
        client.send(post(body).as_bytes());
        all.push(client.response());
    }
    client.send(b"POST /json HTTP/1.1\r\nHost: zoo\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1,\r\n");
    client.send(b"2\r\n2]\r\n0\r\n\r\n");
    all.push(client.response());
    // Clients that go away: before the body is there, and before the answer is.
    for request in [
        "POST /json HTTP/1.1\r\nHost: zoo\r\nContent-Length: 9\r\n\r\n[",
        "GET /table?rows=9000 HTTP/1.1\r\nHost: zoo\r\n\r\n",
    ] {
        for _ in 0..20 {
            when_ready(port).send(request.as_bytes());
        }
    }
    all.push(clients[1].get("/table?rows=5"));
    all
}

#[test]
fn a_server_on_hyper_answers_the_same_with_an_ecb_for_each_request() {
    let Some(server) = http("a server on hyper") else { return };
    let server = server.to_str().expect("text");
    let plain = Http::start(&mut command(Way::Bare, &[server, "--ecb"]));
    let expect = answers(plain.port);
    plain.end();
    assert!(expect[0].starts_with(b"HTTP/1.1 200 OK\r\n") && expect.len() > 600);
    let report = scratch("ecb-http").join("report.json");
    let file = report.to_str().expect("text");
    for (options, words) in [
        ("", &[server][..]),
        ("", &[server, "--ecb"]),
        ("STORAGE(AA,55)", &[server, "--ecb", "--leak", LEAK]),
        ("ECB(4K),AVL(HTTP,48,512),RPTSTG(ON)", &[server, "--ecb"]),
    ] {
        let mut flags = vec!["-q", "--json", "-o", file];
        flags.extend(["--opts", options].iter().filter(|_| !options.is_empty()));
        let running = Http::start(&mut run(&flags, words));
        let found = answers(running.port);
        let answered = running.end();
        for (at, (found, expect)) in found.iter().zip(&expect).enumerate() {
            assert!(
                found == expect,
                "answer {at} of {words:?} under {options:?}: {}",
                String::from_utf8_lossy(found)
            );
        }
        let classes = classes(&report);
        if words.contains(&"--ecb") {
            let class = &classes[0];
            assert_eq!((class["name"].as_str(), classes.len()), (Some("HTTP"), 1), "{classes:?}");
            assert_eq!(class["created"], class["ended"], "also of those whose client went away: {class}");
            assert!(
                class["created"].as_u64() >= Some(answered) && answered >= expect.len() as u64,
                "{class}"
            );
        } else {
            assert!(classes.is_empty(), "{classes:?}");
        }
    }
}

#[test]
fn a_server_on_hyper_goes_on_after_a_panic_in_an_ecb() {
    const PANICS: usize = 20;
    let Some(server) = http("a server on hyper that panics") else { return };
    let report = scratch("ecb-http-panics").join("report.json");
    let flags = ["-q", "--json", "-o", report.to_str().expect("text"), "--opts", "STORAGE(AA,55)"];
    let mut command = run(&flags, &[server.to_str().expect("text"), "--ecb"]);
    let running = Http::start(command.env("RUST_BACKTRACE", "1").stderr(Stdio::null()));
    let expect = when_ready(running.port).get("/table?rows=40");
    for number in 0..PANICS {
        let mut client = when_ready(running.port);
        client.send(format!("GET /panic?{number} HTTP/1.1\r\nHost: zoo\r\n\r\n").as_bytes());
        assert!(client.is_at_end());
        assert_eq!(when_ready(running.port).get("/table?rows=40"), expect);
    }
    running.end();
    // An ECB whose work panics does not end: the panic's message is in it.
    let class = &classes(&report)[0];
    assert_eq!(
        class["created"].as_u64(),
        class["ended"].as_u64().map(|ended| ended + PANICS as u64),
        "{class}"
    );
}

#[test]
fn a_server_on_hyper_stays_as_large_as_it_is_whatever_its_requests_leak() {
    let Some(server) = http("a server on hyper under load") else { return };
    let server = server.to_str().expect("text");
    let kept = |words: &[&str]| {
        let running = Http::start(&mut run(&["-q"], &[&[server, "--leak", LEAK], words].concat()));
        let kept = kept_per_request(running.port, "/table?rows=20", running.process.0);
        running.end();
        kept
    };
    let (without, with) = (kept(&[]), kept(&["--ecb"]));
    assert!(without > 1_500.0, "{without} bytes for each request without ECBs");
    assert!(with < 100.0, "{with} bytes for each request with ECBs");
}

/// The module of `zoo/programs/nginx` for nginx of the distribution; None, with a message, where that cannot be built.
fn module() -> Option<PathBuf> {
    let sources = Path::new("/usr/share/nginx/src");
    for (needed, package) in
        [(sources.join("configure"), "nginx-dev"), ("/usr/include/libxml2".into(), "libxml2-dev")]
    {
        if !needed.exists() {
            skip(&format!("nginx with ECBs: {package} is not installed"));
            return None;
        }
    }
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/nginx");
    let build = scratch("nginx-build");
    let script = format!(
        "cp -r {}/. . && ln -s {own} page && . ./conf_flags && bash ./configure \"${{NGX_CONF_FLAGS[@]}}\" \
         --with-cc-opt='-fPIC -O1 -I{own}/../../../api/capi/include' --add-dynamic-module=page && make -f objs/Makefile modules",
        sources.display()
    );
    let done = Command::new("bash").args(["-euc", &script]).current_dir(&build).output().expect("bash");
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&said));
    let module = folder().join("ngx_http_page_module.so");
    executable::copy(build.join("objs/ngx_http_page_module.so"), &module);
    fs::remove_dir_all(build).expect("removed");
    Some(module)
}

/// nginx with one worker, on a port of loopback and with all its files in one folder.
struct Nginx {
    running: Running,
    folder: PathBuf,
    port: u16,
    master: Process,
    worker: Process,
}

impl Nginx {
    /// Starts it with underbar's flags, or without underbar.
    fn start(name: &str, module: &Path, flags: Option<&[&str]>) -> Nginx {
        let (folder, port) = (scratch(name), free_port());
        let at = |file: &str| folder.join(file).to_str().expect("text").to_owned();
        let user = if is_superuser() { "user root;" } else { "" };
        let configuration = format!(
            "load_module {};\n{user}\ndaemon off;\nworker_processes 1;\npid {};\nerror_log {};\n\
             events {{ worker_connections 64; }}\n\
             http {{\n  access_log off;\n  keepalive_requests 1000000;\n  client_body_temp_path {};\n  proxy_temp_path {};\n  \
             fastcgi_temp_path {};\n  uwsgi_temp_path {};\n  scgi_temp_path {};\n  \
             server {{\n    listen 127.0.0.1:{port};\n    location /leaking {{ page off; }}\n    \
             location /ecb {{ page on; }}\n    location /worker {{ return 200 $pid; }}\n  }}\n}}\n",
            module.display(),
            at("pid"),
            at("log"),
            at("body"),
            at("proxy"),
            at("fastcgi"),
            at("uwsgi"),
            at("scgi"),
        );
        fs::write(folder.join("nginx.conf"), configuration).expect("written");
        let (log, conf) = (at("log"), at("nginx.conf"));
        let line = ["/usr/sbin/nginx", "-e", &log, "-p", folder.to_str().expect("text"), "-c", &conf];
        let mut command = flags.map_or_else(|| command(Way::Bare, &line), |flags| run(flags, &line));
        let running = Running::start(&mut command);
        // The worker answers after the master has written its number.
        let worker = worker(port);
        let number = fs::read_to_string(at("pid")).expect("its number");
        let master = Process(number.trim().parse().expect("a number"));
        Nginx { running, folder, port, master, worker: Process(worker) }
    }

    /// Ends master and worker by the master's number, and what the log has.
    fn end(self) -> String {
        kill(self.master.0, QUIT);
        assert_eq!(self.running.end(), 0);
        fs::read_to_string(self.folder.join("log")).expect("a log")
    }
}

/// The number of the worker that answers at a port.
fn worker(port: u16) -> u32 {
    let text = String::from_utf8(when_ready(port).get("/worker")).expect("text");
    text.lines().last().and_then(|line| line.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn nginx_with_an_ecb_for_each_request_stays_as_large_as_it_is() {
    let Some(module) = module() else { return };
    let paths = |way: &str| -> Vec<String> {
        let rows = [0, 1, 3, 20, 999, 1_000].into_iter().chain(2..60);
        rows.map(|rows| format!("/{way}?rows={rows}"))
            .chain([format!("/{way}"), format!("/{way}?rows=x")])
            .collect()
    };
    // nginx ends a connection after some refusals, so each request has its own.
    let ask = |nginx: &Nginx, way: &str| -> Vec<Vec<u8>> {
        paths(way).iter().map(|path| when_ready(nginx.port).get(path)).collect()
    };
    // Weak functions: the same module serves without underbar.
    let plain = Nginx::start("nginx-plain", &module, None);
    let expect = ask(&plain, "leaking");
    assert_eq!(ask(&plain, "ecb"), expect);
    assert_eq!(plain.end(), "");
    assert!(expect[2].starts_with(b"HTTP/1.1 200 OK\r\n") && expect[2].ends_with(b"</table>\n"));

    let report = scratch("nginx-report").join("report.json");
    let file = report.to_str().expect("text");
    let under = Nginx::start("nginx-under", &module, Some(&["-q", "--json", "-o", file]));
    for way in ["leaking", "ecb"] {
        let found = ask(&under, way);
        let different = found.iter().zip(&expect).position(|(one, other)| one != other);
        assert_eq!(different.map(|at| paths(way)[at].clone()), None);
    }
    let with = kept_per_request(under.port, "/ecb?rows=3", under.worker.0);
    let without = kept_per_request(under.port, "/leaking?rows=3", under.worker.0);
    assert_eq!(worker(under.port), under.worker.0, "it did not die meanwhile");
    assert_eq!(under.end(), "");
    assert!(without > 1_000.0, "{without} bytes for each request without ECBs");
    assert!(with < 100.0, "{with} bytes for each request with ECBs");
    let classes = classes(&report);
    assert_eq!((classes.len(), &classes[0]["name"]), (1, &Value::from("PAGE")), "{classes:?}");
    assert!(
        classes[0]["ended"].as_u64() > Some(100) && classes[0]["created"] == classes[0]["ended"],
        "{classes:?}"
    );
}
