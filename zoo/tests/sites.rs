//! SITES(ON): what samples say of a program's requests is what the program knows of them, and the program does the same as plain.

use std::collections::HashMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use underbar_launch::ledger::site_areas;
use underbar_sites::record::Recorder;
use underbar_sites::tally::Tally;
use underbar_sites::walk::End;
use underbar_sites::{Event, Of, Read, Sample, Sources, Stack};
use underbar_sys::clock::monotonic;
use underbar_zoo::{compiled, heap, scratch};

fn program(name: &str, flags: &[&str]) -> String {
    let flags: Vec<&str> = ["-pthread", "-fno-builtin"].iter().chain(flags).copied().collect();
    heap::text(compiled("sites/known", &format!("sites-{name}"), &flags))
}

/// What was read of one process.
#[derive(Default)]
struct Seen {
    samples: Vec<Sample>,
    live: HashMap<u64, usize>,
    lost: u64,
    mappings: String,
    ends: u32,
    mean_at_end: u64,
}

impl Seen {
    fn take(&mut self, read: Read) {
        match read {
            Read::Mappings(text) => self.mappings.push_str(&text),
            Read::Event(Event::Got(sample)) => {
                self.live.insert(sample.address, self.samples.len());
                self.samples.push(sample);
            }
            Read::Event(Event::Freed { address, .. }) => _ = self.live.remove(&address),
            Read::Event(Event::Lost { samples }) => self.lost += samples,
            Read::End { mean } => (self.ends, self.mean_at_end) = (self.ends + 1, mean),
        }
    }

    fn probability(sample: &Sample) -> f64 {
        -(-(sample.size as f64) / sample.mean as f64).exp_m1()
    }

    /// An estimate of bytes, and its standard error.
    fn bytes<'a>(samples: impl Iterator<Item = &'a Sample>) -> [f64; 2] {
        let (sum, variance) = samples.fold((0.0, 0.0), |(sum, variance), sample| {
            let (size, p) = (sample.size as f64, Self::probability(sample));
            (sum + size / p, variance + size * size * (1.0 - p) / (p * p))
        });
        [sum, variance.sqrt()]
    }

    fn total(&self) -> [f64; 2] {
        Self::bytes(self.samples.iter())
    }

    fn in_use(&self) -> [f64; 2] {
        Self::bytes(self.live.values().map(|&at| &self.samples[at]))
    }
}

// Where numbers must be right the mean stays as it is (share 0), and all records find room in the ring, also if nobody reads meanwhile.

/// Runs a program, and reads its samples meanwhile. Returns its output and what its processes recorded.
fn run(name: &str, options: &str, line: &[&str]) -> (String, Vec<(Of, Seen)>) {
    let ledger = scratch(&format!("sites-{name}")).join("ledger");
    let options = format!("{options},MSGFILE({})", ledger.display());
    let child = Command::new(line[0])
        .args(&line[1..])
        .env("LD_PRELOAD", heap::preload())
        .env("UNDERBAR_OPTS", options)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let seen = read_while(child, &ledger);
    let _ = fs::remove_file(&ledger);
    seen
}

fn read_while(mut child: std::process::Child, ledger: &Path) -> (String, Vec<(Of, Seen)>) {
    let mut seen: Vec<(Of, Seen)> = Vec::new();
    let mut take = |of: &Of, read: Read| {
        let at = seen.iter().position(|(known, _)| known == of).unwrap_or_else(|| {
            seen.push((*of, Seen::default()));
            seen.len() - 1
        });
        seen[at].1.take(read);
    };
    let mut sources = Sources::new();
    while child.try_wait().expect("waited for").is_none() {
        sources.look(site_areas(ledger), &mut take);
        std::thread::yield_now();
    }
    sources.end(site_areas(ledger), &mut take);
    let output = child.wait_with_output().expect("its output");
    assert!(output.status.success(), "{:?}", output.status);
    site_areas(ledger).iter().for_each(|path: &PathBuf| drop(fs::remove_file(path)));
    (String::from_utf8(output.stdout).expect("text"), seen)
}

fn numbers(output: &str) -> [f64; 2] {
    let mut words = output.split_whitespace().skip(1).map(|word| word.parse().expect("a number"));
    [(); 2].map(|()| words.next().expect("two numbers"))
}

/// An estimate is as far from the exact number as its error allows. Beyond 4.5 errors is one run in 150,000.
fn near(what: &str, [found, error]: [f64; 2], exact: f64) {
    eprintln!("{what}: {found:.0} +- {error:.0}, exactly {exact:.0}, {:.2} errors", (found - exact) / error);
    assert!((found - exact).abs() < 4.5 * error, "{what}: {found} +- {error}, exactly {exact}");
    assert!(error < exact / 3.0, "{what}: {error} of {exact}");
}

