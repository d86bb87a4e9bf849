//! Whether a cursor's plan only reads, compares and sorts.
//!
//! The lines are those of `EXPLAIN (VERBOSE, COSTS OFF)` for the cursor's own DECLARE, so views, policies of rows and functions that the
//! planner put into the query are in them. A line that is not in the list, or a word of an expression that is not, and the cursor stands
//! back: it could fail in a later row, change something, or see something change.
//!
//! ```text
//! Sort                                    a node of the list
//!   Output: t.id, t.pad                   columns
//!   Sort Key: t.id DESC
//!   ->  Seq Scan on public.t              no temporary table
//!         Output: t.id, t.pad
//!         Filter: (t.id > 5)              columns and constants compared
//! ```
//!
//! Invariant: no call of a function, no operator but comparisons, and no cast of a column but to text, in any plan that is accepted.
//! EXPLAIN does not show casts that are implicit: those of the server do not fail but for a `numeric` beyond the range of
//! `double precision` that is compared with one.
//! Not here: who asks the server, and what else it asks (`runtime`).

use crate::words::{Word, Words};

/// Why a cursor is not read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum StandBack {
    /// The transaction may write.
    NotReadOnly,
    /// It is SCROLL, BINARY or WITH HOLD, or its text is not one DECLARE.
    Declaration,
    /// A time limit counts a whole fetch, or transactions are SERIALIZABLE, and reading more could fail early.
    Limit,
    /// The database has operators, types or casts with volatile functions.
    VolatileType,
    /// A step of the plan that may do more than read: a function, FOR UPDATE, a foreign table, a subquery for each row.
    Node,
    /// A temporary table, which also a transaction that is READ ONLY can change.
    Temporary,
    /// A function, which could be volatile or fail in a later row.
    Function,
    /// An operator that is not a comparison, or a cast: it could fail in a later row.
    Operator,
    /// Words that cannot be told apart with certainty.
    Doubtful,
    /// The connection is used in another way: asynchronously, in a pipeline, in rows of their own.
    Connection,
}

/// All reasons, in the order of their numbers, with their words.
pub const REASONS: [(StandBack, &str); 10] = [
    (StandBack::NotReadOnly, "the transaction is not READ ONLY"),
    (
        StandBack::Declaration,
        "the cursor is SCROLL, BINARY or WITH HOLD, or was declared with other statements",
    ),
    (StandBack::Limit, "statement_timeout is set, or the transaction is SERIALIZABLE"),
    (StandBack::VolatileType, "the database has operators, types or casts with volatile functions"),
    (StandBack::Node, "its plan does more than read, join and sort tables"),
    (StandBack::Temporary, "it reads a temporary table, which the transaction can change"),
    (StandBack::Function, "it calls a function, which could be volatile or fail in a later row"),
    (StandBack::Operator, "it computes or casts, which could fail in a later row"),
    (StandBack::Doubtful, "its plan could not be read with certainty"),
    (StandBack::Connection, "the connection is used asynchronously or in a pipeline"),
];

/// Nodes that read, join and sort.
const NODES: [&str; 23] = [
    "Seq Scan",
    "Index Scan",
    "Index Scan Backward",
    "Index Only Scan",
    "Index Only Scan Backward",
    "Bitmap Heap Scan",
    "Bitmap Index Scan",
    "BitmapAnd",
    "BitmapOr",
    "Subquery Scan",
    "Append",
    "Merge Append",
    "Nested Loop",
    "Hash",
    "Materialize",
    "Memoize",
    "Sort",
    "Incremental Sort",
    "Limit",
    "Unique",
    "Group",
    "HashAggregate",
    "Result",
];

/// How the two sides of a join meet: `Hash Left Join`, `Nested Loop Semi Join`.
const JOINS: [&str; 3] = ["Nested Loop", "Hash", "Merge"];
const KINDS: [&str; 8] = [
    "Join",
    "Left Join",
    "Right Join",
    "Full Join",
    "Semi Join",
    "Anti Join",
    "Right Semi Join",
    "Right Anti Join",
];

