//! The entry point: bytes in, items out.
//!
//! A line is read closely only if something is open, or if it has a word that may open something (`prefilter`). While
//! nothing is open, whole stretches without such a word are skipped.

use crate::carriers::Carriers;
use crate::commas;
use crate::job::Job;
use crate::lines::{Line, Lines, Taker};
use crate::lists::Lists;
use crate::model::{Evidence, Item, Unread};
use crate::natural;
use crate::options::Options;
use crate::packed::{Out, Packed};
use crate::prefilter;
use crate::quotes::Quotes;
use crate::storage::Storage;
use crate::words::{evidence, has, unquoted, without_number};
use crate::ztpf::Ztpf;

/// Reads a listing piece by piece.
pub struct Reader {
    packed: Packed,
    lines: Lines,
    state: State,
}

#[derive(Default)]
struct State {
    storage: Storage,
    options: Options,
    carriers: Carriers,
    job: Job,
    ztpf: Ztpf,
    natural: natural::Reader,
    lists: Lists,
    quotes: Quotes,
    /// A report with labels of another language was named.
    foreign: bool,
}

impl Default for Reader {
    fn default() -> Self {
        Self::new()
    }
}

impl Reader {
    /// A reader that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self { packed: Packed::default(), lines: Lines::new(), state: State::default() }
    }

    /// Takes more bytes; complete items go to `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut dyn FnMut(Item)) {
        let Self { packed, lines, state } = self;
        packed.feed(bytes, &mut |part| hand_over(part, lines, state, out));
    }

    /// The input ends: the rest goes to `out`. Returns the number of lines.
    pub fn finish(mut self, out: &mut dyn FnMut(Item)) -> u64 {
        let Self { packed, lines, state } = &mut self;
        packed.finish(&mut |part| hand_over(part, lines, state, out));
        lines.finish(&mut Looking { state, out });
        state.storage.finish(out);
        state.options.finish(out);
        state.carriers.finish(out);
        state.job.finish(out);
        state.ztpf.finish(out);
        state.natural.finish(out);
        lines.count()
    }
}

/// The unpacked bytes, or the reason why there are none.
fn hand_over(part: Out<'_>, lines: &mut Lines, state: &mut State, out: &mut dyn FnMut(Item)) {
    match part {
        Out::Bytes(bytes) => lines.feed(bytes, &mut Looking { state, out }),
        Out::Why(why) => {
            let evidence = Evidence { line: lines.count() + 1, text: "not read".to_owned() };
            out(Item::Unread(Unread { evidence, why: why.to_owned() }));
        }
    }
}

/// Reads a whole listing.
#[must_use]
pub fn read(bytes: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut reader = Reader::new();
    reader.feed(bytes, &mut |item| items.push(item));
    reader.finish(&mut |item| items.push(item));
    items
}

/// Passes lines to the state.
struct Looking<'a> {
    state: &'a mut State,
    out: &'a mut dyn FnMut(Item),
}

impl Taker for Looking<'_> {
    fn line(&mut self, line: Line<'_>) {
        self.state.line(line, self.out);
    }

    fn next(&self, text: &[u8]) -> Option<usize> {
        if self.state.is_open() { Some(0) } else { prefilter::first(text) }
    }

    fn broken(&mut self, line: u64) {
        let text = "nothing after it was read".to_owned();
        let why = "a record of variable length, with an impossible length".to_owned();
        (self.out)(Item::Unread(Unread { evidence: Evidence { line: line + 1, text }, why }));
    }
}

