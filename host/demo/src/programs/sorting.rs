//! Records that are made one by one, sorted, and read one by one in their order: by the program `sort`, or inside this one.
//!
//! | way | is |
//! |---|---|
//! | `each` | `sort` gets each record by a write, and each comes back by a read |
//! | `user` | the same by blocks of 64 KiB |
//! | `direct` | the internal sort of `underbar-records`, from storage into storage |
//!
//! Invariant: the records are the same for all ways, and so is the sum, in which the place of each record counts.
//! Not here: the internal sort (`underbar_records`).

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use underbar_records::{Format, Input, Plan, To, sort, statement};
use underbar_verdict::random::Random;

use super::{Parameters, complain, generator, say};

/// Bytes of a record, with the newline that `sort` needs.
const LENGTH: usize = 100;
/// Bytes of the blocks of `user`.
const BLOCK: usize = 64 << 10;

/// Sorts as many records as the parameters say, and prints the sum, the time and the calls.
pub fn sorting(parameters: &Parameters) {
    let before = calls();
    let begin = Instant::now();
    let sorted = match parameters.way {
        "each" => by_process(parameters, |to| to, |from| from),
        "user" => by_process(
            parameters,
            |to| BufWriter::with_capacity(BLOCK, to),
            |from| BufReader::with_capacity(BLOCK, from),
        ),
        _ => inside(parameters),
    };
    let elapsed = begin.elapsed().as_nanos();
    match sorted {
        Ok(Sum { records, sum, .. }) => {
            say(format_args!("records={records} sum={sum} elapsed_ns={elapsed}"));
            // A child's calls are added when it was waited for.
            if let Some((before, after)) = before.zip(calls()) {
                say(format_args!(" calls={}", after.saturating_sub(before)));
            }
            say(format_args!("\n"));
        }
        Err(error) => complain(format_args!("sort: {error}")),
    }
}

/// The records in the order in which they come back.
#[derive(Default)]
struct Sum {
    records: u64,
    sum: u64,
}

impl Sum {
    fn take(&mut self, record: &[u8]) {
        self.records += 1;
        for byte in record {
            self.sum = self.sum.wrapping_mul(31).wrapping_add(u64::from(*byte));
        }
        // A figure that is read as a number.
        self.sum &= u64::MAX >> 1;
    }
}

/// Records with a key of ten letters, a number of their own, and blanks.
struct Made {
    random: Random,
    number: u64,
}

impl Made {
    fn next(&mut self, record: &mut [u8; LENGTH]) {
        record.fill(b' ');
        let mut key = self.random.next_u64();
        for byte in &mut record[..10] {
            *byte = b'a' + (key % 26) as u8;
            key /= 26;
        }
        let mut number = self.number;
        for byte in record[11..20].iter_mut().rev() {
            *byte = b'0' + (number % 10) as u8;
            number /= 10;
        }
        record[LENGTH - 1] = b'\n';
        self.number += 1;
    }
}

fn made(parameters: &Parameters) -> Made {
    Made { random: generator(parameters.seed), number: 0 }
}

fn by_process<W: Write, R: Read>(
    parameters: &Parameters,
    to: impl Fn(std::process::ChildStdin) -> W,
    from: impl Fn(std::process::ChildStdout) -> R,
) -> io::Result<Sum> {
    let mut child = Command::new("sort")
        .args(["-s", "-k1.1,1.10"])
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let none = || io::Error::other("no pipe");
    let (mut records, mut record) = (made(parameters), [0; LENGTH]);
    let mut input = to(child.stdin.take().ok_or_else(none)?);
    for _ in 0..parameters.times {
        records.next(&mut record);
        input.write_all(&record)?;
    }
    input.flush()?;
    drop(input);
    let mut output = from(child.stdout.take().ok_or_else(none)?);
    let mut sum = Sum::default();
    for _ in 0..parameters.times {
        output.read_exact(&mut record)?;
        sum.take(&record);
    }
    drop(output);
    if !child.wait()?.success() {
        return Err(io::Error::other("it failed"));
    }
    Ok(sum)
}

fn inside(parameters: &Parameters) -> io::Result<Sum> {
    let (mut records, mut record) = (made(parameters), [0; LENGTH]);
    let mut all = Vec::new();
    for _ in 0..parameters.times {
        records.next(&mut record);
        all.extend_from_slice(&record);
    }
    let format = Format::Fixed(LENGTH as u32);
    let plan = statement::read("SORT FIELDS=(1,10,CH,A)", format).map(|text| Plan::new(format, text));
    let plan = plan.map_err(io::Error::other)?;
    let mut sorted = Vec::with_capacity(all.len());
    let input = Input { name: "the program".into(), bytes: Box::new(io::Cursor::new(all)) };
    let to = To { name: "the program", bytes: &mut sorted };
    sort(vec![input], &plan, to, &mut |_| ()).map_err(io::Error::other)?;
    let mut sum = Sum::default();
    sorted.chunks(LENGTH).for_each(|record| sum.take(record));
    Ok(sum)
}

/// Read and write calls of this process and of the children that it waited for, as the kernel counts them. None: it does not.
fn calls() -> Option<u64> {
    let mut text = String::new();
    File::open("/proc/self/io").ok()?.read_to_string(&mut text).ok()?;
    let of = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    of("syscr:")?.checked_add(of("syscw:")?)
}
