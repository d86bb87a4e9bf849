//! Processes that continue after the end of the program that was run.
//!
//! Their accounts stay until the user removes them, so each test has a folder of its own for them.

use super::*;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use underbar_sys::signal::name::QUIT;

fn fifo(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo");
    assert!(made.success());
    path
}

/// The report of accounts below this folder.
fn report_of(folder: &Path, name: &str) -> Left {
    let mut report = Command::new(underbar());
    report.args(["report", "--json", name]).env(ACCOUNTS, folder);
    left(report.env_remove("LD_PRELOAD"))
}

/// The variable that names the folder of the user's session, in which accounts are kept.
const ACCOUNTS: &str = "XDG_RUNTIME_DIR";

/// A daemon's accounts were dropped when its parent ended.
#[test]
fn accounts_of_a_daemon_go_on_and_are_found_by_name() {
    let folder = scratch("later");
    let (begin, end) = (fifo(&folder, "begin"), fifo(&folder, "end"));
    let (counted, file) = (program("counted"), folder.join("report"));
    // A reader of the second pipe reads to its end when the last process that continues has ended.
    let script = format!(
        "(read x < {0}; exec {counted} small) < /dev/null > {1} 2> /dev/null &",
        text(&begin),
        text(&end)
    );
    let (mut starts, ends) = (open(&begin), open(&end));
    let mut output = fs::File::open(&end).expect("the end of the pipe to read");
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "-o"])
        .arg(&file)
        .args(["--", "/bin/sh", "-c", &script])
        .env(ACCOUNTS, &folder);
    let ran = left(run.env_remove("LD_PRELOAD").env_remove("UNDERBAR_OPTS"));
    assert_eq!((code(ran.status), ran.error.as_str()), (0, ""));
    let first: Value = serde_json::from_slice(&fs::read(&file).expect("a report")).expect("JSON");
    assert_eq!(first["run"]["later"]["running"], 1, "{first}");
    let name = first["run"]["later"]["name"].as_str().expect("a name");
    let running = |report: &Value| {
        let sections = report["processes"].as_array().expect("processes").iter();
        sections.filter(|section| section["state"] == "running").count()
    };
    let now: Value = serde_json::from_str(&report_of(&folder, name).output).expect("a report while it runs");
    assert_eq!(running(&now), 1, "{now}");

    drop(ends);
    starts.write_all(b"go\n").expect("written");
    let mut said = String::new();
    output.read_to_string(&mut said).expect("text");
    // Another run does not remove accounts that the user may still want to read.
    let other = left(underbar_zoo::run(&["-q"], &["true"]).env(ACCOUNTS, &folder));
    assert_eq!(code(other.status), 0);
    let last = report_of(&folder, name);
    let last: Value = serde_json::from_str(&last.output).unwrap_or_else(|error| panic!("{error}: {last:?}"));
    assert_eq!(running(&last), 0, "{last}");
    let sections = last["processes"].as_array().expect("processes");
    let daemon = sections.iter().find(|section| section["program"] == *counted).expect("its section");
    let gets = said.split_whitespace().skip_while(|word| *word != "gets").nth(1);
    assert_eq!(Some(figure(daemon, Key::HeapGets)), gets.and_then(|gets| gets.parse().ok()), "{said}");
    assert_eq!(daemon["state"], "ended");
    fs::remove_dir_all(folder).expect("removed");
}

/// Both ends of a pipe by name, opened so that neither open waits for the other.
fn open(path: &Path) -> fs::File {
    fs::OpenOptions::new().read(true).write(true).open(path).expect("a pipe")
}

/// Runs a line that leaves processes; returns their number, and the name of their accounts, which are below this folder.
fn leaves(folder: &Path, line: &[&str]) -> (u64, String) {
    let file = folder.join("report");
    let ran = left(underbar_zoo::run(&["--json", "-o", text(&file)], line).env(ACCOUNTS, folder));
    assert_eq!((code(ran.status), ran.error.as_str()), (0, ""), "{line:?}");
    let report: Value = serde_json::from_slice(&fs::read(file).expect("a report")).expect("JSON");
    let later = &report["run"]["later"];
    let name = later["name"].as_str().unwrap_or_else(|| panic!("{line:?}: nobody goes on: {report}"));
    (later["running"].as_u64().expect("a number"), name.to_owned())
}

/// The accounts of that name, of processes that have all ended in good order.
fn ended(folder: &Path, name: &str) -> Vec<Value> {
    let report = report_of(folder, name);
    let report: Value =
        serde_json::from_str(&report.output).unwrap_or_else(|error| panic!("{error}: {report:?}"));
    let sections = report["processes"].as_array().expect("processes").clone();
    for section in &sections {
        assert!(matches!(section["state"].as_str(), Some("ended" | "folded")), "{section}");
    }
    sections
}

