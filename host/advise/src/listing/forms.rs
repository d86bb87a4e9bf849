//! Settings in the form of a carrier: CEEOPTS, CEEUOPT, PARM, `_CEE_RUNOPTS`, and underbar's own.

use underbar_options::{Effect, OPTIONS};

use crate::suggestion::Setting;

/// The form of an option text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A CEEOPTS data set: columns 1 to 72.
    Ceeopts,
    /// An assembler source with CEEXOPT.
    Ceeuopt,
    /// PARM of a step.
    Parm,
    /// The environment variable.
    CeeRunopts,
    /// Parameters of Natural: dynamic ones, and macros of the parameter module.
    Natparm,
    /// Options of underbar: only what it honours.
    Underbar,
}

/// PARM of job control holds no more characters.
const PARM_ROOM: usize = 100;
/// Columns of a record that count.
const COLUMNS: usize = 71;

impl Form {
    /// The text, with a line feed behind each line; None where there is nothing to set.
    #[must_use]
    pub fn text(self, settings: &[Setting]) -> Option<String> {
        if settings.iter().any(super::natural::is_parameter) {
            return super::natural::text(settings, self == Self::Natparm);
        }
        let honoured = |setting: &&Setting| {
            let entry = OPTIONS.iter().find(|entry| entry.name == setting.option);
            self != Self::Underbar
                || entry.is_some_and(|entry| !matches!(entry.effect, Effect::AcceptedNoEffect(_)))
        };
        let words: Vec<String> = settings.iter().filter(honoured).map(ToString::to_string).collect();
        if words.is_empty() {
            return None;
        }
        Some(match self {
            Self::Underbar => format!("{}\n", words.join(",")),
            Self::Ceeopts | Self::Natparm => folded(&words),
            Self::CeeRunopts => format!("export _CEE_RUNOPTS=\"{}\"\n", words.join(" ")),
            Self::Parm => {
                let text = words.join(",");
                if text.len() + 1 > PARM_ROOM {
                    format!(
                        "* longer than the {PARM_ROOM} characters that PARM holds; use //CEEOPTS DD *\n{}",
                        folded(&words)
                    )
                } else {
                    format!("PARM='{text}/'\n* COBOL with CBLOPTS(ON): PARM='/{text}'\n")
                }
            }
            Self::Ceeuopt => {
                let mut text = String::from("CEEUOPT  CSECT\nCEEUOPT  AMODE ANY\nCEEUOPT  RMODE ANY\n");
                for (at, setting) in settings.iter().enumerate() {
                    let values = setting.to_string();
                    let values = values.strip_prefix(setting.option).unwrap_or("");
                    let more = at + 1 < settings.len();
                    let start = if at == 0 { "         CEEXOPT " } else { "               " };
                    let one = format!("{start}{}={values}{}", setting.option, if more { "," } else { "" });
                    text += &if more { format!("{one:<COLUMNS$}X\n") } else { format!("{one}\n") };
                }
                text + "         END\n"
            }
        })
    }
}

fn folded(words: &[String]) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for (at, word) in words.iter().enumerate() {
        let length = word.len() + 1;
        if column > 0 && column + length > COLUMNS {
            text.push('\n');
            column = 0;
        }
        text += word;
        text += if at + 1 < words.len() { "," } else { "\n" };
        column += length;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form() {
        let some = |text: &str| Some(text.to_owned());
        let settings = [
            Setting::new("HEAP", [some("104M"), some("104M"), None, some("KEEP")]),
            Setting::new("ANYHEAP", [some("256K")]),
        ];
        let check = |form: Form, expect: &str| assert_eq!(form.text(&settings).as_deref(), Some(expect));
        check(Form::Ceeopts, "HEAP(104M,104M,,KEEP),ANYHEAP(256K)\n");
        check(Form::Underbar, "HEAP(104M,104M,,KEEP)\n");
        check(Form::CeeRunopts, "export _CEE_RUNOPTS=\"HEAP(104M,104M,,KEEP) ANYHEAP(256K)\"\n");
        check(
            Form::Parm,
            "PARM='HEAP(104M,104M,,KEEP),ANYHEAP(256K)/'\n* COBOL with CBLOPTS(ON): PARM='/HEAP(104M,104M,,KEEP),ANYHEAP(256K)'\n",
        );
        check(
            Form::Ceeuopt,
            "\
CEEUOPT  CSECT
CEEUOPT  AMODE ANY
CEEUOPT  RMODE ANY
         CEEXOPT HEAP=(104M,104M,,KEEP),                               X
               ANYHEAP=(256K)
         END
",
        );
        assert_eq!(Form::Ceeopts.text(&[]), None);
    }
}
