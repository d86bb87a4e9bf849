//! `demo threads`: where the first segments of threads' stacks are accounted, and the advice that moves with them.
//!
//! The document: "Thread stack storage lives in anyheap!!! Tune if multi-threaded", without figures. So the rows are compared with
//! each other: 1, 8 and 64 threads on stacks that underbar makes, and 64 on the C library's.
//!
//! Invariant: every figure is a count of one run; nothing here depends on time.
//! Not here: the stacks (`runtime::stack`), and the rule (`advise::listing::le`).

use underbar_advise::advise_listing;
use underbar_advise::listing::Collected;
use underbar_ledger::Key;
use underbar_listing::Reader;
use underbar_report::units::{bytes, count, counted, parse_size};
use underbar_report::{Report, le};

use super::measure::{Arm, Figured, Machine, Problem};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::{Parameters, arm, order};

/// The first segment of a thread's stack, and each further one.
const SEGMENT: u64 = 64 << 10;
const OPTIONS: &str =
    "STACK(64K,64K),THREADSTACK(ON,64K,64K,ANYWHERE,KEEP),ANYHEAP(64K,64K),HEAP(1M,1M,ANYWHERE,KEEP)";
const PLAIN_STACKS: &str = "HEAP(1M,1M,ANYWHERE,KEEP)";
/// How many threads there are at one time.
const THREADS: [u64; 3] = [1, 8, 64];
const BY_THE_C_LIBRARY: &str = "64 threads, the C library's stacks";

const fn counter(heading: &'static str, ours: fn(&Table, &Figured) -> Option<String>) -> Column {
    Column::new(heading, ours, |_| None)
}

const LARGEST: Column = counter("largest stack", |_, arm| arm.counter(Key::StackThread).map(bytes));
const FIRST: Column = counter("first segments", |_, arm| arm.counter(Key::AnyHeapStacks).map(bytes));
const ANYHEAP: Column = counter("ANYHEAP", |_, arm| any_heap(arm).map(bytes));
const INCREMENTS: Column =
    counter("stack segments", |_, arm| arm.counter(Key::ThreadStackSegmentsAllocated).map(count));
const OF_HEAP: Column =
    counter("segments of HEAP", |_, arm| arm.counter(Key::HeapSegmentsAllocated).map(count));

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(1);
    let title = "first stack segments of threads: in ANYHEAP";
    let mut output = Output::new("threads", title, parameters, runs);
    let machine = Machine::new(parameters)?;
    let row = |name: &str, options: &str, threads: u64| {
        arm(name, options, &["threads-together", "--times", &threads.to_string()])
    };
    let mut rows: Vec<Arm> = THREADS.map(|threads| row(&name_of(threads), OPTIONS, threads)).into();
    rows.push(row(BY_THE_C_LIBRARY, PLAIN_STACKS, THREADS[2]));

    // Tables are larger by a leaf where a mapping is in another gibibyte, by chance: they are told apart from what threads need.
    let (mut advised, mut tables) = (Vec::new(), Vec::new());
    for arm in &rows[..THREADS.len()] {
        let Some(report) = machine.once(arm)?.report else { return Ok(output) };
        advised.push(advice(&report));
        tables.push(report.tree.counters.get(Key::HeapOwnBytes));
    }
    let lines = THREADS.into_iter().zip(&advised).map(|(threads, advice)| {
        format!("{:<11} {}", name_of(threads), advice.as_deref().unwrap_or("nothing"))
    });
    output.pages.push(format!("Suggested for z/OS\n{}", lines.collect::<Vec<_>>().join("\n")));
    let rounds = machine.rounds(rows, runs, &mut order(parameters), &mut Progress::new(parameters.quiet))?;
    let arms = rounds.figured();
    output.checks = checks(&arms, &advised, &tables);
    output.tables.push(Table::new(
        format!("{OPTIONS}\neach thread calls down to a bit more than 128K"),
        arms,
        vec![vec![LARGEST, FIRST, ANYHEAP, INCREMENTS, OF_HEAP]],
    ));
    output.notes.push(
        "The document says where stacks of threads live, and has no figures. On z/OS ANYHEAP must grow when THREADSTACK or the number of \
         threads does. Here each stack is a mapping of its own, accounted in ANYHEAP, which need not be raised: the suggestion is the \
         one for z/OS, read from the storage report. All threads share one heap. BELOWHEAP holds the first segments of stacks below \
         the line, which Linux does not have."
            .to_owned(),
    );
    Ok(output)
}

