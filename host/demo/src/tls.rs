//! `demo tls`: messages over TLS by the system's OpenSSL, over the C library's heap, other heaps, underbar's, and an ECB for each
//! connection.
//!
//! The driver is a program of C (`programs/tls.c`), compiled here: its library is the user's own OpenSSL, unmodified. The heap's share
//! of the instructions comes first, since nothing that a heap does can gain more. Handshakes and messages are measured apart: a handshake
//! makes thousands of requests, a message a handful.
//! Not here: other arenas, and the requests of a handshake without OpenSSL (`cargo xtask bench ecb`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use underbar_report::units::{count, nanoseconds};

use super::document::TLS;
use super::measure::{Arm, Figured, Machine, Problem, Rounds, Server};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::workshop::Workshop;
use super::{Parameters, order, peers, share};

/// The smallest number of rounds with an interval is six; two more narrow it.
const RUNS: usize = 8;
const SOURCE: &str = include_str!("programs/tls.c");
const PLAIN: &str = "plain";
const UNDERBAR: &str = "underbar";
const ECB: &str = "underbar, ECBs";
const CLASS: &str = "SSL";
/// Requests of a handshake are so many times those of a message, at least.
const TIMES: u64 = 100;

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = "messages over TLS, each connection an ECB of class SSL";
    let mut output = Output::new("tls", title, parameters, runs);
    let workshop = Workshop::new("tls")?;
    let driver = compiled(&workshop)?;
    let machine = Machine::of_program(&driver, parameters)?;
    let mut progress = Progress::new(parameters.quiet);
    progress.part("requests");
    let requests = said(&machine, &arm(PLAIN, Server::Plain, &["--requests", "--threads", "1"]))?;
    output.pages.push(first_page(&requests, &share::of(&driver, workshop.folder())));
    let probe = arm(ECB, Server::Underbar(String::new()), &["--handshakes", "1", "--messages", "1"]);
    let has_ecbs = said(&machine, &probe)?.get("has_ecbs") == Some(&1);
    progress.part("messages");
    let rounds = machine.rounds(arms(has_ecbs), runs, &mut order(parameters), &mut progress)?;
    let table = |title: &str, blocks| Table::new(title.to_owned(), rounds.figured(), blocks);
    output.tables = vec![
        table(
            "handshakes, client and server in one process, each connection closed",
            vec![vec![HANDSHAKES, HANDSHAKE, HANDSHAKE_CPU]],
        ),
        Table {
            document: TLS.to_vec(),
            ..table(
                "established connections: 64 bytes to the server and 64 bytes back",
                vec![vec![MESSAGES, MESSAGE, MESSAGE_CPU]],
            )
        },
    ];
    output.checks = checks(&requests, &rounds);
    output.notes = notes(has_ecbs);
    Ok(output)
}

/// Compiles the driver with the user's compiler, against the user's OpenSSL.
fn compiled(workshop: &Workshop) -> Result<PathBuf, Problem> {
    workshop.compiled(
        "tls",
        SOURCE,
        &["-lssl", "-lcrypto"],
        "the demo compiles a program of C over OpenSSL (apt-get install gcc libssl-dev)",
    )
}

fn arm(name: &str, server: Server, words: &[&str]) -> Arm {
    Arm { name: name.to_owned(), server, program: super::words(words) }
}

/// The driver over every heap that is here.
fn arms(has_ecbs: bool) -> Vec<Arm> {
    let mut arms = vec![arm(PLAIN, Server::Plain, &[])];
    arms.extend(peers::installed().into_iter().map(|(name, path)| arm(name, Server::Peer(path), &[])));
    arms.push(arm(UNDERBAR, Server::Underbar(String::new()), &[]));
    if has_ecbs {
        arms.push(arm(ECB, Server::Underbar(String::new()), &["--ecb", CLASS]));
    }
    arms
}

type Said = BTreeMap<String, u64>;

/// What a run says of itself.
fn said(machine: &Machine, arm: &Arm) -> Result<Said, Problem> {
    Ok(super::measure::said(&machine.once(arm)?.output))
}

/// Requests of a handshake, of a message; None: not counted.
fn each(requests: &Said, phase: &str) -> Option<u64> {
    let figure = |name: String| requests.get(&name).copied();
    let all = figure(format!("{phase}_gets"))? + figure(format!("{phase}_resizes"))?;
    Some(all / figure(format!("{phase}s"))?.max(1))
}

/// The heap's share, and the requests, before any time.
fn first_page(requests: &Said, share: &Result<share::Share, String>) -> String {
    let mut text = "The heap's part of this work\n".to_owned();
    // Writing to a string cannot fail.
    let _ = match share {
        Ok(share) => writeln!(
            text,
            "  instructions in malloc, calloc, realloc and free of the C library: {:.1} % of a handshake, {:.1} % of a message\n  \
             (callgrind). No heap can gain more than that.",
            share.handshake * 100.0,
            share.message * 100.0
        ),
        Err(why) => writeln!(text, "  its share of the instructions was not counted: {why}"),
    };
    for phase in ["handshake", "message"] {
        let known = each(requests, phase).map_or_else(|| "-".to_owned(), count);
        let _ = writeln!(text, "  requests of a {phase}: {known}");
    }
    text
}