/// Shows a line to one reader. True if it takes the line: those below it in the table do not see it.
type Takes = fn(&mut State, Line<'_>, &mut dyn FnMut(Item)) -> bool;

/// The readers, in the order in which they are asked.
const READERS: [Takes; 7] = [
    // Natural and Adabas look on, and take no line. Operands of CEEXOPT, which are written NAME=value too, are not Natural's.
    |state, line, out| {
        if !state.carriers.is_macro(line.text) {
            state.natural.line(line, out);
        }
        false
    },
    // Lists of data sets look on, too.
    |state, line, out| {
        state.lists.line(line, out);
        false
    },
    // Reports of z/TPF have titles that nothing else has.
    |state, line, out| state.ztpf.line(line, out),
    // A line of a storage report ends an options report, and what merely looked like options of a carrier.
    |state, line, out| {
        let taken = state.storage.line(line, out);
        if taken {
            state.options.finish(out);
            state.carriers.interrupted(false, out);
        }
        taken
    },
    // A row of an options report ends the latter, too; on the first line it may itself be the rest of a row.
    |state, line, out| {
        let taken = state.options.line(line, out);
        if taken {
            state.carriers.interrupted(true, out);
        }
        taken
    },
    // Option texts: CEEOPTS, CEEUOPT, PARM, _CEE_RUNOPTS.
    |state, line, out| state.carriers.line(line, out),
    // What is left may be of the job: steps, regions, timings.
    |state, line, out| {
        state.job.line(line, out);
        true
    },
];

impl State {
    /// Whether every line has to be read closely.
    fn is_open(&self) -> bool {
        self.storage.is_open()
            || self.options.is_open()
            || self.carriers.is_open()
            || self.job.is_open()
            || self.ztpf.is_open()
            || self.natural.is_open()
    }

    fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) {
        if !self.is_open() && !prefilter::is_of_interest(line.text) {
            return;
        }
        let text = without_number(unquoted(self.quotes.without(line.text)));
        let plain = commas::plain(text);
        let line = Line { text: plain.as_deref().unwrap_or(text), ..line };
        if let Some(why) = not_read(line.text).filter(|_| !self.foreign) {
            self.foreign = true;
            out(Item::Unread(Unread { evidence: evidence(line.number, line.text), why: why.to_owned() }));
        }
        for takes in READERS {
            if takes(self, line, out) {
                return;
            }
        }
    }
}

/// The reason why a listing is not read if its lines show that it is packed, and advice.
fn not_read(text: &[u8]) -> Option<&'static str> {
    let is_german = ["speicherbericht", "anfangsgr", "laufzeitoptionen"].iter().any(|word| has(text, word));
    if is_german {
        return Some("a report with German labels: print it in English, with NATLANG(ENU)");
    }
    has(text, "content-transfer-encoding: base64")
        .then_some("a mail with its listing in base64: save the attachment as a file")
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::{Field, Item, Kind};

    const LINES: [(&str, &str); 8] = [
        ("STACK statistics:", ""),
        ("Initial size:", "131072"),
        ("Increment size:", "131072"),
        ("Maximum used by all concurrent threads:", "19344"),
        ("Largest used by any thread:", "12992"),
        ("Number of segments allocated:", "2"),
        ("Number of segments freed:", "0"),
        ("End of Storage Report", ""),
    ];

    fn initial(bytes: &[u8]) -> Option<u64> {
        read(bytes).into_iter().find_map(|item| match item {
            Item::Storage(report) => Some(report.section(Kind::Stack)?.get(Field::Initial)?.value),
            _ => None,
        })
    }

    fn all(line: impl Fn(&str, &str) -> String) -> String {
        let heading = line("Storage Report for Enclave PAY 11/20/26", "");
        heading + &LINES.iter().map(|(label, value)| line(label, value)).collect::<String>()
    }

    #[test]
    fn tables_and_pages_and_quoted_mail_are_listings() {
        let plain = all(|label, value| format!("  {label:<50}{value}\n"));
        for text in [
            all(|label, value| format!("\"{label}\",\"{value}\"\n")),
            all(|label, value| format!("{label};{value};;\r\n")),
            all(|label, value| match value {
                "" => format!("{}\n", label.trim_end_matches(':')),
                value => format!("{},{value}\n", label.trim_end_matches(':')),
            }),
            all(|label, value| format!("&nbsp;&nbsp;{label}&nbsp;{value}<br>")),
            format!("<html><body><pre>\n{plain}</pre></body></html>"),
            plain.lines().map(|line| format!("> {line}\n")).collect(),
            plain.clone(),
        ] {
            assert_eq!(initial(text.as_bytes()), Some(131_072), "{text}");
        }
        let wide = |low_first: bool| -> Vec<u8> {
            plain.bytes().flat_map(|byte| if low_first { [byte, 0] } else { [0, byte] }).collect()
        };
        assert_eq!((initial(&wide(true)), initial(&wide(false))), (Some(131_072), Some(131_072)));
    }

    #[test]
    fn other_forms_are_named_once_with_what_to_do() {
        let german = "Speicherbericht fuer Enklave PAY\n Anfangsgroesse: 4096\n Anfangsgroesse: 4096\n";
        let mail = "Content-Transfer-Encoding: base64\n\nU3RvcmFnZSBSZXBvcnQ=\n";
        for (text, words) in [(german, "NATLANG(ENU)"), (mail, "save the attachment")] {
            let items = read(text.as_bytes());
            let [Item::Unread(one)] = &items[..] else { panic!("{items:?}") };
            assert!(one.why.contains(words), "{one:?}");
        }
    }
}
