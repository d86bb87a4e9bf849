//! Statements: the fields to sort by, the records to take, and the sums.
//!
//! ```text
//! SORT FIELDS=(1,10,CH,A,21,4,PD,D)        OPTION EQUALS,SKIPREC=10,STOPAFT=1000,VLSHRT,MAINSIZE=300M
//! INCLUDE COND=(5,3,CH,EQ,C'ABC',AND,(21,4,PD,GT,0,OR,30,1,BI,EQ,X'FF'))
//! SUM FIELDS=(21,4,PD)                     SORT=(WRKSIZE=1000,EXT=OFF)
//! ```
//!
//! The grammar is that of DFSORT, and for `SORT=` that of Natural's parameter. In variable records, fields count from the descriptor word
//! on, as there: the first byte of data is 5.
//!
//! Invariant: a text gives statements, or an error with its line; nothing unknown is passed over.
//! Not here: lines, comments and remarks (`words`), and conditions (`condition_text`).

use crate::condition::Condition;
use crate::condition_text;
use crate::field::{Field, Kind, Order, Short};
use crate::format::Format;
use crate::parser::{Parser, Read, kind_of, unsigned};
use crate::words::Word;
pub use crate::words::Wrong;

/// What happens to the records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Verb {
    /// They are sorted.
    #[default]
    Sort,
    /// The inputs are in order, and are merged.
    Merge,
    /// They stay in the order of the input.
    Copy,
}

/// What happens to records with equal keys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Sum {
    /// All stay.
    #[default]
    None,
    /// One of them stays.
    Duplicates,
    /// One stays, with the sums of these fields. Where a sum does not fit, both records stay.
    Fields(Vec<Field>),
}

/// Everything that statements say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Statements {
    /// Sort, merge or copy.
    pub verb: Verb,
    /// The fields to sort by; empty for a copy.
    pub order: Vec<Order>,
    /// The records to take; None: all.
    pub condition: Option<Condition>,
    /// The treatment of records with equal keys.
    pub sum: Sum,
    /// Records of the input that are passed over first.
    pub skip: u64,
    /// The most records that are taken.
    pub stop: Option<u64>,
    /// The treatment of records that end before a field does.
    pub short: Short,
    /// Bytes of memory.
    pub memory: Option<usize>,
}

impl Statements {
    /// A sort by these fields, of all records. Lines may be shorter than their fields.
    #[must_use]
    pub fn of(order: Vec<Order>, format: Format) -> Statements {
        let short = if format == Format::Lines { Short::Padded } else { Short::Refused };
        Statements { order, short, ..Statements::default() }
    }
}

/// Reads statements for records of this form.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(text: &str, format: Format) -> Read<Statements> {
    let mut reader = Reader {
        parser: Parser::new(text, format)?,
        all: Statements::of(Vec::new(), format),
        has_verb: false,
        verb_line: 1,
        sum_line: 1,
    };
    while let Some(word) = reader.parser.next() {
        if word.is("END") {
            break;
        }
        reader.statement(word)?;
        if let Some(word) = reader.parser.next().filter(|word| !word.is_end()) {
            return Err(word.wrong(format!("{} where the statement should end", word.text)));
        }
    }
    reader.finish()
}

struct Reader<'a> {
    parser: Parser<'a>,
    all: Statements,
    has_verb: bool,
    verb_line: usize,
    sum_line: usize,
}

/// A field in a list, of which the kind may follow in FORMAT.
struct Listed<'a> {
    position: Word<'a>,
    length: Word<'a>,
    kind: Option<Kind>,
}

