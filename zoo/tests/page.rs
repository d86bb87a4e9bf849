//! The page of `cargo xtask web` in a browser: it shows the command's advice, and makes no request.
//!
//! Names of tests begin with `the_page_`, by which `cargo xtask test` leaves them out if no page can be made.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use underbar_zoo::browser::{Browser, Page, chromium};
use underbar_zoo::{folder, scratch, skip, underbar};

/// The page, made now.
fn page() -> &'static str {
    static ADDRESS: OnceLock<String> = OnceLock::new();
    ADDRESS.get_or_init(|| {
        let file = folder().join("underbar-advise.html");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let made = Command::new(cargo)
            .args(["xtask", "web", "--out"])
            .arg(&file)
            .current_dir(workspace())
            .status()
            .expect("cargo");
        assert!(made.success(), "cargo xtask web");
        format!("file://{}", file.display())
    })
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

/// A browser for a test; None, with a message, if there is none.
fn browser(test: &str) -> Option<(Browser, PathBuf)> {
    let Some(program) = chromium() else {
        skip(&format!("{test}: chromium is missing"));
        return None;
    };
    let folder = scratch(test);
    Some((Browser::start(&program, &folder), folder))
}

/// Lets the page read, by the action `start`, and waits for its answer: `shown` or `failed`.
fn answered(page: &mut Page<'_>, start: impl FnOnce(&mut Page<'_>)) -> String {
    page.evaluate("document.body.dataset.state = 'waiting'");
    start(page);
    settled(page)
}

fn settled(page: &mut Page<'_>) -> String {
    let words = "new Promise((done) => {
        const look = () => ['shown', 'failed'].includes(document.body.dataset.state) && done(document.body.dataset.state);
        new MutationObserver(look).observe(document.body, { attributes: true });
        look();
    })";
    page.evaluate(words).as_str().unwrap_or_default().to_owned()
}

/// The contents of the page, program by program, hidden ones included.
fn shown(page: &mut Page<'_>) -> Value {
    let more = "(() => {
        let shown = 0;
        for (let more; (more = document.querySelector('[data-more]')) && shown < 100; shown += 1) more.click();
        return document.querySelector('[data-more]') === null;
    })()";
    assert_eq!(page.evaluate(more), true, "the page always has more programs to show");
    page.evaluate(
        "(() => {
            const all = (place, what) => [...place.querySelectorAll(what)];
            const field = (advice, name) => advice.querySelector(`[data-field=\"${name}\"]`)?.textContent ?? null;
            const lines = (place) => all(place, 'li').map((line) => all(line, 'span').map((part) => part.textContent));
            return {
                programs: all(document, '[data-program]').map((program) => ({
                    program: program.dataset.program,
                    advice: all(program, 'article').filter((advice) => advice.offsetHeight > 0).map((advice) => ({
                        rule: advice.dataset.rule, kind: advice.dataset.kind,
                        now: field(advice, 'now'), option: field(advice, 'option'), reason: field(advice, 'reason'),
                        effect: field(advice, 'effect'), risk: field(advice, 'risk'), confidence: field(advice, 'confidence'),
                        evidence: all(advice, '.evidence').flatMap(lines),
                    })),
                    texts: Object.fromEntries(all(program, 'input[type=radio]').map((form) => {
                        form.click();
                        return [form.value, program.querySelector('[data-text=keep]').textContent];
                    })),
                })),
                lints: all(document, '[data-lint]').map((lint) => [lint.dataset.lint, field(lint, 'words'), all(lint, '.evidence').flatMap(lines)]),
                doubts: all(document, '.doubts').flatMap(lines),
                summary: document.querySelector('.summary').textContent,
            };
        })()",
    )
}

/// The advice of `underbar advise` for the same files; None if it finds nothing in them.
fn said(place: &Path, files: &[String], form: &str) -> Option<Value> {
    let output = Command::new(underbar())
        .args(["advise", "--json", "--as", form])
        .args(files)
        .current_dir(place)
        .output()
        .expect("underbar");
    output.status.success().then(|| serde_json::from_slice(&output.stdout).expect("JSON"))
}

