//! Multi-fetch: whatever a program asks, it gets what it gets without; and fewer fetches go to the server where that is sound.
//!
//! A program executes statements and prints all that libpq tells of their results, plain and under MULTIFETCH. The statements are the cases
//! in which reading ahead is unsound, forms and orders of fetches, and sequences by chance.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use underbar_rows::Rows;
use underbar_zoo::heap::text;
use underbar_zoo::postgres::Server;
use underbar_zoo::{Left, Way, command, compiled, left, scratch, skip, underbar};

/// A server with tables of numbered rows, and the program; None if something is not installed.
fn server(test: &str) -> Option<(Server, String)> {
    if !Path::new("/usr/include/postgresql/libpq-fe.h").is_file() {
        skip(&format!("{test}: libpq-dev is not installed"));
        return None;
    }
    let server = Server::start(test)?;
    server.execute(
        "create table t(id int primary key, pad text); \
         insert into t select g, repeat('x', 80) from generate_series(1, 20000) g; analyze t; \
         create view seen as select id, clock_timestamp() as at from t; \
         create function half(int) returns int language sql immutable as 'select $1 / 2'",
    );
    Some((server, text(compiled("statements", "statements", &["-lpq"]))))
}

/// What the program does with these statements: plain, and with its report.
fn both(
    server: &Server,
    program: &str,
    name: &str,
    statements: &[String],
    options: &str,
) -> (Left, Left, Value) {
    let folder = scratch(&format!("multi-fetch-{name}"));
    let (file, json) = (folder.join("statements"), folder.join("report.json"));
    fs::write(&file, statements.join("\n") + "\n").expect("written");
    let line = [program.to_owned(), text(file), text(server.folder.clone())];
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let plain = left(&mut command(Way::Bare, &line));
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "-o"]).arg(&json).args(["--opts", options, "--"]).args(&line);
    let ours = left(&mut run);
    let report = serde_json::from_slice(&fs::read(json).expect("a report")).expect("JSON");
    (plain, ours, report)
}

/// The counters of a group, of all processes.
fn fetches<'a>(report: &'a Value, group: &str) -> &'a Value {
    &report["tree"]["counters"][group]
}

/// A counter of the run.
fn counter(report: &Value, key: &str) -> u64 {
    let (group, name) = key.split_once('.').expect("a key");
    fetches(report, group)[name].as_u64().unwrap_or_else(|| panic!("{key}: {}", fetches(report, group)))
}

fn same(name: &str, plain: &Left, ours: &Left) {
    assert!(plain.status.success() && plain.output.lines().count() > 3, "{name}: {plain:?}");
    let difference = plain.output.lines().zip(ours.output.lines()).find(|(plain, ours)| plain != ours);
    assert_eq!(plain.output, ours.output, "{name}: {difference:?}");
    assert_eq!((plain.status, &plain.error), (ours.status, &ours.error), "{name}");
}

/// Statements, one after the other; `9*text` is nine of them.
fn lines(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.split_once('*') {
            Some((times, line)) if times.parse::<usize>().is_ok() => {
                all.resize(all.len() + times.parse::<usize>().expect("a number"), line.to_owned());
            }
            _ => all.push(line.to_owned()),
        }
    }
    all
}

