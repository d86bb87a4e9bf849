//! Any bytes as a file of records of each form: they are sorted, or the error names a place in them; a copy and a sort with little memory
//! have the same records.
#![no_main]

use libfuzzer_sys::fuzz_target;
use underbar_records::{Error, Format, Input, Plan, Records, To, sort, statement};

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, file)) = bytes.split_first() else { return };
    let length = u32::from(first >> 2) + 1;
    let (format, data) = match first & 3 {
        0 => (Format::Fixed(length), 1),
        1 => (Format::Variable(length + 4), 5),
        2 => (Format::Undefined(length), 1),
        _ => (Format::Lines, 1),
    };
    let input = || Input { name: "file".into(), bytes: Box::new(std::io::Cursor::new(file.to_vec())) };
    // One by one.
    let mut records = Vec::new();
    let mut reader = Records::new(vec![input()], format);
    let read = loop {
        match reader.next() {
            Ok(Some(record)) => records.push(record.to_vec()),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    let text = format!("SORT FIELDS=({data},1,CH,A)\nOPTION VLSHRT");
    let mut plan = Plan::new(format, statement::read(&text, format).unwrap());
    (plan.memory, plan.threads) = (0, 1);
    let mut sorted = Vec::new();
    let done = sort(vec![input()], &plan, To { name: "out", bytes: &mut sorted }, &mut |_| ());
    match (read, done) {
        (Ok(()), Ok(figures)) => {
            records.sort_by_key(|record| record.first().copied().unwrap_or(0));
            let mut expect = Vec::new();
            records.iter().for_each(|record| format.append(record, &mut expect));
            assert!(sorted == expect);
            assert_eq!(figures.written, records.len() as u64);
        }
        (Err(Error::Format { place, .. }), Err(Error::Format { place: again, .. })) => {
            assert_eq!(place, again);
            assert_eq!(place.record, records.len() as u64 + 1);
            assert!(place.byte <= file.len() as u64);
        }
        (read, done) => panic!("{:?} {:?}", read, done.map(|_| ())),
    }
});
