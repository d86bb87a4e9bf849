// Vectors, strings, maps, threads and channels; with an argument it panics in a thread and ends with 101.
use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc;
use std::thread;

fn main() {
    if std::env::args().nth(1).is_some() {
        // The usual message names the thread's number, which is not the same twice.
        std::panic::set_hook(Box::new(|panic| eprintln!("{}", panic.location().expect("a place"))));
        let thread = thread::Builder::new().name("ill".to_owned()).spawn(|| panic!("on purpose"));
        let joined = thread.expect("a thread").join();
        println!("joined: {}", joined.is_err());
        std::process::exit(101);
    }
    let (give, take) = mpsc::channel();
    for which in 0..4u64 {
        let give = give.clone();
        thread::spawn(move || {
            let mut counts: HashMap<String, Vec<u64>> = HashMap::new();
            for step in 0..60_000u64 {
                let number = step.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(which as u32 * 7) >> 40;
                counts.entry(format!("key {}", number % 5_000)).or_default().push(number);
            }
            for entry in counts {
                give.send((which, entry)).expect("the receiver waits");
            }
        });
    }
    drop(give);
    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    for (which, (key, numbers)) in take {
        *all.entry(key).or_default() += numbers.iter().map(|number| number ^ which).sum::<u64>();
    }
    let text: String = all.iter().take(50).map(|(key, sum)| format!("{key}: {sum}\n")).collect();
    println!("{} keys, sum {}\n{text}done", all.len(), all.values().fold(0u64, |sum, one| sum.wrapping_add(*one)));
}