/// A name, statements, and the counter that tells what was done with the cursor.
const CASES: [(&str, &str, &str); 27] = [
    (
        "served",
        "begin read only\ndeclare c cursor for select id, pad from t where id < 30\n35*fetch 1 from c\ncommit",
        "fetch.served",
    ),
    (
        "nulls",
        "begin read only\ndeclare c cursor for select id, null::int, '' as e from t where id < 6\n8*fetch c\ncommit",
        "fetch.served",
    ),
    // U1: an error in a later row.
    (
        "u1",
        "begin read only\ndeclare c cursor for select id, 10 / (5 - id) from t order by id\n5*fetch 1 from c\nrollback",
        "fetch.operator",
    ),
    (
        "u1-function",
        "begin read only\ndeclare c cursor for select g, 10/(5-g) from generate_series(1,10) g\n5*fetch c\nrollback",
        "fetch.node",
    ),
    // U2: WHERE CURRENT OF, on a temporary table, which a transaction that is READ ONLY may change.
    (
        "u2",
        "create temp table u(id int, v int)\ninsert into u select g, 0 from generate_series(1,10) g\nbegin read only\n\
         declare c cursor for select * from u\n3*fetch 1 from c\nupdate u set v = 1 where current of c\n\
         select id from u where v = 1\nfetch c\nrollback\ndrop table u",
        "fetch.temporary",
    ),
    (
        "u2-writes",
        "begin\ncreate table u(id int, v int)\ninsert into u select g, 0 from generate_series(1,10) g\n\
         declare c cursor for select * from u\n2*fetch 1 from c\nupdate u set v = 1 where current of c\n\
         select id from u where v = 1\nrollback",
        "fetch.not_read_only",
    ),
    // U3: a volatile function runs ahead.
    (
        "u3",
        "create temp sequence s\nbegin read only\ndeclare c cursor for select nextval('s') from t\n3*fetch 1 from c\n\
         select last_value from s\nrollback\ndrop sequence s",
        "fetch.function",
    ),
    // U4: one that sees the program's own changes.
    (
        "u4",
        "begin\ncreate temp table w(v int)\ninsert into w values (0)\n\
         create function pg_temp.f() returns int language sql volatile as 'select v from w'\n\
         declare c cursor for select pg_temp.f() from generate_series(1,3)\nfetch 1 from c\nupdate w set v = 7\n2*fetch 1 from c\nrollback",
        "fetch.not_read_only",
    ),
    (
        "view",
        "begin read only\ndeclare c cursor for select id, at > now() as later from seen\n3*fetch c\nrollback",
        "fetch.function",
    ),
    (
        "immutable",
        "begin read only\ndeclare c cursor for select half(id) from t order by id\n3*fetch c\nrollback",
        "fetch.operator",
    ),
    // U5: FOR UPDATE, and own changes between fetches.
    (
        "u5",
        "begin\ncreate table u3(id int, v int)\ninsert into u3 select g, 0 from generate_series(1,3) g\n\
         declare c cursor for select * from u3 for update\n2*fetch 1 from c\nupdate u3 set v = 9\nfetch 1 from c\nrollback",
        "fetch.not_read_only",
    ),
    // U6: a cursor that cannot be moved back.
    (
        "u6",
        "begin read only\ndeclare c no scroll cursor for select id from t where id < 12\n4*fetch 1 from c\nmove backward 3 in c\nfetch c\nrollback",
        "fetch.served",
    ),
    (
        "absolute",
        "begin read only\ndeclare c no scroll cursor for select id from t where id < 30\n4*fetch c\nfetch absolute 6 from c\nfetch c\n\
         fetch relative 2 from c\nmove relative 2 in c\nfetch c\nfetch relative 9 from c\nfetch c\nfetch absolute 3 from c\nrollback",
        "fetch.served",
    ),
    // H2, H3: savepoints; a cursor that can be moved back is.
    (
        "savepoint",
        "begin read only\ndeclare c cursor for select id from t where id < 30\n2*fetch c\nsavepoint a\n2*fetch c\nrollback to a\n\
         2*fetch c\nselect broken\nfetch c\nrollback to a\nfetch c\ncommit\nfetch c",
        "fetch.served",
    ),
    (
        "back",
        "begin read only\ndeclare c cursor for select id from t where id < 30\n4*fetch c\nfetch prior from c\n2*fetch c\nfetch last from c\n\
         fetch absolute 3 from c\nfetch next from c\nfetch backward 0 c\nrollback",
        "fetch.served",
    ),
    (
        "end",
        "begin read only\ndeclare c cursor for select id from t where id < 8\n10*fetch c\nfetch prior from c\nfetch 3 from c\nrollback",
        "fetch.served",
    ),
    (
        "another-of-the-name",
        "begin read only\nsavepoint a\ndeclare c cursor for select id from t where id < 30\n3*fetch c\nrollback to a\nfetch c\n\
         rollback to a\ndeclare c cursor for select id from t where id > 50 and id < 60\n3*fetch c\n\
         commit; begin read only; declare c cursor for select id from t where id > 70\n3*fetch c\nclose c\n\
         declare c cursor for select id from t where id > 80\n3*fetch c\nrollback",
        "fetch.served",
    ),
    (
        "moved-after-another-of-the-name",
        "begin read only\ndeclare c no scroll cursor for select id from t where id < 30\n3*fetch c\nselect broken\n\
         commit; begin read only; declare c cursor for select id from t where id < 9\nmove 3 in c\nmove all in c\nrollback",
        "fetch.served",
    ),
    (
        "several",
        "begin read only\ndeclare c cursor for select id from t where id < 30\n@params fetch c\n@params fetch c\n@params fetch forward 3 from c\n\
         move 2 in c\nfetch c\nmove forward all in c\nfetch c\nfetch all from c\nrollback",
        "fetch.served",
    ),
    (
        "sent",
        "begin read only\ndeclare c no scroll cursor for select id from t where id < 30\n3*fetch c\n@send fetch c\nfetch c\n@send select 1\n\
         @send fetch 3 from c\n@send move 1 in c\nfetch c\n@send fetch prior from c\nrollback",
        "fetch.served",
    ),
    (
        "all-sent",
        "begin read only\n@send declare c no scroll cursor for select id from t where id < 9\n12*@send fetch 1 from c\nrollback",
        "fetch.connection",
    ),
    (
        "sent-before",
        "begin read only\n@send declare c cursor for select id from t where id < 9\n3*@send fetch 1 from c\n\
         declare c2 cursor for select id from t where id < 9\n12*fetch 1 from c2\nrollback",
        "fetch.served",
    ),
    (
        "binary",
        "begin read only\ndeclare c cursor for select id from t where id < 30\n3*fetch c\n@binary fetch c\nfetch c\n@prepare f fetch c\n\
         @prepared f\nfetch c\n@prepared f\nrollback",
        "fetch.served",
    ),
    (
        "hold",
        "begin read only\ndeclare c cursor with hold for select id from t where id < 9\n3*fetch c\ncommit\n2*fetch c\nclose c",
        "fetch.declaration",
    ),
    (
        "limit",
        "begin read only\nset local statement_timeout = 10000\ndeclare c cursor for select id from t\n3*fetch c\nrollback",
        "fetch.limit",
    ),
    (
        "serializable",
        "begin isolation level serializable read only\ndeclare c cursor for select id from t\n3*fetch c\nrollback",
        "fetch.limit",
    ),
    (
        "again",
        "begin read only\ndeclare c cursor for select id from t\n3*fetch c\n@reset\nfetch c\nbegin read only\n\
         declare c cursor for select id from t\n3*fetch c\nrollback",
        "fetch.served",
    ),
];

