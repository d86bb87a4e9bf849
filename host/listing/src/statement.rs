//! Single statements of job control: their start and end in a line, their keywords, and data that follow them.
//!
//! Not here: their meaning (`job`, `parm`, `carriers`, Natural's texts).

use crate::words::{find, split};

/// The end of the data after a DD statement.
pub(crate) struct InStream {
    delimiter: Option<Vec<u8>>,
    /// The statement continues.
    more: bool,
}

/// The statement of job control in a line, after the number that a job log puts before it,
/// and without the sequence number in the last eight of 80 columns.
pub(crate) fn statement(text: &[u8]) -> Option<&[u8]> {
    let at = begins(text).filter(|_| !is_comment(text))?;
    let ends = match text.get(at + 71..) {
        Some([_, number @ ..]) if number.len() == 8 && number.iter().all(u8::is_ascii_alphanumeric) => {
            at + 71
        }
        _ => text.len(),
    };
    Some(&text[at..ends])
}

/// Whether a line is a comment of job control, of the job or of a procedure, after a number as for a statement.
pub(crate) fn is_comment(text: &[u8]) -> bool {
    begins(text).is_some_and(|at| text[at + 2..].starts_with(b"*"))
}

/// The position of the slashes of job control, or of their replacement in a job log for procedures.
fn begins(text: &[u8]) -> Option<usize> {
    let head = text.get(..24).unwrap_or(text);
    let at = find(head, b"//").or_else(|| find(head, b"xx"))?;
    split(&text[..at]).all(|word| word.iter().all(u8::is_ascii_digit)).then_some(at)
}

/// The value of a keyword, of the step itself or of a step of its procedure, as in `REGION.GO=`.
pub(crate) fn keyword<'t>(statement: &'t [u8], name: &[u8]) -> Option<&'t [u8]> {
    let (_, value) = values(statement, name).next()?;
    let end = value.iter().position(|byte| matches!(byte, b',' | b' ' | b')' | b'\t')).unwrap_or(value.len());
    Some(&value[..end])
}

/// All values of a keyword: the start of each, and the rest of the line from there.
pub(crate) fn values<'t>(statement: &'t [u8], name: &[u8]) -> impl Iterator<Item = (usize, &'t [u8])> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + find(&statement[from..], name)?;
            from = at + name.len();
            let free = at > 0 && matches!(statement[at - 1], b',' | b' ' | b'(');
            let rest = &statement[from..];
            let step = rest.strip_prefix(b".").map_or(0, |step| {
                1 + step
                    .iter()
                    .take_while(|byte| byte.is_ascii_alphanumeric() || b"$#@".contains(byte))
                    .count()
            });
            if free && rest.get(step) == Some(&b'=') {
                return Some((from + step + 1, &rest[step + 1..]));
            }
        }
    })
}

/// The data after a DD statement of this name, alone or after a step's: `*` or DATA, with or without more operands.
pub(crate) fn in_stream(text: &[u8], name: &str) -> Option<InStream> {
    let statement = statement(text)?;
    let mut words = split(statement.get(2..)?);
    let last = words.next()?.rsplit(|byte| *byte == b'.').next()?;
    let is_dd = statement[2] != b' ' && last.eq_ignore_ascii_case(name.as_bytes());
    if !is_dd || !words.next()?.eq_ignore_ascii_case(b"dd") {
        return None;
    }
    let operands = words.next()?;
    let first = operands.split(|byte| *byte == b',').next()?;
    (first == b"*" || first.eq_ignore_ascii_case(b"data")).then(|| {
        let mut stream = InStream { delimiter: None, more: false };
        stream.operands(operands);
        stream
    })
}

impl InStream {
    fn operands(&mut self, operands: &[u8]) {
        self.more = operands.ends_with(b",");
        if let Some(at) = find(operands, b"dlm=") {
            let value = operands[at + 4..].split(|byte| *byte == b',').next().unwrap_or_default();
            let value: Vec<u8> = value.iter().copied().filter(|byte| *byte != b'\'').collect();
            self.delimiter = Some(value).filter(|value| !value.is_empty());
        }
    }

    /// Whether a line continues the statement.
    pub(crate) fn goes_on(&mut self, text: &[u8]) -> bool {
        let more = std::mem::take(&mut self.more);
        let operands = statement(text).and_then(|statement| statement[2..].strip_prefix(b" "));
        let operands = operands.and_then(|rest| split(rest).next()).filter(|_| more);
        operands.map(|operands| self.operands(operands)).is_some()
    }

    /// Whether a line ends the data.
    pub(crate) fn ends(&self, text: &[u8]) -> bool {
        match &self.delimiter {
            Some(delimiter) => text.starts_with(delimiter),
            None => text.starts_with(b"/*") || text.starts_with(b"//"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_in_the_stream_are_told_from_other_statements() {
        let is = |text: &str| in_stream(text.as_bytes(), "CEEOPTS").is_some();
        for text in [
            "//CEEOPTS DD *",
            "//ceeopts dd *",
            "//GO.CEEOPTS  DD  DATA,DLM=ZZ",
            "//CEEOPTS DD *,SYMBOLS=JCLONLY   FOR THE NIGHT",
            "        7 //CEEOPTS DD *",
            "//CEEOPTS  DD  *                                                        00010000",
        ] {
            assert!(is(text), "{text}");
        }
        for text in
            ["//CEEOPTS DD DSN=A.B,DISP=SHR", "//* CEEOPTS DD *", "//XCEEOPTS DD *", "// CEEOPTS DD *", "//"]
        {
            assert!(!is(text), "{text}");
        }
    }

    #[test]
    fn comments_are_no_statements_wherever_they_stand() {
        for text in ["//* REGION=4M", "XX*  REGION=4M WAS TOO SMALL", "        7 XX* REGION=4M", "   //*"] {
            assert!(is_comment(text.as_bytes()) && statement(text.as_bytes()).is_none(), "{text}");
        }
        for text in ["//A EXEC PGM=PAY", "XXA EXEC PGM=PAY", "        7 //  PARM='*'", "//", "XX"] {
            assert!(!is_comment(text.as_bytes()) && statement(text.as_bytes()).is_some(), "{text}");
        }
    }

    #[test]
    fn the_statement_before_data_may_go_on() {
        let mut stream = in_stream(b"//CEEOPTS DD DATA,", "CEEOPTS").expect("data");
        assert!(stream.goes_on(b"//            SYMBOLS=JCLONLY,"));
        assert!(stream.goes_on(b"//            DLM='ZZ'"));
        assert!(!stream.goes_on(b"//            HEAP(4M)"));
        assert!(stream.ends(b"ZZ") && !stream.ends(b"/*"));
        let plain = in_stream(b"//CEEOPTS DD *", "CEEOPTS").expect("data");
        assert!(plain.ends(b"/*") && plain.ends(b"//SYSIN DD *") && !plain.ends(b"ZZ"));
    }
}
