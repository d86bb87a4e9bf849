//! Step timings, and evidence of the region: job control. Messages at the end of steps are in `messages`.
//!
//! ```text
//! STEPNAME PROCSTEP PGMNAME  CC  USED  CPU TIME  ELAPSED TIME  EXCP      names from the heading, in its order
//! CLPG     GO       PGM=*.DD 00   60K  0:00:15.44  0:01:02.34   474
//! ```
//!
//! Invariant: a row of timings is read whole or not at all; a row with marks of damage is named.
//! Fields of SMF records are recognised: no source confirms how they are printed, so they are not read.

use crate::lines::Line;
use crate::messages::Messages;
use crate::model::{Item, Region, StepTiming, Unread};
use crate::number::size;
use crate::parm::Parm;
use crate::statement::{is_comment, keyword, statement, values};
use crate::words::{evidence, find, has, split};

/// This many lines without a row end a table of timings.
const QUIET: u64 = 12;

/// Words about the region in the statistics at the end of a step, in small letters: a limit, whatever REGION is.
const ALLOWED: &[u8] = b"allowed private area above 16mb:";

/// The state between lines.
#[derive(Default)]
pub(crate) struct Job {
    /// The line of the last row of a table of timings, and its columns.
    table: Option<(u64, Columns)>,
    messages: Messages,
    program: Option<String>,
    /// PARM of the step, as long as it goes on.
    parm: Option<Parm>,
}

/// The columns of a table of timings after the storage used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    /// CPU time only.
    Cpu,
    /// CPU time, elapsed time, EXCP.
    All,
    /// The heading is broken over lines, so rows may be broken, too.
    Broken,
}

impl Job {
    pub(crate) fn is_open(&self) -> bool {
        self.table.is_some() || self.messages.is_open() || self.parm.is_some()
    }