#[test]
fn a_program_gets_what_it_gets_of_the_server_alone() {
    let Some((server, program)) = server("cases") else { return };
    for (name, statements, key) in CASES {
        let (plain, ours, report) = both(&server, &program, name, &lines(statements), "MULTIFETCH(8)");
        same(name, &plain, &ours);
        assert!(counter(&report, key) > 0, "{name}: {}", fetches(&report, "fetch"));
        let is_served = counter(&report, "fetch.served") > 0;
        assert_eq!(is_served, key == "fetch.served", "{name}: {}", fetches(&report, "fetch"));
    }
    let mut chance = Chance(0x5eed_0020);
    for round in 0..12 {
        // Three hundred transactions in all. A statement that is sent without waiting ends reading ahead on its connection.
        let mut statements = Vec::new();
        (0..25).for_each(|_| transaction(&mut chance, &mut statements));
        let (plain, ours, report) = both(&server, &program, "chance", &statements, "MULTIFETCH(8)");
        same(&format!("round {round}"), &plain, &ours);
        assert!(counter(&report, "fetch.served") > 0, "round {round}");
    }
}

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        let count = u64::try_from(all.len()).expect("a length");
        all[usize::try_from(self.below(count)).expect("an index")]
    }
}

const QUERIES: [&str; 6] = [
    "select id, pad from t where id < 35",
    "select id from t where id = any('{1,5,9}') order by id desc",
    "select t.id from t join t u using (id) where t.id < 20",
    "select id + 1 from t where id < 9",
    "select count(*) from t",
    "select id, null::text from t where id between 7 and 12",
];

