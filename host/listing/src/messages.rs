//! Messages at the end of a step or job: CPU time of the step, and storage used above the line.
//!
//! ```text
//! IEF032I STEP/GO      /STOP  2026324.1015                                         and on the lines below it
//!         CPU:     0 HR  00 MIN  15.44 SEC    SRB:     0 HR  00 MIN  00.01 SEC
//!         VIRT:    12K  SYS:   284K  EXT:     3572K  SYS:    11024K
//! IEF374I STEP/GO      /STOP  2006195.1029 CPU    0MIN 15.44SEC SRB    0MIN 00.01SEC VIRT   928K SYS   308K EXT ...
//! ```
//!
//! Invariant: a time is read whole or not at all. Start and stop have minutes only, so that no elapsed time is made of them.
//! Not here: rows of timings that a site prints (`job`); IEF033I and IEF376I, which are about the whole job and not a step.

use crate::lines::Line;
use crate::model::{Item, Region, StepTiming, Unread};
use crate::number::size;
use crate::words::{evidence, find, has, split};

/// The most lines of one message.
const LINES: u64 = 6;

/// The state between lines.
#[derive(Default)]
pub(crate) struct Messages {
    /// The line of the open message, and its step.
    open: Option<(u64, Option<String>)>,
}

impl Messages {
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Reads a line; true if it is part of a message.
    pub(crate) fn line(&mut self, line: Line<'_>, out: &mut dyn FnMut(Item)) -> bool {
        let text = line.text;
        if has(text, "ief032i") || has(text, "ief033i") {
            self.open = Some((line.number, step(text)));
            return true;
        }
        if has(text, "ief374i") {
            self.open = None;
            if let (Some(name), Some(at)) = (step(text), find(text, b" cpu ")) {
                cpu(line, name, &text[at + 5..], out);
            }
            if let Some(at) = find(text, b" ext ") {
                used(line, &text[at + 5..], out);
            }
            return true;
        }
        let Some((first, name)) = &mut self.open else { return false };
        if line.number > *first + LINES || find(text, b"ief").is_some_and(|at| at < 24) {
            self.open = None;
            return false;
        }
        if let Some(at) = find(text, b"cpu:") {
            if let Some(name) = name.take() {
                cpu(line, name, &text[at + 4..], out);
            }
            return true;
        }
        if let Some(at) = find(text, b"ext:") {
            used(line, &text[at + 4..], out);
            return true;
        }
        false
    }
}

/// The name in `STEP/GO      /STOP`; None for `JOB/...`.
fn step(text: &[u8]) -> Option<String> {
    let (before, behind) = text.split_at(text.iter().position(|byte| *byte == b'/')?);
    let word = split(before).last()?;
    let name = behind[1..].split(|byte| *byte == b'/').next()?.trim_ascii();
    let is_name = !name.is_empty() && name.len() <= 17 && name.iter().all(u8::is_ascii_graphic);
    (word.eq_ignore_ascii_case(b"step") && is_name).then(|| String::from_utf8_lossy(name).into_owned())
}

fn cpu(line: Line<'_>, name: String, text: &[u8], out: &mut dyn FnMut(Item)) {
    let here = evidence(line.number, line.text);
    // The words after it show that it is whole.
    let end = find(text, b"srb");
    let whole = end.is_some() || line.whole;
    let Some(cpu) = time(&text[..end.unwrap_or(text.len())]).filter(|_| whole) else {
        let why = "the CPU time of a step that is damaged or cut: not read".to_owned();
        return out(Item::Unread(Unread { evidence: here, why }));
    };
    let evidence = Some(here);
    out(Item::Step(StepTiming { names: vec![name], cpu: Some(cpu), evidence, ..StepTiming::default() }));
}

