//! Reads a saved report. If it cannot be read, the error says why.

use serde::Deserialize;

use crate::model::{Report, SCHEMA};

/// Why bytes are not a report that this version reads. The file is at fault in each case.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadError {
    /// The file ends in the middle: it was cut, or its writer has not finished.
    Truncated {
        /// Where the text ends, counted from 1.
        line: usize,
        /// The column in that line.
        column: usize,
    },
    /// It is a report of another version of the schema.
    OtherVersion {
        /// The schema that the file names.
        found: String,
    },
    /// It is JSON, but no report of underbar.
    NotAReport {
        /// The schema that the file names.
        found: Option<String>,
    },
    /// It names the schema of a report, but a part of a report is missing or has an invalid value.
    Incomplete {
        /// The parser's words, with line and column.
        what: String,
    },
    /// It is not JSON.
    Malformed {
        /// The parser's words, with line and column.
        what: String,
    },
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Truncated { line, column } => {
                write!(
                    f,
                    "the report is cut short: it ends at line {line}, column {column}, inside an object"
                )
            }
            Self::OtherVersion { found } => {
                write!(f, "the report is of schema \"{found}\"; this version of underbar reads \"{SCHEMA}\"")
            }
            Self::NotAReport { found } => {
                match found.as_deref().map(|schema| (schema, command_of(schema))) {
                    Some((_, Some(command))) => {
                        write!(f, "this is the JSON of `underbar {command}`, not a saved report")?;
                    }
                    Some((schema, None)) => {
                        write!(f, "this is JSON of schema \"{schema:.80}\", not a saved report")?;
                    }
                    None => write!(f, "this is JSON, but not a saved report: it names no schema")?,
                }
                f.write_str(SAVES)
            }
            Self::Incomplete { what } => {
                write!(f, "this is not a whole report, though it has the schema of one: {what}{SAVES}")
            }
            Self::Malformed { what } => write!(f, "the report cannot be read: {what}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<serde_json::Error> for ReadError {
    fn from(error: serde_json::Error) -> Self {
        if error.is_eof() {
            Self::Truncated { line: error.line(), column: error.column() }
        } else {
            Self::Malformed { what: error.to_string() }
        }
    }
}

/// What writes a report.
const SAVES: &str = "; `underbar run --json -o FILE` saves a report";

/// The command whose JSON has this schema.
fn command_of(schema: &str) -> Option<&'static str> {
    let kind = schema.strip_prefix("underbar.")?.split('/').next()?;
    Some(match kind {
        "advice" | "listing-advice" => "advise",
        "diff" | "listing-diff" => "diff",
        "demo" | "demos" => "demo",
        "compare" => "compare",
        "doctor" => "doctor",
        "options" => "options",
        "profile" => "profile",
        "tune" => "tune",
        _ => return None,
    })
}

/// Only the name of the schema: it is checked before the rest is read.
#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    schema: Option<serde_json::Value>,
}

impl Report {
    /// Reads a report from JSON. Unknown keys are ignored.
    ///
    /// # Errors
    /// Says why the bytes are not a report of this schema.
    pub fn from_json(bytes: &[u8]) -> Result<Report, ReadError> {
        let named: Named = match serde_json::from_slice(bytes) {
            Ok(named) => named,
            // Valid JSON that is no object (a list, a number) is no report.
            Err(error) if error.is_data() => return Err(ReadError::NotAReport { found: None }),
            Err(error) => return Err(error.into()),
        };
        match named.schema.as_ref().and_then(|schema| schema.as_str()) {
            Some(SCHEMA) => serde_json::from_slice(bytes)
                .map_err(|error| ReadError::Incomplete { what: error.to_string() }),
            Some(found) if found.starts_with("underbar.report/") => {
                Err(ReadError::OtherVersion { found: found.to_owned() })
            }
            found => Err(ReadError::NotAReport { found: found.map(str::to_owned) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn what_is_written_is_read() {
        for report in [sample::getfree(), sample::tree(), sample::low_coverage()] {
            assert_eq!(Report::from_json(report.to_json().as_bytes()), Ok(report));
        }
    }

    #[test]
    fn a_report_cut_anywhere_is_called_cut() {
        let text = sample::getfree().to_json();
        let text = text.trim_end();
        for length in (0..text.len()).step_by(97).chain([1, text.len() - 1]) {
            let error = Report::from_json(&text.as_bytes()[..length]).expect_err("cut");
            assert!(matches!(error, ReadError::Truncated { .. }), "{length}: {error}");
        }
    }

    #[test]
    fn another_version_is_refused_by_name() {
        let text = sample::getfree().to_json().replace("underbar.report/1", "underbar.report/2");
        let error = Report::from_json(text.as_bytes()).expect_err("another version");
        assert_eq!(error, ReadError::OtherVersion { found: "underbar.report/2".to_owned() });
        assert!(error.to_string().contains("reads \"underbar.report/1\""));
    }

    #[test]
    fn other_json_and_no_json_are_told_apart() {
        for (text, says) in [
            ("{}", "this is JSON, but not a saved report: it names no schema; `underbar run"),
            ("[1]", "it names no schema"),
            ("7", "it names no schema"),
            (r#"{"schema": 1}"#, "it names no schema"),
            (
                r#"{"schema": "weather/1"}"#,
                "this is JSON of schema \"weather/1\", not a saved report; `underbar run",
            ),
            (
                r#"{"schema": "underbar.tune/1"}"#,
                "this is the JSON of `underbar tune`, not a saved report; `underbar",
            ),
            (r#"{"schema": "underbar.listing-diff/1"}"#, "the JSON of `underbar diff`"),
        ] {
            let error = Report::from_json(text.as_bytes()).expect_err("no report");
            assert!(matches!(error, ReadError::NotAReport { .. }), "{text}");
            assert!(error.to_string().contains(says), "{text}: {error}");
        }
        let error = Report::from_json(br#"{"schema": "underbar.report/1"}"#).expect_err("nothing in it");
        assert_eq!(
            error.to_string(),
            "this is not a whole report, though it has the schema of one: \
             missing field `underbar` at line 1 column 31; `underbar run --json -o FILE` saves a report"
        );
        for text in ["Storage Report for Enclave", "\u{0}\u{1}\u{2}", "{]"] {
            let error = Report::from_json(text.as_bytes()).expect_err("no JSON");
            assert!(matches!(error, ReadError::Malformed { .. }), "{text}: {error}");
        }
        let wrong = sample::getfree().to_json().replace("\"gets\":50002", "\"gets\":\"many\"");
        let error = Report::from_json(wrong.as_bytes()).expect_err("a word for a number");
        assert!(error.to_string().contains("heap.gets is \"many\""), "{error}");
    }

    #[test]
    fn keys_from_the_future_are_passed_over() {
        let text = sample::getfree().to_json().replacen('{', "{\"weather\":{\"rain\":true},", 1);
        assert_eq!(Report::from_json(text.as_bytes()), Ok(sample::getfree()));
    }
}