/// The command's advice in the words of the page, in an order that does not matter.
fn expected(answer: &Value) -> BTreeMap<String, Vec<String>> {
    let mut programs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for advice in answer["advice"].as_array().expect("advice") {
        let sets = !advice["option"].is_null() || advice["effect"] != "";
        // Without options, values by their names.
        let values = advice["values"].as_array().filter(|values| !values.is_empty()).map(|values| {
            let word = |value: &Value, key: &str| value[key].as_str().expect("a word").to_owned();
            let all = values.iter().map(|value| format!("{}={}", word(value, "name"), word(value, "value")));
            all.collect::<Vec<_>>().join(" ")
        });
        let option = values.map_or_else(|| advice["option"].clone(), Value::from);
        let one = json!({
            "rule": advice["rule"], "kind": advice["kind"], "now": advice["now"], "option": option,
            "reason": advice["reason"], "confidence": advice["confidence"], "evidence": lines(advice),
            "effect": if sets { advice["effect"].clone() } else { Value::Null },
            "risk": if sets { advice["risk"].clone() } else { Value::Null },
        });
        programs
            .entry(advice["program"].as_str().expect("a name").to_owned())
            .or_default()
            .push(one.to_string());
    }
    programs.values_mut().for_each(|advice| advice.sort());
    programs
}

/// The evidence lines of an advice, in the form of the page.
fn lines(of: &Value) -> Vec<Value> {
    let lines = of["evidence"].as_array().expect("evidence").iter();
    lines
        .map(|line| {
            json!([format!("{}:{}", line["file"].as_str().expect("a file"), line["line"]), line["text"]])
        })
        .collect()
}

/// The number of lines of each doubt on the page, which shows repeated ones once, at the place of the first.
fn doubts_shown(shown: &Value) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for doubt in shown["doubts"].as_array().expect("doubts") {
        let (place, why) = (doubt[0].as_str().expect("a place"), doubt[1].as_str().expect("words"));
        let file = place.rsplit_once(':').map_or(place, |(file, _)| file);
        let many = why.strip_suffix(", ...)").and_then(|why| why.rsplit_once(" times, in lines "));
        let many = many.and_then(|(why, _)| why.rsplit_once(" ("));
        let (why, count) = match many {
            Some((why, count)) => (why, count.parse().expect("a number")),
            None => (why, 1),
        };
        *all.entry(format!("{file}: {why}")).or_default() += count;
    }
    all
}

/// The same for the command's answer, which has each by its line; a repetition on one line is on the page once.
fn doubts_said(answer: &Value) -> BTreeMap<String, usize> {
    let mut lines: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for doubt in answer["not_read"].as_array().expect("doubts") {
        let (file, why) = (doubt["file"].as_str().expect("a file"), doubt["why"].as_str().expect("words"));
        lines.entry(format!("{file}: {why}")).or_default().push(doubt["line"].as_u64().expect("a line"));
    }
    let few = |mut lines: Vec<u64>| {
        lines.dedup();
        lines.len()
    };
    lines
        .into_iter()
        .map(|(why, lines)| (why, if lines.len() < 6 { few(lines) } else { lines.len() }))
        .collect()
}

/// Compares the page with the command's answer for the same files; returns the number of values to set.
fn compare(shown: &Value, place: &Path, files: &[String]) -> usize {
    let Some(answer) = said(place, files, "ceeopts") else {
        assert_eq!(shown["programs"], json!([]), "{files:?}");
        assert!(
            shown["summary"].as_str().is_some_and(|words| words.contains("nothing in it is known")),
            "{shown}"
        );
        return 0;
    };
    let mut programs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for program in shown["programs"].as_array().expect("programs") {
        let advice = program["advice"].as_array().expect("advice").iter();
        let mut advice: Vec<String> = advice.map(ToString::to_string).collect();
        advice.sort();
        if !advice.is_empty() {
            programs.insert(program["program"].as_str().expect("a name").to_owned(), advice);
        }
    }
    assert_eq!(programs, expected(&answer), "{files:?}");
    assert_eq!(doubts_shown(shown), doubts_said(&answer), "{files:?}");

    let lints: Vec<Value> = answer["lint"]
        .as_array()
        .expect("lints")
        .iter()
        .map(|lint| json!([lint["rule"], lint["words"], lines(lint)]))
        .collect();
    assert_eq!(shown["lints"], json!(lints), "{files:?}");

    let mut sets = 0;
    let mut forms: Vec<String> = Vec::new();
    for program in shown["programs"].as_array().expect("programs") {
        forms.extend(program["texts"].as_object().expect("texts").keys().cloned());
    }
    forms.sort();
    forms.dedup();
    let with_texts = shown["programs"].as_array().expect("programs").iter();
    let with_texts =
        with_texts.filter(|program| program["texts"].as_object().is_some_and(|texts| !texts.is_empty()));
    assert_eq!(with_texts.count(), answer["options"].as_array().map_or(0, Vec::len), "{files:?}");
    for form in &forms {
        let answer = said(place, files, form).expect("as before");
        for one in answer["options"].as_array().expect("options") {
            let programs = shown["programs"].as_array().expect("programs");
            let program =
                programs.iter().find(|program| program["program"] == one["program"]).expect("it is shown");
            let texts = program["texts"].as_object().expect("texts");
            // A form is left out if its text is that of another one.
            match texts.get(form) {
                Some(text) => assert_eq!(*text, one["options"], "{form} of {files:?}"),
                None => assert!(texts.values().any(|text| *text == one["options"]), "{form} of {files:?}"),
            }
            sets += 1;
        }
    }
    sets
}