/// Lines below a node, with an expression.
const EXPRESSIONS: [&str; 12] = [
    "Output",
    "Filter",
    "Index Cond",
    "Recheck Cond",
    "Hash Cond",
    "Merge Cond",
    "Join Filter",
    "One-Time Filter",
    "Sort Key",
    "Presorted Key",
    "Group Key",
    "Cache Key",
];

/// Lines that say nothing about values.
const OTHERS: [&str; 3] = ["Inner Unique", "Cache Mode", "Query Identifier"];

/// Words of expressions that a parenthesis may follow.
const KEYWORDS: [&str; 5] = ["AND", "OR", "NOT", "ANY", "ALL"];

/// Further words of a type's name.
const TYPE_WORDS: [&str; 6] = ["varying", "precision", "with", "without", "time", "zone"];

/// Judges a plan line by line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    nodes: u32,
}

impl Plan {
    /// A plan of which no line has come.
    #[must_use]
    pub const fn new() -> Self {
        Plan { nodes: 0 }
    }

    /// Has a node come? A plan without one is not a plan.
    #[must_use]
    pub fn has_nodes(&self) -> bool {
        self.nodes > 0
    }

    /// The next line.
    ///
    /// # Errors
    /// The reason to stand back.
    pub fn line(&mut self, line: &[u8]) -> Result<(), StandBack> {
        let text = line.trim_ascii();
        let (text, is_child) = match text.strip_prefix(b"->") {
            Some(text) => (text.trim_ascii_start(), true),
            None => (text, self.nodes == 0),
        };
        if is_child {
            self.nodes = self.nodes.saturating_add(1);
            return node(text);
        }
        let Some(colon) = text.iter().position(|&byte| byte == b':') else { return Err(StandBack::Node) };
        let (key, value) = (text.get(..colon).unwrap_or_default(), text.get(colon + 1..).unwrap_or_default());
        let is_in = |keys: &[&str]| keys.iter().any(|known| known.as_bytes() == key);
        if is_in(&EXPRESSIONS) {
            expression(value)
        } else if is_in(&OTHERS) {
            Ok(())
        } else {
            Err(StandBack::Node)
        }
    }
}

