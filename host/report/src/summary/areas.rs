//! The areas of one program (set, used, suggested, and why), and notes on its heap.
//!
//! ```text
//! area         set      used at most   suggested
//! HEAP         always
//! STACK        always                                 with threads, the first one's
//! THREADSTACK  with threads
//! allocator, heap, memory elsewhere, notes, locks, why
//! sizes        if there is room, after the heap
//! ```
//!
//! Not here: the lines around them and the most lines (`summary`); how advice is made (`advise`).

use underbar_ledger::Key;
use underbar_model::Area;
use underbar_options::LEAST_THREAD_STACK;

use super::{Advice, LINES, runs};
use crate::heap::Kind;
use crate::lock;
use crate::memory;
use crate::model::{Process, Report, Role, State};
use crate::page::{LABEL_COLUMNS, Line, Page, Tone, clean, clip, clip_front, labelled, set_columns, warning};
use crate::program::Program;
use crate::request_sizes::{self, Counted};
use crate::units::{bytes, count, counted, parse_size, size};
use crate::{ecb_lines, heaps, pool_lines, switch_lines};

/// A storage area of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AreaRow {
    /// The area.
    pub area: Area,
    /// What sets its size, in words: `HEAP(32K,32K,,KEEP)`, `limit 8 MiB`.
    pub set: String,
    /// The counter of the most that was used, and its figure in bytes; None if it was not measured.
    pub used: Option<(Key, u64)>,
}

/// The storage areas of a program: what sets them, and what was used.
#[must_use]
pub fn area_rows(report: &Report, program: &Program) -> Vec<AreaRow> {
    let counters = &program.counters;
    let row = |area, set, keys: &[Key]| {
        let known = keys.iter().find_map(|&key| Some((key, counters.known(key)?)));
        // A stack is always used. In a report of an underbar without this figure, 0 means that it was not measured.
        AreaRow { area, set, used: known.filter(|&(_, used)| used > 0 || area == Area::Heap) }
    };
    let mut rows = vec![row(Area::Heap, heap_set(report, program), &[Key::HeapUsedPeak])];
    if counters.get(Key::ThreadsPeak) > 1 {
        rows.push(row(Area::Stack, stack_set(report), &[Key::StackMain, Key::StackLargest]));
        rows.push(row(Area::ThreadStack, threadstack_set(report), &[Key::StackThread]));
    } else {
        rows.push(row(Area::Stack, stack_set(report), &[Key::StackLargest]));
    }
    rows
}

/// Which program the figures of a report's head are of: that with the most memory. None if there is one process alone.
#[must_use]
pub fn leading_words(leading: &Program, programs: usize) -> Option<String> {
    if programs <= 1 && leading.processes <= 1 {
        return None;
    }
    let name = clean(&leading.name);
    Some(format!(
        "{name}, {}, the most memory of {}",
        runs(leading),
        counted(programs as u64, "program", "programs")
    ))
}

