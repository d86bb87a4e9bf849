//! Conditions of INCLUDE and OMIT.
//!
//! ```text
//! field ── comparison ── constant | field        CH: the shorter one is padded with blanks; BI: with zero bytes
//!    all of ... | any of ... | not ...           numbers: by value, whatever their kinds and lengths are
//! ```
//!
//! Invariant: a condition decides by the record alone.
//! Not here: the text of a condition (`statement`).

use std::cmp::Ordering;

use crate::field::{BadField, Field, Kind, Short};

/// A condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// A field compared with a constant or a field.
    Compare {
        /// The field.
        field: Field,
        /// How.
        operator: Operator,
        /// With what.
        operand: Operand,
    },
    /// All of these.
    All(Vec<Condition>),
    /// At least one of these.
    Any(Vec<Condition>),
    /// The opposite.
    Not(Box<Condition>),
}

/// How two values are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// EQ
    Equal,
    /// NE
    NotEqual,
    /// GT
    Greater,
    /// GE
    GreaterOrEqual,
    /// LT
    Less,
    /// LE
    LessOrEqual,
}

/// What a field is compared with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operand {
    /// Bytes, as they are.
    Bytes(Vec<u8>),
    /// A number.
    Number(i128),
    /// Another field of the record.
    Field(Field),
}

impl Operator {
    /// The operator of that name, in upper case.
    #[must_use]
    pub fn named(name: &str) -> Option<Operator> {
        Some(match name {
            "EQ" => Self::Equal,
            "NE" => Self::NotEqual,
            "GT" => Self::Greater,
            "GE" => Self::GreaterOrEqual,
            "LT" => Self::Less,
            "LE" => Self::LessOrEqual,
            _ => return None,
        })
    }

    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
        }
    }
}

impl Condition {
    /// Whether it holds for a record.
    ///
    /// # Errors
    /// The record has no such field, or it is no number.
    pub fn holds(&self, record: &[u8], short: Short) -> Result<bool, BadField> {
        match self {
            Self::Compare { field, operator, operand } => {
                Ok(operator.holds(compare(record, short, field, operand)?))
            }
            Self::All(all) => {
                for one in all {
                    if !one.holds(record, short)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Any(any) => {
                for one in any {
                    if one.holds(record, short)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::Not(one) => Ok(!one.holds(record, short)?),
        }
    }
}

fn compare(record: &[u8], short: Short, field: &Field, operand: &Operand) -> Result<Ordering, BadField> {
    let is_text = |kind| matches!(kind, Kind::Ch | Kind::Bi);
    match operand {
        Operand::Bytes(bytes) => Ok(padded(field.kind, field.text(record, short)?, bytes)),
        Operand::Field(other) if is_text(field.kind) && is_text(other.kind) => {
            Ok(padded(field.kind, field.text(record, short)?, other.text(record, short)?))
        }
        Operand::Field(other) => match (field.number(record, short)?, other.number(record, short)?) {
            (Some(one), Some(two)) => Ok(one.cmp(&two)),
            (None, Some(_)) => Ok(beyond(field, record, short)),
            (Some(_), None) => Ok(beyond(other, record, short).reverse()),
            (None, None) => {
                // Both are outside the range of numbers: their keys decide if they are alike.
                let (mut one, mut two) = (Vec::new(), Vec::new());
                field.append_key(record, short, &mut one)?;
                other.append_key(record, short, &mut two)?;
                Ok(beyond(field, record, short)
                    .cmp(&beyond(other, record, short))
                    .then_with(|| one.cmp(&two)))
            }
        },
        Operand::Number(number) => {
            let value = field.number(record, short)?;
            Ok(value.map_or_else(|| beyond(field, record, short), |value| value.cmp(number)))
        }
    }
}

/// How a field outside the range of numbers compares with each number in it: by its sign.
fn beyond(field: &Field, record: &[u8], short: Short) -> Ordering {
    let mut key = Vec::new();
    // The field was read before.
    let _ = field.append_key(record, short, &mut key);
    let is_negative = match field.kind {
        Kind::Fi => key.first().is_some_and(|byte| byte & 0x80 == 0),
        Kind::Pd | Kind::Zd => key.first() == Some(&0),
        Kind::Ch | Kind::Bi | Kind::Rest => false,
    };
    if is_negative { Ordering::Less } else { Ordering::Greater }
}

/// Compares two texts; the shorter one is padded.
fn padded(kind: Kind, one: &[u8], other: &[u8]) -> Ordering {
    let pad = if kind == Kind::Ch { b' ' } else { 0 };
    let common = one.len().min(other.len());
    let of_rest = |rest: &[u8]| rest.iter().map(|byte| byte.cmp(&pad)).find(|ordering| ordering.is_ne());
    one[..common]
        .cmp(&other[..common])
        .then_with(|| of_rest(&one[common..]).unwrap_or(Ordering::Equal))
        .then_with(|| of_rest(&other[common..]).map_or(Ordering::Equal, Ordering::reverse))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::statement;

    fn taken(condition: &str, record: &[u8]) -> Result<bool, BadField> {
        let text = format!("SORT FIELDS=COPY\nINCLUDE COND=({condition})");
        let statements = statement::read(&text, Format::Lines).expect("statements");
        statements.condition.expect("a condition").holds(record, statements.short)
    }

    #[test]
    fn fields_are_compared_as_their_kind_says() {
        for (condition, record, is_taken) in [
            ("1,3,CH,EQ,C'AB'", &b"AB x"[..], true),
            ("1,3,CH,EQ,C'AB'", b"ABx", false),
            ("1,3,CH,GT,C'AB'", b"ABx", true),
            ("1,2,CH,LT,C'ABC'", b"AB", true),
            ("1,2,BI,EQ,X'0102'", b"\x01\x02", true),
            ("1,2,BI,EQ,258", b"\x01\x02", true),
            ("1,2,FI,LT,0", b"\xff\xfe", true),
            ("1,2,PD,EQ,-12", b"\x01\x2d", true),
            ("1,3,ZD,GE,124", b"123", false),
            ("1,3,ZD,EQ,4,2,PD", b"123\x12\x3c", true),
            ("1,1,CH,EQ,C'A',OR,2,1,CH,EQ,C'B',AND,3,1,CH,EQ,C'C'", b"AXX", true),
            ("(1,1,CH,EQ,C'A',OR,2,1,CH,EQ,C'B'),AND,3,1,CH,EQ,C'C'", b"AXX", false),
            ("9,3,CH,EQ,C' '", b"short", true),
            ("9,3,CH,LT,C'A'", b"short", true),
        ] {
            assert_eq!(taken(condition, record), Ok(is_taken), "{condition}");
        }
        assert!(taken("1,2,PD,EQ,0", b"xx").is_err(), "no number");
    }
}
