//! Statements: what to sort by, and which records to take.
//!
//! ```text
//! SORT FIELDS=(1,10,CH,A,21,4,PD,D)        OPTION EQUALS,SKIPREC=10,STOPAFT=1000,VLSHRT
//! INCLUDE COND=(5,3,CH,EQ,C'ABC',AND,(21,4,PD,GT,0,OR,30,1,BI,EQ,X'FF'))
//! SUM FIELDS=(21,4,PD)
//! ```
//!
//! Words are those of DFSORT. A statement goes on in the next line after a comma or within parentheses. A line that begins with `*` is a
//! comment. Of variable records, fields count from the descriptor word on, as there: the first byte of data is 5.
//!
//! Invariant: a text gives statements, or an error with the line and what is wrong; what is not known is never passed over.
//! Not here: what a condition decides (`condition`), and what the fields are (`field`).

use crate::condition::{Condition, Operand, Operator};
use crate::field::{Field, Kind, Short};
use crate::format::{Format, LONGEST, RDW};

/// A field to sort by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// The field.
    pub field: Field,
    /// The largest first.
    pub is_descending: bool,
}

/// What happens to records with equal keys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Sum {
    /// All stay.
    #[default]
    None,
    /// One of them stays.
    Duplicates,
    /// One stays, with the sums of these fields. Where a sum does not fit, both stay.
    Fields(Vec<Field>),
}

/// All that statements say.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Statements {
    /// The fields to sort by; empty: the order of the input stays.
    pub order: Vec<Order>,
    /// Which records are taken; None: all.
    pub condition: Option<Condition>,
    /// Of records with equal keys.
    pub sum: Sum,
    /// So many records of the input are passed over first.
    pub skip: u64,
    /// At most so many records are taken.
    pub stop: Option<u64>,
    /// What records that end within a field have there.
    pub short: Short,
    /// Some statement said what to sort by, or to copy.
    has_order: bool,
}

/// What is wrong with a text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Wrong {
    /// Its line, from 1 on.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

type Read<T> = Result<T, Wrong>;

/// Reads statements for records of that form.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(text: &str, format: Format) -> Read<Statements> {
    let mut statements = Statements {
        // Lines have no fixed length: what lacks is nothing.
        short: if format == Format::Lines { Short::Padded } else { Short::Refused },
        ..Statements::default()
    };
    let mut parser = Parser { words: words(text)?, at: 0, format };
    while let Some(word) = parser.next() {
        statement(&mut parser, word, &mut statements)?;
    }
    if !statements.has_order {
        let what = "no statement says what to sort by: SORT FIELDS=(1,10,CH,A), or SORT FIELDS=COPY".to_owned();
        return Err(Wrong { line: 1, what });
    }
    if statements.sum != Sum::None && statements.order.is_empty() {
        return Err(Wrong { line: 1, what: "SUM needs fields to sort by".to_owned() });
    }
    Ok(statements)
}

fn statement(parser: &mut Parser<'_>, word: Word<'_>, statements: &mut Statements) -> Read<()> {
    match word.text.to_ascii_uppercase().as_str() {
        "SORT" => sort(parser, word, statements),
        "INCLUDE" | "OMIT" => {
            if statements.condition.is_some() {
                return Err(word.wrong("a second INCLUDE or OMIT"));
            }
            parser.expect("COND")?;
            parser.expect("=")?;
            let condition = parser.condition()?;
            let is_omit = word.text.eq_ignore_ascii_case("OMIT");
            statements.condition = Some(if is_omit { Condition::Not(Box::new(condition)) } else { condition });
            Ok(())
        }
        "SUM" => sum(parser, word, statements),
        "OPTION" => loop {
            option(parser, statements)?;
            if !parser.take(",") {
                return Ok(());
            }
        },
        "END" => {
            parser.at = parser.words.len();
            Ok(())
        }
        _ => Err(word.wrong(format!(
            "{} is no statement: SORT, INCLUDE, OMIT, SUM, OPTION and END are",
            word.text
        ))),
    }
}

