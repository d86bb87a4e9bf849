//! The default text of a report: at most 20 lines that can be read at a glance.
//!
//! ```text
//! underbar: ./getfree --seed 7: exit 0
//!   time      elapsed, CPU, peak resident
//!   kernel    page faults, waits, reads, writes
//!   area      set                           used at most   suggested
//!   HEAP      HEAP(32K,32K,,KEEP)           781 MiB        HEAP(896M,64M,,KEEP)
//!   ...
//! 1 suggestion. Prove it: underbar tune -- ./getfree --seed 7
//! ```
//!
//! Invariant: at most [`LINES`] lines, none wider than the page (the last one, a command to copy, may be longer), for any
//! report. No control character of the program's names reaches the terminal.
//! Not here: the areas and the heap of the program with the most memory (`areas`), exact figures (JSON, [`crate::le`]), and how
//! suggestions are made (`advise`).

mod areas;

use underbar_ledger::Key;
use underbar_ledger::table::KEYS;
use underbar_options::WhereSet;

use crate::figures::split;
use crate::model::{Report, State};
use crate::next;
use crate::page::{
    COLUMNS, LABEL_COLUMNS, Line, Page, Tone, clean, clip, clip_front, labelled, paint, warning,
};
use crate::program::Program;
use crate::remedies;
use crate::start_lines;
pub use crate::suggestion::Advice;
use crate::timing;
use crate::units::{bytes, count, counted};
use crate::{cache_lines, class_lines, fetch_lines, over_time_lines};

pub use areas::{AreaRow, area_rows, leading_words};

/// The most lines of a summary.
pub const LINES: usize = 20;
/// The same on a narrow terminal.
const NARROW_LINES: usize = 30;

/// The summary as text for other output than a terminal; with colours if asked for.
#[must_use]
pub fn render(report: &Report, advice: &[Advice], colour: bool) -> String {
    render_on(report, advice, Page::of_terminal(None, colour))
}

/// The summary as text.
#[must_use]
pub fn render_on(report: &Report, advice: &[Advice], page: Page<'_>) -> String {
    let programs = report.programs();
    let mut lines: Vec<Line> = fault(report);
    lines.push(title(report, page));
    if let Some(steps) = &report.steps {
        lines.push(labelled("time", timing::time(steps)));
        lines.push(labelled("kernel", timing::kernel(steps)));
    }
    let mut options = option_lines(report);
    options.extend(remedies::lines(report));
    let mut tree: Vec<Line> = over_time_lines::line(report, page).into_iter().collect();
    tree.extend(tree_lines(report, page));
    tree.extend(cache_lines::lines(report));
    tree.extend(fetch_lines::lines(report));
    tree.extend(start_lines::lines(report));
    tree.extend(class_lines::lines(report));
    if let Some(leading) = programs.first() {
        // The options, one line of the tree, and the next command.
        let after = options.len() + tree.len().min(1) + 1;
        areas::areas(&mut lines, report, (leading, programs.len()), after, (advice, page));
    } else {
        // Without a program that was not followed there is another reason, of which a warning tells.
        let reason = if reasons(report).is_empty() { "" } else { ": no process of this run loaded underbar" };
        lines.push(warning("accounts", format!("none were kept{reason}")));
    }
    // The room that the options and the next command leave is for the tree, and the rest is for the children.
    let room = LINES.saturating_sub(lines.len() + options.len() + 1);
    tree.truncate(room.max(1));
    let rest = room.saturating_sub(tree.len());
    lines.extend(programs.iter().skip(1).take(rest.min(4)).map(child));
    lines.extend(tree);
    lines.extend(options);
    lines.push(next::line(report, &programs, advice, page.kept));
    // Sentences are broken into more lines there, and reasons should not be cut for that.
    let most = if page.is_narrow() { NARROW_LINES } else { LINES };
    paint(&lines, page, most)
}

