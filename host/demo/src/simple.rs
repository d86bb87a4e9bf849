//! `demo simple`: a small program, its report, the sizes that the report suggests, and a run with them.

use underbar_advise::lines::merged;
use underbar_ledger::Key;
use underbar_report::units::{count, parse_size};
use underbar_report::{Report, le};

use super::document::SIMPLE;
use super::measure::{Arm, Figured, Machine, Problem};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::{Parameters, arm, order};

/// The document's sizes. Its run had z/OS's defaults; here they must be set.
const UNTUNED: &str = "STACK(128K,128K),HEAP(32K,32K,ANYWHERE,KEEP)";

/// Storage is rounded to this, with a header of its own if segments are small and without one otherwise.
const ROUNDING: u64 = 16;
const PAGE: u64 = 4096;
const UNTUNED_STACK: u64 = 128 << 10;
const INITIAL: Column =
    Column::new("heap initial", |_, arm| arm.counter(Key::HeapInitialSize).map(count), |_| None);

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(1);
    let mut output = Output::new("simple", "a small program, and the sizes that it needs", parameters, runs);
    let machine = Machine::new(parameters)?;
    let seed = parameters.seed.to_string();
    let program = ["simple", "--seed", &seed];
    let before = arm("as set by default", UNTUNED, &program);
    let first = machine.once(&before)?;
    let Some(report) = &first.report else { return Ok(output) };
    let suggested = suggested(report);
    let options = if suggested.is_empty() { UNTUNED.to_owned() } else { format!("{UNTUNED},{suggested}") };
    let after = Arm { name: "as suggested".to_owned(), ..arm("", &options, &program) };
    let second = machine.once(&after)?;

    output.pages.push(le::render(report));
    output.pages.push(format!("The program wrote: {}", first.output.trim_end()));
    let rounds = machine.rounds(
        vec![before, after],
        runs,
        &mut order(parameters),
        &mut Progress::new(parameters.quiet),
    )?;
    let figured = rounds.figured();
    let used = |at: usize| figured.get(at).and_then(|arm| arm.counter(Key::HeapUsedPeak)).unwrap_or(0);
    let initial = |at: usize| figured.get(at).and_then(|arm| arm.counter(Key::HeapInitialSize)).unwrap_or(0);
    let gets = figured.first().and_then(|arm| arm.counter(Key::HeapGets)).unwrap_or(0);
    output.checks = vec![
        Check::count(
            "same_output",
            first.output == second.output && !first.output.is_empty(),
            "the program wrote the same".to_owned(),
        ),
        Check::count(
            "same_use",
            used(0).abs_diff(used(1)) <= ROUNDING * gets && used(0) > 0,
            format!(
                "it used the same heap storage: {} and {} bytes (each of its {} gets may be rounded otherwise, by \
                 less than {ROUNDING} bytes)",
                count(used(0)),
                count(used(1)),
                count(gets)
            ),
        ),
        Check::count(
            "lowered_to_what_was_used",
            initial(1) < initial(0) && initial(1) >= used(1),
            format!(
                "the initial size of HEAP went from {} down to {}, which holds what is used, in whole pages",
                count(initial(0)),
                count(initial(1))
            ),
        ),
    ];
    if let Some(report) = &second.report {
        output.checks.extend(stack(&figured, report));
    }
    output.tables.push(Table {
        document: SIMPLE.to_vec(),
        ..Table::new(
            format!("{UNTUNED}\nsuggested: {}", if suggested.is_empty() { "nothing" } else { &suggested }),
            figured,
            vec![vec![Column::STACK, Column::USED, INITIAL, Column::SEGMENTS, Column::GETS, Column::FREES]],
        )
    });
    output.notes.push(
        "These are the values of one run. tune would try that of HEAP first, and keep it only if it proves better; not that \
         of STACK, which does nothing on Linux."
            .to_owned(),
    );
    Ok(output)
}

/// The same for the stack, if it is measured.
fn stack(figured: &[Figured], second: &Report) -> Vec<Check> {
    let used = |at: usize| figured.get(at).and_then(|arm| arm.counter(Key::StackLargest)).unwrap_or(0);
    if used(0) == 0 || used(1) == 0 {
        return Vec::new();
    }
    let set = second.sub_options("STACK").and_then(|values| parse_size(values.first()?)).unwrap_or(0);
    vec![
        Check::count(
            "same_stack",
            used(0).abs_diff(used(1)) <= PAGE,
            format!(
                "it used the same stack: {} and {} bytes (measured to the page, and the kernel starts it anywhere in \
                 one)",
                count(used(0)),
                count(used(1))
            ),
        ),
        Check::count(
            "stack_lowered_to_what_was_used",
            set < UNTUNED_STACK && set + PAGE >= used(1),
            format!("the initial size of STACK went from {} down to {}", count(UNTUNED_STACK), count(set)),
        ),
    ]
}

/// The options that the report suggests for its program, as option text.
fn suggested(report: &Report) -> String {
    // `tune` lowers stacks only on request. The demo lowers them, as the document does: here it does no harm.
    merged(&underbar_advise::advise(report)).first().map_or(String::new(), |program| program.text())
}