fn listings() -> (PathBuf, Vec<String>) {
    let place = workspace().join("host/listing/tests/listings");
    let mut names: Vec<String> = fs::read_dir(&place)
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    assert!(names.len() >= 12);
    (place, names)
}

#[test]
fn the_page_gives_the_advice_of_the_command_for_each_listing() {
    let Some((mut browser, _)) = browser("page-each") else { return };
    let mut page = browser.open(page(), 1200, false);
    let (place, names) = listings();
    let mut sets = 0;
    for name in &names {
        let state = answered(&mut page, |page| page.choose("files", &[place.join(name)]));
        assert_eq!(state, "shown", "{name}");
        sets += compare(&shown(&mut page), &place, std::slice::from_ref(name));
    }
    assert!(sets > 10, "{sets}");
    // All together, as runs.
    let files: Vec<PathBuf> = names.iter().map(|name| place.join(name)).collect();
    assert_eq!(answered(&mut page, |page| page.choose("files", &files)), "shown");
    assert!(compare(&shown(&mut page), &place, &names) > 0);
    let forms = page.evaluate(
        "new Set([...document.querySelectorAll('input[type=radio]')].map((form) => form.value)).size",
    );
    assert!(forms.as_u64().is_some_and(|forms| forms >= 6), "{forms}");
    for request in page.requests() {
        assert!(request.starts_with("file:") && request.contains("underbar-advise.html"), "{request}");
    }
}

#[test]
fn the_page_shows_its_example_by_address_and_by_keyboard() {
    let Some((mut browser, folder)) = browser("page-example") else { return };
    let example = "example.txt".to_owned();
    fs::copy(workspace().join("web/page").join(&example), folder.join(&example)).expect("a copy");
    let mut page = browser.open(&format!("{}#example", page()), 1200, false);
    assert_eq!(settled(&mut page), "shown");
    assert!(compare(&shown(&mut page), &folder, std::slice::from_ref(&example)) > 0);
    // The picture: a mark for each suggested size, and the sizes in words next to it.
    let areas = page.evaluate("[...document.querySelectorAll('[data-area]')].map((row) => [row.dataset.area, row.children[3].textContent, row.querySelectorAll('.new').length])");
    assert!(!areas.as_array().expect("areas").is_empty());
    for area in areas.as_array().expect("areas") {
        assert_eq!(area[1] == "as it is", area[2] == 0, "{area}");
    }

    // The figures of other sizes, as in the command's answer.
    page.evaluate("document.querySelector('#what-if-options').value = 'HEAP(48M,1M)'; document.querySelector('form').requestSubmit()");
    let outcomes = page.evaluate("[...document.querySelectorAll('#outcomes tbody tr')].map((row) => [row.children[1].textContent, row.children[2].textContent])");
    let output = Command::new(underbar())
        .args(["advise", "--json", "--simulate", "HEAP(48M,1M)", &example])
        .current_dir(&folder)
        .output()
        .expect("underbar");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let expected: Vec<&Value> = answer["what_if"]
        .as_array()
        .expect("a list")
        .iter()
        .flat_map(|one| one["outcomes"].as_array().expect("outcomes"))
        .collect();
    assert!(expected.len() >= 4);
    let shown = outcomes.as_array().expect("rows");
    assert_eq!(shown.len(), expected.len());
    for (row, outcome) in shown.iter().zip(expected) {
        assert_eq!(row[0], outcome["option"]);
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let segments = row[1].as_str().and_then(|text| text.split(" (").next()).map(digits);
        assert_eq!(segments, Some(outcome["segments"].to_string()), "{row}");
    }

    // With keys alone: to the button by Tab, then Enter.
    page.evaluate("document.activeElement.blur(); document.getElementById('results').hidden = true");
    let key = |page: &mut Page<'_>, key: &str, code: u32, text: &str| {
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            page.call(
                "Input.dispatchKeyEvent",
                &json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text}),
            );
        }
    };
    let mut reached = false;
    for _ in 0..20 {
        reached = page.evaluate("document.activeElement.id") == "example-button";
        if reached {
            break;
        }
        key(&mut page, "Tab", 9, "");
    }
    assert!(reached, "no way to the button by keyboard");
    assert_eq!(answered(&mut page, |page| key(page, "Enter", 13, "\r")), "shown");
}

