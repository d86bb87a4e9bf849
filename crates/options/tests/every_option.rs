//! Every option of the table, in every spelling: derived from the table, so none can be forgotten.

use underbar_options::{
    Base, Diagnostic, Effect, Entry, Form, Kind, OPTIONS, Problem, ProgramName, Settings, Severity, Value,
    WhereSet, check, find_option,
};

fn apply<'t>(settings: &mut Settings, text: &'t str) -> Vec<Diagnostic<'t>> {
    let mut found = Vec::new();
    let on_diagnostic = &mut |diagnostic| found.push(diagnostic);
    settings.apply(text.as_bytes(), &ProgramName::default(), WhereSet::CommandLine, on_diagnostic);
    found
}

fn spellings(entry: &Entry) -> Vec<String> {
    let mut all = vec![
        entry.name.to_string(),
        entry.name.to_ascii_lowercase(),
        entry.name[..usize::from(entry.least)].to_string(),
        entry.name[..usize::from(entry.least)].to_ascii_lowercase(),
    ];
    if !entry.alias.is_empty() {
        all.push(entry.alias.to_string());
    }
    all
}

/// The defaults that IBM supplies for one option, as text between the parentheses.
fn defaults(option: usize, form: Form) -> String {
    let settings = Settings::new(Base::LanguageEnvironment);
    let mut out = String::new();
    settings.write_option(option, form, &mut out).unwrap();
    out[OPTIONS[option].name.len()..].to_string()
}

#[test]
fn defaults_round_trip_in_every_spelling() {
    let ibm = Settings::new(Base::LanguageEnvironment);
    let mut seen = 0;
    for (option, entry) in OPTIONS.iter().enumerate() {
        for form in [Form::Exact, Form::Short] {
            let values = defaults(option, form);
            if values.is_empty() {
                continue;
            }
            seen += 1;
            for name in spellings(entry) {
                for text in [
                    format!("{name}{values}"),
                    format!("{name}={values}"),
                    format!("{name}=({values},OVR)"),
                    format!(" {name} {} ", values.to_ascii_lowercase().replace(',', " , ")),
                ] {
                    let mut settings = Settings::default();
                    let found = apply(&mut settings, &text);
                    assert!(found.iter().all(|d| d.severity() == Severity::Note), "{text}: {found:?}");
                    for position in 0..entry.sub_options.len() {
                        let (is, should) = (settings.value(option, position), ibm.value(option, position));
                        assert_eq!(is, should, "{text}: {}", entry.sub_options[position].name);
                    }
                    assert_eq!(settings.where_set(option), WhereSet::CommandLine);
                }
            }
        }
    }
    assert!(seen > 40, "most options that matter have defaults");
}

#[test]
fn every_option_is_known_by_every_spelling_and_says_what_it_does() {
    for (option, entry) in OPTIONS.iter().enumerate() {
        for name in spellings(entry) {
            assert_eq!(find_option(name.as_bytes()), Some(option), "{name}");
            let mut settings = Settings::default();
            let text = if entry.has_negative() { format!("NO{name}") } else { format!("{name}()") };
            let found = apply(&mut settings, &text);
            let honest = match entry.effect {
                Effect::Honoured => found.is_empty(),
                Effect::Partly(_) => {
                    matches!(found[..], [Diagnostic { problem: Problem::Partly { .. }, .. }])
                }
                Effect::AcceptedNoEffect(_) => {
                    matches!(found[..], [Diagnostic { problem: Problem::NoEffect { .. }, .. }])
                }
            };
            assert!(honest, "{text}: {found:?}");
            assert_eq!(settings.is_negative(option), entry.has_negative(), "{text}");
            assert_eq!(settings.where_set(option), WhereSet::CommandLine, "{text}");
        }
    }
}