fn name_of(threads: u64) -> String {
    if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
}

fn any_heap(arm: &Figured) -> Option<u64> {
    Some(arm.counter(Key::HeapOwnBytes)? + arm.counter(Key::AnyHeapStacks)?)
}

/// The settings of THREADSTACK and ANYHEAP that the rules for z/OS suggest for the storage report of a run.
fn advice(report: &Report) -> Option<String> {
    let mut collected = Collected::default();
    collected.file("the storage report");
    let mut reader = Reader::new();
    // What RPTOPTS(ON) would print before it: whether THREADSTACK is ON is nowhere else.
    let text = format!("{OPTIONS}\n{}", le::render(report));
    reader.feed(text.as_bytes(), &mut |item| collected.take(item));
    reader.finish(&mut |item| collected.take(item));
    let all = advise_listing(&collected);
    let settings: Vec<String> =
        all.iter().filter_map(|advice| advice.option.as_ref()).map(ToString::to_string).collect();
    let ours: Vec<String> = settings
        .into_iter()
        .filter(|setting| ["THREADSTACK(", "ANYHEAP("].iter().any(|name| setting.starts_with(name)))
        .collect();
    if ours.is_empty() { None } else { Some(ours.join(",")) }
}

fn checks(arms: &[Figured], advised: &[Option<String>], tables: &[u64]) -> Vec<Check> {
    let of = |at: usize, key| arms.get(at).and_then(|arm| arm.counter(key)).unwrap_or(0);
    let firsts: Vec<u64> = (0..THREADS.len()).map(|at| of(at, Key::AnyHeapStacks)).collect();
    let heaps: Vec<u64> = (0..arms.len()).map(|at| of(at, Key::HeapSegmentsAllocated)).collect();
    let [_, few, many] = THREADS;
    let size = |at: usize, option| advised.get(at)?.as_deref().and_then(|text| first_size(text, option));
    let stack = size(2, "THREADSTACK(ON,");
    let of_threads = |at: usize| Some(size(at, "ANYHEAP(")?.saturating_sub(*tables.get(at)?));
    let more = of_threads(2).zip(of_threads(1)).map(|(many, few)| many.saturating_sub(few));
    let needed = stack.map(|stack| (many - few) * stack);
    let shown = |figure: Option<u64>| figure.map_or_else(|| "nothing".to_owned(), bytes);
    vec![
        Check::count(
            "first_segments",
            firsts.iter().zip(THREADS).all(|(first, threads)| *first == threads * SEGMENT),
            format!("the first segments are {} for each thread", bytes(SEGMENT)),
        ),
        Check::count(
            "none_of_the_c_librarys",
            of(3, Key::AnyHeapStacks) == 0 && of(3, Key::ThreadsPeak) == many + 1,
            "stacks of the C library are in no heap of underbar".to_owned(),
        ),
        Check::count(
            "one_heap",
            heaps.iter().all(|segments| Some(segments) == heaps.first()) && heaps[0] > 0,
            format!(
                "all threads share one heap, of {}",
                counted(heaps.first().copied().unwrap_or(0), "segment", "segments")
            ),
        ),
        Check::count(
            "stack_holds_the_largest",
            stack.is_some_and(|stack| stack >= of(2, Key::StackThread)),
            format!("suggested for z/OS: first segments of {}, which hold the largest stack", shown(stack)),
        ),
        Check::count(
            "anyheap_moves_with_threadstack",
            more.zip(needed).is_some_and(|(more, needed)| more >= needed),
            format!(
                "and for {many} threads {} more of ANYHEAP than for {few}: at least {} more such segments",
                shown(more),
                many - few
            ),
        ),
    ]
}

/// The first size behind these words in an option text.
fn first_size(text: &str, words: &str) -> Option<u64> {
    let (_, rest) = text.split_once(words)?;
    parse_size(rest.split([',', ')']).next()?)
}