#[test]
fn the_page_takes_text_that_is_dropped_or_pasted_and_what_is_no_listing() {
    let Some((mut browser, folder)) = browser("page-input") else { return };
    let mut page = browser.open(page(), 1200, false);
    let (place, _) = listings();
    let name = "storage-31.txt".to_owned();
    let text = json!(fs::read_to_string(place.join(&name)).expect("a listing"));

    let drop = format!(
        "(() => {{
            const data = new DataTransfer();
            data.items.add(new File([{text}], '{name}'));
            document.dispatchEvent(new DragEvent('drop', {{ dataTransfer: data, bubbles: true, cancelable: true }}));
        }})()"
    );
    assert_eq!(answered(&mut page, |page| run(page, &drop)), "shown");
    assert!(compare(&shown(&mut page), &place, std::slice::from_ref(&name)) > 0);

    let paste = format!(
        "document.getElementById('paste-button').click(); document.getElementById('pasted').value = {text};
         document.getElementById('read-pasted').click()"
    );
    assert_eq!(answered(&mut page, |page| run(page, &paste)), "shown");
    let pasted = folder.join("pasted text");
    fs::copy(place.join(&name), &pasted).expect("a copy");
    assert!(compare(&shown(&mut page), &folder, &["pasted text".to_owned()]) > 0);

    // No advice rather than a wrong one, and never a fault.
    for (name, bytes) in
        [("empty", Vec::new()), ("binary", (0..=255).cycle().take(70_000).collect::<Vec<u8>>())]
    {
        fs::write(folder.join(name), bytes).expect("a file");
        let state = answered(&mut page, |page| page.choose("files", &[folder.join(name)]));
        assert_eq!(state, "shown", "{name}");
        let shown = shown(&mut page);
        assert_eq!(shown["programs"], json!([]), "{name}");
        assert!(
            shown["summary"].as_str().is_some_and(|words| words.contains("nothing in it is known")),
            "{shown}"
        );
    }
}

fn run(page: &mut Page<'_>, words: &str) {
    page.evaluate(words);
}

#[test]
fn the_page_can_reach_nobody() {
    let Some((mut browser, _)) = browser("page-requests") else { return };
    let mut page = browser.open(&format!("{}#example", page()), 1200, false);
    assert_eq!(settled(&mut page), "shown");
    // Each connection is counted and refused; the last one is this test's.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = listener.local_addr().expect("an address");
    let address = format!("http://{place}/");
    let done = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&done);
    let guests = thread::spawn(move || {
        let come = listener.incoming().take_while(|_| !ended.load(Ordering::SeqCst));
        come.count()
    });
    let ways = format!(
        "Promise.all([
            fetch('{address}', {{ mode: 'no-cors' }}).then(() => 'went', () => 'refused'),
            new Promise((done) => {{ const image = new Image(); image.onload = () => done('went'); image.onerror = () => done('refused'); image.src = '{address}'; }}),
            new Promise((done) => {{ const script = document.createElement('script'); script.onload = () => done('went'); script.onerror = () => done('refused'); script.src = '{address}'; document.head.append(script); }}),
        ])"
    );
    assert_eq!(page.evaluate(&ways), json!(["refused", "refused", "refused"]));
    let inline = "(() => { const script = document.createElement('script'); script.textContent = 'document.body.dataset.ran = 1';
        document.head.append(script); return document.body.dataset.ran ?? 'refused'; })()";
    assert_eq!(page.evaluate(inline), "refused");
    done.store(true, Ordering::SeqCst);
    drop(TcpStream::connect(place).expect("a connection"));
    assert_eq!(guests.join().expect("a count"), 0, "somebody was reached");
}