    /// Reads a line; true if it has something of this kind.
    pub(crate) fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) -> bool {
        if has(line.text, "stepname") && (has(line.text, "cpu time") || has(line.text, "procstep")) {
            let of_a_site = has(line.text, " rc ") && has(line.text, "clock") || has(line.text, "cpu-time");
            if of_a_site && !has(line.text, "cpu time") {
                // The rows are whole; a site's own exit decides which columns they have.
                let why = "step timings of a job log: their columns differ from site to site, not read";
                let evidence = evidence(line.number, line.text);
                out(Item::Unread(Unread { evidence, why: why.to_owned() }));
                self.table = None;
                return true;
            }
            let columns = match (
                has(line.text, "cpu time"),
                has(line.text, "elapsed time") && has(line.text, "excp"),
            ) {
                (true, true) => Columns::All,
                (true, false) => Columns::Cpu,
                (false, _) => Columns::Broken,
            };
            self.table = Some((line.number, columns));
            return true;
        }
        if let Some((last, columns)) = self.table {
            if line.number > last + QUIET {
                self.table = None;
            } else if self.row(line, columns, out) {
                return true;
            }
        }
        if self.messages.line(line, out) {
            return true;
        }
        if let Some(parm) = self.parm.take_if(|_| !is_comment(line.text)) {
            let (open, belongs) = parm.goes_on(line, statement(line.text), out);
            self.parm = open;
            if belongs && self.parm.is_some() {
                return true;
            }
        }
        if let Some(statement) = statement(line.text) {
            self.statement(line, statement, out);
            return true;
        }
        if let Some(at) = find(line.text, ALLOWED) {
            let word = split(&line.text[at + ALLOWED.len()..]).next().unwrap_or_default();
            let allowed = size(&String::from_utf8_lossy(word), 1).filter(|_| line.whole);
            // Smaller values are rounded up by the readers of REGION, and would be too large.
            let (program, region) = (None, allowed.filter(|allowed| *allowed >= 32 << 20));
            let evidence = evidence(line.number, line.text);
            if region.is_some() {
                out(Item::Region(Region { program, region, memlimit: None, used_above: None, evidence }));
            } else if allowed.is_none() {
                let why = "the private area allowed above 16M, damaged or cut: not read".to_owned();
                out(Item::Unread(Unread { evidence, why }));
            }
            return true;
        }
        if has(line.text, "dfhsi1") {
            // A message of the program that initialises CICS.
            let (program, evidence) = (Some("DFHSIP".to_owned()), evidence(line.number, line.text));
            out(Item::Region(Region { program, region: None, memlimit: None, used_above: None, evidence }));
            return true;
        }
        if has(line.text, "smf30") {
            let why = "a field of SMF records: layout not known, not read".to_owned();
            out(Item::Unread(Unread { evidence: evidence(line.number, line.text), why }));
            return true;
        }
        false
    }

    /// The input ends.
    pub(crate) fn finish(&mut self, out: &mut dyn FnMut(Item)) {
        if let Some(parm) = self.parm.take() {
            parm.cut(out);
        }
    }

    fn row(&mut self, line: Line<'_>, columns: Columns, out: &mut dyn FnMut(Item)) -> bool {
        let text: Vec<u8> = line.text.iter().map(|byte| if *byte == b'|' { b' ' } else { *byte }).collect();
        let words: Vec<String> =
            split(&text).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let words = match words.first().map(String::as_str) {
            Some("-" | "_") => &words[1..],
            _ => without_log(&words),
        };
        let looks = words.iter().filter(|word| time(word).is_some()).count();
        if looks == 0 && !words.iter().any(|word| is_like_time(word)) {
            return false;
        }
        self.table = Some((line.number, columns));
        let ends_well = line.whole;
        let read = || -> Option<StepTiming> {
            let full = match columns {
                Columns::All => true,
                Columns::Cpu => false,
                Columns::Broken => return None,
            };
            let tail = if full { 3 } else { 1 };
            let at = words.len().checked_sub(tail)?;
            let cpu = time(&words[at])?;
            let (elapsed, excp) = if full {
                (Some(time(&words[at + 1])?), Some(words[at + 2].replace(',', "").parse().ok()?))
            } else {
                (None, None)
            };
            let used = size(words.get(at.checked_sub(1)?)?, u64::MAX)?;
            let code = words.get(at.checked_sub(2)?)?.clone();
            let names = words[..at - 2].to_vec();
            let sane = !names.is_empty() && names.len() <= 4 && used < 1 << 47;
            (sane && ends_well).then(|| StepTiming {
                names,
                code: Some(code),
                used: Some(used),
                cpu: Some(cpu),
                elapsed,
                excp,
                evidence: Some(evidence(line.number, line.text)),
            })
        };
        match read() {
            Some(step) => out(Item::Step(step)),
            // Its times are its own.
            None if words.iter().take(4).any(|word| is_message(word)) => return false,
            None => {
                let why = "a row of step timings that is damaged or cut: not read".to_owned();
                out(Item::Unread(Unread { evidence: evidence(line.number, line.text), why }));
            }
        }
        true
    }

    fn statement(&mut self, line: Line<'_>, statement: &[u8], out: &mut dyn FnMut(Item)) {
        if let Some(program) = keyword(statement, b"pgm") {
            self.program = Some(String::from_utf8_lossy(program).into_owned());
        } else if has(statement, " exec ") || has(statement, " job ") {
            self.program = None;
        }
        let extended = values(statement, b"regionx").next().map(|(_, value)| above(value));
        let region = keyword(statement, b"region").or(extended);
        let memlimit = keyword(statement, b"memlimit");
        if region.is_none() && memlimit.is_none() && line.whole && keyword(statement, b"pgm").is_some() {
            // Requests of other steps are not this step's.
            let (program, evidence) = (self.program.clone(), evidence(line.number, line.text));
            out(Item::Region(Region { program, region: None, memlimit: None, used_above: None, evidence }));
        }
        if region.is_some() || memlimit.is_some() {
            let evidence = evidence(line.number, line.text);
            // REGION alone is in K; MEMLIMIT alone is not allowed.
            let region_bytes = region.and_then(|word| size(&String::from_utf8_lossy(word), 1 << 10));
            // Such a small REGION leaves 32M above the line, REGIONX does not.
            let is_exact = |bytes: &u64| extended.is_none() || *bytes == 0 || *bytes >= 32 << 20;
            let region_bytes = region_bytes.filter(is_exact);
            let memlimit_bytes = memlimit.and_then(|word| match word {
                word if word.eq_ignore_ascii_case(b"NOLIMIT") => Some(u64::MAX),
                word => {
                    let has_unit = word.last().is_some_and(u8::is_ascii_alphabetic);
                    let bytes = size(&String::from_utf8_lossy(word), 1);
                    bytes.filter(|bytes| has_unit || *bytes == 0)
                }
            });
            let is_symbol = |word: Option<&[u8]>| word.is_some_and(|word| word.starts_with(b"&"));
            let why = match extended {
                _ if !line.whole => Some("REGION or MEMLIMIT that is damaged or cut: not read"),
                _ if region.is_none() || region_bytes.is_some() => None,
                _ if is_symbol(region) => Some("REGION is a symbol, whose value is unknown here: not read"),
                Some(_) => Some("REGIONX without a second value of 32M or more: not read"),
                None => Some("REGION that is damaged: not read"),
            };
            let why_memlimit = match memlimit.filter(|_| line.whole && memlimit_bytes.is_none()) {
                Some(word) if is_symbol(Some(word)) => {
                    Some("MEMLIMIT is a symbol, whose value is unknown here: not read")
                }
                Some(_) => Some("MEMLIMIT that is damaged, or has no unit: not read"),
                None => None,
            };
            for why in why.into_iter().chain(why_memlimit) {
                out(Item::Unread(Unread { evidence: evidence.clone(), why: why.to_owned() }));
            }
            let is_step = keyword(statement, b"pgm").is_some();
            // A step with an unknown MEMLIMIT still shows that the requests of other steps are not its own.
            if why.is_none() && (region_bytes.is_some() || memlimit_bytes.is_some() || is_step) {
                let program = self.program.clone();
                out(Item::Region(Region {
                    program,
                    region: region_bytes,
                    memlimit: memlimit_bytes,
                    used_above: None,
                    evidence,
                }));
            }
        }
        // PARM.GO= and similar keywords, and symbols of a procedure with this ending, such as LEPARM=.
        let symbol = find(statement, b"parm=").map(|at| at + 5);
        let all: Vec<usize> = values(statement, b"parm").map(|(at, _)| at).collect();
        for at in symbol.filter(|at| !all.contains(at)).into_iter().chain(all.iter().copied()) {
            self.parm = Parm::begin(line, statement, at, self.program.clone(), out);
        }
    }
}

