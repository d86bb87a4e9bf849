//! The answer to the page: the advice and its context, as JSON.
//!
//! ```text
//! schema, version
//! files[]       name, bytes, lines, items, saved
//! understood[]  file, title, details[]                     understood_beyond
//! programs[]    name, runs, areas[], advice[], texts[]      texts: in each form, and for one more run with RPTSTG(ON)
//! lint[]        errors in option texts
//! in_force[]    file, program, option: the storage options that options reports show
//! steps[]       file and the step as it was read
//! doubts[]      place, why: lines not read, and doubts; a doubt about many lines appears once           left_out
//! rules{}       the explanation of each rule that gave advice
//! ```
//!
//! Invariant: advice, texts and unread lines are those of `underbar advise`, word for word.
//! Not here: the rules and the forms (`underbar_advise`).

use std::collections::BTreeMap;

use serde::Serialize;
use underbar_advise::listing::simulate::Tried;
use underbar_advise::listing::{Area, areas, settings, simulate};
use underbar_advise::render::{Form, Steps, json::Beside};
use underbar_advise::{Advice, Setting, advise_listing, check_texts, explain};

use crate::session::{FileRead, Session, Understood};

/// The forms, in the order in which the page offers them: the name for `advise --as`, and a title.
pub const FORMS: [(&str, &str, Form); 7] = [
    ("ceeopts", "CEEOPTS data set", Form::Ceeopts),
    ("ceeuopt", "CEEUOPT source", Form::Ceeuopt),
    ("parm", "PARM of the step", Form::Parm),
    ("_cee_runopts", "_CEE_RUNOPTS", Form::CeeRunopts),
    ("values", "names and values", Form::Values),
    ("natparm", "Natural parameters", Form::Natparm),
    ("underbar", "underbar (Linux)", Form::Underbar),
];

#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    version: &'static str,
    files: &'a [FileRead],
    understood: &'a [Understood],
    understood_beyond: u64,
    programs: Vec<OfProgram<'a>>,
    #[serde(flatten)]
    beside: Beside<'a>,
    doubts: Vec<Doubt>,
    rules: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct OfProgram<'a> {
    name: &'a str,
    runs: usize,
    areas: Vec<Area>,
    advice: Vec<&'a Advice>,
    texts: Vec<Text>,
}

#[derive(Serialize)]
struct Doubt {
    place: String,
    why: String,
}

/// What to set, in one form.
#[derive(Serialize)]
struct Text {
    form: &'static str,
    title: &'static str,
    /// The options to keep.
    keep: String,
    /// The same for one more run, with the reports that show its effect, if the advice is based on storage reports.
    once: Option<String>,
}

/// The answer lists at most this many options in force.
const MOST_IN_FORCE: usize = 100;

impl Session {
    /// The advice, as JSON.
    pub fn answer(&mut self) -> String {
        self.end_file();
        text(self)
    }

    /// The effect of other values of HEAP or HEAPPOOLS, as JSON.
    #[must_use]
    pub fn what_if(&self, options: &str) -> String {
        what_if(self, options)
    }
}

/// The effect of other sizes, for every program: a list, or an object with `error`. For z/TPF's lists it is the command's
/// table.
fn what_if(session: &Session, options: &str) -> String {
    let one = |one: &Tried| match one {
        Tried::Heap(heap) => serde_json::json!(heap),
        Tried::Lists(_) | Tried::Not(_) => serde_json::json!({ "text": one.to_string() }),
    };
    let answer = match simulate(&session.collected, options) {
        Ok(all) => serde_json::to_string(&all.iter().map(one).collect::<Vec<_>>()),
        Err(error) => serde_json::to_string(&serde_json::json!({ "error": error })),
    };
    // Numbers, texts and lists of them always have a JSON form.
    answer.unwrap_or_default()
}

/// The answer to a session.
fn text(session: &Session) -> String {
    let collected = &session.collected;
    let all = advise_listing(collected);
    let known = collected.names();
    let mut names: Vec<&str> = known.iter().map(String::as_str).collect();
    for advice in &all {
        // The name is nearly always the last one: advice comes program by program.
        if names.last() != Some(&advice.target.as_str()) && !names.contains(&advice.target.as_str()) {
            names.push(&advice.target);
        }
    }
    let mut by_program: BTreeMap<&str, Vec<&Advice>> = BTreeMap::new();
    for advice in &all {
        by_program.entry(&advice.target).or_default().push(advice);
    }
    let steps = Steps::of(collected);
    let programs = names.into_iter().map(|name| {
        let program = collected.programs.iter().find(|program| program.name == name);
        let advice = by_program.remove(name).unwrap_or_default();
        let own: Vec<Advice> = advice.iter().copied().cloned().collect();
        let (set, areas) = (settings(&own, name), areas(collected, &own, name));
        let runs = program.map_or(0, |program| program.runs.len());
        OfProgram { name, runs, areas, advice, texts: texts((&steps, &all, name), &set, runs > 0) }
    });
    let checks = check_texts(collected);
    let spoke = all.iter().map(|advice| advice.rule).chain(checks.iter().map(|check| check.rule));
    let answer = Answer {
        schema: "underbar.page/1",
        version: env!("CARGO_PKG_VERSION"),
        files: &session.files,
        understood: &session.understood,
        understood_beyond: session.understood_beyond,
        programs: programs.collect(),
        beside: Beside::of(collected, &checks, MOST_IN_FORCE),
        doubts: collected.doubts().into_iter().map(|(place, why)| Doubt { place, why }).collect(),
        rules: spoke.filter_map(|rule| Some((rule, explain(rule).ok()?))).collect(),
    };
    // Numbers, texts and lists of them always have a JSON form.
    serde_json::to_string(&answer).unwrap_or_default()
}

