//! The speed of reading a job log: `cargo run --release -p underbar-listing --example job_log [MB [REPORTS]]`.
//!
//! Makes a log of 1,000 MB with 10,000 storage reports, each of another program, in pieces, and reads it.
//! The time is that of the reader alone, on one core. With `--write` the log goes to standard output instead, for the command.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use underbar_listing::{Item, Reader};

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let write = words.iter().any(|word| word == "--write");
    let mut numbers = words.iter().filter_map(|word| word.parse::<usize>().ok());
    let (megabytes, reports) = (numbers.next().unwrap_or(1000), numbers.next().unwrap_or(10_000));
    let each = megabytes * 1_000_000 / reports.max(1);
    let (mut reader, mut taken, mut busy) = (Reader::new(), Duration::ZERO, 0_u64);
    let (mut found, mut certain, mut bytes) = (0_usize, 0_usize, 0_usize);
    let mut count = |item| {
        if let Item::Storage(report) = item {
            found += 1;
            certain += report.sections.iter().map(|section| section.figures.len()).sum::<usize>();
        }
    };
    let mut output = io::stdout().lock();
    for number in 0..reports {
        let text = job(number, each);
        bytes += text.len();
        if write {
            output.write_all(text.as_bytes())?;
            continue;
        }
        let (start, work) = (Instant::now(), worked());
        reader.feed(text.as_bytes(), &mut count);
        taken += start.elapsed();
        busy += worked() - work;
    }
    if !write {
        let lines = reader.finish(&mut count);
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let memory = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM unknown");
        writeln!(
            output,
            "{bytes} bytes, {lines} lines, {found} reports, {certain} figures in {:.2} s, of which {:.2} s on the core; {memory}",
            taken.as_secs_f64(),
            busy as f64 / 1e9
        )?;
    }
    Ok(())
}

/// Nanoseconds of this thread on a core; 0 if the system does not report them. On a busy machine the clock would show more.
fn worked() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanoseconds| nanoseconds.parse().ok()).unwrap_or(0)
}

/// One job: statements, messages, the program's own print, with a storage report in the middle.
fn job(number: usize, bytes: usize) -> String {
    let mut text = format!(
        "1                       J E S 2  J O B  L O G\n 09.14.{:02} JOB{number:05} ---- FRIDAY,    20 NOV 2026 ----\n \
         //PAY{number:05} JOB (ACCT),'NIGHTLY RUN',CLASS=A\n //GO       EXEC PGM=BILLING7,REGION=128M\n",
        number % 60
    );
    let record = |text: &mut String, line: usize| {
        // Writing to a string cannot fail.
        let _ = match line % 9 {
            0 => writeln!(text, " IEF142I PAY{number:05} GO - STEP WAS EXECUTED - COND CODE 0000"),
            1 => {
                writeln!(text, " IGD104I PROD.PAY.MASTER.G{line:04}V00        RETAINED,  DDNAME=SYSUT{line}")
            }
            4 => writeln!(text, "0         STATEMENT OF ACCOUNT {line:>9}        PAGE {:>5}", line / 60),
            _ => writeln!(
                text,
                "  {line:>8}  EMPLOYEE {:>7} GROSS {:>10}.17 TAX {:>9}.03 NET {:>10}.14  TRANSFERRED TO THE BANK",
                line * 37 % 99_991,
                line * 7919 % 1_000_000,
                line * 104_729 % 100_000,
                line * 1_299_709 % 900_000
            ),
        };
    };
    let (mut line, half) = (0, bytes.saturating_sub(4500) / 2);
    while text.len() < half {
        record(&mut text, line);
        line += 1;
    }
    report(&mut text, number as u64);
    while text.len() < bytes {
        record(&mut text, line);
        line += 1;
    }
    text
}

fn report(text: &mut String, number: u64) {
    let stack: &[&str] = &[
        "Initial size",
        "Increment size",
        "Maximum used by all concurrent threads",
        "Largest used by any thread",
        "Number of segments allocated",
        "Number of segments freed",
    ];
    let heap: &[&str] = &[
        "Initial size",
        "Increment size",
        "Total heap storage used (sugg. initial size)",
        "Successful Get Heap requests",
        "Successful Free Heap requests",
        "Number of segments allocated",
        "Number of segments freed",
    ];
    let _ = write!(
        text,
        "1Storage Report for Enclave PAY{number:05} 11/20/26 9:14:07 AM\n Language Environment V03 R01.00\n\n"
    );
    for title in ["STACK", "THREADSTACK", "LIBSTACK", "HEAP", "HEAP24", "ANYHEAP", "BELOWHEAP"] {
        let labels = if title.ends_with("STACK") { stack } else { heap };
        let _ = writeln!(text, "     {title} statistics:");
        for (at, label) in labels.iter().enumerate() {
            // As in the layout: values end 58 columns after the start of their labels.
            let value = [32_768, 32_768, 4_000_000 + 8 * number, 5_000, 4_990, 90, 0][at];
            let value =
                if title.ends_with("STACK") { [32_768, 32_768, 9_000, 9_000, 1, 0][at] } else { value };
            let room = 58 - label.len() - 1;
            let _ = writeln!(text, "       {label}:{value:>room$}");
        }
    }
    text.push_str(" End of Storage Report\n");
}
