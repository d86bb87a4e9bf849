//! What a statement does to cursors.
//!
//! Only a text of one statement in a form of the list is recognised; anything else is [`Statement::Other`], and may do anything.
//!
//! Invariant: [`statement`] gives `Fetch` only for a text to which the server gives rows of that cursor, forward, so many.
//! Not here: whether a cursor may be read ahead ([`crate::plan`]).

use crate::words::{Word, Words};

/// The longest name of a cursor: the server cuts longer ones.
const LONGEST: usize = 63;

/// The name of a cursor as the server keeps it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name {
    bytes: [u8; LONGEST],
    length: u8,
}

impl Name {
    /// The name that a word stands for; None if that is not certain.
    fn of(word: Word<'_>) -> Option<Self> {
        let (given, is_quoted) = match word {
            Word::Plain(given) => (given, false),
            Word::Quoted(given) => (given, true),
            _ => return None,
        };
        // A quote within quotes is written twice, and the server cuts a name of many bytes between characters.
        if given.is_empty() || given.len() > LONGEST || given.contains(&b'"') {
            return None;
        }
        let mut bytes = [0; LONGEST];
        for (place, &byte) in bytes.iter_mut().zip(given) {
            *place = if is_quoted { byte } else { byte.to_ascii_lowercase() };
        }
        Some(Name { bytes, length: u8::try_from(given.len()).ok()? })
    }

    /// Its bytes, 1 to 63.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

impl core::fmt::Debug for Name {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(formatter, "{}", self.bytes().escape_ascii())
    }
}

/// How many rows, forward from where the cursor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// So many, from 1.
    Rows(u32),
    /// All that are left.
    All,
}

/// A place that is not given by a number of rows forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// So many rows from where the cursor is; from 1.
    Relative(u32),
    /// The row of that number; from 1.
    Absolute(u32),
    /// Back, or to an end.
    Other,
}

/// A statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// `DECLARE` of a cursor, in any form.
    Declare(Name),
    /// `FETCH`: rows of a cursor, forward.
    Fetch(Name, Count),
    /// `MOVE` forward.
    Move(Name, Count),
    /// `FETCH` to another place.
    FetchTo(Name, To),
    /// `MOVE` to another place.
    MoveTo(Name, To),
    /// `CLOSE` of a cursor.
    Close(Name),
    /// One statement that leaves cursors as they are: SAVEPOINT, RELEASE, SHOW, and SELECT, INSERT, UPDATE or DELETE without calls.
    Harmless,
    /// Anything else.
    Other,
}

/// What a text does.
#[must_use]
pub fn statement(text: &[u8]) -> Statement {
    let mut words = Words::new(text);
    let Some(first) = words.next() else { return Statement::Other };
    let found = if first.is("FETCH") || first.is("MOVE") {
        let is_fetch = first.is("FETCH");
        place(&mut words).map(|(place, name)| match place {
            Place::Forward(count) if is_fetch => Statement::Fetch(name, count),
            Place::Forward(count) => Statement::Move(name, count),
            Place::To(to) if is_fetch => Statement::FetchTo(name, to),
            Place::To(to) => Statement::MoveTo(name, to),
        })
    } else if first.is("CLOSE") {
        words.next().filter(|word| !word.is("ALL")).and_then(Name::of).map(Statement::Close)
    } else if first.is("SAVEPOINT") {
        words.next().and_then(Name::of).map(|_| Statement::Harmless)
    } else if first.is("RELEASE") {
        words.takes("SAVEPOINT");
        words.next().and_then(Name::of).map(|_| Statement::Harmless)
    } else if first.is("DECLARE") {
        let name = words.next().and_then(Name::of);
        return name.filter(|_| is_one(words, false)).map_or(Statement::Other, Statement::Declare);
    } else if READS.iter().any(|read| first.is(read)) && is_one(words.clone(), true) {
        return Statement::Harmless;
    } else {
        None
    };
    match found {
        Some(statement) if words.is_over() => statement,
        _ => Statement::Other,
    }
}

/// Statements that read and write rows.
const READS: [&str; 8] = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "VALUES", "TABLE", "SHOW"];

