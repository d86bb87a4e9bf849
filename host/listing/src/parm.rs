//! PARM of a step, over all its job control statements.
//!
//! ```text
//! //GO EXEC PGM=PAY,PARM='/HEAP(32K,32K),STACK(128K,12     in apostrophes: up to column 71,
//! //             8K,ANY)'                                  and on from column 16 of the next statement
//! //GO EXEC PGM=PAY,PARM=('/HEAP(32K,32K)',                in parentheses: up to a comma,
//! //             STACK(128K))                              and on with the next statement's first operand
//! ```
//!
//! Invariant: a value that is handed over is closed. A value that is cut, or continues outside the columns that job
//! control reads, is named if it may have been options. A comment statement between two others changes nothing.
//! Not here: the side of the slash for options (`carriers`).

use crate::carriers;
use crate::lines::Line;
use crate::model::{Evidence, Item, Side, StepParm, Unread};
use crate::option_text::Piece;
use crate::options::option_at;
use crate::words::evidence;

/// The columns of a statement that count.
const COLUMNS: usize = 71;
/// The column in which a string continues.
const GOES_ON: usize = 15;
/// The most bytes of a value, in parts; PARM of job control has 100.
const BYTES: usize = 4096;
/// The most lines without a statement within one value, such as page headings.
const BETWEEN: usize = 4;

/// A value that is not closed yet.
pub(crate) struct Parm {
    /// The program of the step.
    program: Option<String>,
    first: Evidence,
    pieces: Vec<Piece>,
    bytes: usize,
    quoted: bool,
    depth: u32,
    between: usize,
}

/// The result of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// The value is closed.
    Closed,
    /// It continues in another statement.
    GoesOn,
    /// It closes, or continues, outside the columns that job control reads.
    Beyond,
    /// The line ends where something must follow.
    Cut,
}

