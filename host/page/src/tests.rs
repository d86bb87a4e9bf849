//! The page against the report's JSON: each figure is there, in its words; nothing of others becomes part of the page.

use serde_json::Value;
use underbar_advise::advise;
use underbar_ledger::Key;
use underbar_ledger::table::KEYS;
use underbar_report::course_recorder::{Counted, Recorder, Seen};
use underbar_report::{Report, sample, units};

use super::*;
use crate::flame::Flame;

fn page_of(report: &Report) -> String {
    let advice = advise(report);
    let mut command = vec![report.run.program.clone()];
    command.extend(report.run.arguments.iter().cloned());
    render(&Content { command, report: Some(report), advice: &advice, ..Content::default() })
}

/// The value and the words of each figure with this attribute.
fn figures(page: &str, attribute: &str) -> Vec<(String, u64, String)> {
    let mut all = Vec::new();
    for part in page.split(&format!("<data {attribute}=\"")).skip(1) {
        let (key, rest) = part.split_once("\" value=\"").expect("a value");
        let (value, rest) = rest.split_once("\">").expect("its end");
        let (words, _) = rest.split_once("</data>").expect("words");
        all.push((key.to_owned(), value.parse().expect("a number"), words.to_owned()));
    }
    all
}

fn at<'a>(json: &'a Value, key: &str) -> Option<&'a Value> {
    let path = key.replace('.', "/");
    match key.split('.').next()? {
        "steps" | "tree" => json.pointer(&format!("/{path}")),
        "sizes" => json.pointer(&format!("/processes/0/{path}")),
        _ => json.pointer(&format!("/processes/0/counters/{path}")),
    }
}

#[test]
fn every_figure_of_the_json_is_on_the_page_and_no_other() {
    let mut report = sample::getfree();
    // All processes are one, so that its counters are those of the tree.
    report.tree.counters = report.processes[0].counters.clone();
    let json: Value = serde_json::from_str(&report.to_json()).expect("JSON");
    let page = page_of(&report);
    let shown = figures(&page, "data-key");
    for (key, value, _) in shown.iter().filter(|(key, ..)| !key.starts_with("owners.")) {
        assert_eq!(at(&json, key).and_then(Value::as_u64), Some(*value), "{key}");
    }
    let mut counted = 0;
    let keys = KEYS.into_iter().map(|key| (key.entry().key, key.entry().unit));
    for (key, unit) in keys.chain(underbar_report::steps::STEPS.iter().map(|step| (step.key, step.unit))) {
        let Some(value) = at(&json, key).and_then(Value::as_u64).filter(|value| *value > 0) else { continue };
        let words = units::figure(unit, value);
        assert!(shown.iter().any(|one| *one == (key.to_owned(), value, words.clone())), "{key} {words}");
        counted += 1;
    }
    assert!(counted > 20, "{counted}");
    let sizes = json["processes"][0]["sizes"].as_object().expect("sizes");
    for (row, requests) in sizes {
        let key = format!("sizes.{row}");
        assert!(
            shown.iter().any(|(shown, value, _)| *shown == key && Some(*value) == requests.as_u64()),
            "{key}"
        );
    }
}

#[test]
fn the_head_is_of_the_program_of_which_the_text_tells() {
    let report = sample::tree();
    let page = page_of(&report);
    let (head, _) = page.split_once("</header>").expect("a head");
    let programs = report.programs();
    let words = underbar_report::summary::leading_words(&programs[0], programs.len()).expect("several");
    let printed = underbar_report::summary::render(&report, &[], false);
    assert!(words.contains("cc1plus") && head.contains(&words) && printed.contains(&words), "{words}");
    let gets = units::count(programs[0].counters.get(Key::HeapGets));
    assert_eq!(gets, "36,000");
    assert!(head.contains(&format!("<dd class=\"big\">{gets}</dd>")), "{head}");
    assert!(printed.contains(&format!("{gets} gets")), "{printed}");
    assert!(!head.contains("37,600"), "that is the sum over all programs");
}

#[test]
fn the_head_tells_whose_defaults_were_in_force() {
    const WORDS: &str = "the defaults are those of Language Environment";
    let mut report = sample::getfree();
    assert!(!page_of(&report).contains(WORDS));
    report.options.in_force[1].where_set = "IBM-supplied default".to_owned();
    assert!(page_of(&report).contains(WORDS));
}

#[test]
fn each_suggestion_is_next_to_its_evidence() {
    let report = sample::getfree();
    let advice = advise(&report);
    let page = page_of(&report);
    let evidence = figures(&page, "data-evidence");
    let wanted: usize = advice.iter().map(|one| one.evidence.len()).sum();
    assert_eq!(evidence.len(), wanted);
    assert!(wanted > 2 && advice.iter().any(|one| one.suggested().is_some()));
    for one in advice.iter().filter_map(Advice::suggested) {
        assert!(page.contains(&markup::text(&one)), "{one}");
    }
    // The words are those of `advise`.
    for (key, _, words) in &evidence {
        let said = advice
            .iter()
            .flat_map(|one| &one.evidence)
            .any(|evidence| evidence.to_string() == format!("{key} {words}"));
        assert!(said, "{key} {words}");
    }
}