/// Words that a parenthesis may follow without being a call, and functions of the server that do nothing to cursors. A table with
/// columns, as INSERT has it, looks like a call and is none of these: then the statement may do anything.
const NO_CALLS: [&str; 22] = [
    "SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "IN", "ANY", "ALL", "EXISTS", "VALUES", "AS", "ON",
    "JOIN", "USING", "COUNT", "SUM", "MIN", "MAX", "AVG", "COALESCE", "LENGTH",
];

/// Is the rest one statement, in which nothing is in doubt, and `without_calls` of functions that could do anything?
fn is_one(words: Words<'_>, without_calls: bool) -> bool {
    let mut is_over = false;
    let mut is_name = false;
    for word in words {
        if is_over || word == Word::Doubtful || without_calls && is_name && word == Word::Symbol(b'(') {
            return false;
        }
        is_over = word == Word::Symbol(b';');
        is_name = match word {
            Word::Plain(_) => !NO_CALLS.iter().any(|known| word.is(known)),
            Word::Quoted(_) => true,
            _ => false,
        };
    }
    true
}

enum Place {
    Forward(Count),
    To(To),
}

/// `[direction] [FROM | IN] name`.
fn place(words: &mut Words<'_>) -> Option<(Place, Name)> {
    const ONE: Place = Place::Forward(Count::Rows(1));
    const ALL: Place = Place::Forward(Count::All);
    let first = words.next()?;
    let (place, mut word) = if first.is("NEXT") {
        (ONE, words.next()?)
    } else if first.is("ALL") {
        (ALL, words.next()?)
    } else if first.is("PRIOR") || first.is("FIRST") || first.is("LAST") {
        (Place::To(To::Other), words.next()?)
    } else if first.is("FORWARD") || first.is("BACKWARD") {
        let is_forward = first.is("FORWARD");
        let word = words.next()?;
        match number(word, words) {
            Some(rows) => (to(if is_forward { rows? } else { -rows? }), words.next()?),
            None if word.is("ALL") => (if is_forward { ALL } else { Place::To(To::Other) }, words.next()?),
            None => (if is_forward { ONE } else { Place::To(To::Other) }, word),
        }
    } else if first.is("ABSOLUTE") || first.is("RELATIVE") {
        let word = words.next()?;
        let rows = u32::try_from(number(word, words)??).unwrap_or(0);
        let to = if rows == 0 {
            To::Other
        } else if first.is("RELATIVE") {
            To::Relative(rows)
        } else {
            To::Absolute(rows)
        };
        (Place::To(to), words.next()?)
    } else {
        match number(first, words) {
            Some(rows) => (to(rows?), words.next()?),
            None => (ONE, first),
        }
    };
    if word.is("FROM") || word.is("IN") {
        word = words.next()?;
    }
    Some((place, Name::of(word)?))
}

/// So many rows forward; backward below 1.
fn to(rows: i64) -> Place {
    match u32::try_from(rows) {
        Ok(rows) if rows > 0 => Place::Forward(Count::Rows(rows)),
        _ => Place::To(To::Other),
    }
}

/// The number that begins with a word, with its sign; inner None for one that the server refuses, outer for another word.
fn number(word: Word<'_>, words: &mut Words<'_>) -> Option<Option<i64>> {
    let (digits, sign) = match word {
        Word::Number(digits) => (digits, 1),
        Word::Symbol(b'-' | b'+') => match words.next() {
            Some(Word::Number(digits)) => (digits, if word == Word::Symbol(b'-') { -1 } else { 1 }),
            _ => return Some(None),
        },
        _ => return None,
    };
    let value = core::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<i32>().ok());
    Some(value.map(|value| i64::from(value) * sign))
}