impl<'a> Reader<'a> {
    fn statement(&mut self, word: Word<'a>) -> Read<()> {
        match word.text.to_ascii_uppercase().as_str() {
            "SORT" if self.parser.peek(0) == Some("=") => self.natural(),
            "SORT" => self.verb(word, Verb::Sort),
            "MERGE" => self.verb(word, Verb::Merge),
            "INCLUDE" | "OMIT" => self.include(word),
            "SUM" => self.sum(word),
            "OPTION" => self.options(),
            "INREC" | "OUTREC" | "OUTFIL" | "JOINKEYS" | "REFORMAT" | "ALTSEQ" | "MODS" | "RECORD" => {
                Err(word.wrong(format!("{} is not supported", word.text)))
            }
            _ => {
                let known = "SORT, MERGE, INCLUDE, OMIT, SUM, OPTION and END";
                Err(word.wrong(format!("{} is not a statement; statements are {known}", word.text)))
            }
        }
    }

    /// SORT or MERGE, with fields or COPY.
    fn verb(&mut self, word: Word<'a>, verb: Verb) -> Read<()> {
        self.say_verb(word, verb)?;
        self.parser.expect("FIELDS")?;
        self.parser.expect("=")?;
        if self.parser.take("COPY") || self.take_listed_copy() {
            self.all.verb = Verb::Copy;
        } else {
            let common = self.parser.format_behind()?;
            self.parser.expect("(")?;
            loop {
                let listed = self.listed()?;
                let order = self.parser.after_comma("A or D")?;
                let is_descending = match order.text {
                    "A" | "a" => false,
                    "D" | "d" => true,
                    _ => {
                        return Err(
                            order.wrong(format!("{} is not an order; orders are A and D", order.text))
                        );
                    }
                };
                let field = self.resolved(&listed, common)?;
                self.all.order.push(Order { field, is_descending });
                if !self.parser.take(",") {
                    break;
                }
            }
            self.parser.expect(")")?;
        }
        while self.parser.take(",") {
            self.option()?;
        }
        Ok(())
    }

    fn say_verb(&mut self, word: Word<'a>, verb: Verb) -> Read<()> {
        if self.has_verb {
            return Err(word.wrong("a second SORT, MERGE or COPY"));
        }
        (self.has_verb, self.verb_line, self.all.verb) = (true, word.line, verb);
        Ok(())
    }

    /// `(COPY)`, which DFSORT also allows.
    fn take_listed_copy(&mut self) -> bool {
        let is_it = self.parser.peek(1).is_some_and(|text| text.eq_ignore_ascii_case("COPY"));
        if is_it {
            self.parser.skip(3);
        }
        is_it
    }

