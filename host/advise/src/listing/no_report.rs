//! Words for storage reports that are not in the listings: how to request one, or where a requested one went.
//!
//! ```text
//! options report:  MSGFILE(MSGS,...)   RPTSTG(ON)   ->   look in ddname MSGS (SYSOUT unless MSGFILE names another)
//! under CICS                                        ->   queue CESE
//! 64-bit (STACK64, no STACK)                        ->   stderr
//! ```
//!
//! Invariant: if an options report shows RPTSTG(ON) in force, the advice is never to set it. MSGFILE counts only if the
//! same options report shows it.
//! Not here: option texts. Only a report shows that an option is in force.

use std::fmt::Write as _;

use super::Collected;
use super::report_requests::{ReportRequest, SYSOUT};

/// At most this many are named in words.
const NAMED: usize = 10;

/// The next step if no storage report was found.
#[must_use]
pub fn no_storage_report(collected: &Collected) -> String {
    if collected.report_requests.all().is_empty() {
        return "No storage report was found: run the program once with RPTSTG(ON).\n".to_owned();
    }
    let all: Vec<&ReportRequest> = collected.report_requests.all().iter().collect();
    let head = "No storage report was found, although RPTSTG(ON) is in force. Its output went elsewhere:\n";
    format!("{head}{}", places(collected, &all))
}

/// The destinations of requested storage reports that were not found; empty if there are none.
#[must_use]
pub fn other_reports(collected: &Collected) -> String {
    let is_missing = |asked: &&ReportRequest| match &asked.enclave {
        Some(name) => collected.program(name).is_none(),
        None => {
            let mut runs = collected.programs.iter().flat_map(|program| &program.runs);
            !runs.any(|run| run.file == asked.file)
        }
    };
    let missing: Vec<&ReportRequest> = collected.report_requests.all().iter().filter(is_missing).collect();
    match missing.is_empty() {
        true => String::new(),
        false => {
            let head = "RPTSTG(ON) is in force for others, too, whose storage reports are not here:\n";
            format!("{head}{}", places(collected, &missing))
        }
    }
}

/// How to get the next storage report, for comparison: the advice is to add RPTSTG(ON) only if it is not in force.
#[must_use]
pub fn run_again(collected: &Collected) -> String {
    let known = collected.report_requests.all().iter().find(|asked| match &asked.enclave {
        Some(name) => collected.program(name).is_some(),
        None => true,
    });
    let how = match known {
        Some(asked) => {
            format!("(RPTSTG(ON) is in force, {}:{})", collected.name_of(asked.file), asked.line)
        }
        None => "with RPTSTG(ON) added to these options".to_owned(),
    };
    format!("Then run it once more {how}, not in production, since RPTSTG itself slows the run, and compare")
}