/// Why underbar ended a program, which stack overflow it died of, or what HEAPZONES found while it went on; the first lines of all.
fn fault(report: &Report) -> Vec<Line> {
    let mut faults = report.processes.iter().filter_map(|process| Some((process, process.fault.as_ref()?)));
    let Some((process, fault)) = faults.next() else { return damaged_zones(report).into_iter().collect() };
    let name = clean(process.program.rsplit('/').next().unwrap_or_default());
    let (what, places) = fault.parts();
    let line = |text: String| Line(vec![(Tone::Warning, clean(&text))]);
    if fault.kind == crate::fault::FaultKind::StackOverflow || fault.is_access() {
        let words = format!("{name}: {}", fault.words());
        // The place is what it is for: it gets a line of its own before it is cut.
        return match words.rsplit_once("; in ") {
            Some((what, place)) if words.chars().count() > COLUMNS => {
                vec![line(what.to_owned()), line(format!("  in {place}"))]
            }
            _ => vec![line(words)],
        };
    }
    if fault.origin.is_none() {
        return vec![line(format!("underbar ended {name}: {what}{places}"))];
    }
    // Two places are too long for one line.
    let places = places.trim_start_matches(", ");
    vec![line(format!("underbar ended {name}: {what}")), line(format!("  {places}"))]
}

fn damaged_zones(report: &Report) -> Option<Line> {
    let of = |process: &crate::model::Process| process.counters.get(Key::HeapDamagedZones);
    let process = report.processes.iter().max_by_key(|process| of(process))?;
    let (count, name) = (of(process), clean(process.program.rsplit('/').next().unwrap_or_default()));
    let text = match count {
        0 => return None,
        1 => format!("{name} wrote past the end of an element (HEAPZONES)"),
        _ => format!("{name} wrote past the end of {count} elements (HEAPZONES)"),
    };
    Some(Line(vec![(Tone::Warning, text)]))
}

pub(crate) fn title(report: &Report, page: Page<'_>) -> Line {
    let mut command = clean(&report.run.program);
    for argument in &report.run.arguments {
        command.push(' ');
        command.push_str(&clean(argument));
    }
    let end = timing::end_of(report);
    let room = page.columns.saturating_sub("underbar: ".len() + ": ".len() + end.len());
    Line(vec![
        (Tone::Plain, "underbar: ".to_owned()),
        (Tone::Label, clip(&command, room)),
        (Tone::Plain, ": ".to_owned()),
        (if end == "exit 0" { Tone::Plain } else { Tone::Warning }, end),
    ])
}

fn child(program: &Program) -> Line {
    let counters = &program.counters;
    let times = if program.processes > 1 { format!(" x{}", count(program.processes)) } else { String::new() };
    labelled(
        "child",
        format!(
            "{:<24} heap {:>8}, {}, {}",
            format!("{}{times}", clip_front(&clean(&program.name), 20)),
            bytes(counters.get(Key::HeapUsedPeak)),
            counted(counters.get(Key::HeapGets), "get", "gets"),
            counted(counters.get(Key::HeapSegmentsAllocated), "segment", "segments"),
        ),
    )
}

/// The number of processes that ran a program. If one may have run it twice, the number of its runs, to which children by fork are
/// added: `env` becomes the program that it names, and a shell that is started this way is in a process that was a shell before.
pub(crate) fn runs(program: &Program) -> String {
    if program.processes > 1 && program.is_folded && program.counters.get(Key::ProcessContinued) > 0 {
        return counted(program.processes, "run or fork", "runs or forks");
    }
    counted(program.processes, "process", "processes")
}

/// Why programs were not followed, with the number of them.
fn reasons(report: &Report) -> Vec<String> {
    let counters = &report.tree.counters;
    KEYS.into_iter()
        .filter(|key| split(key.entry().key).0 == "follow" && counters.get(*key) > 0)
        .map(|key| {
            let label = key.entry().label;
            let reason = label.strip_prefix("not followed: ").unwrap_or(label);
            format!("{} {reason}", count(counters.get(key)))
        })
        .collect()
}