    /// Position, length, and the kind if it is there.
    fn listed(&mut self) -> Read<Listed<'a>> {
        let (position, length) = (self.parser.needed("a position")?, self.parser.after_comma("a length")?);
        let has_more = self.parser.peek(0) == Some(",") && !self.parser.is_at_number(1);
        let is_order = |text: &str| ["A", "D"].iter().any(|order| order.eq_ignore_ascii_case(text));
        let is_kind = has_more && !self.parser.peek(1).is_some_and(is_order);
        let kind = if is_kind { Some(kind_of(self.parser.after_comma("a kind of field")?)?) } else { None };
        Ok(Listed { position, length, kind })
    }

    fn resolved(&self, listed: &Listed<'_>, common: Option<Kind>) -> Read<Field> {
        match listed.kind.or(common) {
            Some(kind) => self.parser.field(listed.position, listed.length, kind),
            None => {
                let what =
                    "the field has no kind; kinds are CH, BI, FI, PD and ZD, or FORMAT= for all fields";
                Err(listed.length.wrong(what))
            }
        }
    }

    fn include(&mut self, word: Word<'a>) -> Read<()> {
        if self.all.condition.is_some() {
            return Err(word.wrong("a second INCLUDE or OMIT"));
        }
        self.parser.expect("COND")?;
        self.parser.expect("=")?;
        let condition = condition_text::read(&mut self.parser)?;
        self.all.condition =
            Some(if word.is("OMIT") { Condition::Not(Box::new(condition)) } else { condition });
        Ok(())
    }

    fn sum(&mut self, word: Word<'a>) -> Read<()> {
        if self.all.sum != Sum::None {
            return Err(word.wrong("a second SUM"));
        }
        self.sum_line = word.line;
        self.parser.expect("FIELDS")?;
        self.parser.expect("=")?;
        if self.parser.take("NONE") || self.parser.take("(NONE)") {
            self.all.sum = Sum::Duplicates;
            return Ok(());
        }
        let common = self.parser.format_behind()?;
        self.parser.expect("(")?;
        let mut fields = Vec::new();
        loop {
            let listed = self.listed()?;
            let field = self.resolved(&listed, common)?;
            let most = match field.kind {
                Kind::Bi | Kind::Fi => 8,
                Kind::Pd => 16,
                Kind::Zd => 31,
                Kind::Ch | Kind::Rest => {
                    return Err(listed.position.wrong("a CH field has no sum; use BI, FI, PD or ZD"));
                }
            };
            if field.length > most {
                let what = format!("a {} field with a sum has at most {most} bytes", field.kind);
                return Err(listed.length.wrong(what));
            }
            fields.push(field);
            if !self.parser.take(",") {
                break;
            }
        }
        self.parser.expect(")")?;
        if common.is_some() {
            self.parser.skip(4);
        }
        self.all.sum = Sum::Fields(fields);
        Ok(())
    }

    fn options(&mut self) -> Read<()> {
        loop {
            self.option()?;
            if !self.parser.take(",") {
                return Ok(());
            }
        }
    }

    fn option(&mut self) -> Read<()> {
        let word = self.parser.needed("an option")?;
        match word.text.to_ascii_uppercase().as_str() {
            // The order of equal records is always kept.
            "EQUALS" | "NOEQUALS" => {}
            "VLSHRT" => self.all.short = Short::Padded,
            "NOVLSHRT" => self.all.short = Short::Refused,
            "COPY" => self.say_verb(word, Verb::Copy)?,
            "SKIPREC" => self.all.skip = self.parser.number()?,
            "STOPAFT" => self.all.stop = Some(self.parser.number()?),
            "MAINSIZE" => {
                let size = self.parser.value("a size")?;
                if !size.is("MAX") {
                    self.all.memory = Some(bytes(size.text).ok_or_else(|| {
                        size.wrong(format!("{} is not a size; sizes are 300M, 64K, 1G or MAX", size.text))
                    })?);
                }
            }
            // It was read with the list.
            "FORMAT" => {
                kind_of(self.parser.value("a kind of field")?)?;
            }
            _ => {
                let known = "EQUALS, NOEQUALS, VLSHRT, NOVLSHRT, COPY, SKIPREC, STOPAFT, MAINSIZE and FORMAT";
                return Err(word.wrong(format!("{} is not an option; options are {known}", word.text)));
            }
        }
        Ok(())
    }

    /// Natural's parameter: `SORT=(WRKSIZE=1000,EXT=OFF)`.
    fn natural(&mut self) -> Read<()> {
        self.parser.expect("=")?;
        self.parser.expect("(")?;
        loop {
            let word = self.parser.needed("a parameter")?;
            match word.text.to_ascii_uppercase().as_str() {
                "WRKSIZE" => {
                    let size = self.parser.value("a number of KB")?;
                    let kilobytes = unsigned(size.text).filter(|size| (10..=2_097_151).contains(size));
                    let kilobytes = kilobytes.ok_or_else(|| {
                        size.wrong(format!("WRKSIZE is 10 to 2097151 KB, not {}", size.text))
                    })?;
                    self.all.memory = usize::try_from(kilobytes << 10).ok();
                }
                "EXT" => {
                    let value = self.parser.value("OFF")?;
                    if !value.is("OFF") {
                        let what = "EXT is OFF here: the sort is internal, and calls no other program";
                        return Err(value.wrong(what));
                    }
                }
                "STORAGE" => {
                    let value = self.parser.value("MAIN")?;
                    if !value.is("MAIN") {
                        return Err(
                            value.wrong("STORAGE is MAIN here; a sort that needs more uses a work file")
                        );
                    }
                }
                _ => {
                    let known = "WRKSIZE, STORAGE and EXT";
                    let what = format!("{} is not a parameter of SORT=; parameters are {known}", word.text);
                    return Err(word.wrong(what));
                }
            }
            if !self.parser.take(",") {
                break;
            }
        }
        self.parser.expect(")")
    }

    /// Checks what only all statements together show.
    fn finish(self) -> Read<Statements> {
        let all = self.all;
        let wrong = |what: &str| Err(Wrong { line: self.verb_line, what: what.to_owned() });
        if !self.has_verb {
            return wrong(
                "no statement says what to do; use SORT FIELDS=(1,10,CH,A), MERGE FIELDS=... or OPTION COPY",
            );
        }
        if all.sum != Sum::None && all.verb == Verb::Copy {
            return wrong("SUM needs fields to sort by, and this is a copy");
        }
        if let Sum::Fields(fields) = &all.sum {
            let wrong = |what: &str| Err(Wrong { line: self.sum_line, what: what.to_owned() });
            if fields.iter().any(|field| all.order.iter().any(|order| order.field.overlaps(*field))) {
                // Sums would change the order that they are made in.
                return wrong("a field with a sum overlaps a field of the key");
            }
            if (1..fields.len()).any(|at| fields[..at].iter().any(|field| field.overlaps(fields[at]))) {
                return wrong("two fields with sums overlap");
            }
        }
        if all.verb == Verb::Merge && (all.skip > 0 || all.stop.is_some()) {
            return wrong("SKIPREC and STOPAFT are not for MERGE");
        }
        Ok(all)
    }
}

