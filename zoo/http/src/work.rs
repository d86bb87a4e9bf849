//! The work of a request: what allocates, and leaks if it is told to.
//!
//! Invariant: the answer depends on the question alone.
//! Not here: sockets, the protocol, ECBs (the parent).

use std::fmt::Write as _;

use hyper::body::Bytes;
use serde_json::{Value, json};

/// A request, as far as the work needs it.
pub struct Question {
    pub is_post: bool,
    pub path: String,
    pub query: String,
    pub body: Bytes,
}

/// What the client gets.
pub struct Answer {
    pub status: u16,
    pub kind: &'static str,
    pub body: Vec<u8>,
}

/// The most rows of a table.
const MOST_ROWS: usize = 10_000;

/// Answers a question, and forgets `leak` bytes.
pub async fn answer(question: &Question, leak: usize) -> Answer {
    if leak > 0 {
        // The black box: an allocation that nobody sees would be left out.
        std::mem::forget(std::hint::black_box(vec![1_u8; leak]));
    }
    match (question.is_post, question.path.as_str()) {
        (false, "/table") => table(&question.query).await,
        (true, "/json") => sorted(&question.body),
        (false, "/panic") => panic!("as asked: {}", question.query),
        _ => Answer { status: 404, kind: "text/plain", body: format!("no {}\n", question.path).into_bytes() },
    }
}

/// A table of so many rows, sorted by their names.
async fn table(query: &str) -> Answer {
    let rows = query
        .strip_prefix("rows=")
        .and_then(|text| text.parse().ok())
        .filter(|rows: &usize| *rows <= MOST_ROWS);
    let Some(rows) = rows else {
        return Answer { status: 400, kind: "text/plain", body: b"rows=N, up to 10000\n".to_vec() };
    };
    let mut names: Vec<(String, u64)> = (0..rows as u64)
        .map(|row| (format!("name {:x}", row.wrapping_mul(0x9e37_79b9_7f4a_7c15)), row))
        .collect();
    // As for the answer of a database: the request goes on later, maybe in another thread.
    crate::outside(tokio::task::yield_now()).await;
    names.sort();
    let mut page = String::from("<table>\n");
    for (name, row) in &names {
        let _ = writeln!(page, "<tr><td>{name}<td>{row}");
    }
    page.push_str("</table>\n");
    Answer { status: 200, kind: "text/html", body: page.into_bytes() }
}

/// The JSON of the body with the names of its objects in order, and the sum of its numbers.
fn sorted(body: &[u8]) -> Answer {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => {
            let text = format!("{:#}\n", json!({ "sum": sum(&value), "value": value }));
            Answer { status: 200, kind: "application/json", body: text.into_bytes() }
        }
        Err(error) => Answer { status: 400, kind: "text/plain", body: format!("{error}\n").into_bytes() },
    }
}

/// The sum of all numbers in a value.
fn sum(value: &Value) -> f64 {
    match value {
        Value::Number(number) => number.as_f64().unwrap_or(0.0),
        Value::Array(values) => values.iter().map(sum).sum(),
        Value::Object(values) => values.values().map(sum).sum(),
        _ => 0.0,
    }
}
