//! `demo requests`: a server that leaks in each request, with an ECB for each request and without; its requests by size, and lists of
//! the sizes that waste least.
//!
//! The sizes are drawn as the document's report with PJ47265 has them: 99.29 % of 33 to 64 bytes, which the report before PJ47265 shows
//! as one class up to 128.
//! Not here: the reports (`underbar_report::ztpf`) and the search for sizes (`underbar_advise`).

use underbar_advise::advice::Advice;
use underbar_report::ecbs::EcbClass;
use underbar_report::model::Report;
use underbar_report::units::{bytes, count, nanoseconds};
use underbar_report::ztpf::{self, Layout};

use super::ecbs::{self, Said, each};
use super::measure::{Arm, Figured, Machine, Problem, Rounds, Server};
use super::output::{Check, Column, Output, Table};
use super::progress::Progress;
use super::workshop::Workshop;
use super::{Parameters, order, peers, words};

const RUNS: usize = 8;
const TIMES: u64 = 100_000;
const PLAIN: &str = "plain";
const ECB: &str = "underbar, ECBs";
const ADVISED: &str = "the same, sizes as advised";
const CLASS: &str = "HTTP";
/// The share of the class of 33 to 64 bytes, in hundredths of a percent, at least; the document has 99.29 %.
const SHARE: u64 = 98_00;

/// Runs it.
pub fn run(parameters: &Parameters) -> Result<Output, Problem> {
    let runs = parameters.runs.unwrap_or(RUNS);
    let title = "a server that leaks in each request, each request an ECB or not";
    let mut output = Output::new("requests", title, parameters, runs);
    let workshop = Workshop::new("requests")?;
    let machine = Machine::of_program(&ecbs::compiled(&workshop)?, parameters)?;
    ecbs::must_have_ecbs(&machine)?;
    let mut progress = Progress::new(parameters.quiet);
    progress.part("sizes");
    // Each request is counted by its size.
    let probe = ecbs::arm(ECB, "RPTSTG(ON)", &["requests", "--ecb", CLASS, "--times", "2000"]);
    let report = machine.once(&probe)?.report.ok_or_else(|| Problem::NoAccounts("no report".to_owned()))?;
    let class = class_of(&report).ok_or_else(|| Problem::NoAccounts("no class of ECBs".to_owned()))?;
    let advice = underbar_advise::advise(&report);
    let advice = advice.iter().find(|advice| advice.rule == "tpf-avl-size" && advice.option.is_some());
    let advised = advice.and_then(|advice| advice.option.as_ref()).map(ToString::to_string);
    output.pages.push(sizes(&report, Layout::Previous, "before PJ47265"));
    output.pages.push(sizes(&report, Layout::Pj47265, "with PJ47265"));
    output.pages.push(suggestion(&class, advice));
    progress.part("requests");
    let rounds = machine.rounds(arms(advised.as_deref()), runs, &mut order(parameters), &mut progress)?;
    let arms = rounds.figured();
    output.checks = checks(&class, &rounds, &arms);
    output.tables.push(Table::new(
        format!("{} requests of 40 buffers, of which 36 are freed and 4 leak", count(TIMES)),
        arms,
        vec![vec![REQUESTS, LEAKED, Column::PEAK, EACH]],
    ));
    output.notes.push(
        "What a request leaks ends with its ECB, so memory stays flat. The sizes are drawn by lot with the frequencies of the document's \
         report; within a class any size is as likely, which the document does not say."
            .to_owned(),
    );
    Ok(output)
}

fn arms(advised: Option<&str>) -> Vec<Arm> {
    let times = TIMES.to_string();
    let server = ["requests", "--times", &times];
    let with = |name: &str, server_of: Server| Arm {
        name: name.to_owned(),
        server: server_of,
        program: words(&server),
    };
    let mut arms = vec![with(PLAIN, Server::Plain)];
    arms.extend(peers::installed().into_iter().map(|(name, path)| with(name, Server::Peer(path))));
    arms.push(with("underbar", Server::Underbar(String::new())));
    let in_ecbs = ["requests", "--times", &times, "--ecb", CLASS];
    arms.push(ecbs::arm(ECB, "", &in_ecbs));
    if let Some(options) = advised {
        arms.push(ecbs::arm(ADVISED, options, &in_ecbs));
    }
    arms
}

