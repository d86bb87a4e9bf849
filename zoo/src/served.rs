//! Servers on loopback: asked byte by byte, loaded, and how much memory they have.
//!
//! Invariant: only addresses of this machine are asked. A load ends by its count of requests, or by wrk's own limit of seconds.
//! Not here: the servers (`http`, `programs/nginx`).

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The server of `zoo/http`, built now; None, with a message, where its crates cannot be had.
///
/// # Panics
/// If it does not compile.
#[must_use]
pub fn http(test: &str) -> Option<&'static Path> {
    static PATH: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let path = PATH.get_or_init(|| {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/http/Cargo.toml");
        let target = crate::target_folder().join("zoo-http");
        let cargo = |what: &str| {
            let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            command.args([what, "--quiet", "--locked", "--manifest-path", manifest]);
            command
        };
        // Its crates are not those of the workspace: a machine without a network may lack them.
        let fetched = cargo("fetch").output().expect("cargo");
        if !fetched.status.success() {
            return Err(String::from_utf8_lossy(&fetched.stderr).into_owned());
        }
        let status = cargo("build").arg("--target-dir").arg(&target).status().expect("cargo");
        assert!(status.success(), "building the server");
        Ok(target.join("debug/underbar-http"))
    });
    if let Err(why) = path {
        crate::skip(&format!(
            "{test}: the crates of zoo/http cannot be had: {}",
            why.trim().replace('\n', " ")
        ));
    }
    path.as_deref().ok()
}

/// A connection to a port of loopback.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    /// Connects; None: nobody listens.
    #[must_use]
    pub fn connect(port: u16) -> Option<Client> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Client { stream: BufReader::new(stream) })
    }

    /// Sends bytes.
    ///
    /// # Panics
    /// If the server has gone.
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("sent");
    }

    /// One response, with its head: up to the length that the head says. Without the line of the date.
    ///
    /// # Panics
    /// If it is none.
    pub fn response(&mut self) -> Vec<u8> {
        let (mut response, mut length) = (Vec::new(), 0);
        loop {
            let mut line = Vec::new();
            self.stream.read_until(b'\n', &mut line).expect("a line");
            assert!(!line.is_empty(), "the connection ended after {:?}", String::from_utf8_lossy(&response));
            let text = String::from_utf8_lossy(&line).to_ascii_lowercase();
            if let Some(bytes) = text.strip_prefix("content-length:") {
                length = bytes.trim().parse().expect("a number of bytes");
            }
            if !text.starts_with("date:") {
                response.extend_from_slice(&line);
            }
            if line == b"\r\n" {
                break;
            }
        }
        let head = response.len();
        response.resize(head + length, 0);
        self.stream.read_exact(&mut response[head..]).expect("a body");
        response
    }

    /// Waits for the end of the connection. False: the server sends something.
    ///
    /// # Panics
    /// If the connection cannot be read.
    pub fn is_at_end(&mut self) -> bool {
        self.stream.fill_buf().expect("a connection").is_empty()
    }

    /// The response to a GET of a path.
    pub fn get(&mut self, path: &str) -> Vec<u8> {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: zoo\r\n\r\n").as_bytes());
        self.response()
    }
}

/// Waits until the server at a port answers.
///
/// # Panics
/// If it does not, for very long.
#[must_use]
pub fn when_ready(port: u16) -> Client {
    for _ in 0..100_000 {
        if let Some(client) = Client::connect(port) {
            return client;
        }
        std::thread::yield_now();
    }
    panic!("nobody listens at port {port}");
}

/// A port of loopback that is free at the moment.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// KiB of memory that a process has at the moment.
///
/// # Panics
/// If there is no such process.
#[must_use]
pub fn resident_kib(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a running process");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Loads a path by wrk for two seconds, or where there is none by 20,000 requests over eight connections. Returns how many requests
/// were answered.
///
/// # Panics
/// If an answer is no success, or a connection ends.
#[must_use]
pub fn load(port: u16, path: &str) -> u64 {
    let url = format!("http://127.0.0.1:{port}{path}");
    let mut wrk = Command::new("wrk");
    // An answer that is late on a busy machine is an answer.
    let flags = ["--threads", "1", "--connections", "16", "--duration", "2s", "--timeout", "60s"];
    match wrk.args(flags).arg(&url).output() {
        Ok(done) => {
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            assert!(
                done.status.success() && !text.contains("Non-2xx") && !text.contains("Socket errors"),
                "{text}"
            );
            let count = text.lines().find_map(|line| line.split_once(" requests in ")).expect("wrk's count");
            count.0.trim().parse().expect("a number")
        }
        Err(_) => std::thread::scope(|scope| {
            let one = || {
                let mut client = when_ready(port);
                let good = (0..2_500).filter(|_| client.get(path).starts_with(b"HTTP/1.1 200"));
                good.count() as u64
            };
            let all: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
            let answered = all.into_iter().map(|thread| thread.join().expect("answers")).sum();
            assert_eq!(answered, 20_000, "answers with success");
            answered
        }),
    }
}

/// Bytes that a server keeps for each request of a path: between two loads, after a first one.
#[must_use]
pub fn kept_per_request(port: u16, path: &str, process: u32) -> f64 {
    let _ = load(port, path);
    let before = resident_kib(process);
    let requests = load(port, path);
    let after = resident_kib(process);
    1_024.0 * (after as f64 - before as f64) / requests as f64
}