fn sort(parser: &mut Parser<'_>, word: Word<'_>, statements: &mut Statements) -> Read<()> {
    if statements.has_order {
        return Err(word.wrong("a second SORT"));
    }
    statements.has_order = true;
    parser.expect("FIELDS")?;
    parser.expect("=")?;
    if parser.take("COPY") {
        return rest(parser, statements);
    }
    let from = parser.at;
    let numbers = parser.list(4)?;
    let (groups, is_common) = match numbers {
        Some(groups) => (groups, false),
        None => {
            parser.at = from;
            let Some(groups) = parser.list(3)? else {
                return Err(word.wrong("FIELDS is position, length, kind and A or D for each field"));
            };
            (groups, true)
        }
    };
    let common = if is_common {
        parser.expect(",")?;
        parser.expect("FORMAT")?;
        parser.expect("=")?;
        Some(parser.kind()?)
    } else {
        None
    };
    for group in groups {
        let (kind, order) = match common {
            Some(kind) => (kind, group[2]),
            None => (kind_of(group[2])?, group[3]),
        };
        let is_descending = match order.text.to_ascii_uppercase().as_str() {
            "A" => false,
            "D" => true,
            _ => return Err(order.wrong(format!("{} is no order: A or D is", order.text))),
        };
        let field = parser.field(group[0], group[1], kind)?;
        statements.order.push(Order { field, is_descending });
    }
    rest(parser, statements)
}

/// Options that follow the fields of SORT.
fn rest(parser: &mut Parser<'_>, statements: &mut Statements) -> Read<()> {
    while parser.take(",") {
        option(parser, statements)?;
    }
    Ok(())
}

fn option(parser: &mut Parser<'_>, statements: &mut Statements) -> Read<()> {
    let word = parser.needed("an option")?;
    match word.text.to_ascii_uppercase().as_str() {
        // Equal records keep their order in any case.
        "EQUALS" | "NOEQUALS" => {}
        "VLSHRT" => statements.short = Short::Padded,
        "NOVLSHRT" => statements.short = Short::Refused,
        "COPY" => statements.has_order = true,
        "SKIPREC" => statements.skip = parser.value()?,
        "STOPAFT" => statements.stop = Some(parser.value()?),
        _ => {
            return Err(word.wrong(format!(
                "{} is no option: EQUALS, NOEQUALS, VLSHRT, NOVLSHRT, COPY, SKIPREC and STOPAFT are",
                word.text
            )));
        }
    }
    Ok(())
}

fn sum(parser: &mut Parser<'_>, word: Word<'_>, statements: &mut Statements) -> Read<()> {
    if statements.sum != Sum::None {
        return Err(word.wrong("a second SUM"));
    }
    parser.expect("FIELDS")?;
    parser.expect("=")?;
    if parser.take("NONE") {
        statements.sum = Sum::Duplicates;
        return Ok(());
    }
    let from = parser.at;
    let mut fields = Vec::new();
    if let Some(groups) = parser.list(3)? {
        for group in groups {
            fields.push(parser.field(group[0], group[1], kind_of(group[2])?)?);
        }
    } else {
        parser.at = from;
        let Some(groups) = parser.list(2)? else {
            return Err(word.wrong("FIELDS is position, length and kind of each field, or NONE"));
        };
        parser.expect(",")?;
        parser.expect("FORMAT")?;
        parser.expect("=")?;
        let kind = parser.kind()?;
        for group in groups {
            fields.push(parser.field(group[0], group[1], kind)?);
        }
    }
    if let Some(field) = fields.iter().find(|field| field.kind == Kind::Ch) {
        return Err(word.wrong(format!("the field at {} is of characters, which have no sum", field.at + 1)));
    }
    statements.sum = Sum::Fields(fields);
    Ok(())
}

fn kind_of(word: Word<'_>) -> Read<Kind> {
    Kind::named(&word.text.to_ascii_uppercase())
        .ok_or_else(|| word.wrong(format!("{} is no kind of field: CH, BI, FI, PD and ZD are", word.text)))
}

/// A word of the text, or one sign.
#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    text: &'a str,
    line: usize,
}

impl Word<'_> {
    fn wrong(&self, what: impl Into<String>) -> Wrong {
        Wrong { line: self.line, what: what.into() }
    }
}