fn class_of(report: &Report) -> Option<EcbClass> {
    report.processes.iter().flat_map(|process| &process.ecbs).find(|class| class.name == CLASS).cloned()
}

/// The request size report of a layout.
fn sizes(report: &Report, layout: Layout, when: &str) -> String {
    const TITLE: &str = "TPF ECB HEAP REQUEST SIZE REPORT";
    let all = ztpf::render(report, layout);
    let text = all.find(TITLE).and_then(|from| all.get(from..)).unwrap_or_default();
    let end = text.find("TPF 31-BIT").unwrap_or(text.len());
    format!("The layout {when}\n{}", text.get(..end).unwrap_or_default().trim_end())
}

/// Bytes that available lists of these sizes hand out beyond what is asked for, at least: requests are known in steps of 16 bytes.
fn wasted(class: &EcbClass, sizes: &[u64]) -> u64 {
    let of = |(limit, count): (&u64, &u64)| {
        sizes.iter().find(|size| *size >= limit).map_or(0, |size| (size - limit).saturating_mul(*count))
    };
    class.requests.up_to.iter().map(of).fold(0, u64::saturating_add)
}

fn suggestion(class: &EcbClass, advice: Option<&Advice>) -> String {
    let now = format!(
        "Sizes now: {}; they hand out at least {} more than was asked for.\n",
        class.sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        bytes(wasted(class, &class.sizes))
    );
    let Some((advice, option)) = advice.and_then(|advice| Some((advice, advice.option.as_ref()?))) else {
        return format!("{now}No other sizes are suggested.");
    };
    let sizes: Vec<u64> =
        option.sub_options.iter().flatten().filter_map(|value| value.parse::<u64>().ok()).collect();
    format!(
        "{now}Suggested: {option}, at least {} more.\n{}\n{}",
        bytes(wasted(class, &sizes)),
        advice.reason,
        advice.effect
    )
}

fn checks(class: &EcbClass, rounds: &Rounds, arms: &[Figured]) -> Vec<Check> {
    let (all, small) = (class.requests.all(), class.requests.between(32, 64));
    let share = small.saturating_mul(10_000) / all.max(1);
    let mut checks = vec![Check::count(
        "one_class_has_nearly_all",
        share >= SHARE,
        format!(
            "{} of {} requests have 33 to 64 bytes: {}.{:02} %; the document: 99.29 %",
            count(small),
            count(all),
            share / 100,
            share % 100
        ),
    )];
    let (Some(ours), Some(plain)) = (rounds.place(ECB), rounds.place(PLAIN)) else { return checks };
    let peak = |at: usize| arms.get(at).map_or(0, |arm| arm.steps.peak_resident_bytes);
    checks.push(Check::count(
        "what_leaks_comes_back",
        peak(ours).saturating_mul(2) < peak(plain),
        format!("peak of resident memory: {} with ECBs, {} plain", bytes(peak(ours)), bytes(peak(plain))),
    ));
    let ratio = rounds.said_ratio(ours, plain, |said: &Said| each(said, "requests"));
    checks.push(Check::at_most("cpu_to_plain", "CPU of a request, ECBs to plain", ratio, 1.0));
    if let Some(advised) = rounds.place(ADVISED) {
        let ratio = rounds.said_ratio(advised, ours, |said: &Said| each(said, "requests"));
        checks.push(Check::at_most(
            "cpu_advised",
            "CPU of a request, sizes as advised to the default",
            ratio,
            1.05,
        ));
    }
    checks
}

const REQUESTS: Column =
    Column::new("requests", |_, arm| arm.said.get("requests").map(|all| count(*all)), |_| None);
const LEAKED: Column =
    Column::new("leaked", |_, arm| arm.said.get("leaked_bytes").map(|leaked| bytes(*leaked)), |_| None);
const EACH: Column = Column::new(
    "CPU each",
    |_, arm| each(&arm.said, "requests").map(|each| nanoseconds(each as u64)),
    |_| None,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lists_waste_is_counted_by_the_smallest_that_holds_a_request() {
        let mut class = EcbClass::default();
        class.requests.up_to = [(16, 10), (48, 100), (512, 1), (4_096, 5)].into_iter().collect();
        assert_eq!(wasted(&class, &[32, 64, 512]), 10 * 16 + 100 * 16);
        assert_eq!(wasted(&class, &[48, 512]), 10 * 32);
        let text = suggestion(&class, None);
        assert!(text.contains("No other sizes"), "{text}");
    }
}