/// A text that is valid for a kind and not its default, and an invalid one.
fn samples(kind: Kind) -> (&'static str, Option<&'static str>) {
    match kind {
        Kind::Size { most, .. } if most <= 1 << 20 => ("8K", Some("2M")),
        Kind::Processors => ("CPUS(0,2-5)", Some("CPUS(5-2)")),
        Kind::Files(word) => {
            let of = |files: &str| -> &'static str { format!("{word}({files})").leak() };
            (of("libssl,libfoo*"), Some(of("lib/libssl")))
        }
        Kind::Named { word, inner, .. } => {
            let (right, wrong) = samples(*inner);
            let of = |value: &str| -> &'static str { format!("{word}({value})").leak() };
            (of(right), wrong.map(of))
        }
        Kind::Lists => ("SSL,32,64", Some("SSL,64,32")),
        Kind::Size { .. } => ("1234M", Some("12x4M")),
        Kind::Number { most } if most < 100 => ("77", Some("91")),
        Kind::Number { .. } => ("77", Some("4294967296")),
        Kind::Words(words) => (words[words.len() - 1].name, Some("XYZZY")),
        Kind::Fill { .. } => ("FE", Some("FEED")),
        Kind::Cell => ("(72,2)", Some("65537")),
        Kind::File => ("/tmp/%e.%p", Some("/tmp/%x")),
        Kind::Free => ("anything,(at,all)", None),
        Kind::Kilobytes { .. } => ("77", Some("65537")),
        Kind::WorkFiles => ("*.out", Some("''")),
        Kind::Switch => ("ON", None),
    }
}

#[test]
fn every_sub_option_is_set_alone_and_keeps_its_value_when_wrong() {
    for (option, entry) in OPTIONS.iter().enumerate() {
        let first = entry.sub_options.len() - entry.written().len();
        for (place, sub) in entry.written().iter().enumerate() {
            let (right, wrong) = samples(sub.kind);
            let commas = ",".repeat(place);
            let mut settings = Settings::default();
            apply(&mut settings, &format!("{}({commas}{right})", entry.name));
            let position = first + place;
            assert_ne!(settings.value(option, position), Value::Unset, "{} {}", entry.name, sub.name);
            for other in (0..entry.sub_options.len()).filter(|&other| other >= first && other != position) {
                assert_eq!(settings.value(option, other), entry.sub_options[other].underbar);
                assert_eq!(settings.where_sub_option_set(option, other), WhereSet::UnderbarDefault);
            }
            let mut out = String::new();
            settings.canonical(&mut out).unwrap();
            let mut again = Settings::default();
            apply(&mut again, &out);
            assert!(again.same_values(&settings), "{out}");

            let Some(wrong) = wrong else { continue };
            let before = settings.value(option, position);
            let text = format!("{}({commas}{wrong})", entry.name);
            let found = apply(&mut settings, &text);
            assert_eq!(settings.value(option, position), before, "{text}");
            let bad: Vec<_> =
                found.iter().filter(|d| matches!(d.problem, Problem::BadValue { .. })).collect();
            assert_eq!(bad.len(), 1, "{text}: {found:?}");
            let start = entry.name.len() + 1 + place;
            assert!(bad[0].span.start >= start && bad[0].span.end <= start + wrong.len(), "{text}: {bad:?}");
            assert!(bad[0].to_string().contains(entry.name), "{}", bad[0]);
        }
    }
}

#[test]
fn misspelt_names_lead_back() {
    for entry in OPTIONS.iter().filter(|entry| entry.name.len() > 4) {
        // The first two letters swapped: a common typing error.
        let (a, b, rest) = (&entry.name[..1], &entry.name[1..2], &entry.name[2..]);
        let text = format!("{b}{a}{rest}(1)");
        if a == b || find_option(&text.as_bytes()[..entry.name.len()]).is_some() {
            continue;
        }
        let mut said = Vec::new();
        check(text.as_bytes(), &mut |diagnostic| said.push(diagnostic));
        assert_eq!(said[0].problem, Problem::UnknownOption { nearest: Some(entry.name) }, "{text}");
        assert_eq!((said[0].span.start, said[0].span.end), (0, entry.name.len()));
    }
}
