//! Sorts of random files against a simple, slow sort: each form of records, each kind of key, little and much memory.

mod common;

use std::cmp::Ordering;

use common::{Folder, Random, sort_bytes};
use underbar_records::format::LONGEST_VARIABLE;
use underbar_records::{Format, Plan, statement};

/// The forms, with the place of the first byte of data in statements.
const FORMS: [(Format, u32); 4] = [
    (Format::Fixed(40), 1),
    (Format::Variable(LONGEST_VARIABLE), 5),
    (Format::Undefined(40), 1),
    (Format::Lines, 1),
];

/// A value in the test's own form, and its field of 8 bytes.
fn field(kind: &str, random: &mut Random) -> (i64, Vec<u8>) {
    let value = [random.below(20) as i64 - 10, random.next() as i64 % 10_000_000][random.below(2) as usize];
    let digits = format!("{:015}", value.unsigned_abs());
    let bytes = match kind {
        "CH" => {
            let letters = format!("{:<8}", value.unsigned_abs()).into_bytes();
            // Compared as the number of its bytes.
            return (i64::from_be_bytes(letters.clone().try_into().expect("8")), letters);
        }
        "BI" => (value.unsigned_abs()).to_be_bytes().to_vec(),
        "FI" => value.to_be_bytes().to_vec(),
        "PD" => {
            let mut halves: Vec<u8> = digits.bytes().map(|digit| digit - b'0').collect();
            let positive = [0xa, 0xc, 0xe, 0xf][random.below(4) as usize];
            let negative = [0xb, 0xd][random.below(2) as usize];
            // Zero has either sign.
            let is_negative = value < 0 || value == 0 && random.below(2) == 0;
            halves.push(if is_negative { negative } else { positive });
            halves.chunks(2).map(|two| two[0] << 4 | two[1]).collect()
        }
        _ => {
            let zone = [0xf0, 0x30][random.below(2) as usize];
            let mut bytes: Vec<u8> = digits.bytes().skip(7).map(|digit| zone | (digit & 0xf)).collect();
            let sign = match (value < 0, zone) {
                (true, 0xf0) => 0xd0,
                (true, _) => 0x70,
                (false, 0xf0) => 0xc0,
                (false, _) => 0x30,
            };
            bytes[7] = bytes[7] & 0xf | sign;
            bytes
        }
    };
    let value = if kind == "BI" { value.unsigned_abs() as i64 } else { value };
    (value, bytes)
}

/// Bytes without a line feed, so that they can be lines.
fn is_possible(format: Format, bytes: &[u8]) -> bool {
    format != Format::Lines || !bytes.contains(&b'\n')
}

#[test]
fn random_files_are_in_the_order_of_a_simple_sort() {
    let folder = Folder::new("oracle");
    let mut random = Random(0x5eed);
    for (format, first) in FORMS {
        for kind in ["CH", "BI", "FI", "PD", "ZD"] {
            for directions in ["AA", "AD", "DA"] {
                // Two fields of the kind, and 24 bytes that tell records apart.
                let mut records = Vec::new();
                while records.len() < 3_000 {
                    let (one, one_bytes) = field(kind, &mut random);
                    let (two, two_bytes) = field(kind, &mut random);
                    let rest = format!("{:024}", records.len());
                    let record = [&one_bytes[..], &two_bytes, rest.as_bytes()].concat();
                    if is_possible(format, &record) {
                        records.push((one, two, record));
                    }
                }
                let mut bytes = Vec::new();
                records.iter().for_each(|record| format.append(&record.2, &mut bytes));
                let directed = |ordering: Ordering, at: usize| {
                    if directions.as_bytes()[at] == b'D' { ordering.reverse() } else { ordering }
                };
                records.sort_by(|one, other| {
                    directed(one.0.cmp(&other.0), 0).then(directed(one.1.cmp(&other.1), 1))
                });
                let mut expect = Vec::new();
                records.iter().for_each(|record| format.append(&record.2, &mut expect));
                let [one, two] = [&directions[..1], &directions[1..]];
                let text = format!("SORT FIELDS=({first},8,{kind},{one},{},8,{kind},{two})", first + 8);
                let mut plan = Plan::new(format, statement::read(&text, format).expect("statements"));
                plan.work = folder.path().to_owned();
                for (memory, threads) in [(0, 2), (64 << 20, 1)] {
                    (plan.memory, plan.threads) = (memory, threads);
                    let sorted = sort_bytes(&[&bytes], &plan).expect("sorted").0;
                    assert!(sorted == expect, "{format} {text} {memory}");
                }
            }
        }
    }
}

