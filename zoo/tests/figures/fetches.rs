//! Fetches of multi-fetch against the messages that the server gets (`strace`), and cursors left alone against those that a program makes.

use super::*;
use underbar_zoo::postgres::Server;

/// A cursor of which three rows are fetched, and the reason for which it is left alone.
const ALONE: [(&str, Key); 9] = [
    ("begin\ndeclare c cursor for select id from t\n3\ncommit", Key::FetchNotReadOnly),
    ("begin read only\ndeclare c cursor with hold for select id from t\n3\ncommit", Key::FetchDeclaration),
    (
        "begin read only\nset local statement_timeout = 9000\ndeclare c cursor for select id from t\n3\ncommit",
        Key::FetchLimit,
    ),
    ("begin read only\ndeclare c cursor for select * from generate_series(1, 9)\n3\ncommit", Key::FetchNode),
    (
        "create temp table u(id int)\ninsert into u select * from t\nbegin read only\ndeclare c cursor for select id from u\n3\ncommit",
        Key::FetchTemporary,
    ),
    ("begin read only\ndeclare c cursor for select upper(pad) from t\n3\ncommit", Key::FetchFunction),
    ("begin read only\ndeclare c cursor for select id + 1 from t\n3\ncommit", Key::FetchOperator),
    ("begin read only\ndeclare \"it's\" cursor for select id from t\n3\ncommit", Key::FetchDoubtful),
    (
        "begin read only\ndeclare c cursor for select id from t\nselect version()\n3\ncommit",
        Key::FetchConnection,
    ),
];

pub(super) fn fetches_are_the_messages_to_the_server() {
    if !Path::new("/usr/include/postgresql/libpq-fe.h").is_file() {
        return skipped("fetches: libpq-dev is not installed");
    }
    let Some(server) = Server::start("figures") else { return SKIPPED.set(true) };
    server.execute("create table t(id int, pad text); insert into t select g, 'x' from generate_series(1, 100) g; analyze t");
    let program = text(&compiled("statements", "statements", &["-lpq"])).to_owned();
    let folder = scratch("figures-fetches");
    let (file, trace) = (folder.join("statements"), folder.join("trace"));
    let run = |statements: &str, before: &[&str]| {
        fs::write(&file, statements).expect("written");
        let line = [before, &[program.as_str(), text(&file), text(&server.folder)]].concat();
        account_of(&["--opts", "MULTIFETCH(8)"], &line, &program)
    };
    let rows = "fetch 1 from c\n".repeat(101);
    let served = format!("begin read only\ndeclare c cursor for select id from t\n{rows}commit\n");
    let has_strace = code(left(Command::new("/bin/sh").args(["-c", "strace -o /dev/null true"])).status) == 0;
    let strace = ["strace", "-o", text(&trace), "-s", "40", "-e", "trace=sendto", "--"];
    let account = run(&served, if has_strace { &strace } else { &[] });
    exact(&account, Key::FetchAsked, 101);
    let sent = if has_strace {
        let lines = fs::read_to_string(&trace).expect("the trace");
        assert_eq!(
            lines.matches("fetch 1 from c").count(),
            1,
            "the first row is fetched by the program itself"
        );
        lines.matches("FETCH FORWARD ").count() as u64
    } else {
        // 2, 4 and twelve of 8.
        14
    };
    exact(&account, Key::FetchSent, sent);
    exact(&account, Key::FetchServed, 100);
    let mut statements = String::new();
    for (text, _) in ALONE {
        let name = if text.contains("it's") { "\"it's\"" } else { "c" };
        statements += &text.replace("\n3\n", &format!("\n{}", format!("fetch {name}\n").repeat(3)));
        statements += "\n";
        if text.contains("with hold") {
            statements += "close c\n";
        }
    }
    let account = run(&statements, &[]);
    for (_, key) in ALONE {
        exact(&account, key, 1);
    }
    exact(&account, Key::FetchAsked, 27);
    // The first one of each is asked before anything is known of its cursor, but after `select version()`.
    exact(&account, Key::FetchAlone, 8 * 2 + 3);
    server.execute(
        "create function agree(int, int) returns bool language sql volatile as 'select true'; \
         create operator === (leftarg = int, rightarg = int, function = agree)",
    );
    let account = run(&served, &[]);
    exact(&account, Key::FetchVolatileType, 1);
    // Without the option rows are only counted; the way to the server and back is a part of the run.
    fs::write(&file, &served).expect("written");
    let line = [program.as_str(), text(&file), text(&server.folder)];
    let account = account_of(&["--opts", "SWITCHES(ON)"], &line, &program);
    exact(&account, Key::FetchAsked, 101);
    let elapsed = account.report["steps"]["elapsed_ns"].as_u64().expect("the run's time");
    let waited = account.get(Key::FetchWaited);
    assert!(waited > 0 && waited < elapsed, "{waited} of {elapsed}");
}
