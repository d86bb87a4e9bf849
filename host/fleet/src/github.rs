//! Verdicts on gates for GitHub: annotations as workflow commands, and a job summary in Markdown.
//!
//! Invariant: no text of a program or an expression begins a workflow command or markup: what could is escaped.
//! Not here: the verdicts ([`crate::sides`]), and where the lines go.

use std::fmt::Write as _;

use crate::sides::{Judged, Verdict};

/// A line for each gate that did not pass: `::error title=...::...` or `::warning ...`.
#[must_use]
pub fn annotations(gates: &[Judged]) -> String {
    let mut text = String::new();
    for Judged { gate, verdict, why } in gates {
        let level = match verdict {
            Verdict::Passed => continue,
            Verdict::Undecided => "warning",
            Verdict::Failed | Verdict::Unknown => "error",
        };
        let title = property(&format!("underbar gate {}: {gate}", verdict.word()));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "::{level} title={title}::{}", message(&format!("{gate}: {why}")));
    }
    text
}

/// The summary of a job: a table of the gates, and the comparison as it was printed.
#[must_use]
pub fn summary(gates: &[Judged], compared: &str) -> String {
    let mut text = String::from("### underbar\n\n");
    if !gates.is_empty() {
        text.push_str("| gate | verdict | why |\n|---|---|---|\n");
        for Judged { gate, verdict, why } in gates {
            let _ = writeln!(text, "| {} | {} | {} |", cell(gate), verdict.word(), cell(why));
        }
        text.push('\n');
    }
    // A fence that is longer than any in the text.
    let longest = compared.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if compared.ends_with('\n') { "" } else { "\n" };
    let _ = writeln!(
        text,
        "<details><summary>All figures</summary>\n\n{fence}text\n{compared}{end}{fence}\n\n</details>"
    );
    text
}

/// A message of a workflow command.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

/// A cell of a table: what Markdown or HTML could take for markup is a character reference.
fn cell(text: &str) -> String {
    let mut cell = String::new();
    for character in text.chars() {
        match character {
            '\n' | '\r' => cell.push(' '),
            '&' | '<' | '>' | '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '~' | '@' | '#' | '!' | '('
            | ')' => {
                let _ = write!(cell, "&#{};", u32::from(character));
            }
            _ => cell.push(character),
        }
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(gate: &str, verdict: Verdict, why: &str) -> Judged {
        Judged { gate: gate.to_owned(), verdict, why: why.to_owned() }
    }

    #[test]
    fn only_gates_that_did_not_pass_are_annotated() {
        let text = annotations(&[
            judged("heap.gets > 5", Verdict::Passed, "x"),
            judged("heap.used_peak > +5%", Verdict::Failed, "10 %, over"),
            judged("steps.elapsed_ns > +5%", Verdict::Undecided, "noise"),
        ]);
        assert_eq!(
            text,
            "::error title=underbar gate failed%3A heap.used_peak > +5%25::heap.used_peak > +5%25: 10 %25, over\n\
             ::warning title=underbar gate undecided%3A steps.elapsed_ns > +5%25::steps.elapsed_ns > +5%25: noise\n"
        );
    }

    #[test]
    fn nothing_foreign_begins_a_command_or_markup() {
        let hostile = "a\r\n::error::b|<script>`x`, [y](z) %0A";
        let gates = [judged(hostile, Verdict::Failed, hostile)];
        let text = annotations(&gates);
        assert_eq!(text.lines().count(), 1);
        assert!(text.contains("a%0D%0A::error::b|") && text.ends_with("%250A\n"), "{text}");
        let text = summary(&gates, "prog ```` x\n</details>");
        let row = text.lines().find(|line| line.starts_with("| a")).expect("a row");
        assert_eq!(row.matches('|').count(), 4, "{row}");
        assert!(!row.contains('<') && !row.contains('`') && !row.contains("]("), "{row}");
        assert!(text.contains("\n`````text\nprog ```` x\n</details>\n`````\n"), "{text}");
    }
}