#[test]
fn files_larger_than_memory_pass_through_the_work_file() {
    let folder = Folder::new("spill");
    let mut random = Random(7);
    // Keys of 4, 20 and 30 bytes: in the prefix, in the record, and made.
    for fields in ["1,4,CH,A", "1,20,CH,A", "1,20,CH,A,31,10,CH,D"] {
        for format in [Format::Fixed(60), Format::Lines] {
            let mut records: Vec<Vec<u8>> = (0..100_000)
                .map(|number| {
                    let key = random.below(5_000);
                    let tail = random.below(3);
                    format!("{key:04}{:26}{tail:<10}{number:020}", "").into_bytes()
                })
                .collect();
            let mut bytes = Vec::new();
            records.iter().for_each(|record| format.append(record, &mut bytes));
            let has_tail = fields.contains('D');
            records.sort_by(|one, other| {
                let tails = if has_tail { other[30..40].cmp(&one[30..40]) } else { Ordering::Equal };
                one[..4].cmp(&other[..4]).then(tails)
            });
            let mut expect = Vec::new();
            records.iter().for_each(|record| format.append(record, &mut expect));
            let statements = statement::read(&format!("SORT FIELDS=({fields})"), format).expect("statements");
            let mut plan = Plan::new(format, statements);
            plan.work = folder.path().to_owned();
            // With 1 MiB there are more runs than one merge takes.
            for (memory, threads, is_spilled) in
                [(1 << 20, 2, true), (4 << 20, 3, true), (64 << 20, 2, false)]
            {
                (plan.memory, plan.threads) = (memory, threads);
                let (sorted, figures) = sort_bytes(&[&bytes], &plan).expect("sorted");
                assert!(sorted == expect, "{format} {fields} {memory}");
                assert_eq!((figures.records, figures.written), (100_000, 100_000));
                assert_eq!(figures.work.runs > 0, is_spilled, "{figures:?}");
                assert!(figures.work.bytes <= 3 * bytes.len() as u64, "{figures:?}");
            }
            assert_eq!(
                std::fs::read_dir(folder.path()).expect("a folder").count(),
                0,
                "work files have no name"
            );
        }
    }
}

#[test]
fn several_inputs_are_sorted_together_and_merged() {
    let inputs: [&[u8]; 4] = [b"a1\nc1\nd1", b"", b"a2\nb2\n", b"c3\n"];
    let plan =
        |text: &str| Plan::new(Format::Lines, statement::read(text, Format::Lines).expect("statements"));
    for verb in ["SORT", "MERGE"] {
        let (sorted, figures) =
            sort_bytes(&inputs, &plan(&format!("{verb} FIELDS=(1,1,CH,A)"))).expect("sorted");
        assert_eq!(sorted, b"a1\na2\nb2\nc1\nc3\nd1\n", "{verb}");
        let bytes: usize = inputs.iter().map(|input| input.len()).sum();
        assert_eq!((figures.records, figures.taken, figures.bytes), (6, 6, bytes as u64), "{verb}");
        assert_eq!(figures.written_bytes, sorted.len() as u64);
    }
    let (copied, _) = sort_bytes(&inputs, &plan("OPTION COPY,SKIPREC=1,STOPAFT=3")).expect("copied");
    assert_eq!(copied, b"c1\nd1\na2\n");
    let error =
        sort_bytes(&[b"a\nc\n", b"b\nd\na\n"], &plan("MERGE FIELDS=(1,1,CH,A)")).expect_err("not in order");
    assert!(error.starts_with("1, record 3 at byte 4: its key is before that"), "{error}");
}

#[test]
fn records_are_chosen_before_they_are_sorted() {
    let lines: Vec<u8> =
        (0..40_000).flat_map(|number| format!("{:05}\n", number * 7919 % 40_000).into_bytes()).collect();
    let (text, conditions) = ("SORT FIELDS=(1,5,CH,D)", "INCLUDE COND=(5,1,CH,EQ,C'7')");
    let with = |options: &str| {
        let text = format!("{text}\n{conditions}\n{options}");
        let mut plan = Plan::new(Format::Lines, statement::read(&text, Format::Lines).expect("statements"));
        plan.threads = 2;
        // Many small blocks.
        plan.memory = 1 << 20;
        let (sorted, figures) = sort_bytes(&[&lines], &plan).expect("sorted");
        (String::from_utf8(sorted).expect("text"), figures)
    };
    let ends: Vec<String> = (0..4_000).rev().map(|number| format!("{:05}\n", number * 10 + 7)).collect();
    let (sorted, figures) = with("");
    assert!(sorted == ends.concat());
    assert_eq!((figures.records, figures.taken, figures.written), (40_000, 4_000, 4_000));
    // The first hundred that are taken behind the first thousand, in the order of the input.
    let mut chosen: Vec<String> = (1_000..40_000)
        .map(|number| format!("{:05}\n", number * 7919 % 40_000))
        .filter(|line| line.ends_with("7\n"))
        .take(100)
        .collect();
    chosen.sort();
    chosen.reverse();
    let (sorted, figures) = with("OPTION SKIPREC=1000,STOPAFT=100");
    assert_eq!(sorted, chosen.concat());
    assert_eq!((figures.taken, figures.written), (100, 100));
}

#[test]
fn sums_are_made_across_blocks() {
    let records: Vec<u8> =
        (0..50_000_u32).flat_map(|number| format!("{:02}{:08}", number % 50, 1).into_bytes()).collect();
    let format = Format::Fixed(10);
    let text = "SORT FIELDS=(1,2,CH,A)\nSUM FIELDS=(3,8,ZD)";
    let mut plan = Plan::new(format, statement::read(text, format).expect("statements"));
    (plan.memory, plan.threads) = (1 << 20, 2);
    let (sorted, figures) = sort_bytes(&[&records], &plan).expect("sorted");
    let expect: String = (0..50).map(|key| format!("{key:02}00001000")).collect();
    assert_eq!(String::from_utf8_lossy(&sorted), expect);
    assert_eq!((figures.taken, figures.written), (50_000, 50));
}