/// `Index Scan using t_pkey on public.t x`.
fn node(text: &[u8]) -> Result<(), StandBack> {
    let name = before(before(text, b" using "), b" on ");
    if !is_node(name) {
        return Err(StandBack::Node);
    }
    for word in Words::new(text.get(name.len()..).unwrap_or_default()) {
        match word {
            Word::Doubtful => return Err(StandBack::Doubtful),
            // A schema pg_temp_3, or a parallel worker's.
            Word::Plain(name) | Word::Quoted(name) if name.starts_with(b"pg_temp") => {
                return Err(StandBack::Temporary);
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_node(name: &[u8]) -> bool {
    NODES.iter().any(|node| node.as_bytes() == name)
        || JOINS.iter().any(|join| {
            let kind = name.strip_prefix(join.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
            kind.is_some_and(|kind| KINDS.iter().any(|known| known.as_bytes() == kind))
        })
}

/// A text up to `end`.
fn before<'a>(text: &'a [u8], end: &[u8]) -> &'a [u8] {
    let length = text.windows(end.len()).position(|bytes| bytes == end).unwrap_or(text.len());
    text.get(..length).unwrap_or_default()
}

/// What came before a word of an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// A column, or a word that is no keyword.
    Name,
    /// A constant.
    Constant,
    /// A closing parenthesis.
    Closed,
    Other,
}

/// Columns, constants, comparisons, and nothing else.
fn expression(text: &[u8]) -> Result<(), StandBack> {
    let mut words = Words::new(text);
    let mut last = Last::Other;
    while let Some(word) = words.next() {
        last = match word {
            Word::Doubtful => return Err(StandBack::Doubtful),
            // The result of another plan.
            Word::Parameter => return Err(StandBack::Node),
            Word::Text | Word::Number(_) => Last::Constant,
            Word::Plain(_) if KEYWORDS.iter().any(|keyword| word.is(keyword)) => Last::Other,
            Word::Plain(_) if ["NULL", "TRUE", "FALSE"].iter().any(|constant| word.is(constant)) => {
                Last::Constant
            }
            Word::Plain(_) | Word::Quoted(_) => Last::Name,
            Word::Symbol(b'(') if last == Last::Name => return Err(StandBack::Function),
            Word::Symbol(b')') => Last::Closed,
            Word::Symbol(b'(' | b',' | b'.' | b'=' | b'<' | b'>') => Last::Other,
            Word::Symbol(b':') => {
                cast(&mut words, last)?;
                Last::Constant
            }
            Word::Symbol(_) => return Err(StandBack::Operator),
        };
    }
    Ok(())
}

/// `::type` after a first colon: of a constant, which is of its type already, or of anything to a text of any length.
fn cast(words: &mut Words<'_>, last: Last) -> Result<(), StandBack> {
    if words.next() != Some(Word::Symbol(b':')) {
        return Err(StandBack::Operator);
    }
    let Some(first @ (Word::Plain(_) | Word::Quoted(_))) = words.next() else {
        return Err(StandBack::Operator);
    };
    let mut is_text = first.is("text") || first.is("bpchar");
    // A schema's name before that of the type.
    let mut ahead = words.clone();
    if ahead.next() == Some(Word::Symbol(b'.')) {
        is_text = false;
        if !matches!(ahead.next(), Some(Word::Plain(_) | Word::Quoted(_))) {
            return Err(StandBack::Operator);
        }
        *words = ahead;
    }
    while TYPE_WORDS.iter().any(|word| words.takes(word)) {
        is_text |= first.is("character");
    }
    let mut ahead = words.clone();
    // A length, a precision; an array.
    let end = match ahead.next() {
        Some(Word::Symbol(b'(')) => Some(b')'),
        Some(Word::Symbol(b'[')) => Some(b']'),
        _ => None,
    };
    if let Some(end) = end {
        is_text = false;
        while ahead.clone().next().is_some_and(|word| matches!(word, Word::Number(_) | Word::Symbol(b','))) {
            ahead.next();
        }
        if ahead.next() != Some(Word::Symbol(end)) {
            return Err(StandBack::Operator);
        }
        *words = ahead;
    }
    if last == Last::Constant || is_text && last == Last::Closed { Ok(()) } else { Err(StandBack::Operator) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(plan: &str) -> Result<(), StandBack> {
        let mut judged = Plan::new();
        let result = plan.lines().try_for_each(|line| judged.line(line.as_bytes()));
        assert!(judged.has_nodes());
        result
    }

    #[test]
    fn plans_that_read_join_and_sort() {
        for plan in [
            "Seq Scan on public.t\n  Output: id, pad\nQuery Identifier: -8371936416226937",
            "Index Scan using t_pkey on public.t x\n  Output: id, pad\n  Index Cond: (x.id > 5)\n  Filter: ((x.name)::text = 'a::b'::text)",
            "Sort\n  Output: a.id, b.\"my(col\"\n  Sort Key: a.id DESC NULLS LAST, b.\"my(col\" COLLATE \"C\"\n  ->  Hash Left Join\n        Output: a.id, b.\"my(col\"\n        Inner Unique: true\n        Hash Cond: (a.id = b.id)\n        ->  Seq Scan on public.a\n              Output: a.id\n              Filter: (a.id = ANY ('{1,2}'::integer[]))\n        ->  Hash\n              Output: b.id\n              ->  Seq Scan on public.b\n                    Output: b.id\n                    Filter: ((b.id IS NOT NULL) AND (b.day >= '2020-01-01'::date) AND (b.at < '2020-01-01 00:00:00'::timestamp without time zone))",
            "Limit\n  Output: id\n  ->  Nested Loop Semi Join\n        Output: t.id\n        ->  Seq Scan on public.t\n        ->  Bitmap Heap Scan on public.u\n              Recheck Cond: (u.v = 'x'::character varying(10))\n              ->  Bitmap Index Scan on u_v\n                    Index Cond: (u.v = 1.5)",
            "Seq Scan on public.t\n  Output: id, NULL::integer, 'x'::text, 7, true\n  Filter: ((t.c)::character varying <> 'z'::mine.mood)",
        ] {
            assert_eq!(judge(plan), Ok(()), "{plan}");
        }
    }

    #[test]
    fn what_could_fail_or_change_stands_back() {
        let of_output = |output: &str| judge(&std::format!("Seq Scan on public.t\n  Output: {output}"));
        for (output, reason) in [
            ("id, (10 / (5 - id))", StandBack::Operator),
            ("nextval('s'::regclass)", StandBack::Function),
            ("random()", StandBack::Function),
            ("\"my f\"(id)", StandBack::Function),
            ("public.f (id)", StandBack::Function),
            ("(pad)::integer", StandBack::Operator),
            ("pad::text", StandBack::Operator),
            ("(pad)::character varying(3)", StandBack::Operator),
            ("(pad)::public.text", StandBack::Operator),
            ("(pad)::character(3)", StandBack::Operator),
            ("(id)::text[]", StandBack::Operator),
            ("arr[1]", StandBack::Operator),
            ("t.*", StandBack::Operator),
            ("(a || b)", StandBack::Operator),
            ("(a ~~ 'x'::text)", StandBack::Operator),
            ("$0", StandBack::Node),
            ("CASE WHEN (id = 0) THEN f(id) ELSE 1 END", StandBack::Function),
            ("ROW(id, 1)", StandBack::Function),
            ("'a\\'::text", StandBack::Doubtful),
            ("id, \"a", StandBack::Doubtful),
            ("\u{e9}t\u{e9}", StandBack::Doubtful),
            ("'1'::numeric(1,", StandBack::Operator),
            ("'1'::", StandBack::Operator),
            ("'1'::numeric((1))", StandBack::Operator),
            ("'1'::a.", StandBack::Operator),
        ] {
            assert_eq!(of_output(output), Err(reason), "{output}");
        }
        for (plan, reason) in [
            ("Function Scan on pg_catalog.generate_series g", StandBack::Node),
            ("LockRows\n  Output: id", StandBack::Node),
            ("Foreign Scan on public.f", StandBack::Node),
            ("Aggregate", StandBack::Node),
            ("Hash Odd Join", StandBack::Node),
            ("Seq Scan on pg_temp_3.u", StandBack::Temporary),
            ("Index Only Scan using u_pkey on pg_temp_12.u x", StandBack::Temporary),
            ("Seq Scan on public.t\n  InitPlan 1 (returns $0)", StandBack::Node),
            ("Seq Scan on public.t\n  Rows Removed: 3", StandBack::Node),
            ("Seq Scan on public.t\n  CTE x\n    ->  Seq Scan on public.u", StandBack::Node),
            ("Seq Scan on public.\"t", StandBack::Doubtful),
        ] {
            assert_eq!(judge(plan), Err(reason), "{plan}");
        }
    }

    #[test]
    fn reasons_are_in_the_order_of_their_numbers() {
        for (at, (reason, words)) in REASONS.iter().enumerate() {
            assert_eq!(*reason as usize, at);
            assert!(!words.is_empty());
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_gives_an_answer(lines: std::vec::Vec<std::vec::Vec<u8>>) {
            let mut plan = Plan::new();
            for line in &lines {
                let _ = plan.line(line);
            }
        }

        #[test]
        fn a_call_never_passes(name in "[a-z]{1,6}", blanks in " {0,2}") {
            let output = std::format!("Output: t.id, {name}{blanks}(t.id)");
            proptest::prop_assume!(!KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(&name)));
            let mut plan = Plan::new();
            assert_eq!(plan.line(b"Seq Scan on public.t"), Ok(()));
            assert!(plan.line(output.as_bytes()).is_err());
        }
    }
}