/// Bytes of a size such as `300M`: digits with K, M, G or nothing.
#[must_use]
pub fn bytes(text: &str) -> Option<usize> {
    let (digits, shift) = match text.chars().last()?.to_ascii_uppercase() {
        'K' => (&text[..text.len() - 1], 10),
        'M' => (&text[..text.len() - 1], 20),
        'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number = unsigned(digits).filter(|_| !digits.is_empty())?;
    usize::try_from(number).ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::{Operand, Operator};

    fn field(at: u32, length: u32, kind: Kind) -> Field {
        Field { at, length, kind }
    }

    #[test]
    fn statements_are_read_over_lines() {
        let text = "* a comment\n SORT FIELDS=(1,10,CH,A,\n   21,4,PD,D),SKIPREC=5 a remark\n  option stopaft=100,equals\n SUM FIELDS=(25,8,ZD)\n END\n no more";
        let statements = read(text, Format::Fixed(80)).expect("statements");
        let order = [
            Order { field: field(0, 10, Kind::Ch), is_descending: false },
            Order { field: field(20, 4, Kind::Pd), is_descending: true },
        ];
        assert_eq!(statements.order, order);
        assert_eq!((statements.skip, statements.stop, statements.short), (5, Some(100), Short::Refused));
        assert_eq!(statements.sum, Sum::Fields(vec![field(24, 8, Kind::Zd)]));
        let common = read("SORT FIELDS=(5,2,A,9,4,D),FORMAT=BI\nSUM FIELDS=NONE", Format::Variable(99))
            .expect("statements");
        assert_eq!(common.order[1], Order { field: field(4, 4, Kind::Bi), is_descending: true });
        assert_eq!((common.order[0].field.at, common.sum), (0, Sum::Duplicates));
        let sums = read("SORT FIELDS=(1,2,CH,A)\nSUM FIELDS=(3,2,5,2),FORMAT=BI", Format::Lines)
            .expect("statements");
        assert_eq!(sums.sum, Sum::Fields(vec![field(2, 2, Kind::Bi), field(4, 2, Kind::Bi)]));
        assert_eq!(sums.short, Short::Padded);
    }

    #[test]
    fn conditions_bind_as_they_should() {
        let text = "SORT FIELDS=COPY\nOMIT COND=(1,2,CH,EQ,C'it''s',OR,3,1,BI,GE,X'0f',AND,(5,2,PD,LT,-7,OR,1,2,CH,NE,3,2,CH))";
        let statements = read(text, Format::Lines).expect("statements");
        let compare = |field, operator, operand| Condition::Compare { field, operator, operand };
        let expect = Condition::Not(Box::new(Condition::Any(vec![
            compare(field(0, 2, Kind::Ch), Operator::Equal, Operand::Bytes(b"it's".to_vec())),
            Condition::All(vec![
                compare(field(2, 1, Kind::Bi), Operator::GreaterOrEqual, Operand::Bytes(vec![15])),
                Condition::Any(vec![
                    compare(field(4, 2, Kind::Pd), Operator::Less, Operand::Number(-7)),
                    compare(field(0, 2, Kind::Ch), Operator::NotEqual, Operand::Field(field(2, 2, Kind::Ch))),
                ]),
            ]),
        ])));
        assert_eq!(statements.condition, Some(expect));
        assert!(statements.order.is_empty());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let deep = format!("SORT FIELDS=COPY\nINCLUDE COND=({}", "(".repeat(100_000));
        for (text, line, what) in [
            ("", 1, "no statement says what to do"),
            ("SUM FIELDS=NONE", 1, "no statement says"),
            ("SORT FIELDS=COPY\nSUM FIELDS=NONE", 1, "SUM needs fields"),
            ("MERGE FIELDS=(1,2,CH,A),SKIPREC=1", 1, "are not for MERGE"),
            ("\nSORT FIELDS=(1,10,XX,A)", 2, "XX is not a kind of field"),
            ("SORT FIELDS=(1,10,CH,B)", 1, "B is not an order"),
            ("SORT FIELDS=(1,10,A)", 1, "the field has no kind"),
            ("SORT FIELDS=(0,10,CH,A)", 1, "0 is not a position"),
            ("SORT FIELDS=(+1,10,CH,A)", 1, "+1 is not a position"),
            ("SORT FIELDS=(75,10,CH,A)", 1, "the field ends at byte 84, but records have 80 bytes"),
            ("SORT FIELDS=(1,33,PD,A)", 1, "a PD field has at most 32 bytes"),
            ("SORT FIELDS=(1,2,CH,A)\nSORT FIELDS=COPY", 2, "a second SORT"),
            ("SORT FIELDS=COPY\nOPTION COPY", 2, "a second SORT"),
            ("SORT FIELDS=(1,2,CH,A", 1, "the statement ends where ) is needed"),
            ("SORT FIELDS=(1,2,CH,A),\n", 1, "the statement ends where an option is needed"),
            ("SORT FIELDS=(1,2,CH,A)\n,", 2, ", is not a statement"),
            ("SORT FIELDS=(1,2,CH,A))", 1, ") where the statement should end"),
            ("SORT FIELDS=(1,2,CH,A)\nJOIN", 2, "JOIN is not a statement"),
            ("SORT FIELDS=(1,2,CH,A)\nOUTFIL", 2, "OUTFIL is not supported"),
            ("SORT FIELDS=(1,2,CH,A)\nOPTION FASTER", 2, "FASTER is not an option"),
            ("SORT FIELDS=(1,2,CH,A)\nOPTION MAINSIZE=-1", 2, "-1 is not a size"),
            ("SORT FIELDS=COPY\nSORT=(WRKSIZE=9)", 2, "WRKSIZE is 10 to 2097151 KB, not 9"),
            ("SORT FIELDS=COPY\nSORT=(EXT=ON)", 2, "EXT is OFF here"),
            ("SORT FIELDS=COPY\nINCLUDE COND=(1,2,CH,IS,C'A')", 2, "IS is not a comparison"),
            ("SORT FIELDS=COPY\nINCLUDE COND=(1,2,CH,EQ,7)", 2, "a CH field is compared with"),
            ("SORT FIELDS=COPY\nINCLUDE COND=(1,2,PD,EQ,C'7')", 2, "a PD field is compared with"),
            ("SORT FIELDS=COPY\nINCLUDE COND=(1,2,CH,EQ,B'7')", 2, "B'...' is not a constant"),
            ("SORT FIELDS=COPY\nINCLUDE COND=(1,2,CH,EQ,C'A)", 2, "a constant without its last apostrophe"),
            ("SORT FIELDS=COPY\nINCLUDE COND=(1,2,CH,EQ,X'ABC')", 2, "ABC is not a hexadecimal number"),
            ("SORT FIELDS=COPY\nINCLUDE COND=(1,2,CH,EQ,X'+1')", 2, "+1 is not a hexadecimal number"),
            ("SORT FIELDS=COPY,SKIPREC=many", 1, "many is not a number"),
            ("SORT FIELDS=(1,2,CH,A)\nSUM FIELDS=(3,4,CH)", 2, "a CH field has no sum"),
            ("SORT FIELDS=(1,2,CH,A)\nSUM FIELDS=(3,9,BI)", 2, "has at most 8 bytes"),
            ("SUM FIELDS=(2,4,PD)\nSORT FIELDS=(9,1,CH,A,1,2,CH,A)", 1, "overlaps a field of the key"),
            ("SORT FIELDS=(1,2,CH,A)\nSUM FIELDS=(3,4,PD,9,2,BI,6,2,BI)", 2, "two fields with sums overlap"),
            (&deep, 2, "more than 64 parentheses"),
        ] {
            let wrong = read(text, Format::Fixed(80)).expect_err(text);
            assert!(wrong.line == line && wrong.what.contains(what), "{text:.60}: {wrong}");
        }
        let first = read("SORT FIELDS=(1,2,CH,A)", Format::Variable(99)).expect_err("the descriptor word");
        assert!(first.what.contains("data begin at 5"), "{first}");
    }

    #[test]
    fn options_and_parameters_are_read_in_any_order() {
        let text = "OPTION MAINSIZE=3M,VLSHRT,NOEQUALS\nMERGE FIELDS=(5,2,A,9,4,PD,D),FORMAT=CH,NOVLSHRT";
        let merge = read(text, Format::Fixed(80)).expect("statements");
        assert_eq!((merge.verb, merge.memory, merge.short), (Verb::Merge, Some(3 << 20), Short::Refused));
        assert_eq!((merge.order[0].field.kind, merge.order[1].field.kind), (Kind::Ch, Kind::Pd));
        for text in ["OPTION COPY", "SORT FIELDS=COPY", "MERGE FIELDS=(COPY)"] {
            assert_eq!(read(text, Format::Lines).map(|all| all.verb), Ok(Verb::Copy), "{text}");
        }
        let natural = read("SORT=(WRKSIZE=1000,EXT=OFF)\nSORT FIELDS=(1,2,CH,A)", Format::Lines);
        assert_eq!(natural.map(|all| all.memory), Ok(Some(1000 << 10)));
        let conditions = "SORT FIELDS=COPY\nINCLUDE COND=(1,2,EQ,3,2,OR,5,1,BI,EQ,6,1,BI),FORMAT=CH";
        let Some(Condition::Any(all)) = read(conditions, Format::Lines).expect("statements").condition else {
            panic!("a condition")
        };
        assert_eq!(all.len(), 2);
        for (text, is_all) in [("ALL", true), ("NONE", false)] {
            let all = read(&format!("OPTION COPY\nINCLUDE COND={text}"), Format::Lines).expect("statements");
            assert_eq!(all.condition.map(|of| of.holds(b"", Short::Padded)), Some(Ok(is_all)));
        }
        assert_eq!(
            (bytes("1G"), bytes("12k"), bytes("7"), bytes("M"), bytes("")),
            (Some(1 << 30), Some(12 << 10), Some(7), None, None)
        );
    }

    #[test]
    fn the_sample_statements_are_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/statements");
        let files: Vec<_> = std::fs::read_dir(folder).expect("a folder").flatten().collect();
        assert!(files.len() >= 3);
        for file in files {
            let text = std::fs::read_to_string(file.path()).expect("a text");
            let result = read(&text, Format::Fixed(80));
            assert!(result.is_ok(), "{}: {result:?}", file.path().display());
        }
    }
}