impl Parm {
    /// PARM of a statement, with its value at `at`; returns an open value.
    pub(crate) fn begin(
        line: Line<'_>,
        statement: &[u8],
        at: usize,
        program: Option<String>,
        out: &mut dyn FnMut(Item),
    ) -> Option<Self> {
        let first = evidence(line.number, line.text);
        if !matches!(statement.get(at), Some(b'\'' | b'(')) {
            let rest = statement.get(at..).unwrap_or_default();
            let end = rest.iter().position(|byte| matches!(byte, b',' | b' '));
            // A symbol's value is not visible.
            if let (Some(word @ [b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z', ..]), true) =
                (rest.get(..end.unwrap_or(rest.len())), line.whole)
            {
                let arguments = String::from_utf8_lossy(word).into_owned();
                out(Item::Parm(StepParm { program, arguments, side: Side::Unknown, evidence: first }));
            }
            return None;
        }
        let mut parm =
            Self { program, first, pieces: Vec::new(), bytes: 0, quoted: false, depth: 0, between: 0 };
        let ends = parm.take(line, statement, at);
        parm.after(ends, line, out)
    }

    /// The next line: `statement`, if it is one. Returns the value that is still open, and whether the line belongs to it.
    pub(crate) fn goes_on(
        mut self,
        line: Line<'_>,
        statement: Option<&[u8]>,
        out: &mut dyn FnMut(Item),
    ) -> (Option<Self>, bool) {
        let Some(statement) = statement else {
            self.between += 1;
            let ends = if self.between > BETWEEN { Ends::Cut } else { Ends::GoesOn };
            return (self.after(ends, line, out), false);
        };
        // A continuation statement has no name.
        let operands = statement.get(2..).filter(|rest| rest.starts_with(b" "));
        let blanks = operands.map_or(0, |rest| rest.iter().take_while(|byte| **byte == b' ').count());
        let from = match self.quoted {
            true => GOES_ON.min(2 + blanks),
            false => 2 + blanks,
        };
        if operands.is_none() || from >= statement.len() || self.bytes > BYTES {
            return (self.after(Ends::Cut, line, out), false);
        }
        let ends = self.take(line, statement, from);
        (self.after(ends, line, out), true)
    }

    /// The input ends.
    pub(crate) fn cut(self, out: &mut dyn FnMut(Item)) {
        self.not_read("PARM goes on in another statement, or is cut: not read", out);
    }

    fn after(self, ends: Ends, line: Line<'_>, out: &mut dyn FnMut(Item)) -> Option<Self> {
        match ends {
            Ends::GoesOn if line.whole => return Some(self),
            Ends::Closed => carriers::parm(self.program, self.first, self.pieces, line.whole, out),
            Ends::Beyond => {
                self.not_read("PARM goes beyond column 71, where job control ends: not read", out)
            }
            Ends::GoesOn | Ends::Cut => self.cut(out),
        }
        None
    }

    fn not_read(self, why: &str, out: &mut dyn FnMut(Item)) {
        let text: Vec<u8> = self.pieces.iter().flat_map(|piece| piece.text.iter().copied()).collect();
        if option_at(&text).is_some() {
            out(Item::Unread(Unread { evidence: self.first, why: why.to_owned() }));
        }
    }

    /// Takes the statement's part of the value, from this column on.
    fn take(&mut self, line: Line<'_>, statement: &[u8], from: usize) -> Ends {
        let (mut kept, mut at) = (Vec::new(), from);
        // The start in the statement of the text that is kept: known one byte later, after the first has been kept.
        let mut begins = None;
        let ends = loop {
            let byte = match statement.get(at) {
                Some(byte) if at < COLUMNS => *byte,
                // The text after it may close the value, but job control does not read it.
                Some(_) if statement[at..].contains(&b'\'') => break Ends::Beyond,
                _ if self.quoted => {
                    // The blanks that fill the statement are part of the string.
                    kept.resize(kept.len() + COLUMNS.saturating_sub(at), b' ');
                    break Ends::GoesOn;
                }
                _ if kept.last() == Some(&b',') => break Ends::GoesOn,
                _ => break Ends::Cut,
            };
            if kept.len() == 1 {
                begins.get_or_insert(at - 1);
            }
            at += 1;
            match byte {
                // Two of them are one apostrophe of the string.
                b'\'' if self.quoted && statement.get(at) == Some(&b'\'') && at < COLUMNS => {
                    kept.push(byte);
                    at += 1;
                }
                b'\'' => self.quoted = !self.quoted,
                b'(' if !self.quoted => {
                    self.depth += 1;
                    if self.depth > 1 {
                        kept.push(byte);
                    }
                }
                b')' if !self.quoted => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth > 0 {
                        kept.push(byte);
                    }
                }
                b' ' if !self.quoted && kept.last() == Some(&b',') => break Ends::GoesOn,
                b' ' if !self.quoted => break Ends::Cut,
                _ => kept.push(byte),
            }
            if !self.quoted && self.depth == 0 {
                break Ends::Closed;
            }
        };
        self.bytes += kept.len();
        let before = statement.as_ptr() as usize - line.text.as_ptr() as usize;
        self.pieces.push(Piece::new(line, kept, before + begins.unwrap_or(from)));
        ends
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Item;

    /// The options, or the reason why they were not read.
    fn check(text: &str, expect: &str) {
        let said: Vec<String> = crate::read(text.as_bytes())
            .into_iter()
            .filter_map(|item| match item {
                Item::Unread(unread) => Some(unread.why),
                Item::Text(text) => {
                    let rows = text.rows.iter();
                    let rows = rows.map(|row| format!("{}:{}({})", row.evidence.line, row.name, row.values));
                    let doubts = text.doubts.iter().map(|doubt| doubt.words.clone());
                    Some(rows.chain(doubts).collect::<Vec<_>>().join(" "))
                }
                _ => None,
            })
            .collect();
        assert_eq!(said.join("; "), expect, "{text}");
    }

    #[test]
    fn strings_go_on_in_column_16() {
        let first =
            format!("{:<71}", "//GO       EXEC PGM=PAY,REGION=64M,COND=(4,LT),PARM='/HEAP(32K,32K),STA");
        assert_eq!(first.trim_end().len(), 71);
        let all = "1:HEAP(32K,32K) 1:STACK(128K,128K,ANY)";
        check(&format!("{first}\n//             CK(128K,128K,ANY)'\n"), all);
        check(&format!("{first}X00010000\n//             CK(128K,128K,ANY)'{:23}00020000\n", ""), all);
        check(&format!("{first}\n//* A COMMENT\n//             CK(128K,128K,ANY)'\n"), all);
        let comments = "        3 //* ONE\n          //* TWO\n        4 XX* THREE\n".repeat(3);
        check(&format!("{first}\n{comments}//             CK(128K,128K,ANY)'\n"), all);
        // In the form of a job log.
        check(&format!("        2 {first}\n          //             CK(128K,128K,ANY)'\n"), all);
        let three = "//GO EXEC PGM=PAY,PARM='/HEAP(32K,32K),\n//             STACK(128K),\n//             RPTSTG(ON)',REGION=8M\n";
        check(three, "1:HEAP(32K,32K) 2:STACK(128K) 3:RPTSTG(ON)");
    }

    #[test]
    fn lists_go_on_behind_a_comma() {
        let all = "1:HEAP(32K,32K) 2:STACK(128K,128K)";
        check(
            "//GO EXEC PGM=PAY,PARM=('/HEAP(32K,32K)',    SIZES\n//             'STACK(128K,128K)')\n",
            all,
        );
        check("//GO EXEC PGM=PAY,PARM=('/HEAP(32K,32K)',\n//  STACK(128K,128K)),REGION=8M\n", all);
        check("XXGO EXEC PGM=PAY,PARM=('HEAP(32K,32K)',\nXX  'STACK(128K,128K)/12')\n", all);
        check("//GO EXEC PGM=PAY,\n//  PARM='/HEAP(32K,32K)'\n", "2:HEAP(32K,32K)");
        check("//GO EXEC PGM=PAY,PARM='/ENVAR(''A=B''),HEAP(32K,32K)'\n", "1:ENVAR('A=B') 1:HEAP(32K,32K)");
    }

    #[test]
    fn what_does_not_go_on_is_named() {
        let cut = "PARM goes on in another statement, or is cut: not read";
        let begins = "//GO EXEC PGM=PAY,PARM='/HEAP(32K,32K),STACK";
        check(&format!("{begins}\n"), cut);
        check(&format!("{begins}\n//SYSOUT DD SYSOUT=*\n"), cut);
        check(&format!("{begins}\nA\nB\nC\nD\nE\n//             (128K)'\n"), cut);
        check("//GO EXEC PGM=PAY,PARM=('/HEAP(32K,32K)'\n//  'STACK(128K)')\n", cut);
        check("//GO EXEC PGM=PAY,PARM='SOMETHING\n//             ELSE'\n", "");
    }
}