/// The words of a text: names and numbers, constants as `C'...'` and `X'...'`, and the signs `(`, `)`, `,` and `=`.
fn words(text: &str) -> Read<Vec<Word<'_>>> {
    let mut words = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.starts_with('*') {
            continue;
        }
        let line_number = number + 1;
        let mut rest = line;
        while let Some(first) = rest.trim_start().chars().next() {
            rest = rest.trim_start();
            let length = match first {
                '(' | ')' | ',' | '=' => 1,
                _ if rest[first.len_utf8()..].starts_with('\'') => constant(rest)
                    .ok_or_else(|| Wrong { line: line_number, what: "a constant without its last '".to_owned() })?,
                _ => rest
                    .find(|c: char| "(),=".contains(c) || c.is_whitespace())
                    .unwrap_or(rest.len()),
            };
            words.push(Word { text: &rest[..length], line: line_number });
            rest = &rest[length..];
        }
    }
    Ok(words)
}

/// Bytes of a constant at the beginning of a text: two quotes within stand for one.
fn constant(text: &str) -> Option<usize> {
    let open = text.find('\'')?;
    let mut at = open + 1;
    loop {
        at += text[at..].find('\'')? + 1;
        if !text[at..].starts_with('\'') {
            return Some(at);
        }
        at += 1;
    }
}