#[test]
fn the_course_is_that_of_the_json() {
    let mut report = sample::tree();
    let mut recorder = Recorder::new(100_000_000);
    for look in 1..=36_000_u64 {
        let one = |process: u32| Seen {
            program: format!("/bin/p{process}"),
            process,
            counters: Counted::of(|key| if key == Key::HeapUsed { look << 10 } else { look }),
            resident: Some(look << 12),
            ..Seen::default()
        };
        recorder.look(look * 100_000_000, (1..=60).map(one).collect());
    }
    report.over_time = Some(recorder.finish(&sample::report(Vec::new())));
    let page = page_of(&report);
    assert!(page.len() < MOST_BYTES, "{}", page.len());
    let json: Value = serde_json::from_str(&report.to_json()).expect("JSON");
    let course = &json["over_time"]["all"];
    for (column, path) in [
        ("at_ns", "/at_ns"),
        ("heap.high", "/heap/high"),
        ("resident.last", "/resident/last"),
        ("segments.last", "/segments/last"),
    ] {
        let key = format!("over_time.{column}");
        let shown: Vec<u64> =
            figures(&page, "data-key").into_iter().filter(|one| one.0 == key).map(|one| one.1).collect();
        let expect: Vec<u64> = course
            .pointer(path)
            .and_then(Value::as_array)
            .expect("a column")
            .iter()
            .filter_map(Value::as_u64)
            .collect();
        assert_eq!(shown, expect, "{column}");
    }
}

#[test]
fn two_courses_have_the_same_scales() {
    let looked = |looks: u64| {
        let mut recorder = Recorder::new(1_000_000);
        for look in 1..=looks {
            let counters = Counted::of(|key| if key == Key::HeapUsed { look << 20 } else { 1 });
            recorder.look(look * 1_000_000, vec![Seen { process: 1, counters, ..Seen::default() }]);
        }
        let mut report = sample::tree();
        report.over_time = Some(recorder.finish(&sample::report(Vec::new())));
        report
    };
    let (before, after) = (looked(100), looked(50));
    let other_run = Some(OtherRun { before: "Under default", title: "Under <b>", report: &after });
    let page = render(&Content { report: Some(&before), other_run, ..Content::default() });
    assert_eq!(page.matches("class=\"plot\" data-end=\"100000000\"").count(), 2, "{page}");
    assert_eq!(page.matches("id=\"moment\"").count(), 1);
    assert!(page.contains("<h3>Under default</h3>") && page.contains("<h3>Under &lt;b&gt;</h3>"));
    // Half as long and half as high.
    let ends = |page: &str| -> Vec<String> {
        let lines = page.split("<path class=\"heap\" d=\"").skip(1);
        let last = |line: &str| {
            line.split_once('"').and_then(|(line, _)| line.rsplit('L').next().map(str::to_owned))
        };
        lines.filter_map(last).collect()
    };
    assert_eq!(ends(&page), ["1000 56.6", "500 528.3"]);
}

#[test]
fn hostile_names_stay_text() {
    const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'&\u{202e}\u{1b}[2J";
    let mut report = sample::getfree();
    report.run.program = HOSTILE.to_owned();
    report.run.arguments = vec![HOSTILE.to_owned()];
    report.options.text = HOSTILE.to_owned();
    report.options.errors = vec![HOSTILE.to_owned()];
    report.options.in_force[0].option = HOSTILE.to_owned();
    report.host.kernel = HOSTILE.to_owned();
    report.processes[0].program = format!("/bin/{HOSTILE}");
    report.processes[0].started_as = Some(HOSTILE.to_owned());
    for owner in &mut report.processes[0].owners {
        owner.name = HOSTILE.to_owned();
    }
    let plain = page_of(&sample::getfree());
    let advice = advise(&report);
    let root = Flame {
        name: HOSTILE.to_owned(),
        value: 10.0,
        children: vec![Flame { name: HOSTILE.to_owned(), value: 5.0, children: Vec::new() }],
    };
    let sites = Sites {
        title: HOSTILE.to_owned(),
        note: HOSTILE.to_owned(),
        unit: underbar_ledger::Unit::Bytes,
        root,
        rows: vec![site_rows::Row {
            name: HOSTILE.to_owned(),
            callers: HOSTILE.to_owned(),
            path: HOSTILE.to_owned(),
            ..site_rows::Row::default()
        }],
    };
    let command = vec![HOSTILE.to_owned()];
    let page = render(&Content {
        command,
        report: Some(&report),
        advice: &advice,
        sites: vec![sites],
        sites_notes: vec![HOSTILE.to_owned()],
        ..Content::default()
    });
    assert!(!page.contains("<img") && !page.contains('\u{202e}') && !page.contains('\u{1b}'));
    assert_eq!(page.matches("</script>").count(), plain.matches("</script>").count());
    assert!(page.contains("&lt;/script&gt;&lt;img src=x"));
}