#[test]
fn estimates_of_total_and_in_use_are_those_of_the_program() {
    let program = program("known", &[]);
    for (mode, count, options) in [
        ("mix", "20000", "SITES(ON,32K,,0)"),
        ("mix", "60000", "SITES(ON,128K,1K,0)"),
        ("mix", "8000", "SITES(ON,8K,,0),STORAGE(AA,55)"),
        ("mix", "20000", "SITES(ON,32K,,0),HEAP(1M,1M,,FREE)"),
        ("threads", "6000", "SITES(ON,16K,512,0)"),
        ("threads", "6000", "SITES(ON,16K,,0),THREADHEAP(64K,32K,ANYWHERE,FREE)"),
        ("mix", "20000", "SITES(ON,32K,,0),HEAPPOOLS(ON)"),
        ("threads", "6000", "SITES(ON,16K,,0),HEAPPOOLS(ON,(64,4),10,256,10,2048,10,30000,10,0)"),
        ("mix", "20000", "SITES(ON,32K,,0),RPTSTG(ON)"),
        ("mix", "8000", "SITES(ON,8K,,0),RPTSTG(ON),HEAPPOOLS(ON),STORAGE(AA,55)"),
    ] {
        let (output, seen) = run("estimates", options, &[&program, mode, count]);
        let [(_, seen)] = &seen[..] else { panic!("{mode}: {} processes", seen.len()) };
        let [total, live] = numbers(&output);
        assert_eq!((seen.lost, seen.ends), (0, 1), "{mode} {options}");
        assert!(seen.samples.iter().all(|sample| sample.mean == seen.mean_at_end), "{}", seen.mean_at_end);
        near(&format!("{mode} {options}, total"), seen.total(), total);
        near(&format!("{mode} {options}, in use"), seen.in_use(), live);
        assert!(seen.mappings.contains("sites-known"), "{}", seen.mappings);
    }
}

#[test]
fn what_realloc_leaves_is_in_use_once() {
    let program = program("known", &[]);
    for options in ["", ",HEAPPOOLS(ON)", ",RPTSTG(ON)"] {
        let options = format!("SITES(ON,32K,,0){options}");
        let (output, seen) = run("realloc", &options, &[&program, "realloc", "20000"]);
        near(&format!("realloc, {options}"), seen[0].1.in_use(), numbers(&output)[1]);
    }
}

#[test]
fn a_child_has_samples_of_its_own_and_so_has_the_next_program() {
    let program = program("known", &[]);
    let (output, seen) = run("fork", "SITES(ON,16K,,0)", &[&program, "fork"]);
    assert_eq!(seen.len(), 2);
    let child = numbers(&output)[1];
    for (of, seen) in &seen {
        let exact = if f64::from(of.process) == child { 10 << 20 } else { 25 << 20 };
        near("fork", seen.in_use(), f64::from(exact));
        // The heap's own count has what the process requested itself, rounded up to cells.
        let most = seen.samples.iter().map(|sample| sample.in_use).max().expect("samples") as f64;
        let exact = f64::from(exact);
        assert!(most > 0.9 * exact && most < 1.2 * exact, "{most}, requested {exact}");
    }
    let (output, seen) = run("exec", "SITES(ON,16K,,0)", &[&program, "exec", &program, "mix", "8000"]);
    assert_eq!(seen.len(), 2);
    let [first, second] = &seen[..] else { panic!("{} programs", seen.len()) };
    assert!(first.0.process == second.0.process && first.0.made_ns < second.0.made_ns);
    near("before exec", first.1.total(), f64::from(20 << 20));
    near("after exec", second.1.total(), numbers(&output)[0]);
}

/// Most children of a shell are like this.
#[test]
fn a_program_without_a_sample_has_no_file() {
    let (_, seen) = run("none", "SITES(ON)", &["/bin/true"]);
    assert!(seen.is_empty());
}

/// With frame pointers the callers are followed inside; without, registers and stack are copied.
#[test]
fn callers_are_those_of_the_program() {
    for (name, flags) in [
        ("frames", &["-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"][..]),
        ("raw", &["-fomit-frame-pointer", "-fno-optimize-sibling-calls"]),
    ] {
        let (output, seen) = run(name, "SITES(ON,16K,,0)", &[&program(name, flags), "calls"]);
        let functions = numbers(&output).map(|address| address as u64);
        let is_in = |address: u64, function: u64| (function..function + 64).contains(&address);
        let of_calls: Vec<&Sample> = seen[0].1.samples.iter().filter(|sample| sample.size == 1000).collect();
        assert!(of_calls.len() > 200, "{name}: {}", of_calls.len());
        let (mut followed, mut copied) = (0, 0);
        for sample in &of_calls {
            match &sample.stack {
                Stack::Frames { addresses, whole } => {
                    assert!(*whole && is_in(addresses[0], functions[0]), "{addresses:x?} {functions:x?}");
                    assert!(is_in(addresses[1], functions[1]) && addresses.len() >= 4, "{addresses:x?}");
                    followed += 1;
                }
                Stack::Raw { registers, stack } => {
                    assert!(is_in(registers.rip, functions[0]), "{registers:x?}");
                    let words = stack.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
                    assert!(words.take(64).any(|word| is_in(word, functions[1])));
                    copied += 1;
                }
            }
        }
        eprintln!("{name}: {followed} followed, {copied} copied");
        assert_eq!([followed, copied].map(|count| count > 0), [name == "frames", name == "raw"], "{name}");
    }
}