struct Parser<'a> {
    words: Vec<Word<'a>>,
    at: usize,
    format: Format,
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Option<Word<'a>> {
        let word = self.words.get(self.at).copied();
        self.at += usize::from(word.is_some());
        word
    }

    fn last_line(&self) -> usize {
        self.words.last().map_or(1, |word| word.line)
    }

    fn needed(&mut self, what: &str) -> Read<Word<'a>> {
        let line = self.last_line();
        self.next().ok_or_else(|| Wrong { line, what: format!("the text ends where {what} is needed") })
    }

    fn take(&mut self, text: &str) -> bool {
        let is_it = self.words.get(self.at).is_some_and(|word| word.text.eq_ignore_ascii_case(text));
        self.at += usize::from(is_it);
        is_it
    }

    fn expect(&mut self, text: &str) -> Read<()> {
        let word = self.needed(text)?;
        if word.text.eq_ignore_ascii_case(text) {
            Ok(())
        } else {
            Err(word.wrong(format!("{} where {text} is needed", word.text)))
        }
    }

    fn value(&mut self) -> Read<u64> {
        self.expect("=")?;
        let word = self.needed("a number")?;
        word.text.parse().map_err(|_| word.wrong(format!("{} is no number", word.text)))
    }

    fn kind(&mut self) -> Read<Kind> {
        kind_of(self.needed("a kind of field")?)
    }

    /// Words in parentheses, in groups of so many. None: their number is not a multiple of that.
    fn list(&mut self, group: usize) -> Read<Option<Vec<Vec<Word<'a>>>>> {
        self.expect("(")?;
        let mut all = Vec::new();
        loop {
            all.push(self.needed("a field")?);
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        if !all.len().is_multiple_of(group) {
            return Ok(None);
        }
        // Three words of a field without a kind end in an order, four in A or D.
        let is_of = |group: &[Word<'_>]| match group.len() {
            4 => Kind::named(&group[2].text.to_ascii_uppercase()).is_some() || group[2].text.parse::<u32>().is_err(),
            3 => group[2].text.parse::<u32>().is_err(),
            _ => true,
        };
        let groups: Vec<Vec<_>> = all.chunks(group).map(<[_]>::to_vec).collect();
        Ok(groups.iter().all(|group| is_of(group)).then_some(groups))
    }

    fn field(&self, position: Word<'_>, length: Word<'_>, kind: Kind) -> Read<Field> {
        let number = |word: Word<'_>| {
            let number = word.text.parse::<u32>().ok().filter(|number| (1..=LONGEST).contains(number));
            number.ok_or_else(|| word.wrong(format!("{} is no position or length", word.text)))
        };
        let (at, bytes) = (number(position)?, number(length)?);
        if bytes > kind.longest() {
            return Err(length.wrong(format!("a field of {kind} has at most {} bytes", kind.longest())));
        }
        let first = if self.format == Format::Variable { RDW as u32 } else { 0 };
        let Some(at) = (at - 1).checked_sub(first) else {
            return Err(position.wrong("the first four bytes of a variable record are its descriptor word: data begin at 5"));
        };
        if let Format::Fixed(record) = self.format
            && at + bytes > record
        {
            return Err(position.wrong(format!("the field ends behind the {record} bytes of a record")));
        }
        Ok(Field { at, length: bytes, kind })
    }

    /// `(... ,AND, ... ,OR, ...)`: AND binds closer.
    fn condition(&mut self) -> Read<Condition> {
        self.expect("(")?;
        let condition = self.alternatives(0)?;
        self.expect(")")?;
        Ok(condition)
    }

    fn alternatives(&mut self, depth: usize) -> Read<Condition> {
        let mut all = vec![self.conjunction(depth)?];
        while self.take_after_comma(&["OR", "|"]) {
            self.expect(",")?;
            all.push(self.conjunction(depth)?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::Any(all) })
    }

    fn conjunction(&mut self, depth: usize) -> Read<Condition> {
        let mut all = vec![self.comparison(depth)?];
        while self.take_after_comma(&["AND", "&"]) {
            self.expect(",")?;
            all.push(self.comparison(depth)?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::All(all) })
    }

    fn take_after_comma(&mut self, words: &[&str]) -> bool {
        let next = |at: usize| self.words.get(at).map(|word| word.text);
        let is_it = next(self.at) == Some(",")
            && next(self.at + 1).is_some_and(|text| words.iter().any(|word| word.eq_ignore_ascii_case(text)));
        self.at += 2 * usize::from(is_it);
        is_it
    }

    fn comparison(&mut self, depth: usize) -> Read<Condition> {
        const DEEPEST: usize = 64;
        if self.words.get(self.at).is_some_and(|word| word.text == "(") {
            if depth == DEEPEST {
                return Err(self.words[self.at].wrong("more than 64 parentheses within each other"));
            }
            self.at += 1;
            let condition = self.alternatives(depth + 1)?;
            self.expect(")")?;
            return Ok(condition);
        }
        let [position, length] = [self.needed("a position")?, self.after_comma("a length")?];
        let kind = kind_of(self.after_comma("a kind of field")?)?;
        let field = self.field(position, length, kind)?;
        let word = self.after_comma("a comparison")?;
        let operator = Operator::named(&word.text.to_ascii_uppercase())
            .ok_or_else(|| word.wrong(format!("{} is no comparison: EQ, NE, GT, GE, LT and LE are", word.text)))?;
        let operand = self.operand(kind)?;
        Ok(Condition::Compare { field, operator, operand })
    }

    fn after_comma(&mut self, what: &str) -> Read<Word<'a>> {
        self.expect(",")?;
        self.needed(what)
    }

    fn operand(&mut self, kind: Kind) -> Read<Operand> {
        let word = self.after_comma("a constant or a field")?;
        let quoted = |text: &'a str| text.get(2..text.len() - 1).filter(|_| text.len() > 2 && text.as_bytes()[1] == b'\'');
        let is_text = matches!(kind, Kind::Ch | Kind::Bi);
        match (word.text.as_bytes()[0].to_ascii_uppercase(), quoted(word.text)) {
            (b'C', Some(text)) if is_text => Ok(Operand::Bytes(text.replace("''", "'").into_bytes())),
            (b'X', Some(text)) if is_text => {
                hexadecimal(text).map(Operand::Bytes).ok_or_else(|| word.wrong(format!("{text} is no hexadecimal number of whole bytes")))
            }
            (_, Some(_)) => Err(word.wrong(format!("a field of {kind} is compared with a number or a field"))),
            _ => {
                // A field has two numbers and a kind.
                let is_field = self.words.get(self.at).is_some_and(|word| word.text == ",")
                    && self.words.get(self.at + 1).is_some_and(|word| word.text.parse::<u32>().is_ok());
                if is_field {
                    let length = self.after_comma("a length")?;
                    let kind = kind_of(self.after_comma("a kind of field")?)?;
                    return Ok(Operand::Field(self.field(word, length, kind)?));
                }
                let number = word.text.strip_prefix('+').unwrap_or(word.text).parse::<i128>();
                let number = number.map_err(|_| word.wrong(format!("{} is no number, constant or field", word.text)))?;
                if kind == Kind::Ch {
                    return Err(word.wrong("a field of CH is compared with C'...', X'...' or a field"));
                }
                Ok(Operand::Number(number))
            }
        }
    }
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if digits.is_empty() || !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(at: u32, length: u32, kind: Kind) -> Field {
        Field { at, length, kind }
    }

    #[test]
    fn statements_are_read_over_lines() {
        let text = "* a comment\n SORT FIELDS=(1,10,CH,A,\n   21,4,PD,D),SKIPREC=5\n  option stopaft=100,equals\n SUM FIELDS=(25,8,ZD)\n END\n no more";
        let statements = read(text, Format::Fixed(80)).expect("statements");
        let order = [
            Order { field: field(0, 10, Kind::Ch), is_descending: false },
            Order { field: field(20, 4, Kind::Pd), is_descending: true },
        ];
        assert_eq!(statements.order, order);
        assert_eq!((statements.skip, statements.stop, statements.short), (5, Some(100), Short::Refused));
        assert_eq!(statements.sum, Sum::Fields(vec![field(24, 8, Kind::Zd)]));
        let common = read("SORT FIELDS=(5,2,A,9,4,D),FORMAT=BI\nSUM FIELDS=NONE", Format::Variable).expect("statements");
        assert_eq!(common.order[1], Order { field: field(4, 4, Kind::Bi), is_descending: true });
        assert_eq!((common.order[0].field.at, common.sum), (0, Sum::Duplicates));
        let sums = read("SORT FIELDS=(1,2,CH,A) SUM FIELDS=(3,2,5,2),FORMAT=BI", Format::Lines).expect("statements");
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
            ("", 1, "no statement says what to sort by"),
            ("SUM FIELDS=NONE", 1, "no statement says"),
            ("SORT FIELDS=COPY\nSUM FIELDS=NONE", 1, "SUM needs fields"),
            ("\nSORT FIELDS=(1,10,XX,A)", 2, "XX is no kind of field"),
            ("SORT FIELDS=(1,10,CH,B)", 1, "B is no order"),
            ("SORT FIELDS=(0,10,CH,A)", 1, "0 is no position"),
            ("SORT FIELDS=(75,10,CH,A)", 1, "the field ends behind the 80 bytes"),
            ("SORT FIELDS=(1,33,PD,A)", 1, "a field of PD has at most 32 bytes"),
            ("SORT FIELDS=(1,2,CH,A)\nSORT FIELDS=COPY", 2, "a second SORT"),
            ("SORT FIELDS=(1,2,CH,A", 1, "the text ends where ) is needed"),
            ("SORT FIELDS=(1,2,CH,A)\n,", 1, "the text ends where an option is needed"),
            ("SORT FIELDS=(1,2,CH,A)\nJOIN", 2, "JOIN is no statement"),
            ("SORT FIELDS=COPY\nINCLUDE COND=(1,2,CH,IS,C'A')", 2, "IS is no comparison"),
            ("SORT FIELDS=COPY\nINCLUDE COND=(1,2,CH,EQ,7)", 2, "a field of CH is compared with"),
            ("SORT FIELDS=COPY\nINCLUDE COND=(1,2,PD,EQ,C'7')", 2, "a field of PD is compared with"),
            ("SORT FIELDS=COPY\nINCLUDE COND=(1,2,CH,EQ,C'A)", 2, "a constant without its last '"),
            ("SORT FIELDS=COPY\nINCLUDE COND=(1,2,CH,EQ,X'ABC')", 2, "ABC is no hexadecimal number"),
            ("SORT FIELDS=COPY,SKIPREC=many", 1, "many is no number"),
            ("SORT FIELDS=(1,2,CH,A)\nSUM FIELDS=(3,4,CH)", 2, "characters, which have no sum"),
            (&deep, 2, "more than 64 parentheses"),
        ] {
            let wrong = read(text, Format::Fixed(80)).expect_err(text);
            assert!(wrong.line == line && wrong.what.contains(what), "{text:.60}: {wrong}");
        }
        let first = read("SORT FIELDS=(1,2,CH,A)", Format::Variable).expect_err("the descriptor word");
        assert!(first.what.contains("data begin at 5"), "{first}");
    }
}
