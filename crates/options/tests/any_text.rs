//! Any text: never a panic, every span within the text, and canonical texts that reproduce the settings.

use proptest::prelude::*;
use underbar_options::{Base, Kind, OPTIONS, ProgramName, Settings, WhereSet, check, take_off_numbers};

const PROGRAM: ProgramName<'_> = ProgramName { name: b"prog", started_as: b"", build_id: &[1, 2, 3, 4, 5] };

fn apply(base: Base, text: &[u8]) -> Settings {
    let mut settings = Settings::new(base);
    settings.apply(text, &PROGRAM, WhereSet::CommandLine, &mut |_| ());
    settings
}

/// Reads a text by every function of the crate, and checks all diagnostics.
fn survives(text: &[u8]) {
    let mut settings = Settings::default();
    let mut last = 0;
    check(text, &mut |diagnostic| {
        assert!(diagnostic.span.start <= diagnostic.span.end && diagnostic.span.end <= text.len());
        let mut shown = diagnostic.to_string();
        assert!(!shown.chars().any(|character| character.is_ascii_control()));
        diagnostic.write_excerpt(&mut shown).unwrap();
        last += 1;
    });
    assert!(last <= 2 * text.len() + 1);
    settings.apply(text, &PROGRAM, WhereSet::Environment, &mut |_| ());
    let mut out = String::new();
    settings.write_options_report("main", "today", &mut out).unwrap();
    let mut data_set = text.to_vec();
    if take_off_numbers(&mut data_set) {
        check(&data_set, &mut |_| ());
        let count = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        assert!(count(&data_set) >= count(text), "lines are lost");
    }
}

fn leads_back(base: Base, text: &str) {
    let settings = apply(base, text.as_bytes());
    let mut canonical = String::new();
    settings.canonical(&mut canonical).unwrap();
    let again = apply(base, canonical.as_bytes());
    assert!(again.same_values(&settings), "{text:?} became {canonical:?}");
    let mut twice = String::new();
    again.canonical(&mut twice).unwrap();
    assert_eq!(canonical, twice, "of {text:?}");
}

/// A text for one sub-option, mostly valid for its kind.
fn value(kind: Kind) -> BoxedStrategy<String> {
    match kind {
        Kind::Size { .. } => {
            prop_oneof!["[-+]?[0-9]{1,6}[kKmMgG]?", Just("AUTO".to_string()), Just(String::new()),].boxed()
        }
        Kind::Number { .. } => prop_oneof!["[0-9]{1,5}", Just(String::new())].boxed(),
        Kind::Words(words) => {
            let names: Vec<String> = words.iter().map(|word| word.name.to_string()).collect();
            prop_oneof![proptest::sample::select(names), Just(String::new())].boxed()
        }
        Kind::Fill { .. } => prop_oneof!["[0-9a-fA-F]{2}", "'.'", Just("CLEAR".to_string())].boxed(),
        Kind::Cell => prop_oneof!["[0-9]{1,5}", r"\([0-9]{0,4},[0-9]{0,2}\)"].boxed(),
        Kind::File => prop_oneof!["[a-z/.]{0,9}(%[ehp%])?", "'([^']|''){0,9}'", "\"[^\"]{0,9}\""].boxed(),
        Kind::Processors => prop_oneof![r"CPUS ?\([0-9x, -]{0,12}\)", "[0-9,]{0,6}"].boxed(),
        Kind::Files(_) => prop_oneof![r"OUTSIDE ?\([a-z.*/, ]{0,12}\)", "[a-z,]{0,6}"].boxed(),
        Kind::Named { word, inner, .. } => {
            prop_oneof![value(*inner).prop_map(move |text| format!("{word}({text})")), Just(word.to_string())]
                .boxed()
        }
        Kind::Lists => {
            let name = prop_oneof!["[a-zA-Z ]{0,5}", "'([^']|''){0,9}'", ".{0,9}", "[a-c]"];
            (name, "(,[0-9]{1,3}){0,2}(,[0-9]{4})?(,[2-6][0-9]K)?")
                .prop_map(|(name, sizes)| name + &sizes)
                .boxed()
        }
        Kind::Kilobytes { .. } => prop_oneof!["[0-9]{1,5}[KMG]?", Just(String::new())].boxed(),
        Kind::WorkFiles => {
            prop_oneof!["[a-c/*?.]{0,9}", "'([^']|''){0,9}'", ".{0,9}", r"\([ab],[0-9]?,[0-9]?\)"].boxed()
        }
        Kind::Free | Kind::Switch => prop_oneof!["[A-Z,*=0-9]{0,12}", ".{0,9}", "\"[^\"]{0,9}\""].boxed(),
    }
}