/// 300 callers are more than a sample has, however they were found.
#[test]
fn a_deep_stack_is_cut_and_not_whole() {
    let flags = ["-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"];
    let (output, seen) = run("deep", "SITES(ON,16K,,0)", &[&program("deep", &flags), "deep"]);
    assert!(output.starts_with("deep 300"));
    let mut found = 0;
    for sample in seen[0].1.samples.iter().filter(|sample| sample.size == 1000) {
        match &sample.stack {
            Stack::Frames { addresses, whole } => assert_eq!((addresses.len(), *whole), (256, false)),
            // Words that no frame uses have old return addresses of the program's start.
            Stack::Raw { stack, .. } => assert!(stack.len() > 4096, "{}", stack.len()),
        }
        found += 1;
    }
    assert!(found > 20, "{found}");
}

/// Stacks whose unused words differ each time are copied until their callers have rules; then the process follows them itself.
#[test]
fn what_a_reader_has_walked_is_not_copied_again() {
    let program = compiled("sites/awkward", "sites-awkward", &["-O2", "-fomit-frame-pointer", "-pthread"]);
    let ledger = scratch("sites-rules").join("ledger");
    let mut child = Command::new(program)
        .arg("paced")
        .env("LD_PRELOAD", heap::preload())
        .env("UNDERBAR_OPTS", format!("SITES(ON,4K,,0),MSGFILE({})", ledger.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let (mut turns, mut lines) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let mut sources = Sources::new();
    let mut recorder = Recorder::new(Vec::new(), SystemTime::now());
    let mut rounds: Vec<[usize; 2]> = Vec::new();
    // The program waits after each of its rounds.
    while lines.read_exact(&mut [0]).is_ok() {
        let mut read = Vec::new();
        sources.look(site_areas(&ledger), &mut |of, what| read.push((*of, what)));
        let mut kinds = [0; 2];
        for (of, what) in read {
            recorder.look(of.process, monotonic());
            let Read::Event(event) = what else { continue };
            if let Event::Got(Sample { stack, .. }) = &event {
                kinds[usize::from(matches!(stack, Stack::Raw { .. }))] += 1;
            }
            recorder.take(of.process, event);
            sources.tell(&of, recorder.learned.drain(..));
        }
        if rounds.is_empty() {
            // Copies are as long as the ring has room for, so some of these may be cut.
            recorder.tally = Tally::default();
        }
        rounds.push(kinds);
        turns.write_all(b"\n").expect("it reads");
    }
    assert!(child.wait().expect("waited for").success());
    site_areas(&ledger).iter().for_each(|path| drop(fs::remove_file(path)));
    let _ = fs::remove_file(&ledger);
    let [first, .., last] = &rounds[..] else { panic!("{rounds:?}") };
    eprintln!("followed and copied, by rounds: {rounds:?}");
    assert!(first[1] > 10 && first[0] == 0, "nothing is known: {rounds:?}");
    assert!(last[0] > 10 && last[1] == 0, "all is known: {rounds:?}");
    // What is followed is followed to the end.
    let rows = recorder.tally.rows();
    assert!(
        rows.iter().all(|row| row.walk.end == End::Whole),
        "{:?}",
        rows.iter().map(|row| row.walk.end).collect::<Vec<_>>()
    );
    assert!(rows.len() <= 12, "one for each depth, and some of the C library: {}", rows.len());
}

/// Without a reader the ring fills, and what finds no room is counted.
#[test]
fn without_a_reader_samples_are_lost_and_counted() {
    let ledger = scratch("sites-alone").join("ledger");
    let program = program("known", &[]);
    let options = format!("SITES(ON,1K,,0),MSGFILE({})", ledger.display());
    let mut run = Command::new(&program);
    run.args(["mix", "80000"]).env("LD_PRELOAD", heap::preload()).env("UNDERBAR_OPTS", options);
    assert!(run.stdout(Stdio::null()).status().expect("it runs").success());
    let mut seen = Seen::default();
    Sources::new().end(site_areas(&ledger), &mut |_, read| seen.take(read));
    assert!(seen.samples.len() > 1000, "{} samples", seen.samples.len());
    assert!(seen.lost > 1000, "{} lost", seen.lost);
    site_areas(&ledger).iter().for_each(|path| drop(fs::remove_file(path)));
    let _ = fs::remove_file(&ledger);
}
