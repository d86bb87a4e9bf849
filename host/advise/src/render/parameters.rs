//! Parameters as text: as dynamic parameters, and as macros of the parameter module.

use crate::advice::Setting;

/// The significant columns of a record.
const COLUMNS: usize = 71;

/// Whether a setting is a parameter, which is written NAME=value.
#[must_use]
pub fn is_parameter(setting: &Setting) -> bool {
    setting.option.ends_with('=')
}

/// One line for each value.
pub(super) fn values(settings: &[Setting]) -> String {
    settings.iter().map(|setting| format!("{setting}\n")).collect()
}

/// Dynamic parameters, cut at commas if a record would be too long. Those of ADARUN have their own statement.
pub(super) fn dynamic(settings: &[Setting]) -> String {
    let (adarun, natural) = by_program(settings);
    let mut text = folded(&texts(&natural));
    if !adarun.is_empty() {
        text += &format!("ADARUN {}\n", texts(&adarun).join(","));
    }
    text
}

/// Dynamic parameters, followed by the macros of the parameter module, as comments of its source.
pub(super) fn module(settings: &[Setting]) -> String {
    let (_, natural) = by_program(settings);
    let mut text = dynamic(settings);
    if natural.is_empty() {
        return text;
    }
    text += "* the same in the source of NATPARM:\n";
    for (macro_name, option) in [("NTPRM", None), ("NTSORT", Some("SORT=")), ("NTZIIP", Some("ZIIP="))] {
        let mut operands: Vec<String> = Vec::new();
        for setting in &natural {
            match option {
                Some(option) if setting.option == option => {
                    operands.extend(setting.sub_options.iter().flatten().cloned());
                }
                None if !["SORT=", "ZIIP="].contains(&setting.option) => operands.push(setting.to_string()),
                _ => {}
            }
        }
        if !operands.is_empty() {
            text += &format!("*        {macro_name:<6} {}\n", operands.join(","));
        }
    }
    text
}

/// The parameters of ADARUN, and those of Natural.
fn by_program(settings: &[Setting]) -> (Vec<&Setting>, Vec<&Setting>) {
    settings.iter().partition(|setting| setting.option.starts_with("PREF"))
}

fn texts(settings: &[&Setting]) -> Vec<String> {
    settings.iter().map(ToString::to_string).collect()
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
        let plain = dynamic(&settings);
        assert_eq!(
            plain,
            "ZIIP=(ON,PWCSIZE=(300,200,300)),THSIZE=2048,MT=0,\nSORT=(WRKSIZE=1000,EXT=OFF,STORAGE=BP)\nADARUN PREFSBL=9512\n"
        );
        assert_eq!(values(&settings[1..3]), "THSIZE=2048\nMT=0\n");
        let module = module(&settings);
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
    }
}