/// The number of programs, and those without accounts with the reason of each, on as many lines as needed.
fn tree_lines(report: &Report, page: Page<'_>) -> Vec<Line> {
    let tree = &report.tree;
    let reasons = reasons(report);
    let running = report.processes.iter().filter(|process| process.state == State::Running);
    let running = running.fold(0_u64, |sum, process| sum.saturating_add(process.processes));
    let later = report.run.later.as_ref();
    if tree.processes <= 1
        && tree.programs <= 1
        && reasons.is_empty()
        && tree.unrecorded == 0
        && running == 0
        && later.is_none()
    {
        return Vec::new();
    }
    let text = format!(
        "{}, {}",
        counted(tree.processes, "process", "processes"),
        counted(tree.programs, "program", "programs")
    );
    let mut parts = vec![text];
    if let Some(later) = later {
        let name = clean(&later.name);
        // Some may have made themselves known after the figures were read.
        let unseen = match later.running.saturating_sub(running) {
            0 => String::new(),
            unseen => format!(" ({} not in these figures)", count(unseen)),
        };
        parts.push(format!(
            "; still running: {}{unseen}; `underbar report {name}` later",
            count(later.running)
        ));
    } else if running > 0 {
        parts.push(format!("; {} running", counted(running, "is still", "are still")));
    }
    if tree.unrecorded > 0 {
        parts.push(format!("; {} without accounts (explain tree.unrecorded)", count(tree.unrecorded)));
    }
    for (at, reason) in reasons.iter().enumerate() {
        parts.push(format!("{}{reason}", if at == 0 { "; not followed: " } else { ", " }));
    }
    let mut texts = vec![String::new()];
    for part in parts {
        match texts.last_mut() {
            // A column is left for the mark at the end of a line.
            Some(text)
                if text.is_empty()
                    || text.chars().count() + part.chars().count()
                        < page.columns.saturating_sub(LABEL_COLUMNS) =>
            {
                text.push_str(&part);
            }
            last => {
                let next = part.trim_start_matches([';', ',']);
                if let Some(last) = last {
                    last.push_str(&part[..part.len() - next.len()]);
                }
                texts.push(next.trim_start().to_owned());
            }
        }
    }
    let label = |at| if at == 0 { "tree" } else { "" };
    texts.into_iter().enumerate().map(|(at, text)| labelled(label(at), text)).collect()
}