#[test]
fn the_page_names_no_address_and_ids_are_unique() {
    let mut locks = underbar_report::lock::sample::report();
    locks.name_locks(&mut underbar_report::lock::sample::Symbols);
    for report in [sample::getfree(), sample::tree(), sample::low_coverage(), locks] {
        let page = page_of(&report);
        assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("url("));
        assert!(!page.contains("style=\"") && !page.contains("onclick"), "the policy refuses both");
        let mut ids: Vec<&str> =
            page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
        for link in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(ids.contains(&link), "{link}");
        }
        assert!(page.len() < MOST_BYTES);
    }
}

#[test]
fn locks_and_switches_are_those_of_the_report() {
    let mut report = underbar_report::lock::sample::report();
    report.name_locks(&mut underbar_report::lock::sample::Symbols);
    let page = page_of(&report);
    let waits: Vec<u64> = figures(&page, "data-key")
        .into_iter()
        .filter(|one| one.0 == "locks.wait_ns")
        .map(|one| one.1)
        .collect();
    let mut expect: Vec<u64> =
        report.locks().flat_map(|locks| &locks.locks).map(|lock| lock.wait_ns).collect();
    expect.sort_by_key(|wait| std::cmp::Reverse(*wait));
    assert_eq!(waits, expect);
    assert!(page.contains("audit_lock (driver)") && page.contains("Possible deadlock"));
}

#[test]
fn a_course_of_another_hand_is_left_out_if_its_columns_differ() {
    let mut report = sample::getfree();
    let mut recorder = Recorder::new(1);
    (1..4).for_each(|look| recorder.look(look, vec![Seen { process: 7, ..Seen::default() }]));
    report.over_time = Some(recorder.finish(&sample::report(Vec::new())));
    let mut json: Value = serde_json::from_str(&report.to_json()).expect("JSON");
    assert!(page_of(&report).contains("id=\"course\""));
    for (place, cut) in
        [("/over_time/all/at_ns", 0), ("/over_time/all/at_ns", 1), ("/over_time/all/heap/high", 2)]
    {
        let whole = json.pointer(place).cloned().expect("a column");
        json.pointer_mut(place).and_then(Value::as_array_mut).expect("a column").truncate(cut);
        let uneven = Report::from_json(json.to_string().as_bytes()).expect("a report");
        assert!(!page_of(&uneven).contains("id=\"course\""), "{place}");
        let _ = underbar_report::summary::render(&uneven, &[], false);
        *json.pointer_mut(place).expect("a column") = whole;
    }
    // Times without an order, and values without a limit, are drawn somewhere.
    json["over_time"]["all"]["at_ns"] = serde_json::json!([u64::MAX, 0, 5]);
    json["over_time"]["all"]["heap"]["high"] = serde_json::json!([u64::MAX, null, 0]);
    let odd = Report::from_json(json.to_string().as_bytes()).expect("a report");
    assert!(page_of(&odd).contains("id=\"course\""));
    let _ = underbar_report::summary::render(&odd, &[], false);
}

#[test]
fn many_processes_of_one_program_are_one_row() {
    let mut report = sample::getfree();
    report.run.started_unix_ns = 1_795_709_143 * 1_000_000_000;
    report.host.utc_offset_seconds = 3_600;
    let mut recorder = Recorder::new(1);
    let one = |process: u32, program: &str| Seen {
        program: format!("/bin/{program}"),
        process,
        counters: Counted::of(|key| if key == Key::HeapUsed { u64::from(process) << 10 } else { 0 }),
        ..Seen::default()
    };
    let bash = (100..141).map(|process| one(process, "bash"));
    let all: Vec<Seen> = bash.chain((1..4).map(|process| one(process, "make"))).collect();
    (1..4).for_each(|look| recorder.look(look, all.clone()));
    report.over_time = Some(recorder.finish(&sample::report(Vec::new())));
    let page = page_of(&report);
    assert_eq!(page.matches("bash <span class=\"of\">").count(), 1);
    assert!(
        page.contains("bash <span class=\"of\">41 processes</span>") && page.contains("140 KiB"),
        "{page}"
    );
    assert_eq!(page.matches("make <span class=\"of\">").count(), 3);
    assert!(page.contains("A program with more than 4 processes has one row"));
    assert!(page.contains(" · 2026-11-26 17:05<"), "the date is unambiguous");
}