/// The forms that differ, in the order of the table.
fn texts(
    (steps, advice, name): (&Steps<'_>, &[Advice], &str),
    settings: &[Setting],
    has_report: bool,
) -> Vec<Text> {
    let reports = ["RPTSTG", "RPTOPTS"].map(|option| Setting::new(option, [Some("ON".to_owned())]));
    let more: Vec<Setting> = settings.iter().cloned().chain(reports).collect();
    // Parameters are no options of Language Environment: no carrier holds them, and their text is the same in every form.
    let has_carrier = !settings.iter().any(underbar_advise::render::parameters::is_parameter);
    let mut texts: Vec<Text> = Vec::new();
    for (form, title, make) in &FORMS {
        let text = |settings: &[Setting]| steps.text(advice, name, settings, *make);
        let Some(keep) = text(settings) else { continue };
        let title = if has_carrier || !texts.is_empty() { title } else { "parameters" };
        if texts.iter().all(|text| text.keep != keep) {
            let once = has_report.then(|| text(&more)).flatten();
            texts.push(Text { form, title, keep, once });
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::{FORMS, Form};
    use crate::session::Session;
    use serde_json::Value;

    fn answer(files: &[(&str, &str)]) -> Value {
        let mut session = Session::default();
        for (name, text) in files {
            session.file(name);
            session.feed(text.as_bytes());
            session.end_file();
        }
        serde_json::from_str(&session.answer()).expect("JSON")
    }

    const EXAMPLE: &str = include_str!("../page/example.txt");

    #[test]
    fn the_example_shows_every_kind_of_answer() {
        let answer = answer(&[("example.txt", EXAMPLE)]);
        let programs = answer["programs"].as_array().expect("programs");
        let kinds: Vec<&str> = programs
            .iter()
            .flat_map(|program| program["advice"].as_array().expect("advice"))
            .filter_map(|advice| advice["kind"].as_str())
            .collect();
        for kind in ["raise", "lower", "change", "no_change"] {
            assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
        }
        assert!(!answer["doubts"].as_array().expect("doubts").is_empty());
        assert!(!answer["steps"].as_array().expect("steps").is_empty());
        let with_texts =
            programs.iter().find(|program| !program["texts"].as_array().expect("texts").is_empty());
        let texts = with_texts.expect("something to set")["texts"].as_array().expect("texts");
        assert_eq!(
            texts.len(),
            FORMS.len() - 2,
            "all but Natural's, and underbar's, which is that of CEEOPTS"
        );
        for text in texts {
            assert!(text["once"].as_str().expect("text").contains("RPTSTG"), "{text}");
            assert!(!text["keep"].as_str().expect("text").contains("RPTSTG"), "{text}");
        }
        // The rule of each advice is explained.
        for advice in programs.iter().flat_map(|program| program["advice"].as_array().expect("advice")) {
            let rule = advice["rule"].as_str().expect("a rule");
            assert!(answer["rules"][rule].as_str().is_some_and(|words| words.starts_with(rule)), "{rule}");
        }
    }

    #[test]
    fn the_picture_shows_what_the_advice_rests_on() {
        let answer = answer(&[("example.txt", EXAMPLE)]);
        let programs = answer["programs"].as_array().expect("programs");
        let areas = programs[0]["areas"].as_array().expect("areas");
        let heap = areas.iter().find(|area| area["name"] == "HEAP").expect("a heap");
        assert!(heap["used"].as_u64() > heap["now"].as_u64());
        let option = programs[0]["advice"][0]["option"].as_str().expect("an option");
        let megabytes = heap["suggested"].as_u64().expect("a size") >> 20;
        assert!(option.starts_with(&format!("HEAP({megabytes}M")), "{option}");
        // Mixed reports have no picture.
        let mixed = include_str!("../../host/listing/tests/listings/interleaved.txt");
        let answer = self::answer(&[("mixed", mixed)]);
        for program in answer["programs"].as_array().expect("programs") {
            let drawn = program["areas"].as_array().expect("areas").len();
            let unsound = program["advice"]
                .as_array()
                .expect("advice")
                .iter()
                .any(|advice| advice["rule"] == "le-sound");
            assert!(!unsound || drawn == 0, "{program}");
        }
    }

    /// Does not compile if there is a form that the page does not offer.
    fn place(form: Form) -> usize {
        match form {
            Form::Ceeopts => 0,
            Form::Ceeuopt => 1,
            Form::Parm => 2,
            Form::CeeRunopts => 3,
            Form::Values => 4,
            Form::Natparm => 5,
            Form::Underbar => 6,
        }
    }

    #[test]
    fn every_form_is_offered() {
        assert_eq!(FORMS.map(|(_, _, form)| place(form)), [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn the_same_doubt_about_many_lines_stands_once() {
        let answer = answer(&[("job", &"SMF30CPT 17\n".repeat(9))]);
        let doubts = answer["doubts"].as_array().expect("doubts");
        assert_eq!(doubts.len(), 1, "{doubts:?}");
        assert_eq!(doubts[0]["place"], "job:1");
        assert!(doubts[0]["why"].as_str().is_some_and(|why| why.contains("9 times")), "{doubts:?}");
    }

    #[test]
    fn nothing_in_nothing_out() {
        for files in [&[][..], &[("empty", "")], &[("other", "HELLO\n\u{0}\u{1}\n")]] {
            let answer = answer(files);
            assert_eq!(answer["programs"], serde_json::json!([]));
            assert_eq!(answer["files"].as_array().map(Vec::len), Some(files.len()));
        }
    }
}