#[test]
fn the_page_can_be_read_wide_and_narrow_light_and_dark() {
    let Some((mut browser, folder)) = browser("page-look") else { return };
    let mut page = browser.open(&format!("{}#example", page()), 1200, false);
    assert_eq!(settled(&mut page), "shown");
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })");
    for (width, dark) in [(1200, false), (1200, true), (400, false), (400, true), (320, false)] {
        page.look(width, dark);
        let wider = page.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert!(wider.as_i64().is_some_and(|wider| wider <= 0), "{width} wide: {wider} too wide");
        let faint = page.evaluate(CONTRAST);
        assert_eq!(faint, json!([]), "{width}, dark {dark}");
        page.picture(&folder.join(format!("{width}-{}.png", if dark { "dark" } else { "light" })));
    }
    // Every control has a name, and headings skip no level.
    let nameless = page.evaluate(
        "[...document.querySelectorAll('button, input, textarea, progress')].filter((control) =>
            !control.textContent.trim() && !control.labels?.length && !control.ariaLabel).map((control) => control.outerHTML)",
    );
    assert_eq!(nameless, json!([]));
    let levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3')].map((heading) => Number(heading.tagName[1]))",
    );
    let levels: Vec<u64> = levels.as_array().expect("levels").iter().filter_map(Value::as_u64).collect();
    assert_eq!(levels.first(), Some(&1));
    assert!(levels.windows(2).all(|two| two[1] <= two[0] + 1), "{levels:?}");
}

/// Texts whose colour has a contrast below 4.5 to their background (WCAG 2, 1.4.3).
pub(crate) const CONTRAST: &str = "(() => {
    const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (colour) => {
        const [r, g, b] = parts(colour).map((part) => part / 255).map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if (parts(colour)[3] !== 0) return colour;
        }
        return 'rgb(255, 255, 255)';
    };
    const found = new Set();
    for (const element of document.querySelectorAll('body *')) {
        const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
        if (!text || !element.getClientRects().length || ['SCRIPT', 'NOSCRIPT'].includes(element.tagName)) continue;
        const style = getComputedStyle(element);
        const two = [element.namespaceURI.endsWith('svg') ? style.fill : style.color, behind(element)].map(light);
        const ratio = (Math.max(...two) + 0.05) / (Math.min(...two) + 0.05);
        if (ratio < 4.5) found.add(`${element.tagName}.${element.getAttribute('class')}: ${ratio.toFixed(2)}`);
    }
    return [...found];
})()";

#[test]
fn the_page_reads_a_large_log_in_pieces_and_its_memory_does_not_grow() {
    let Some((mut browser, folder)) = browser("page-large") else { return };
    let mut page = browser.open(page(), 1200, false);
    let (place, _) = listings();
    let report = fs::read_to_string(place.join("storage-31.txt")).expect("a listing");
    let chatter =
        " 10.15.07 JOB01234  PAYMENT RUN 17 OF 99 IS DONE: 12 RECORDS READ, 12 WRITTEN, 0 REJECTED\n"
            .repeat(20_000);
    let mut memory = Vec::new();
    for times in [1, 8] {
        let mut text = String::new();
        for _ in 0..times {
            // Writing to a string cannot fail.
            let _ = write!(text, "{chatter}{report}");
        }
        let name = format!("log-{times}");
        fs::write(folder.join(&name), text).expect("a file");
        assert_eq!(answered(&mut page, |page| page.choose("files", &[folder.join(&name)])), "shown");
        compare(&shown(&mut page), &folder, std::slice::from_ref(&name));
        memory.push(page.evaluate("Number(document.body.dataset.memory)").as_u64().expect("bytes"));
    }
    // 12 MB more of listing; reports themselves are kept, a few pages of memory.
    assert!(memory[0] > 0 && memory[1] < memory[0] + (4 << 20), "{memory:?}");
}
