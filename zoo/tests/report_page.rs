//! The page of `--html` in a browser: figures, widths, colours, keys, and names that would become part of it.
//!
//! Not here: that each figure is that of the JSON, for any report (unit tests of `host/page`); the page of `cargo xtask web` (`page`).

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use underbar_ledger::Unit;
use underbar_page::flame::{Flame, Sites};
use underbar_page::{Content, render};
use underbar_zoo::browser::{Browser, Page, chromium};
use underbar_zoo::{code, compiled, left, run, scratch, skip, underbar};

use crate::page::CONTRAST;

/// A browser for a test; None, with a message, if there is none.
fn browser(test: &str) -> Option<(Browser, PathBuf)> {
    let Some(program) = chromium() else {
        skip(&format!("{test}: chromium is missing"));
        return None;
    };
    let folder = scratch(test);
    Some((Browser::start(&program, &folder), folder))
}

fn address(file: &Path) -> String {
    format!("file://{}", file.display())
}

/// No complaint, nothing wider than the window, contrast, headings without gaps; in three widths, light and dark.
fn check_look(page: &mut Page<'_>, folder: &Path, name: &str) {
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })");
    for (width, dark) in [(1600, false), (1600, true), (900, false), (900, true), (400, false), (400, true)] {
        page.look(width, dark);
        let wider = page.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert!(wider.as_i64().is_some_and(|wider| wider <= 0), "{width} wide: {wider} too wide");
        assert_eq!(page.evaluate(CONTRAST), json!([]), "{width}, dark {dark}");
        page.picture(&folder.join(format!("{name}-{width}-{}.png", if dark { "dark" } else { "light" })));
    }
    let levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3')].map((heading) => Number(heading.tagName[1]))",
    );
    let levels: Vec<u64> = levels.as_array().expect("levels").iter().filter_map(Value::as_u64).collect();
    assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1);
    assert!(levels.windows(2).all(|two| two[1] <= two[0] + 1), "{levels:?}");
    let nameless = page.evaluate(
        "[...document.querySelectorAll('button, input, table, [role=img]')].filter((each) =>
            !each.textContent.trim() && !each.labels?.length && !each.ariaLabel && !each.caption).map((each) => each.outerHTML)",
    );
    assert_eq!(nameless, json!([]));
    assert_eq!(page.complaints(), [""; 0]);
}

#[test]
fn a_report_is_a_page_with_the_figures_of_its_json() {
    let Some((mut browser, folder)) = browser("report-page") else { return };
    let program = compiled("grows", "grows", &[]);
    let file = folder.join("page.html");
    let saved = folder.join("report.json");
    let flags = [
        "--every",
        "10ms",
        "--json",
        "-o",
        saved.to_str().expect("text"),
        "--html",
        file.to_str().expect("text"),
    ];
    let ran = left(&mut run(&flags, &[program.to_str().expect("text"), "200", "2"]));
    assert_eq!(code(ran.status), 0, "{}", ran.error);
    let report: Value = serde_json::from_slice(&fs::read(&saved).expect("a report")).expect("JSON");
    let mut page = browser.open(&address(&file), 1600, false);
    let shown = page.evaluate(
        "[...document.querySelectorAll('header data[data-key], #figures details:first-of-type data[data-key]')].map((each) => [each.dataset.key, Number(each.value), each.textContent])",
    );
    let shown = shown.as_array().expect("figures");
    assert!(shown.len() > 15, "{}", shown.len());
    for figure in shown {
        let key = figure[0].as_str().expect("a key").replace('.', "/");
        let own =
            report.pointer(&format!("/{key}")).or_else(|| report.pointer(&format!("/tree/counters/{key}")));
        assert_eq!(own.and_then(Value::as_u64), figure[1].as_u64(), "{key}");
        assert!(figure[2].as_str().is_some_and(|words| !words.is_empty()));
    }
    // The slider shows the figures of a moment.
    page.evaluate("document.getElementById('moment').value = 0; document.getElementById('moment').dispatchEvent(new Event('input'))");
    let moment = page.evaluate("document.querySelector('.moment output').textContent");
    let first = page.evaluate("document.querySelector('.points tbody tr').cells[2].textContent");
    let words = moment.as_str().expect("words");
    assert!(words.contains(&format!("heap in use {}", first.as_str().expect("a figure"))), "{words}");
    let mut seen = page.requests();
    seen.retain(|request| !request.starts_with("file:"));
    assert_eq!(seen, [""; 0]);
    check_look(&mut page, &folder, "report");
    // The same page from the saved report.
    let again = folder.join("again.html");
    let saved = saved.to_str().expect("text");
    let printed = left(Command::new(underbar()).args(["report", saved, "--html"]).arg(&again));
    assert_eq!(code(printed.status), 0, "{}", printed.error);
    assert_eq!(fs::read_to_string(&again).expect("a page"), fs::read_to_string(&file).expect("a page"));
}

#[test]
fn names_that_are_markup_stay_names() {
    let Some((mut browser, folder)) = browser("report-page-hostile") else { return };
    let hostile = "</script><img src=x onerror=document.body.dataset.ran=1>";
    let file = folder.join("page.html");
    let flags = ["--opts", hostile, "--html", file.to_str().expect("text")];
    let ran = left(&mut run(&flags, &["sh", "-c", "true", hostile]));
    assert_eq!(code(ran.status), 0, "{}", ran.error);
    let mut page = browser.open(&address(&file), 900, false);
    assert_eq!(page.evaluate("document.images.length"), 0);
    assert_eq!(page.evaluate("document.body.dataset.ran ?? 'text'"), "text");
    let heading = page.evaluate("document.querySelector('h1').textContent");
    assert!(heading.as_str().is_some_and(|heading| heading.contains(hostile)), "{heading}");
    // The policy refuses a script that somebody adds all the same.
    let added = page.evaluate(
        "(() => { const script = document.createElement('script'); script.textContent = 'document.body.dataset.ran = 1';
            document.head.append(script); return document.body.dataset.ran ?? 'refused'; })()",
    );
    assert_eq!(added, "refused");
}