/// The areas of the program with the most memory: set, used, suggested, and why. `programs`: the number of programs; `after`: the
/// lines that come after these.
pub(super) fn areas(
    lines: &mut Vec<Line>,
    report: &Report,
    (leading, programs): (&Program, usize),
    after: usize,
    (advice, page): (&[Advice], Page<'_>),
) {
    let counters = &leading.counters;
    let advice: Vec<&Advice> = advice.iter().filter(|advice| advice.program == leading.name).collect();
    lines.extend(leading_words(leading, programs).map(|words| labelled("of", words)));
    let serving = leading.allocator.as_ref().filter(|allocator| allocator.role == Role::Serves);
    lines.push(row("area", "set", "used at most", (None, "suggested"), page));
    for AreaRow { area, set, used } in area_rows(report, leading) {
        let for_area = advice.iter().find(|a| a.area == area && a.option.is_some());
        let option = for_area.and_then(|advice| advice.option.as_deref());
        let verdict = advice.iter().find(|a| a.area == area).map_or("", |a| a.verdict);
        let used = used.map_or("not measured".to_owned(), |(_, used)| bytes(used));
        let is_served = area != Area::Heap || serving.is_none();
        lines.push(row(
            area.word(),
            &set,
            if is_served { &used } else { "not served" },
            (option, verdict),
            page,
        ));
    }
    lines.extend(allocator(leading));
    let killed = killed(report, leading);
    let (gets, frees) = (counters.get(Key::HeapGets), counters.get(Key::HeapFrees));
    let inherited = match counters.get(Key::HeapInherited) {
        had if had > 0 && frees > gets => format!(" ({} had from a parent)", count(had)),
        _ => String::new(),
    };
    lines.push(labelled(
        "heap",
        format!(
            "{}{}, {}{inherited}, {} ({} freed), at most {} in {}",
            if killed.is_some() { "at least " } else { "" },
            counted(gets, "get", "gets"),
            counted(frees, "free", "frees"),
            counted(counters.get(Key::HeapSegmentsAllocated), "segment", "segments"),
            count(counters.get(Key::HeapSegmentsFreed)),
            bytes(counters.get(Key::HeapSegmentBytesPeak)),
            // All other figures in this line are of all processes together.
            if leading.processes > 1 { "one process" } else { "them" },
        ),
    ));
    lines.extend(untouched(report, leading));
    let after_heap = lines.len();
    lines.extend(memory::lines(leading, page));
    lines.extend(heaps::line(report, page));
    lines.extend(pool_lines::line(report));
    lines.extend(ecb_lines::line(report));
    lines.extend(switch_lines::line(report));
    lines.extend(trouble(leading));
    lines.extend(frames(report, leading));
    lines.extend(killed);
    lines.extend(lock::lines::lines(report));
    for advice in advice.iter().filter(|a| a.option.is_some() || a.verdict == "no heap advice").take(3) {
        let head = advice.option.as_deref().unwrap_or(advice.verdict);
        lines.push(labelled("why", format!("{head}: {}", clean(&advice.reason))));
    }
    let sizes = leading.sizes.as_ref().filter(|_| lines.len() + after < LINES);
    let counted = sizes.map(|sizes| Counted { sizes, unfinished: leading.unfinished });
    if let Some(line) = counted.and_then(|counted| request_sizes::line(counted, page)) {
        lines.insert(after_heap, line);
    }
}

fn row(area: &str, set: &str, used: &str, (option, verdict): (Option<&str>, &str), page: Page<'_>) -> Line {
    let tone = if option.is_some() { Tone::Suggestion } else { Tone::Plain };
    // A long name takes room from the next column.
    let label = if area.len() > 9 { format!("  {area} ") } else { format!("  {area:<10}") };
    let set = match set_columns(page) {
        0 => format!("{used:<14} "),
        columns => {
            let width = columns + LABEL_COLUMNS - label.len();
            format!("{:<width$} {used:<14} ", clip(set, width))
        }
    };
    Line(vec![(Tone::Label, label), (Tone::Plain, set), (tone, option.unwrap_or(verdict).to_owned())])
}

fn heap_set(report: &Report, program: &Program) -> String {
    let text = |key| match program.counters.get(key) {
        0 => "AUTO".to_owned(),
        set => size(set),
    };
    let kept = report.sub_options("HEAP").and_then(|values| values.get(3).map(|kept| (*kept).to_owned()));
    let kept =
        kept.filter(|kept| !kept.is_empty()).map_or(String::new(), |kept| format!(",,{}", clean(&kept)));
    format!("HEAP({},{}{kept})", text(Key::HeapInitialSize), text(Key::HeapIncrementSize))
}

fn stack_set(report: &Report) -> String {
    match (report.sub_options("STACK"), report.host.thread_stack_bytes) {
        (Some(values), _) if values.first().is_some_and(|value| parse_size(value).is_some()) => {
            let sizes = values.iter().take(2).map(|value| parse_size(value).map_or(clean(value), size));
            format!("STACK({})", sizes.collect::<Vec<_>>().join(","))
        }
        (_, Some(limit)) => format!("limit {}", bytes(limit)),
        _ => "the kernel's limit".to_owned(),
    }
}

fn threadstack_set(report: &Report) -> String {
    let asked = report.sub_options("THREADSTACK").filter(|_| report.threads_are_governed());
    let initial = asked.and_then(|values| parse_size(values.get(1)?));
    if let Some(increment) = report.thread_increment() {
        return format!("THREADSTACK(ON,{},{})", initial.map_or(String::new(), size), size(increment));
    }
    match (initial, report.host.thread_stack_bytes) {
        (Some(asked), _) if asked >= LEAST_THREAD_STACK => format!("THREADSTACK(ON,{})", size(asked)),
        (Some(asked), _) if asked > 0 => {
            format!("THREADSTACK(ON,{}): {}", size(asked), bytes(LEAST_THREAD_STACK))
        }
        (_, Some(limit)) => format!("limit {}", bytes(limit)),
        _ => "the C library's default".to_owned(),
    }
}

/// Another allocator of the program, and whether it serves.
fn allocator(program: &Program) -> Option<Line> {
    let allocator = program.allocator.as_ref()?;
    let (name, program) = (clean(&allocator.name), clip_front(&clean(&program.name), 32));
    Some(match allocator.role {
        Role::Replaced => {
            labelled("allocator", format!("{program} brings {name} along; its malloc is served by underbar"))
        }
        Role::Serves => {
            warning("allocator", format!("malloc is served by {name}, which is loaded before underbar"))
        }
        Role::Inside => warning(
            "allocator",
            format!("{program} has {name} inside: what calls it does not reach this heap"),
        ),
    })
}

/// How much of the heap was not in memory when most of it was in use, at least; no line if that is little. No process of the run ever had
/// more in memory than the peak.
fn untouched(report: &Report, program: &Program) -> Option<Line> {
    const WORTH_SAYING: u64 = 16 << 20;
    let peak = report.steps.as_ref()?.peak_resident_bytes;
    let used = program.counters.get(Key::HeapUsedPeak);
    let rest = used.checked_sub(peak).filter(|&rest| rest >= WORTH_SAYING && rest >= used / 2)?;
    let words = "were not in memory then: not touched yet, or swapped out";
    Some(labelled("untouched", format!("at least {} of {} {words}", bytes(rest), bytes(used))))
}

/// Errors and notes on the heap; no line if there are none.
fn trouble(program: &Program) -> Option<Line> {
    let figures: Vec<String> = [
        Key::HeapFailedGets,
        Key::HeapForeignFrees,
        Key::HeapMapFallbacks,
        Key::HeapReserveUsed,
        Key::StackFallbacks,
        Key::StackReused,
    ]
    .into_iter()
    .filter(|&key| program.counters.get(key) > 0)
    .map(|key| format!("{}: {}", key.entry().label, count(program.counters.get(key))))
    .collect();
    (!figures.is_empty()).then(|| warning("note", figures.join("; ")))
}

/// What filling stack frames did, if STORAGE asks for it; and whether the program is compiled for it.
fn frames(report: &Report, program: &Program) -> Option<Line> {
    let values = report.sub_options("STORAGE")?;
    let byte = values.get(2).filter(|value| !matches!(**value, "" | "NONE" | "CLEAR"))?;
    let frames = program.counters.get(Key::StackFilledFrames);
    Some(if frames == 0 {
        let what = "no stack frame was filled: the program is not compiled with -finstrument-functions";
        warning("note", format!("STORAGE(,,{byte}): {what}"))
    } else {
        let filled = bytes(program.counters.get(Key::StackFilledBytes));
        labelled(
            "frames",
            format!("{} filled with {byte}, {filled} written: costs time at each call", count(frames)),
        )
    })
}

/// The programs that were LINKed when a process ended, the outermost first; at most three of them.
fn in_enclaves(process: &Process) -> String {
    let live = process.heaps.iter().filter(|heap| heap.kind == Kind::Enclave && !heap.ended);
    let names: Vec<String> = live.take(3).map(|heap| clean(&heap.name)).collect();
    match names.len() {
        0 => String::new(),
        1 => format!(" while {} was LINKed", names[0]),
        _ => format!(" while {} were LINKed", names.join(", ")),
    }
}

/// What is missing from the figures above. A death by signal looks the same as a system call that ends the process without the C
/// library.
fn killed(report: &Report, program: &Program) -> Option<Line> {
    let is_killed = |process: &&Process| process.name() == program.name && process.state == State::Killed;
    let mut all = report.processes.iter().filter(is_killed);
    let first = all.next()?;
    let who = match 1 + all.count() {
        1 if program.processes <= 1 => format!("ended without notice{}", in_enclaves(first)),
        1 => format!("process {} ended without notice{}", first.process, in_enclaves(first)),
        // Of folded processes nobody knows any more how they ended.
        number if program.is_folded => format!("at least {number} processes ended without notice"),
        number => format!("{number} processes ended without notice"),
    };
    Some(warning("note", format!("{who}: last gets and frees may be missing (explain heap.gets)")))
}