/// A transaction whose statements are chosen by chance.
fn transaction(chance: &mut Chance, statements: &mut Vec<String>) {
    // A statement that is sent without waiting ends reading ahead on its connection.
    statements.push("@reset".to_owned());
    statements
        .push(chance.of(&["begin read only", "begin read only", "begin read only", "begin"]).to_owned());
    for _ in 0..=chance.below(3) {
        let own = chance.of(&["c", "d", "\"C x\""]);
        let kind = chance.of(&["", "", "", "no scroll ", "no scroll ", "no scroll ", "scroll "]);
        statements.push(format!("declare {own} {kind}cursor for {}", chance.of(&QUERIES)));
        for _ in 0..2 + chance.below(14) {
            let name = if chance.below(7) == 0 { chance.of(&["c", "d", "\"C x\""]) } else { own };
            let mut line = String::new();
            let number = chance.below(6) + 1;
            match chance.below(50) {
                0..=29 => {
                    let verb =
                        chance.of(&["fetch 1 from ", "fetch ", "fetch next from ", "@params fetch 1 from "]);
                    line = format!("{verb}{name}");
                }
                30..=32 => write!(line, "fetch {number} from {name}").expect("text"),
                33 | 34 => write!(line, "move {number} in {name}").expect("text"),
                35 => line = format!("fetch all from {name}"),
                36 => line = format!("move all in {name}"),
                37 | 38 => {
                    let verb =
                        chance.of(&["fetch absolute", "fetch relative", "move relative", "move absolute"]);
                    let number = i64::try_from(chance.below(15)).expect("small") - 2;
                    line = format!("{verb} {number} from {name}");
                }
                39 => {
                    let place = chance.of(&[
                        "prior",
                        "first",
                        "last",
                        "backward 2",
                        "0",
                        "backward 0",
                        "forward -1",
                        "backward -2",
                    ]);
                    line = format!("fetch {place} {name}");
                }
                40 => line = format!("move {} {name}", chance.of(&["prior", "backward 2", "first"])),
                41 | 42 => line.push_str("savepoint a"),
                43 | 44 => line.push_str("rollback to a"),
                45 | 46 => line.push_str(chance.of(&[
                    "select 1",
                    "select version()",
                    "set local work_mem = '5MB'",
                    "@send select 1",
                ])),
                47 => line = format!("@send fetch {name}"),
                48 => line = format!("close {name}"),
                _ => {
                    line = format!(
                        "commit; begin read only; declare {name} cursor for select id from t where id < 9"
                    )
                }
            }
            statements.push(line);
        }
    }
    statements.push("rollback".to_owned());
}

/// The factor is that of the option, and grows to it.
#[test]
fn the_server_gets_fewer_fetches() {
    let Some((server, program)) = server("fewer") else { return };
    let statements = lines(
        "begin read only\ndeclare c no scroll cursor for select id, pad from t\n20001*fetch 1 from c\ncommit",
    );
    for (options, most) in [("MULTIFETCH(8)", 2_502), ("MULTIFETCH(100)", 206), ("MULTIFETCH(1000,10K)", 236)]
    {
        let (plain, ours, report) = both(&server, &program, "fewer", &statements, options);
        same(options, &plain, &ours);
        let of = |key| counter(&report, key);
        assert_eq!(of("fetch.asked"), 20_001, "{options}");
        assert!(
            of("fetch.sent") <= most && of("fetch.sent") * 4 > most * 3,
            "{options}: {}",
            of("fetch.sent")
        );
        assert!(of("fetch.served") >= 19_990, "{options}: {}", of("fetch.served"));
    }
    // Off, nothing is done or counted.
    let (plain, ours, report) = both(&server, &program, "off", &statements[..20], "");
    same("off", &plain, &ours);
    assert_eq!(counter(&report, "fetch.asked"), 0);
    // With SWITCHES alone they are counted, and sent as they are.
    let (plain, ours, report) = both(&server, &program, "counted", &statements, "SWITCHES(ON)");
    same("counted", &plain, &ours);
    let of = |key| counter(&report, key);
    assert_eq!((of("fetch.asked"), of("fetch.sent"), of("fetch.served")), (20_001, 0, 0));
    assert!(of("fetch.waited_ns") > 0);
}

/// psycopg 3 sends its statements and does not wait: its rows come one by one, and the report has them with the reason.
#[test]
fn fetches_that_are_only_sent_are_counted() {
    let Some((server, program)) = server("only-sent") else { return };
    let statements = lines(
        "begin read only\n@send declare c no scroll cursor for select id from t\n40*@send fetch 1 from c\n@send close c\n\
         @send declare c no scroll cursor for select id from t\n20*@send fetch next from c\n@send fetch 5 from c\n\
         declare d cursor for select id from t where id < 30\n9*fetch 1 from d\n@send fetch 1 from d\nrollback",
    );
    let (plain, ours, report) = both(&server, &program, "only-sent", &statements, "MULTIFETCH(100)");
    same("only-sent", &plain, &ours);
    let of = |key| counter(&report, key);
    assert_eq!((of("fetch.asked"), of("fetch.alone")), (70, 61), "{}", fetches(&report, "fetch"));
    // c twice, and d once it is sent.
    assert_eq!(of("fetch.connection"), 3, "{}", fetches(&report, "fetch"));
}