fn option_lines(report: &Report) -> Vec<Line> {
    let options = &report.options;
    let seen_inside = report.processes.iter().map(|process| process.option_errors).max().unwrap_or(0);
    // Each process reads the same texts, so their mistakes are the same.
    let errors = if options.errors.is_empty() { seen_inside } else { options.errors.len() as u64 };
    let mut lines = Vec::new();
    let unasked = WhereSet::UNASKED_FILES.map(WhereSet::label);
    let files = options.sources.iter().filter(|source| unasked.contains(&source.where_set.as_str()));
    let files: Vec<String> = files.map(|source| clean(&source.origin)).collect();
    if !files.is_empty() {
        lines.push(labelled("options", format!("also of {}, read unasked", files.join(", "))));
    }
    if errors > 0 {
        // The words, as one line. The lines that show the place in the text are of use below each other only.
        let words = |error: &String| {
            let words = error.lines().take_while(|line| !line.starts_with("  |")).map(str::trim);
            format!(": {}", clean(&words.collect::<Vec<_>>().join(" ")))
        };
        let first = options.errors.first().map_or(String::new(), words);
        lines.push(warning("options", format!("{}{first}", counted(errors, "error", "errors"))));
    }
    if let Some(first) = options.without_effect.first() {
        let number = options.without_effect.len() as u64;
        let more = if number > 1 { format!(" (and {} more)", number - 1) } else { String::new() };
        lines.push(labelled("options", format!("accepted, no effect here{more}: {}", clean(first))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use underbar_model::Area;

    use super::*;
    use crate::model::End;
    use crate::sample;

    fn advice(program: &str, option: Option<&str>, verdict: &'static str, reason: &str) -> Advice {
        Advice {
            program: program.to_owned(),
            area: Area::Heap,
            option: option.map(str::to_owned),
            verdict,
            reason: reason.to_owned(),
            risky: false,
            acts: true,
        }
    }

    #[test]
    fn the_place_of_a_stack_overflow_is_not_cut() {
        let mut report = sample::getfree();
        let overflow = |offset| crate::fault::Fault {
            kind: crate::fault::FaultKind::StackOverflow,
            function: "worker-3".to_owned(),
            address: 0x7000,
            block: 17_757,
            block_bytes: Some(8 << 20),
            size_is_asked: false,
            caller: Some(crate::fault::Caller { module: "the program itself".to_owned(), offset }),
            origin: None,
            ecb: None,
        };
        report.processes[0].program = "deep".to_owned();
        report.processes[0].fault = Some(overflow(0x11bb));
        let text = |report: &Report| fault(report).iter().map(|line| line.0[0].1.clone()).collect::<Vec<_>>();
        let what = "deep: thread 17757 (worker-3) overflowed its 8 MiB stack; try THREADSTACK(ON,16M)";
        assert_eq!(text(&report), [what, "  in the program itself+0x11bb"]);
        report.processes[0].fault = Some(overflow(1));
        report.processes[0].program = "d".to_owned();
        report.processes[0].fault.as_mut().expect("a fault").caller.as_mut().expect("a place").module =
            "d".to_owned();
        assert_eq!(text(&report), [format!("{}; in d+0x1", what.replace("deep", "d"))]);
    }

    const GETFREE: &str = "\
underbar: ./getfree --seed 7: exit 0
  time      1.45 s elapsed, CPU 1.32 s (user 1.20 s, system 120 ms), peak 905 MiB resident
  kernel    221,344 page faults (none with I/O), 12 waits, 34 preemptions, 56 reads, 7 writes
  area      set                                used at most   suggested
  HEAP      HEAP(32K,32K,,KEEP)                781 MiB        HEAP(896M,64M,,KEEP)
  STACK     STACK(128K,128K)                   200 KiB
  heap      50,002 gets, 50,000 frees, 27,949 segments (0 freed), at most 873 MiB in them
  sizes     up to 20 KiB 77 %, 4 KiB 9 %, 64 B 8 %, 32 B 2 %, 1 KiB below 1 %
  coverage  99 % of 877 MiB anonymous memory is in this heap
  why       HEAP(896M,64M,,KEEP): 27,949 segments, a kernel call each, to hold 781 MiB.
  options   accepted, no effect here: ALL31(ON): Linux programs have no addressing modes
1 suggestion. Prove it: underbar tune -- ./getfree --seed 7
";

    #[test]
    fn getfree_at_a_glance() {
        let mut report = sample::getfree();
        report.options.without_effect = vec!["ALL31(ON): Linux programs have no addressing modes".to_owned()];
        let advice = [advice(
            "getfree",
            Some("HEAP(896M,64M,,KEEP)"),
            "raise",
            "27,949 segments, a kernel call each, to hold 781 MiB.",
        )];
        assert_eq!(render(&report, &advice, false), GETFREE);
        // The manual explains this text.
        let manual = include_str!("../../../docs/report.md");
        assert!(manual.contains(&format!("```text\n{GETFREE}```\n")));
    }

    #[test]
    fn what_still_runs_and_what_was_killed_is_said() {
        let mut report = sample::tree();
        report.processes[0].state = State::Running;
        report.processes[1].state = State::Killed;
        report.run.later = Some(crate::model::Later { running: 2, name: "4711-2a".to_owned() });
        let text = render(&report, &[], false);
        assert!(text.contains("still running: 2 (1 not in these figures); `underbar report"), "{text}");
        report.run.later = Some(crate::model::Later { running: 1, name: "4711-2a".to_owned() });
        let text = render(&report, &[], false);
        assert!(text.contains("still running: 1; `underbar report 4711-2a` later"), "{text}");
        report.run.later = None;
        let text = render(&report, &[], false);
        assert!(text.contains("programs; 1 is still running; not followed"), "{text}");
        let leading = report.programs()[0].clone();
        let of_leading = report.processes.iter().position(|process| process.name() == leading.name);
        let killed = &mut report.processes[of_leading.expect("there")];
        (killed.state, killed.process) = (State::Killed, 77);
        let text = render(&report, &[], false);
        let says = "  note      process 77 ended without notice: last gets and frees may be missing (explain heap.gets)\n";
        assert!(text.contains(says), "{text}");
        assert!(says.chars().count() <= COLUMNS, "{says}");
        let second = report.processes[of_leading.expect("there")].clone();
        report.processes.push(second);
        let text = render(&report, &[], false);
        assert!(text.contains("  note      2 processes ended without notice: last gets"), "{text}");
        // Of 2,000 killed children those behind the first 254 are folded.
        let mut folded = report.processes[of_leading.expect("there")].clone();
        folded.state = State::Folded;
        report.processes.push(folded);
        let text = render(&report, &[], false);
        assert!(text.contains("  note      at least 2 processes ended without notice: last gets"), "{text}");
    }

    #[test]
    fn threads_have_a_row_of_their_own() {
        let mut report = sample::getfree();
        let figures = &mut report.processes[0].counters;
        for (key, figure) in
            [(Key::ThreadsPeak, 9), (Key::StackMain, 12 << 10), (Key::StackThread, 300 << 10)]
        {
            figures.set(key, figure);
        }
        report.host.thread_stack_bytes = Some(8 << 20);
        let mut smaller = advice("getfree", Some("THREADSTACK(ON,1216K)"), "lower", "9 threads at once.");
        (smaller.area, smaller.risky) = (Area::ThreadStack, true);
        let text = render(&report, std::slice::from_ref(&smaller), false);
        let rows = "  STACK     STACK(128K,128K)                   12 KiB\n  THREADSTACK limit 8 MiB                      300 KiB        THREADSTACK(ON,1216K)\n";
        assert!(text.contains(rows), "{text}");
        assert!(text.ends_with("Prove it: underbar tune --risky -- ./getfree --seed 7\n"), "{text}");
        let harmless = advice("getfree", Some("HEAP(1M)"), "raise", "One.");
        let text = render(&report, &[smaller, harmless], false);
        let next = "2 suggestions, 1 of them risky. Prove the other: underbar tune -- ./getfree --seed 7\n";
        assert!(text.ends_with(next), "{text}");
        sample::in_force(&mut report, "THREADSTACK(ON,4K,8K)");
        let text = render(&report, &[], false);
        assert!(text.contains("  THREADSTACK THREADSTACK(ON,4K,8K)            300 KiB\n"), "{text}");
        sample::in_force(&mut report, "THREADSTACK(ON,4K)");
        let text = render(&report, &[], false);
        assert!(text.contains("  THREADSTACK THREADSTACK(ON,4K): 256 KiB      300 KiB\n"), "{text}");
    }

    #[test]
    fn a_tree_names_its_programs() {
        assert_eq!(
            render(
                &sample::tree(),
                &[advice("cc1plus", None, "no change", "used 94 % of what was got")],
                false
            ),
            "\
underbar: g++ -c it's.cc: exit 0
  time      1.45 s elapsed, CPU 1.32 s (user 1.20 s, system 120 ms), peak 905 MiB resident
  kernel    221,344 page faults (none with I/O), 12 waits, 34 preemptions, 56 reads, 7 writes
  of        cc1plus, 3 processes, the most memory of 3 programs
  area      set                                used at most   suggested
  HEAP      HEAP(AUTO,AUTO)                    210 MiB        no change
  STACK     limit 8 MiB                        90 KiB
  heap      36,000 gets, 30,000 frees, 12 segments (0 freed), at most 224 MiB in one process
  coverage  74 % of 300 MiB anonymous memory is in this heap
  memory    libgmp.so.10                       40 MiB         13 %
  child     as x3                    heap    3 MiB, 900 gets, 0 segments
  child     g++                      heap    1 MiB, 700 gets, 0 segments
  tree      7 processes, 3 programs; not followed: 2 statically linked
  unseen    2 statically linked: link it dynamically; if it is Go, its heap is its own (see GOGC)
Nothing to change in what was seen; 2 programs kept no accounts. What that means: underbar explain follow.static
"
        );
    }

    #[test]
    fn memory_elsewhere_is_said() {
        let report = sample::low_coverage();
        let text = render(&report, &[advice("java", None, "no heap advice", "3 % is in this heap.")], false);
        assert!(text.starts_with("underbar: java Main: killed by signal 9 (SIGKILL)\n"), "{text}");
        assert!(
            text.contains("coverage  3 % of 800 MiB anonymous memory is in this heap\n  memory    libjvm.so                          700 MiB        87 %\n")
        );
        assert!(text.contains("why       no heap advice: 3 % is in this heap."), "{text}");
        assert!(
            text.ends_with(
                "Most memory is not in this heap. Every figure: underbar run --report all -- java Main\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_run_without_accounts_says_so() {
        let mut report = sample::getfree();
        report.processes.clear();
        report.tree = crate::model::Tree::default();
        report.tree.counters.set(Key::NotFollowedStatic, 1);
        let text = render(&report, &[], false);
        assert!(text.contains("accounts  none were kept: no process"), "{text}");
        assert!(text.contains("not followed: 1 statically linked"), "{text}");
        assert!(text.ends_with("underbar doctor -- ./getfree --seed 7\n"), "{text}");
        // There was no place for them.
        report.tree.counters.set(Key::NotFollowedStatic, 0);
        let text = render(&report, &[], false);
        assert!(text.contains("accounts  none were kept\n"), "{text}");
    }

    #[test]
    fn a_line_that_goes_on_ends_with_its_mark() {
        let mut report = sample::tree();
        let keys = [Key::NotFollowedStatic, Key::NotFollowedSetUid, Key::NotFollowedBits32];
        keys.into_iter().for_each(|key| report.tree.counters.set(key, 1));
        let text = render(&report, &[], false);
        let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("  tree ")).take(2).collect();
        assert!(lines[0].ends_with(','), "{text}");
        assert!(lines[1].trim_start().starts_with("1 "), "{text}");
    }

    #[test]
    fn a_mistake_in_options_is_one_line() {
        let mut report = sample::getfree();
        report.options.errors =
            vec!["TEXT: column 5: not closed:\nput ) behind it\n  | HEAP(1M\n  |     ^".to_owned()];
        let text = render(&report, &[], false);
        assert!(text.contains("1 error: TEXT: column 5: not closed: put ) behind it\n"), "{text}");
    }

    #[test]
    fn every_reason_why_programs_were_not_followed_is_said() {
        let mut report = sample::tree();
        let follows = |key: &Key| key.entry().key.starts_with("follow.");
        let some: Vec<Key> = KEYS.into_iter().filter(follows).take(6).collect();
        some.iter().for_each(|key| report.tree.counters.set(*key, 3));
        let text = render(&report, &[], false);
        let at = text.find("  tree ").expect("a tree");
        for key in some {
            let label = key.entry().label;
            let reason = label.strip_prefix("not followed: ").unwrap_or(label);
            assert!(text[at..].contains(&format!("3 {reason}")), "{reason}: {text}");
        }
        assert!(!text.contains("...") && text.lines().count() <= LINES, "{text}");
    }

    /// A report that has everything.
    fn crowded() -> Report {
        let mut report = sample::tree();
        let model = report.processes[1].clone();
        for number in 0..200 {
            let mut process = model.clone();
            process.program = format!("/usr/bin/{}\u{1b}[2J-{number}", "long-name-".repeat(20));
            process.counters.set(Key::HeapFailedGets, u64::MAX);
            process.counters.set(Key::HeapForeignFrees, u64::MAX);
            process.counters.set(Key::HeapMapFallbacks, u64::MAX);
            process.state = State::Killed;
            process.sizes = Some(sample::sizes(&[(64, u64::MAX), (1 << 20, u64::MAX)]));
            report.processes.push(process);
        }
        for key in KEYS {
            report.tree.counters.set(key, u64::MAX);
        }
        report.tree.unrecorded = u64::MAX;
        report.run.arguments = vec!["\u{1b}[31m".to_owned(), "\u{e9}".repeat(5_000)];
        report.run.end = Some(End::Signal(15));
        report.options.errors = vec!["x".repeat(10_000); 9];
        report.options.without_effect = vec!["y".repeat(10_000); 9];
        report
    }

    #[test]
    fn twenty_lines_of_a_hundred_columns_whatever_happens() {
        let report = crowded();
        let leading = report.programs().swap_remove(0).name;
        let advice: Vec<_> = (0..9)
            .map(|_| advice(&leading, Some(&"HEAP(1M)".repeat(30)), "raise", &"why ".repeat(200)))
            .collect();
        let text = render(&report, &advice, false);
        assert_eq!(text.lines().count(), LINES, "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= COLUMNS || line.starts_with("9 suggestions"), "{line}");
            assert!(!line.chars().any(char::is_control), "{line}");
        }
        assert!(text.ends_with("9 suggestions. Prove them: underbar tune -- g++ ...\n"), "{text}");
    }

    #[test]
    fn a_narrow_terminal_has_no_line_that_is_wider() {
        let report = crowded();
        let leading = report.programs().swap_remove(0).name;
        let advice = [advice(&leading, Some("HEAP(20M,5M)"), "raise", &"why ".repeat(200))];
        for columns in [0, 1, 40, 59, 60, 61, 80, 200] {
            let page = Page::of_terminal(Some(columns), false);
            let text = render_on(&report, &advice, page);
            let next = text.lines().count() - 1;
            for line in text.lines().take(next) {
                assert!(line.chars().count() <= page.columns, "{columns}: {line}");
            }
            assert!(text.contains("HEAP(20M,5M)"), "{columns}: {text}");
            assert!(next < if columns < 60 { NARROW_LINES } else { LINES }, "{columns}: {text}");
        }
        let narrow = Page::of_terminal(Some(40), false);
        let text = render_on(&sample::getfree(), &[], narrow);
        assert!(text.contains("\n  area      used at most   suggested\n  HEAP      "), "{text}");
    }

    #[test]
    fn storage_that_was_got_and_not_touched_is_said() {
        let mut report = sample::getfree();
        report.steps.as_mut().expect("steps").peak_resident_bytes = 10 << 20;
        let text = render(&report, &[], false);
        let line = "\n  untouched at least 771 MiB of 781 MiB were not in memory then: not touched yet, or swapped out\n";
        assert!(text.contains(line), "{text}");
        // Half of it was in memory.
        report.steps.as_mut().expect("steps").peak_resident_bytes = 400 << 20;
        assert!(!render(&report, &[], false).contains("untouched"));
    }

    #[test]
    fn colour_changes_nothing_but_colour() {
        let report = sample::tree();
        let coloured = render(&report, &[], true);
        assert!(coloured.contains("\u{1b}[1m"));
        let mut plain = String::new();
        let mut rest = coloured.as_str();
        while let Some((before, after)) = rest.split_once('\u{1b}') {
            plain.push_str(before);
            rest = after.split_once('m').map_or("", |(_, rest)| rest);
        }
        plain.push_str(rest);
        assert_eq!(plain, render(&report, &[], false));
        assert!(!plain.contains('\u{1b}'));
    }
}