fn option() -> impl Strategy<Value = String> {
    (0..OPTIONS.len(), any::<bool>()).prop_flat_map(|(option, negative)| {
        let entry = &OPTIONS[option];
        let values: Vec<_> = entry.written().iter().map(|sub| value(sub.kind)).collect();
        let prefix = if negative && entry.has_negative() { "NO" } else { "" };
        values.prop_map(move |values| format!("{prefix}{}({})", entry.name, values.join(",")))
    })
}

/// Enough to find errors within a second or two; a bug found by longer runs gets a separate test.
const CASES: u32 = 512;

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        survives(&bytes);
    }

    #[test]
    fn random_records_never_panic(
        texts in proptest::collection::vec("[*A-Z(), ]{0,3}|[*A-Z(), ]{70,72}", 1..12), ends in "\r?\n?",
    ) {
        let records: Vec<String> = texts.iter().map(|text| format!("{text:<72}00000010")).collect();
        let mut data_set = records.join(&ends).into_bytes();
        if ends != "\r" {
            assert!(take_off_numbers(&mut data_set), "{records:?}");
        }
        survives(records.join(&ends).as_bytes());
    }

    #[test]
    fn random_pieces_of_the_grammar_never_panic(
        pieces in proptest::collection::vec(proptest::sample::select(vec![
            "HEAP", "STACK", "NO", "AIXBLD", "MSGFILE", "STORAGE", "HEAPP", "TEST", "(", ")", "((", "))", ",", "=",
            "'", "\"", "''", "1M", "-1", "AUTO", "[", "]", "[prog]", "[build-id:01020304]", "#", "\n", " ", "%",
            "OVR", "NONOVR", "WORKFILE", "AVL", "ECB", "OUTSIDE", "32", "64", "*", "\u{e9}", "\u{1F600}", "X", "CEEXOPT",
        ]), 0..60)
    ) {
        survives(pieces.concat().as_bytes());
        leads_back(Base::Underbar, &pieces.concat());
    }

    #[test]
    fn canonical_texts_lead_back(options in proptest::collection::vec(option(), 0..12)) {
        let text = options.join(" ");
        leads_back(Base::Underbar, &text);
        leads_back(Base::LanguageEnvironment, &text);
    }
}

#[test]
fn a_text_of_ten_thousand_characters_is_applied_to_its_end() {
    let mut text = "HEAP(1M,2M,,KEEP), ".repeat(600);
    text.truncate(10_000 - " RPTSTG(ON)".len());
    text += " RPTSTG(ON)";
    assert_eq!(text.len(), 10_000);
    let mut settings = Settings::default();
    let mut spans = Vec::new();
    settings.apply(text.as_bytes(), &PROGRAM, WhereSet::CommandLine, &mut |d| spans.push(d.span));
    // The cut may leave a piece of an option before the last one, and no other fault.
    assert!(spans.len() <= 1 && spans.iter().all(|span| span.start > 9900), "{spans:?}");
    survives(text.as_bytes());
    survives("(".repeat(10_000).as_bytes());
    survives("HEAP(".repeat(2_000).as_bytes());
    survives("MSGFILE('\n".repeat(1_000).as_bytes());
    survives("HEPA(1M)\n".repeat(1_100).as_bytes());
}