/// psycopg2 has libpq as a library of its own, loaded when the module is.
#[test]
fn psycopg2_fetches_ahead() {
    // That of the system: others do not have its modules.
    let python = ["/usr/bin/python3", "-c", "import psycopg2"];
    if !Command::new(python[0]).args(&python[1..]).output().is_ok_and(|output| output.status.success()) {
        return skip("multi-fetch: python3-psycopg2 is not installed");
    }
    let Some((server, _)) = server("psycopg2") else { return };
    let program = "\
import sys, psycopg2
connection = psycopg2.connect(host=sys.argv[1], user='postgres', dbname='postgres')
connection.set_session(readonly=True)
cursor = connection.cursor(name='rows')
cursor.execute('select id, pad from t where id <= 5000')
total = count = 0
while (row := cursor.fetchone()) is not None:
    total += row[0]; count += 1
print(count, total, cursor.rownumber, cursor.statusmessage)
cursor.close()
connection.close()
";
    let json = scratch("multi-fetch-psycopg2").join("report.json");
    let folder = text(server.folder.clone());
    let line = [python[0], "-c", program, &folder];
    let plain = left(&mut command(Way::Bare, &line));
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "-o"]).arg(&json).args(["--opts", "MULTIFETCH(100)", "--"]).args(line);
    let ours = left(&mut run);
    assert_eq!((&plain.output, plain.status), (&ours.output, ours.status), "{ours:?}");
    assert!(plain.output.starts_with("5000 12502500 "), "{plain:?}");
    let report = serde_json::from_slice(&fs::read(&json).expect("a report")).expect("JSON");
    assert!(counter(&report, "fetch.served") > 4_900, "{}", fetches(&report, "fetch"));
    // With SWITCHES alone they are counted, though libpq comes after the start.
    let mut run = Command::new(underbar());
    run.args(["run", "--json", "-o"]).arg(&json).args(["--opts", "SWITCHES(ON)", "--"]).args(line);
    let ours = left(&mut run);
    assert_eq!((&plain.output, plain.status), (&ours.output, ours.status), "{ours:?}");
    let report = serde_json::from_slice(&fs::read(&json).expect("a report")).expect("JSON");
    assert!(counter(&report, "fetch.asked") >= 5_000, "{}", fetches(&report, "fetch"));
}

/// The numbers of the rows, and how many fetches they took.
fn read(server: &Server, query: &str, factor: u32) -> (Vec<u64>, u64) {
    let connection = format!("host={} user=postgres dbname=postgres", server.folder.display());
    let mut rows = Rows::query(&connection, query, factor).expect("a query");
    let mut all = Vec::new();
    while let Some(row) = rows.next().expect("a row") {
        assert_eq!((row.columns(), row.name(0)), (2, Some(c"id")));
        assert_eq!(row.get(2), None, "no such column");
        let number = row.get(0).and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
        all.push(number.expect("a number"));
    }
    assert!(rows.next().expect("the end stays").is_none());
    (all, rows.fetches())
}

#[test]
fn rows_of_the_library_come_in_larger_steps() {
    let Some((server, _)) = server("rows") else { return };
    let query = "select id, null from t where id <= 1000 order by id";
    let expected: Vec<u64> = (1..=1_000).collect();
    assert_eq!(read(&server, query, 0), (expected.clone(), 1_001));
    assert_eq!(read(&server, query, 1), (expected.clone(), 1_001));
    // 2 + 4 + 8, then 123 times 8, and the end.
    assert_eq!(read(&server, query, 8), (expected.clone(), 3 + 124));
    // Rows of 100,000 bytes: two of them fill what a fetch may take.
    let wide = "select id, repeat('x', 100000) from t where id <= 20 order by id";
    assert_eq!(read(&server, wide, 100), ((1..=20).collect(), 11));
    assert_eq!(read(&server, "select id, pad from t where false", 8), (Vec::new(), 1));
    let connection = format!("host={} user=postgres dbname=postgres", server.folder.display());
    for (query, words) in
        [("select 1; drop table t", "multiple commands"), ("select nothing", "does not exist")]
    {
        let refused = Rows::query(&connection, query, 8).err().map(|error| error.to_string());
        assert!(refused.as_ref().is_some_and(|why| why.contains(words)), "{query}: {refused:?}");
    }
    // An error in a row ends the rows.
    let mut rows = Rows::query(&connection, "select 10 / (5 - id) from t order by id", 8).expect("a query");
    assert!(rows.next().expect("a row").is_some() && rows.next().expect("a row").is_some());
    let failed = rows.next().err().map(|error| error.to_string()).expect("an error");
    assert!(failed.contains("division by zero"), "{failed}");
    assert!(rows.next().expect("the end").is_none());
}