/// From its start to its first look at the accounts nobody but its parent knows of a child by posix_spawn or vfork. The parent that
/// `daemon` leaves behind ends within the C library. Of the last five not even the parent's library knows.
#[test]
fn whoever_goes_on_is_known_however_it_was_made() {
    let goes = text(&underbar_zoo::compiled("figures/goes", "figures-goes", &["-fno-builtin"])).to_owned();
    // The first two more than once: the child is sometimes the faster one.
    let announced = ["clone", "daemon", "double"];
    let unannounced = ["_Fork", "sys_clone", "sys_clone3", "sys_fork", "kernel"];
    for how in [&["spawn", "vfork"].repeat(8)[..], &announced, &unannounced].concat() {
        let folder = scratch(&format!("goes-{how}"));
        let (begin, end) = (fifo(&folder, "begin"), fifo(&folder, "end"));
        let (mut starts, mut went) = (open(&begin), open(&end));
        let (running, name) = leaves(&folder, &[&goes, how, text(&begin), text(&end)]);
        // The one in the middle may not have ended yet.
        assert!(running == 1 || how == "double" && running == 2, "{how}: {running}");
        starts.write_all(b"!").expect("written");
        went.read_exact(&mut [0; 5]).expect("a line");
        let sections = loop {
            // It has written, and ends.
            let report: Value = serde_json::from_str(&report_of(&folder, &name).output).expect("a report");
            let mut sections = report["processes"].as_array().expect("processes").iter();
            if !sections.any(|section| section["state"] == "running") {
                break ended(&folder, &name);
            }
        };
        let gets: u64 = sections.iter().map(|section| figure(section, Key::HeapGets)).sum();
        // A child that nobody announces takes with it what its parent counted and had not published (docs/counters.md).
        let unpublished = if unannounced.contains(&how) { 1024 } else { 0 };
        assert!((1050..=1050 + unpublished).contains(&gets), "{how}: {gets}: {sections:?}");
        fs::remove_dir_all(folder).expect("removed");
    }
}

/// A server that leaves a master and two workers.
#[test]
fn accounts_of_nginx_as_a_daemon_go_on() {
    let Some(nginx) = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|path| Path::new(path).exists())
    else {
        return underbar_zoo::skip("accounts of nginx as a daemon: nginx is not installed");
    };
    // Not in the target folder: the path of a socket is short.
    let folder = std::env::temp_dir().join(format!("underbar-later-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let (here, end) = (text(&folder), fifo(&folder, "end"));
    let places: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|kind| format!("{kind}_temp_path {here}/{kind};\n"))
        .collect();
    let configuration = folder.join("nginx.conf");
    let words = format!(
        "worker_processes 2;\npid {here}/pid;\nerror_log {here}/log;\nevents {{}}\nhttp {{\naccess_log off;\n{places}\
         server {{\nlisten unix:{here}/socket;\nlocation / {{ return 200 here; }}\n}}\n}}\n"
    );
    fs::write(&configuration, words).expect("written");
    // A reader of this pipe reads to its end when the last process with it has ended.
    let both = open(&end);
    let mut output = fs::File::open(&end).expect("the end of the pipe to read");
    let script = format!("exec {nginx} -e {here}/log -c {} 9> {}", text(&configuration), text(&end));
    let (running, name) = leaves(&folder, &["/bin/sh", "-c", &script]);
    assert!(running >= 1, "{running}");
    // It listens before it becomes a daemon; a worker answers.
    let mut socket = UnixStream::connect(folder.join("socket")).expect("it listens");
    socket.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("asked");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer");
    assert!(answer.ends_with("here"), "{answer}");
    let master = fs::read_to_string(folder.join("pid")).expect("the master's number");
    underbar_sys::syscall::kill(master.trim().parse().expect("a number"), QUIT).expect("sent");
    drop(both);
    output.read_to_string(&mut answer).expect("its end");
    let mut sections = ended(&folder, &name);
    sections.retain(|section| section["program"] == nginx);
    // The one that was started, the master and two workers.
    let count = sections.iter().filter(|section| figure(section, Key::HeapInherited) > 0).count();
    assert_eq!((sections.len(), count), (4, 3), "{sections:?}");
    fs::remove_dir_all(folder).expect("removed");
}

/// A run whose processes have all ended leaves nothing behind.
#[test]
fn a_run_of_which_nobody_goes_on_has_no_name() {
    let account = account_of(
        &[],
        &["/bin/sh", "-c", "true & wait"],
        text(&fs::canonicalize("/bin/sh").expect("a shell")),
    );
    assert_eq!(account.report["run"]["later"], Value::Null, "{}", account.report);
}