/// `0 HR  00 MIN  15.44 SEC` or `0MIN 15.44SEC`, in hundredths of a second.
fn time(text: &[u8]) -> Option<u64> {
    let text: String = split(text).map(|word| String::from_utf8_lossy(word).to_ascii_uppercase()).collect();
    let text = text.strip_suffix("SEC")?;
    let number = |text: &str| {
        let digits = (1..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u64>().ok()).flatten()
    };
    let (hours, text) = match text.split_once("HR") {
        Some((hours, rest)) => (Some(number(hours)?), rest),
        None => (None, text),
    };
    let (minutes, seconds) = text.split_once("MIN")?;
    let (seconds, hundredths) = seconds.split_once('.')?;
    let minutes = number(minutes).filter(|minutes| hours.is_none() || *minutes < 60)?;
    let (seconds, hundredths) = (
        number(seconds).filter(|seconds| *seconds < 60)?,
        number(hundredths).filter(|_| hundredths.len() == 2)?,
    );
    Some(((hours.unwrap_or(0) * 60 + minutes) * 60 + seconds) * 100 + hundredths)
}

/// The storage used above the line.
fn used(line: Line<'_>, text: &[u8], out: &mut dyn FnMut(Item)) {
    let used = split(text).next().and_then(|word| size(&String::from_utf8_lossy(word), u64::MAX));
    // In a cut line only a word that another word follows is whole.
    let whole = line.whole || split(text).nth(1).is_some();
    if let Some(used_above) = used.filter(|used| whole && *used < 1 << 41) {
        let (evidence, used_above) = (evidence(line.number, line.text), Some(used_above));
        out(Item::Region(Region { program: None, region: None, memlimit: None, used_above, evidence }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_or_none() {
        let check = |text: &str, expect| assert_eq!(time(text.as_bytes()), expect, "{text}");
        check("     0 HR  00 MIN  15.44 SEC  ", Some(1544));
        check("     2 HR  03 MIN  00.01 SEC", Some(((2 * 60 + 3) * 60) * 100 + 1));
        check("  240MIN 00.12SEC ", Some(240 * 6000 + 12));
        for bad in [
            "0 HR 61 MIN 00.00 SEC",
            "0MIN 75.00SEC",
            "0MIN 1.5SEC",
            "0MIN O0.12SEC",
            "00 MIN",
            "",
            "0MIN 00.12SE",
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn the_cpu_of_steps_is_read_and_that_of_the_job_is_not() {
        let log = " IEF373I STEP/GO      /START 2026324.1015\n \
                    IEF032I STEP/GO      /STOP  2026324.1016\n         \
                    CPU:     0 HR  01 MIN  15.44 SEC    SRB:     0 HR  00 MIN  00.01 SEC\n         \
                    VIRT:    12K  SYS:   284K  EXT:     3572K  SYS:    11024K\n \
                    IEF033I  JOB/PAY     /STOP  2026324.1016\n         \
                    CPU:     0 HR  01 MIN  15.45 SEC    SRB:     0 HR  00 MIN  00.01 SEC\n \
                    IEF374I STEP/OLD     /STOP  2006195.1029 CPU    0MIN 00.06SEC SRB    0MIN 00.00SEC VIRT   928K \
                    SYS   308K EXT    8768K SYS   11284K\n \
                    IEF374I STEP /ASM     / STOP  2006195.1029 CPU    0MIN 00.O6SEC SRB    0MIN 00.00SEC\n";
        let (mut steps, mut regions, mut unread) = (Vec::new(), Vec::new(), Vec::new());
        for item in crate::read(log.as_bytes()) {
            match item {
                Item::Step(step) => steps.push((step.names.join(" "), step.cpu, step.elapsed)),
                Item::Region(region) => regions.push(region.used_above),
                Item::Unread(one) => unread.push(one.evidence.line),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(steps, [("GO".to_owned(), Some(7544), None), ("OLD".to_owned(), Some(6), None)]);
        assert_eq!(regions, [Some(3572 << 10), Some(8768 << 10)]);
        assert_eq!(unread, [8]);
    }
}
