//! Settings in the form of a carrier: CEEOPTS, CEEUOPT, PARM, `_CEE_RUNOPTS`, values, and underbar's options.
//!
//! Invariant: no line of a data set or a source reaches beyond column 71, and every text is read back as the same options.

use underbar_listing::Side;
use underbar_options::{Effect, OPTIONS};

use super::parameters;
use crate::advice::Setting;

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
    /// One line for each value: its name and its new value.
    Values,
    /// Options of underbar: only those that it honours.
    Underbar,
}

/// The most characters that PARM of job control holds.
const PARM_ROOM: usize = 100;
/// The significant columns of a record.
const COLUMNS: usize = 71;

impl Form {
    /// The text, with a line feed after each line; None if there is nothing to set, or if no setting has this form.
    #[must_use]
    pub fn text(self, settings: &[Setting]) -> Option<String> {
        if settings.iter().any(parameters::is_parameter) {
            return match self {
                Self::Ceeuopt | Self::CeeRunopts | Self::Underbar => None,
                Self::Values => Some(parameters::values(settings)),
                Self::Natparm => Some(parameters::module(settings)),
                Self::Ceeopts | Self::Parm => Some(parameters::dynamic(settings)),
            };
        }
        if self == Self::Natparm {
            return None;
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
        let text = words.join(",");
        Some(match self {
            Self::Underbar => format!("{text}\n"),
            Self::Ceeopts | Self::Natparm => lines(&folded(&text, COLUMNS), ""),
            Self::CeeRunopts => format!("export _CEE_RUNOPTS=\"{}\"\n", words.join(" ")),
            Self::Parm => Self::parm(&text, "", Side::Unknown),
            Self::Ceeuopt => source(settings),
            Self::Values => settings.iter().flat_map(values).collect(),
        })
    }
}

impl Form {
    /// PARM with these options and the program's own arguments, if there is room for both.
    pub(super) fn parm(options: &str, arguments: &str, side: Side) -> String {
        if options.len() + 1 + arguments.len() > PARM_ROOM {
            let options = lines(&folded(options, COLUMNS), "");
            return format!(
                "* longer than the {PARM_ROOM} characters that PARM holds; use //CEEOPTS DD *\n{options}"
            );
        }
        let quoted = |text: &str| text.replace('\'', "''");
        let (options, arguments) = (quoted(options), quoted(arguments));
        let (first, last) =
            (format!("PARM='{options}/{arguments}'\n"), format!("PARM='{arguments}/{options}'\n"));
        match side {
            Side::First => first,
            Side::Last => last,
            Side::Unknown => format!("{first}* COBOL with CBLOPTS(ON): {last}"),
        }
    }
}

/// Cuts the text after commas, so that each piece fits.
fn folded(text: &str, room: usize) -> Vec<String> {
    let mut all: Vec<String> = vec![String::new()];
    for piece in text.split_inclusive(',') {
        let full = all.last().is_some_and(|last| !last.is_empty() && last.len() + piece.len() > room);
        if full {
            all.push(String::new());
        }
        if let Some(last) = all.last_mut() {
            *last += piece;
        }
    }
    all
}

fn lines(all: &[String], indent: &str) -> String {
    all.iter().map(|line| format!("{indent}{line}\n")).collect()
}

/// The macro, with a mark of continuation in column 72.
fn source(settings: &[Setting]) -> String {
    let options: Vec<String> = settings
        .iter()
        .map(|setting| {
            let all = setting.to_string();
            format!("{}={}", setting.option, all.strip_prefix(setting.option).unwrap_or(""))
        })
        .collect();
    // Operands continue in column 16.
    let pieces = folded(&options.join(","), COLUMNS - 17);
    // 64-bit programs use another name.
    let (name, mode) = match settings.iter().any(|setting| setting.option.ends_with("64")) {
        true => ("CELQUOPT", "64"),
        false => ("CEEUOPT", "ANY"),
    };
    let mut text = format!("{name:<8} CSECT\n{name:<8} AMODE {mode}\n{name:<8} RMODE ANY\n");
    for (at, piece) in pieces.iter().enumerate() {
        let start = if at == 0 { "         CEEXOPT " } else { "               " };
        let line = format!("{start}{piece}");
        text += &if at + 1 < pieces.len() { format!("{line:<COLUMNS$}X\n") } else { format!("{line}\n") };
    }
    text + "         END\n"
}

/// `HEAP.init=104M`, for those who set it by other means.
fn values(setting: &Setting) -> Vec<String> {
    let entry = OPTIONS.iter().find(|entry| entry.name == setting.option);
    let name = |at: usize| match entry.and_then(|entry| entry.sub_options.get(at)) {
        // Sizes and percentages of pools share a name: they are numbered.
        Some(known) if setting.option.starts_with("HEAPPOOLS") && at > 0 => {
            format!("{}{}", known.name, at.div_ceil(2))
        }
        Some(known) => known.name.to_lowercase().replace('|', "_or_").replace(' ', "_"),
        None => (at + 1).to_string(),
    };
    let given = setting.sub_options.iter().enumerate();
    given
        .filter_map(|(at, value)| Some(format!("{}.{}={}\n", setting.option, name(at), value.as_ref()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn check_none(settings: &[Setting], forms: &[Form]) {
        for form in forms {
            assert_eq!(form.text(settings), None, "{form:?}");
        }
    }

    #[test]
    fn every_form() {
        let settings = [
            Setting::new("HEAP", [some("104M"), some("104M"), None, some("KEEP")]),
            Setting::new("ANYHEAP", [some("256K")]),
        ];
        let check = |form: Form, expect: &str| assert_eq!(form.text(&settings).as_deref(), Some(expect));
        check(Form::Ceeopts, "HEAP(104M,104M,,KEEP),ANYHEAP(256K)\n");
        check(Form::Underbar, "HEAP(104M,104M,,KEEP),ANYHEAP(256K)\n");
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
         CEEXOPT HEAP=(104M,104M,,KEEP),ANYHEAP=(256K)
         END
",
        );
        check(
            Form::Values,
            "HEAP.init=104M\nHEAP.incr=104M\nHEAP.keep_or_free_or_auto=KEEP\nANYHEAP.init=256K\n",
        );
        assert_eq!(Form::Ceeopts.text(&[]), None);
        assert_eq!((Form::Natparm.text(&settings), Form::Natparm.text(&[])), (None, None));
        let parameter = [Setting { option: "MT=", sub_options: vec![some("0")] }];
        check_none(&parameter, &[Form::Ceeuopt, Form::CeeRunopts, Form::Underbar]);
        check_none(&[Setting::new("BELOWHEAP", [some("256K")])], &[Form::Underbar, Form::Natparm]);
    }

    #[test]
    fn programs_of_64_bits_have_a_source_of_their_own() {
        let settings = [Setting::new("HEAP64", [some("12M"), some("3M")])];
        let source = Form::Ceeuopt.text(&settings);
        let expect = "CELQUOPT CSECT\nCELQUOPT AMODE 64\nCELQUOPT RMODE ANY\n         CEEXOPT HEAP64=(12M,3M)\n         END\n";
        assert_eq!(source.as_deref(), Some(expect));
    }

    #[test]
    fn long_options_are_cut_at_commas_and_read_back() {
        let words = (1..=12).flat_map(|n| [some(&(n * 1024).to_string()), some("15")]);
        let pools =
            Setting { option: "HEAPPOOLS", sub_options: std::iter::once(None).chain(words).collect() };
        let settings = [pools, Setting::new("STACK", [some("256K")])];
        for form in [Form::Ceeopts, Form::Ceeuopt, Form::CeeRunopts, Form::Parm] {
            let text = form.text(&settings).expect("there is something to set");
            if form != Form::CeeRunopts {
                assert!(text.lines().all(|line| line.len() <= 72), "{text}");
            }
            let items = underbar_listing::read(text.as_bytes());
            let [underbar_listing::Item::Text(options)] = &items[..] else {
                panic!("{form:?} {items:?}\n{text}")
            };
            assert_eq!(options.doubts, [], "{text}");
            let read: Vec<String> =
                options.rows.iter().map(|row| format!("{}({})", row.name, row.values)).collect();
            let wrote: Vec<String> = settings.iter().map(ToString::to_string).collect();
            assert_eq!(read, wrote, "{form:?}");
        }
    }
}