/// The query of a text that declares that cursor and does nothing else; None if it may not be read ahead by its words alone.
///
/// The text is that of `pg_cursors.statement`, so the server has accepted it.
#[must_use]
pub fn declared_query<'a>(text: &'a [u8], cursor: &Name) -> Option<&'a [u8]> {
    let mut words = Words::new(text);
    if !words.takes("DECLARE") || words.next().and_then(Name::of)? != *cursor {
        return None;
    }
    loop {
        let word = words.next()?;
        if word.is("CURSOR") {
            break;
        }
        // INSENSITIVE and ASENSITIVE say what each cursor is; BINARY and SCROLL stand back.
        let is_no = word.is("NO");
        if is_no && !words.takes("SCROLL") || !is_no && !word.is("INSENSITIVE") && !word.is("ASENSITIVE") {
            return None;
        }
    }
    if words.takes("WITHOUT") && !words.takes("HOLD") || !words.takes("FOR") {
        return None;
    }
    let query = words.rest();
    let mut ahead = words.clone();
    let first = ahead.next()?;
    if !["SELECT", "WITH", "TABLE"].iter().any(|word| first.is(word)) {
        return None;
    }
    let mut length = query.len();
    while let Some(word) = words.next() {
        match word {
            Word::Doubtful | Word::Parameter => return None,
            Word::Symbol(b';') => {
                length = query.len() - words.rest().len() - 1;
                if words.next().is_some() {
                    return None;
                }
            }
            _ => {}
        }
    }
    query.get(..length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    fn name(text: &str) -> Name {
        Name::of(Word::Quoted(text.as_bytes())).expect("a name")
    }

    #[test]
    fn one_row_is_written_in_many_ways() {
        for text in [
            "FETCH c",
            "fetch 1 from C",
            "Fetch Next In c;",
            "FETCH FORWARD c",
            "FETCH FORWARD FROM c",
            "FETCH FORWARD 1 FROM \"c\" ;",
            "FETCH FROM c -- all;",
            "/* x */ FETCH NEXT c",
            "\n fetch 01 c\n",
        ] {
            assert_eq!(statement(text.as_bytes()), Statement::Fetch(name("c"), Count::Rows(1)), "{text}");
        }
        assert_eq!(statement(b"FETCH FROM \"next\""), Statement::Fetch(name("next"), Count::Rows(1)));
        assert_eq!(statement(b"FETCH FROM prior"), Statement::Fetch(name("prior"), Count::Rows(1)));
    }

    #[test]
    fn several_rows_and_moves() {
        assert_eq!(statement(b"FETCH 100 c"), Statement::Fetch(name("c"), Count::Rows(100)));
        assert_eq!(statement(b"FETCH FORWARD ALL IN c"), Statement::Fetch(name("c"), Count::All));
        assert_eq!(statement(b"FETCH ALL FROM c"), Statement::Fetch(name("c"), Count::All));
        assert_eq!(statement(b"MOVE 3 IN c"), Statement::Move(name("c"), Count::Rows(3)));
        assert_eq!(statement(b"MOVE c"), Statement::Move(name("c"), Count::Rows(1)));
        assert_eq!(statement(b"CLOSE c;"), Statement::Close(name("c")));
        assert_eq!(statement(b"DECLARE c CURSOR FOR SELECT f(1)"), Statement::Declare(name("c")));
        assert_eq!(statement(b"FETCH RELATIVE 3 IN c"), Statement::FetchTo(name("c"), To::Relative(3)));
        assert_eq!(statement(b"FETCH ABSOLUTE +3 c"), Statement::FetchTo(name("c"), To::Absolute(3)));
        assert_eq!(statement(b"MOVE BACKWARD 3 IN c"), Statement::MoveTo(name("c"), To::Other));
        assert_eq!(statement(b"FETCH BACKWARD -3 IN c"), Statement::Fetch(name("c"), Count::Rows(3)));
        assert_eq!(statement(b"FETCH +1 FROM c"), Statement::Fetch(name("c"), Count::Rows(1)));
        for text in [
            "0 c",
            "-1 FROM c",
            "FORWARD 0 c",
            "FORWARD -2 IN c",
            "PRIOR c",
            "FIRST FROM c",
            "LAST IN c",
            "BACKWARD c",
            "BACKWARD ALL c",
            "ABSOLUTE -1 c",
            "RELATIVE 0 c",
        ] {
            let text = format!("FETCH {text}");
            assert_eq!(statement(text.as_bytes()), Statement::FetchTo(name("c"), To::Other), "{text}");
        }
    }

    #[test]
    fn statements_that_leave_cursors_as_they_are() {
        for text in [
            "SAVEPOINT a",
            "RELEASE SAVEPOINT a",
            "select a, count(*) from t where (a in (1, 2)) and exists (select 1);",
            "UPDATE t SET a = 'x;' WHERE id = $1",
            "SHOW transaction_read_only",
        ] {
            assert_eq!(statement(text.as_bytes()), Statement::Harmless, "{text}");
        }
        for text in [
            "select f(1)",
            "select 1; commit",
            "select \"count\"(1)",
            "INSERT INTO t(a) VALUES (1)",
            "select 'a\\';",
        ] {
            assert_eq!(statement(text.as_bytes()), Statement::Other, "{text}");
        }
    }

    #[test]
    fn anything_else_may_do_anything() {
        for text in [
            "",
            ";",
            "FETCH",
            "FETCH PRIOR",
            "FETCH ABSOLUTE c",
            "DECLARE c CURSOR FOR SELECT 1; COMMIT",
            "DO $$ $$",
            "FETCH - FROM c",
            "FETCH 1.0 FROM c",
            "FETCH 4294967297 FROM c",
            "FETCH 3000000000 FROM c",
            "FETCH 1 FROM c; FETCH 1 FROM c",
            "FETCH 1 FROM c d",
            "FETCH 1 FROM U&\"c\"",
            "FETCH 1 FROM \"c\"\"d\"",
            "FETCH 1 FROM \"\"",
            "FETCH 1 FROM \u{e9}",
            "FETCH 1 FROM $1",
            "FETCH NEXT 1 FROM c",
            "CLOSE ALL",
            "CLOSE c, d",
            "COMMIT",
            "ROLLBACK TO a",
            "RELEASE",
            "FETCHES c",
        ] {
            assert_eq!(statement(text.as_bytes()), Statement::Other, "{text}");
        }
        let long = format!("FETCH {}", "c".repeat(64));
        assert_eq!(statement(long.as_bytes()), Statement::Other);
        assert_eq!(
            statement(&long.as_bytes()[..69]),
            Statement::Fetch(name(&"c".repeat(63)), Count::Rows(1))
        );
    }

    #[test]
    fn the_query_of_a_declaration() {
        let query = |text: &'static str| {
            declared_query(text.as_bytes(), &name("c"))
                .map(|query| core::str::from_utf8(query).expect("text").trim())
        };
        assert_eq!(
            query("declare C no scroll cursor for select id, ';' from t;"),
            Some("select id, ';' from t")
        );
        assert_eq!(query("DECLARE c CURSOR WITHOUT HOLD FOR TABLE t"), Some("TABLE t"));
        assert_eq!(
            query("DECLARE \"c\" INSENSITIVE NO SCROLL CURSOR FOR WITH x AS (SELECT 1) SELECT * FROM x"),
            Some("WITH x AS (SELECT 1) SELECT * FROM x")
        );
        for text in [
            "declare d cursor for select 1",
            "declare c scroll cursor for select 1",
            "declare c binary cursor for select 1",
            "declare c cursor with hold for select 1",
            "declare c cursor for select $1",
            "declare c cursor for select 1; select 2",
            "begin; declare c cursor for select 1",
            "declare c cursor for values (1)",
            "declare c cursor for execute p",
            "declare c cursor for select 'a",
            "declare c cursor for",
            "declare c cursor",
        ] {
            assert_eq!(query(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_an_answer(text: std::vec::Vec<u8>) {
            let _ = statement(&text);
            let _ = declared_query(&text, &name("c"));
        }

        #[test]
        fn a_statement_never_hides_another(first in "(FETCH|MOVE|CLOSE)( [a-zA-Z0-9'\"$/*-]{1,6}){0,4}", second in "[a-z ]{1,9}") {
            let whole = format!("{first};{second};");
            // A comment does hide it, from the server, too.
            let is_hidden = first.contains("--") || first.contains("/*");
            if !second.trim().is_empty() && !is_hidden {
                assert_eq!(statement(whole.as_bytes()), Statement::Other);
            }
        }
    }
}