/// The part of REGIONX for storage above the line: the second of its values.
fn above(value: &[u8]) -> &[u8] {
    let all = value.strip_prefix(b"(").and_then(|all| all.split(|byte| *byte == b')').next());
    all.and_then(|all| all.split(|byte| *byte == b',').nth(1)).unwrap_or_default()
}

/// `H:MM:SS.hh` in hundredths of a second.
fn time(word: &str) -> Option<u64> {
    let (clock, hundredths) = word.split_once('.')?;
    let mut parts = clock.split(':');
    let number = |part: &str, most: u64| {
        part.parse::<u64>().ok().filter(|n| *n <= most && part.bytes().all(|b| b.is_ascii_digit()))
    };
    let (hours, minutes, seconds) =
        (number(parts.next()?, 99_999)?, number(parts.next()?, 59)?, number(parts.next()?, 59)?);
    if parts.next().is_some() || hundredths.len() != 2 {
        return None;
    }
    Some(((hours * 60 + minutes) * 60 + seconds) * 100 + number(hundredths, 99)?)
}

/// The text after the time and the job number that a job log puts before its lines.
fn without_log(words: &[String]) -> &[String] {
    let is_job = |word: &str| {
        let number = ["JOB", "STC", "TSU"].iter().find_map(|kind| word.strip_prefix(kind));
        number.is_some_and(|number| number.len() >= 4 && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    match words {
        [time, job, rest @ ..] if is_like_time(time) && is_job(job) => rest,
        _ => words,
    }
}

/// `IEF404I`, `$HASP395`: the name of a message.
fn is_message(word: &str) -> bool {
    let word = word.trim_start_matches(['-', '+', '$', '*']);
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = word.bytes().skip(letters).take_while(u8::is_ascii_digit).count();
    let rest = &word.as_bytes()[letters + digits..];
    (3..=4).contains(&letters)
        && (3..=5).contains(&digits)
        && matches!(rest, [] | [b'A' | b'D' | b'E' | b'I' | b'W'])
}

fn is_like_time(word: &str) -> bool {
    word.len() >= 7 && word.starts_with(|c: char| c.is_ascii_digit()) && word.matches([':', '.']).count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_rows_and_messages_of_a_job_log_are_not_called_damaged() {
        let log = "07.31.09 JOB04711  -STEPNAME PROCSTEP    RC   EXCP   CONN       TCB       SRB  CLOCK\n\
                   07.31.09 JOB04711  -SORT                 00   2210    470       .37       .02     .6\n\
                   07.31.10 JOB04711  IEF404I PAYJOB - ENDED - TIME=07.31.10\n\
                   07.31.10 JOB04711  $HASP395 PAYJOB  ENDED - RC=0000\n";
        let items = crate::read(log.as_bytes());
        let [Item::Unread(one)] = &items[..] else { panic!("{items:?}") };
        assert!(one.evidence.line == 1 && one.why.contains("differ from site to site"), "{one:?}");
        let table = "STEPNAME PROCSTEP PGMNAME CC USED CPU TIME ELAPSED TIME EXCP\n\
                     07.31.10 JOB04711  IEF404I PAYJOB - ENDED - TIME=07.31.10\n \
                     07.31.10 JOB    7  IEF404I PAYJOB - ENDED - TIME=07.31.10\n\
                     07.31.10 $HASP395 PAYJOB  ENDED - RC=0000 TIME=07.31.10\n";
        assert_eq!(crate::read(table.as_bytes()), []);
    }

    #[test]
    fn the_region_above_the_line_has_many_forms() {
        let check = |step: &str, expect: Option<u64>| {
            let items = crate::read(format!("//GO EXEC PGM=PAY,{step}\n").as_bytes());
            let region = items.iter().find_map(|item| match item {
                Item::Region(region) => Some(region.region),
                _ => None,
            });
            assert_eq!(region, expect.map(Some), "{items:?}");
            assert!(region.is_some() || matches!(items[..], [Item::Unread(_)]), "{items:?}");
        };
        check("REGION=96M", Some(96 << 20));
        check("REGION=4096", Some(4 << 20));
        check("REGIONX=(8M,256M),COND=(4,LT)", Some(256 << 20));
        check("REGIONX=(0M,0M)", Some(0));
        for not_read in ["REGIONX=(8M,16M)", "REGIONX=8M", "REGIONX=(8M,)", "REGION=&RGN", "REGION=9O6M"] {
            check(not_read, None);
        }
    }

    /// Each region with its MEMLIMIT, or the reason why something was not read.
    fn regions(text: &str) -> Vec<String> {
        let shown = |item| match item {
            Item::Region(Region { region, memlimit, .. }) => format!("{region:?} {memlimit:?}"),
            Item::Unread(unread) => unread.why,
            other => panic!("{other:?}"),
        };
        crate::read(text.as_bytes()).into_iter().map(shown).collect()
    }

    #[test]
    fn memlimit_is_read_or_named() {
        let damaged = "MEMLIMIT that is damaged, or has no unit: not read";
        let step = |operands: &str| regions(&format!("//GO EXEC PGM=PAY,{operands}\n"));
        assert_eq!(step("MEMLIMIT=4G"), ["None Some(4294967296)"]);
        assert_eq!(step("MEMLIMIT=0M"), ["None Some(0)"]);
        assert_eq!(step("REGION=0M,MEMLIMIT=NOLIMIT"), [format!("Some(0) Some({})", u64::MAX)]);
        for bad in ["MEMLIMIT=2O0G", "MEMLIMIT=1", "MEMLIMIT=G"] {
            assert_eq!(step(bad), [damaged, "None None"], "{bad}");
            assert_eq!(step(&format!("REGION=0M,{bad}")), [damaged, "Some(0) None"], "{bad}");
        }
        let symbol = "MEMLIMIT is a symbol, whose value is unknown here: not read";
        assert_eq!(regions("//J JOB (1),MEMLIMIT=&MEM\n"), [symbol]);
        assert_eq!(regions("// EXEC PAYPROC,\n//  MEMLIMIT.GO=4G\n"), ["None Some(4294967296)"]);
    }

    #[test]
    fn a_statement_that_is_cut_is_called_so() {
        let cut = ["REGION or MEMLIMIT that is damaged or cut: not read"];
        for operands in ["REGIONX=(8M,256M)", "REGION=64M", "MEMLIMIT=4G", "MEMLIMIT=4"] {
            assert_eq!(regions(&format!("//GO EXEC PGM=PAY,{operands}")), cut, "{operands}");
        }
    }

    #[test]
    fn the_private_area_that_is_allowed_is_read_or_named() {
        let text = |figure: &str| regions(&format!("  ALLOWED PRIVATE AREA ABOVE 16MB: {figure}\n"));
        assert_eq!(text("65536K"), ["Some(67108864) None"]);
        assert_eq!(text("8192K"), [""; 0]);
        for bad in ["6553GK", "65,536K", ""] {
            assert_eq!(text(bad), ["the private area allowed above 16M, damaged or cut: not read"], "{bad}");
        }
    }

    #[test]
    fn comments_of_a_job_log_ask_for_no_region() {
        assert_eq!(regions("XX*  REGION=4M WAS TOO SMALL\n"), [""; 0]);
        assert_eq!(regions("        7 XX*  PGM=PAY NEEDS REGION=4M\n"), [""; 0]);
    }

    #[test]
    fn the_programs_own_arguments_have_a_side_of_the_slash() {
        use crate::model::Side;
        let of = |parm: &str| {
            let items = crate::read(format!("//GO EXEC PGM=PAY,{parm}\n").as_bytes());
            items.into_iter().find_map(|item| match item {
                Item::Parm(parm) => Some((parm.program.unwrap_or_default(), parm.arguments, parm.side)),
                _ => None,
            })
        };
        let check = |parm: &str, arguments: &str, side| {
            assert_eq!(of(parm), Some(("PAY".to_owned(), arguments.to_owned(), side)), "{parm}");
        };
        check("PARM='HEAP(32K,32K)/A/B'", "A/B", Side::First);
        check("PARM='A/B/HEAP(32K,32K)'", "A/B", Side::Last);
        check("PARM='/HEAP(32K,32K)'", "", Side::Last);
        check("PARM='/ONE'", "ONE", Side::First);
        check("PARM='ONE/'", "ONE", Side::Last);
        check("PARM='A/B'", "A/B", Side::Unknown);
        check("PARM=DAILY,REGION=0M", "DAILY", Side::Unknown);
        assert_eq!(of("PARM=&P"), None);
    }

    #[test]
    fn parm_ends_at_column_71() {
        let why = |text: &str| {
            let items = crate::read(text.as_bytes());
            items.into_iter().find_map(|item| match item {
                Item::Unread(unread) => Some(unread.why),
                Item::Text(text) => Some(text.rows.iter().map(|row| row.values.clone()).collect()),
                _ => None,
            })
        };
        let fill = " ".repeat(15);
        assert_eq!(why("//GO EXEC PGM=PAY,PARM='/HEAP(32K,32K)'\n").as_deref(), Some("32K,32K"));
        // The prefix of a job log before the statement does not count.
        assert_eq!(
            why(&format!("        2 //GO{fill} EXEC PGM=PAY1,PARM='/STACK(128K,128K),HEAP(32K)'\n"))
                .as_deref(),
            Some("128K,128K32K")
        );
        let beyond = why(&format!("//GO{fill} EXEC PGM=PAY1,PARM='/STACK(128K,128K),HEAP(32K,32K)'\n"));
        assert!(beyond.is_some_and(|why| why.contains("beyond column 71")));
    }

    #[test]
    fn times_are_exact_or_none() {
        assert_eq!(time("0:01:02.34"), Some(6_234));
        for bad in ["0.00.00", "0:00:61.00", "0:00:00.0", "0:0O:00.01", "1:2.34", ""] {
            assert_eq!(time(bad), None, "{bad}");
        }
        assert!(is_like_time("0.00.00") && !is_like_time("72K"));
    }
}