#[test]
fn a_comparison_is_a_page_with_its_intervals() {
    let Some((mut browser, folder)) = browser("report-page-arms") else { return };
    let file = folder.join("page.html");
    let compared = left(
        Command::new(underbar())
            .args(["compare", "--runs", "6", "--json", "--opts", "plain", "--opts", "default", "--html"])
            .arg(&file)
            .args(["--", "sh", "-c", "true"]),
    );
    assert_eq!(code(compared.status), 0, "{}", compared.error);
    let answer: Value = serde_json::from_str(&compared.output).expect("JSON");
    let mut page = browser.open(&address(&file), 1600, false);
    let ratios = page.evaluate("[...document.querySelectorAll('[data-ratio]')].map((each) => [Number(each.dataset.ratio), each.textContent])");
    let primary = &answer["comparisons"][0]["primary"]["finding"];
    let text = primary.to_string();
    for ratio in ratios.as_array().expect("ratios").iter().take(1) {
        assert!(text.contains(&ratio[0].to_string()), "{ratio}: {text}");
    }
    let dots = page.evaluate("document.querySelectorAll('.runs circle').length");
    assert_eq!(dots.as_u64(), Some(2 * 6 * 4));
    check_look(&mut page, &folder, "arms");
}

/// Stacks of a program as another part of underbar gives them.
fn sites() -> Sites {
    let flame =
        |name: &str, value: f64, children: Vec<Flame>| Flame { name: name.to_owned(), value, children };
    let mib = f64::from(1 << 20);
    let root = flame(
        "all",
        100.0 * mib,
        vec![flame(
            "main",
            90.0 * mib,
            vec![
                flame("parse_record", 61.0 * mib, vec![flame("read_line", 20.0 * mib, vec![])]),
                flame("index_insert", 25.0 * mib, vec![flame("grow<K, V>", 24.0 * mib, vec![])]),
            ],
        )],
    );
    Sites {
        title: "In use at the end".to_owned(),
        note: "One sample for each 512 KiB.".to_owned(),
        unit: Unit::Bytes,
        root,
        rows: Vec::new(),
    }
}

#[test]
fn a_flame_graph_obeys_click_keys_and_search() {
    let Some((mut browser, folder)) = browser("report-page-flame") else { return };
    let file = folder.join("page.html");
    let content =
        Content { command: vec!["./reader".to_owned()], sites: vec![sites()], ..Content::default() };
    fs::write(&file, render(&content)).expect("a page");
    let mut page = browser.open(&address(&file), 900, false);
    let zoomed =
        |page: &mut Page<'_>| page.evaluate("document.querySelector('[data-flame]').dataset.zoomed ?? ''");
    let focused = |page: &mut Page<'_>| page.evaluate("document.activeElement.getAttribute('aria-label')");
    page.evaluate("document.querySelector('.f').focus()");
    page.press("ArrowDown", 40, "");
    page.press("ArrowDown", 40, "");
    assert_eq!(focused(&mut page), "parse_record: 61 MiB, 61 %");
    page.press("ArrowRight", 39, "");
    assert_eq!(focused(&mut page), "index_insert: 25 MiB, 25 %");
    page.press("Enter", 13, "\r");
    assert_eq!(zoomed(&mut page), "index_insert: 25 MiB, 25 %");
    let width = "document.activeElement.getAttribute('width')";
    assert_eq!(page.evaluate(width), "100%");
    page.press("Escape", 27, "");
    assert_eq!(page.evaluate(width), "25%");
    page.evaluate(
        "document.querySelectorAll('.f')[1].dispatchEvent(new MouseEvent('click', { bubbles: true }))",
    );
    assert_eq!(zoomed(&mut page), "main: 90 MiB, 90 %");
    page.evaluate("document.querySelector('[type=search]').focus()");
    for letter in ["G", "r", "o", "w"] {
        page.press(letter, 0, letter);
    }
    let found = page.evaluate(
        "[document.querySelector('.tools output').textContent, document.querySelectorAll('.found').length]",
    );
    assert_eq!(found, json!(["1 found, 24 %", 1]));
    page.evaluate("document.querySelector('.tools button').click()");
    check_look(&mut page, &folder, "flame");
}

#[test]
fn call_sites_are_a_page_that_can_be_read_at_each_width() {
    let Some((mut browser, folder)) = browser("report-page-sites") else { return };
    let program = compiled("sites/lines", "lines-browser", &["-g", "-O2"]);
    let file = folder.join("page.html");
    let flags = ["heap", "--opts", "SITES(ON,256K,,0)", "--html"];
    let ran = left(Command::new(underbar()).args(flags).args([
        file.as_os_str(),
        "--".as_ref(),
        program.as_os_str(),
    ]));
    assert_eq!(code(ran.status), 7, "{}", ran.error);
    let mut page = browser.open(&address(&file), 1600, false);
    let titles =
        page.evaluate("[...document.querySelectorAll('#sites h3')].map((title) => title.textContent)");
    assert_eq!(titles, json!(["Most in use", "Requested most", "Still in use at the end"]));
    assert_eq!(page.evaluate("document.querySelectorAll('#sites [data-flame]').length"), 3);
    // The names have room: no word of them is broken at each tenth letter.
    page.look(900, false);
    let room = page.evaluate("document.querySelector('#sites tbody th').offsetWidth");
    assert!(room.as_u64() >= Some(240), "{room}");
    check_look(&mut page, &folder, "sites");
}