fn checks(requests: &Said, rounds: &Rounds) -> Vec<Check> {
    let (handshake, message) = (each(requests, "handshake"), each(requests, "message"));
    let shown = |figure: Option<u64>| figure.map_or_else(|| "-".to_owned(), count);
    let (right, runs) = rounds.said_is(|said| said.get("messages") == said.get("answered"));
    let mut checks = vec![
        Check::count(
            "handshakes_make_thousands_of_requests",
            handshake.zip(message).is_some_and(|(handshake, message)| handshake >= TIMES * message.max(1)),
            format!("a handshake makes {} requests, a message {}", shown(handshake), shown(message)),
        ),
        Check::count(
            "messages_are_answered",
            right == runs,
            format!("in {right} of {runs} runs every message came back as it was sent"),
        ),
    ];
    let (Some(ours), Some(plain)) = (rounds.place(ECB), rounds.place(PLAIN)) else { return checks };
    let figures: [(&'static str, &str, Get); 2] = [
        ("handshake_cpu", "CPU of a handshake", |said| figure(said, "handshake_cpu_ns", "handshakes")),
        ("message_time", "time of a message", |said| figure(said, "message_ns", "messages")),
    ];
    for (name, what, get) in figures {
        let text = format!("{what}, an ECB for each connection to {PLAIN}");
        checks.push(Check::at_most(name, &text, rounds.said_ratio(ours, plain, get), 1.0));
    }
    checks
}

fn notes(has_ecbs: bool) -> Vec<String> {
    let mut notes = vec![
        "The document compares its ECB heap before and after PJ47265, 10 % and more apart, and says: \"Note that the driver contained no \
         business logic to process messages. Your mileage might vary.\" The same holds here: client and server meet in memory, without \
         a network between them, and do nothing with a message but encrypt and decrypt it. Its messages and machine are others, so its \
         rates are not comparable with these."
            .to_owned(),
        "With an ECB for each connection nothing is freed one by one: the connection ends with its ECB. What OpenSSL keeps for the \
         process and for each thread is made before, outside of any ECB."
            .to_owned(),
    ];
    if !has_ecbs {
        notes.push("This library has no ECBs, so that row is missing.".to_owned());
    }
    notes
}

type Get = fn(&Said) -> Option<f64>;

/// A time for each of so many.
fn figure(said: &Said, time: &str, all: &str) -> Option<f64> {
    Some(*said.get(time)? as f64 / (*said.get(all)?).max(1) as f64)
}

fn rate(arm: &Figured, time: &str, all: &str) -> Option<String> {
    let each = figure(&arm.said, time, all)?;
    (each > 0.0).then(|| count((1e9 / each) as u64))
}

fn time(arm: &Figured, time: &str, all: &str) -> Option<String> {
    figure(&arm.said, time, all).map(|each| nanoseconds(each as u64))
}

const HANDSHAKES: Column =
    Column::new("handshakes/s", |_, arm| rate(arm, "handshake_ns", "handshakes"), |_| None);
const HANDSHAKE: Column = Column::new("each", |_, arm| time(arm, "handshake_ns", "handshakes"), |_| None);
const HANDSHAKE_CPU: Column =
    Column::new("CPU each", |_, arm| time(arm, "handshake_cpu_ns", "handshakes"), |_| None);
const MESSAGES: Column = Column::new(
    "messages/s",
    |_, arm| rate(arm, "message_ns", "messages"),
    |row| row.messages_per_second.map(count),
);
const MESSAGE: Column =
    Column::new("each", |_, arm| time(arm, "message_ns", "messages"), |row| row.message_ns.map(nanoseconds));
const MESSAGE_CPU: Column =
    Column::new("CPU each", |_, arm| time(arm, "message_cpu_ns", "messages"), |_| None);

#[cfg(test)]
mod tests {
    use super::{Said, TLS, each, first_page, notes};

    fn requests() -> Said {
        let figures =
            [("handshakes", 10), ("handshake_gets", 29_900), ("handshake_resizes", 300), ("messages", 5)];
        figures.map(|(name, figure)| (name.to_owned(), figure)).into()
    }

    #[test]
    fn the_share_comes_first_and_what_is_not_known_is_a_dash() {
        assert_eq!((each(&requests(), "handshake"), each(&requests(), "message")), (Some(3_020), None));
        let text = first_page(&requests(), &Err("no valgrind".to_owned()));
        let (share, counts) =
            (text.find("not counted: no valgrind"), text.find("requests of a handshake: 3,020"));
        assert!(share.is_some() && share < counts && text.contains("requests of a message: -"), "{text}");
        assert!(notes(false)[0].contains("Your mileage might vary"));
    }

    #[test]
    fn the_documents_rates_and_times_are_the_same_figures() {
        for row in TLS {
            let (rate, time) = (row.messages_per_second.expect("a rate"), row.message_ns.expect("a time"));
            assert!((1e9 / rate as f64 - time as f64).abs() < 1_000.0, "{}", row.name);
        }
    }
}