/// Each options report, and the place of its storage report.
fn places(collected: &Collected, all: &[&ReportRequest]) -> String {
    let mut text = String::new();
    for asked in all.iter().take(NAMED) {
        let whose = asked.enclave.as_ref().map_or(String::new(), |name| format!(" for {name}"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  RPTSTG(ON){whose} ({}:{}): look in {}.",
            collected.name_of(asked.file),
            asked.line,
            place(asked, collected)
        );
    }
    if all.len() > NAMED {
        let _ = writeln!(text, "  and {} more options reports", all.len() - NAMED);
    }
    text
}

/// The destination of the storage report, in words.
fn place(asked: &ReportRequest, collected: &Collected) -> String {
    let at = |line: u64| format!("{}:{line}", collected.name_of(asked.file));
    if let Some(step) = collected.step_of(asked.file, "DFHSIP") {
        return format!("the queue CESE, since this is CICS ({})", at(step.line));
    }
    if asked.is_64bit {
        return "stderr, since the program is a 64-bit one".to_owned();
    }
    match &asked.message_file {
        Some((name, line)) => {
            format!("ddname {name} (MSGFILE, {}); under CICS the queue CESE", at(*line))
        }
        None => format!(
            "ddname {SYSOUT}, unless MSGFILE names another (this options report does not show it); under CICS the queue CESE"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::collected;
    use super::*;

    fn words(text: &str) -> String {
        no_storage_report(&collected(text))
    }

    fn report(enclave: &str, rows: &[&str]) -> String {
        let rows: String =
            rows.iter().map(|row| format!("Invocation command               {row}\n")).collect();
        format!(
            "Options Report for Enclave {enclave} 11/20/26\n\nLAST WHERE SET                 OPTION\n{rows}\n"
        )
    }

    #[test]
    fn who_asked_for_a_report_is_told_where_it_went() {
        let off = words(&report("PAY", &["MSGFILE(MSGS,FBA,121,0,NOENQ)", "RPTSTG(OFF)"]));
        assert_eq!(off, "No storage report was found: run the program once with RPTSTG(ON).\n");
        let named = words(&report("PAY", &["MSGFILE(MSGS,FBA,121,0,NOENQ)", "RPTSTG(ON)"]));
        assert!(
            named.contains("RPTSTG(ON) for PAY (job:5): look in ddname MSGS (MSGFILE, job:4)"),
            "{named}"
        );
        assert!(!named.contains("run the program"), "{named}");
        let default = words(&report("PAY", &["RPTSTG(ON)"]));
        assert!(default.contains("ddname SYSOUT, unless MSGFILE"), "{default}");
        let long = words(&report("PAY", &["RPTSTG(ON)", "STACK64(1M,1M,128M)"]));
        assert!(long.contains("look in stderr"), "{long}");
    }

    #[test]
    fn of_several_options_reports_each_has_its_own_place() {
        let first = report("PAY", &["MSGFILE(ONE,FBA,121,0,NOENQ)", "RPTSTG(OFF)"]);
        let second = report("TAX", &["MSGFILE(TWO,FBA,121,0,NOENQ)", "RPTSTG(ON)"]);
        let text = words(&format!("{first}{second}"));
        assert!(text.contains("for TAX") && text.contains("ddname TWO"), "{text}");
        assert!(!text.contains("PAY") && !text.contains("ONE"), "{text}");
    }

    #[test]
    fn a_dump_and_the_step_of_cics_count_too() {
        let dump = "PARMLIB(CEEPRM00)              OVR    MSGFILE(CEEOUT,FBA,00121,00000,NOENQ)\n\
                    DD:CEEOPTS                     OVR    RPTSTG(ON)\n";
        assert!(
            words(dump).contains("RPTSTG(ON) (job:2): look in ddname CEEOUT (MSGFILE, job:1)"),
            "{}",
            words(dump)
        );
        let cics = format!("//CICS EXEC PGM=DFHSIP,REGION=0M\n{dump}");
        assert!(words(&cics).contains("the queue CESE, since this is CICS (job:1)"), "{}", words(&cics));
    }

    #[test]
    fn beside_the_report_of_another_program_it_is_said_too() {
        let storage = "Storage Report for Enclave PAY 11/20/26\n\n    HEAP statistics:\n      Initial size: 4096\nEnd of Storage Report\n";
        let tax = report("TAX", &["MSGFILE(TWO,FBA,121,0,NOENQ)", "RPTSTG(ON)"]);
        let both = collected(&format!("{tax}{storage}"));
        let text = other_reports(&both);
        assert!(text.contains("RPTSTG(ON) for TAX (job:5): look in ddname TWO (MSGFILE, job:4)"), "{text}");
        assert!(run_again(&both).contains("with RPTSTG(ON) added"), "{}", run_again(&both));
        let own = collected(&format!("{}{storage}", report("PAY", &["RPTSTG(ON)"])));
        assert_eq!(other_reports(&own), "");
        assert!(run_again(&own).contains("once more (RPTSTG(ON) is in force, job:4)"), "{}", run_again(&own));
        let dump = "DD:CEEOPTS                     OVR    RPTSTG(ON)\n";
        assert_eq!(other_reports(&collected(&format!("{storage}{dump}"))), "", "it may be its own");
    }

    #[test]
    fn an_option_text_alone_is_not_in_force() {
        let text = words("//CEEOPTS DD *\nRPTSTG(ON),HEAP(1M,1M)\n/*\n");
        assert!(text.contains("run the program once"), "{text}");
    }
}
