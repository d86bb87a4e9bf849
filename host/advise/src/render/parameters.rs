//! Parameters as text: as dynamic parameters, and as macros of the parameter module.

use super::forms::Form;
use crate::advice::Setting;

/// The significant columns of a record.
const COLUMNS: usize = 71;

/// Whether a setting is a parameter, which is written NAME=value.
#[must_use]
pub fn is_parameter(setting: &Setting) -> bool {
    setting.option.ends_with('=')
}

/// One line for each value, or dynamic parameters, cut at commas if a record would be too long. Those of ADARUN have their
/// own statement.
///
/// As NATPARM, followed by the macros of the parameter module, as comments of its source.
pub(super) fn text(settings: &[Setting], form: Form) -> Option<String> {
    if form == Form::Values {
        return Some(settings.iter().map(|setting| format!("{setting}\n")).collect());
    }
    let is_adarun = |setting: &&Setting| setting.option.starts_with("PREF");
    let (adarun, natural): (Vec<&Setting>, Vec<&Setting>) = settings.iter().partition(is_adarun);
    let all = |settings: &[&Setting]| settings.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut text = folded(&all(&natural));
    if !adarun.is_empty() {
        text += &format!("ADARUN {}\n", all(&adarun).join(","));
    }
    if form == Form::Natparm && !natural.is_empty() {
        text += "* the same in the source of NATPARM:\n";
        for (macro_name, option) in [("NTPRM", None), ("NTSORT", Some("SORT=")), ("NTZIIP", Some("ZIIP="))] {
            let mut operands: Vec<String> = Vec::new();
            for setting in &natural {
                match option {
                    Some(option) if setting.option == option => {
                        operands.extend(setting.sub_options.iter().flatten().cloned());
                    }
                    None if !["SORT=", "ZIIP="].contains(&setting.option) => {
                        operands.push(setting.to_string())
                    }
                    _ => {}
                }
            }
            if !operands.is_empty() {
                text += &format!("*        {macro_name:<6} {}\n", operands.join(","));
            }
        }
    }
    (!text.is_empty()).then_some(text)
}

fn folded(words: &[String]) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for (at, word) in words.iter().enumerate() {
        let comma = if at + 1 < words.len() { "," } else { "\n" };
        if column > 0 && column + word.len() + 1 > COLUMNS {
            text.push('\n');
            column = 0;
        }
        text += word;
        text += comma;
        column += word.len() + 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(option: &'static str, values: &[&str]) -> Setting {
        Setting { option, sub_options: values.iter().map(|value| Some((*value).to_owned())).collect() }
    }

    #[test]
    fn parameters_are_written_and_read_back() {
        let settings = [
            set("ZIIP=", &["ON", "PWCSIZE=(300,200,300)"]),
            set("THSIZE=", &["2048"]),
            set("MT=", &["0"]),
            set("SORT=", &["WRKSIZE=1000", "EXT=OFF", "STORAGE=BP"]),
            set("PREFSBL=", &["9512"]),
        ];
        let plain = text(&settings, Form::Ceeopts).expect("something to set");
        assert_eq!(
            plain,
            "ZIIP=(ON,PWCSIZE=(300,200,300)),THSIZE=2048,MT=0,\nSORT=(WRKSIZE=1000,EXT=OFF,STORAGE=BP)\nADARUN PREFSBL=9512\n"
        );
        let values = text(&settings[1..3], Form::Values);
        assert_eq!(values.as_deref(), Some("THSIZE=2048\nMT=0\n"));
        let module = text(&settings, Form::Natparm).expect("something to set");
        let macros: Vec<&str> = module.lines().skip(4).collect();
        assert_eq!(
            macros,
            [
                "*        NTPRM  THSIZE=2048,MT=0",
                "*        NTSORT WRKSIZE=1000,EXT=OFF,STORAGE=BP",
                "*        NTZIIP ON,PWCSIZE=(300,200,300)"
            ]
        );
        for text in [&plain, &module] {
            let items = underbar_listing::read(text.as_bytes());
            let rows: Vec<String> = items
                .iter()
                .filter_map(|item| match item {
                    underbar_listing::Item::Natural(underbar_listing::natural::Natural::Parameters(text)) => {
                        Some(&text.rows)
                    }
                    _ => None,
                })
                .flatten()
                .map(|row| format!("{}={}", row.name, row.value))
                .collect();
            let wrote: Vec<String> = settings.iter().map(ToString::to_string).collect();
            assert_eq!(rows, wrote, "{items:#?}");
        }
        assert_eq!(text(&[], Form::Natparm), None);
    }
}
