//! The report as a profile of pprof, which `go tool pprof`, Pyroscope, Speedscope and others read.
//!
//! ```text
//! profile.proto: 1 sample types | 2 samples | 3 mappings | 4 locations | 5 functions | 6 texts | 11, 12 period | 13 comments | 14 default
//! field = key (number * 8 + kind) and value: kind 0 a number in groups of 7 bits, kind 2 a length and bytes
//! ```
//!
//! The message is not compressed, which readers accept. Sample types: alloc_objects, alloc_space, inuse_objects, inuse_space (when most was
//! in use), end_objects, end_space.
//!
//! Invariant: the first mapping is the program's own file. Numbers of mappings, locations and functions begin at 1, and text 0 is
//! empty. Each sum over samples is that of the report's stacks.

use std::collections::HashMap;

use crate::report::{Estimate, Report};

const TYPES: [(&str, &str); 6] = [
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
    ("end_objects", "count"),
    ("end_space", "bytes"),
];

/// The default sample type of readers.
const DEFAULT: &str = "inuse_space";

/// The bytes of the profile.
#[must_use]
pub fn render(report: &Report) -> Vec<u8> {
    let mut texts = Texts::default();
    texts.number("");
    let mut profile = Message::default();
    for (kind, unit) in TYPES {
        profile.message(1, &value_type(&mut texts, kind, unit));
    }
    for stack in &report.stacks {
        let mut sample = Message::default();
        let locations: Vec<u64> = stack.locations.iter().map(|at| *at as u64 + 1).collect();
        sample.packed(1, &locations);
        let figures = &stack.figures;
        let both = |estimate: &Estimate| [estimate.requests, estimate.bytes];
        let values = [&figures.requested, &figures.most_in_use, &figures.in_use_at_end].map(both).concat();
        sample.packed(2, &values);
        profile.message(2, &sample);
    }
    // Tools take the first mapping for the program's own file.
    let mut mappings: HashMap<&str, u64> = HashMap::new();
    let binary = Some(report.binary.as_str()).filter(|binary| !binary.is_empty());
    for module in binary.into_iter().chain(report.locations.iter().map(|location| location.module.as_str())) {
        let next = mappings.len() as u64 + 1;
        mappings.entry(module).or_insert_with(|| {
            let mut mapping = Message::default();
            mapping.number(1, next);
            mapping.number(5, texts.number(module));
            // Its functions, files and lines, and inlined functions, are here.
            (7..=10).for_each(|flag| mapping.number(flag, 1));
            profile.message(3, &mapping);
            next
        });
    }
    let mut functions: HashMap<(u64, u64), u64> = HashMap::new();
    let mut named = Message::default();
    let mut placed = Message::default();
    for (at, location) in report.locations.iter().enumerate() {
        let mut message = Message::default();
        message.number(1, at as u64 + 1);
        message.number(2, mappings.get(location.module.as_str()).copied().unwrap_or(0));
        message.number(3, location.address);
        for function in &location.functions {
            let name = texts.number(function.function.as_deref().unwrap_or("?"));
            let file = texts.number(function.file.as_deref().unwrap_or_default());
            let next = functions.len() as u64 + 1;
            let number = *functions.entry((name, file)).or_insert_with(|| {
                let mut message = Message::default();
                [(1, next), (2, name), (3, name), (4, file)]
                    .into_iter()
                    .for_each(|(field, value)| message.number(field, value));
                named.message(5, &message);
                next
            });
            let mut line = Message::default();
            line.number(1, number);
            line.number(2, function.line.unwrap_or(0));
            message.message(4, &line);
        }
        placed.message(4, &message);
    }
    profile.0.extend(placed.0);
    profile.0.extend(named.0);
    let period = value_type(&mut texts, "space", "bytes");
    let comment = texts.number(
        "underbar heap: estimates from samples; inuse is when most was in use, end when the processes ended",
    );
    let default = texts.number(DEFAULT);
    for text in &texts.list {
        profile.bytes(6, text.as_bytes());
    }
    profile.message(11, &period);
    profile.number(12, report.mean_bytes_largest);
    profile.packed(13, &[comment]);
    profile.number(14, default);
    profile.0
}

fn value_type(texts: &mut Texts, kind: &str, unit: &str) -> Message {
    let mut message = Message::default();
    message.number(1, texts.number(kind));
    message.number(2, texts.number(unit));
    message
}

#[derive(Default)]
struct Texts {
    list: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(known) = self.numbers.get(text) {
            return *known;
        }
        let number = self.list.len() as u64;
        self.list.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// Fields of a message.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(&mut self, field: u64, value: u64) {
        // 0 is what a missing field means.
        if value != 0 {
            self.groups(field << 3);
            self.groups(value);
        }
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.groups(field << 3 | 2);
        self.groups(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn message(&mut self, field: u64, message: &Message) {
        self.bytes(field, &message.0);
    }

    fn packed(&mut self, field: u64, values: &[u64]) {
        let mut message = Message::default();
        values.iter().for_each(|value| message.groups(*value));
        self.message(field, &message);
    }

    fn groups(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::example;

    /// A field: its number, and a number or bytes.
    #[derive(Debug)]
    enum Value {
        Number(u64),
        Bytes(Vec<u8>),
    }

    fn groups(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for at in 0.. {
            let (first, rest) = bytes.split_first().expect("a byte");
            *bytes = rest;
            value |= u64::from(first & 0x7f) << (7 * at);
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }

    fn decoded(mut bytes: &[u8]) -> Vec<(u64, Value)> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = groups(&mut bytes);
            let value = groups(&mut bytes);
            let value = match key & 7 {
                0 => Value::Number(value),
                2 => {
                    let (head, rest) = bytes.split_at(value as usize);
                    bytes = rest;
                    Value::Bytes(head.to_vec())
                }
                kind => panic!("{kind}"),
            };
            fields.push((key >> 3, value));
        }
        fields
    }

    fn messages(fields: &[(u64, Value)], number: u64) -> Vec<Vec<u8>> {
        let of = |(field, value): &(u64, Value)| match value {
            Value::Bytes(bytes) if *field == number => Some(bytes.clone()),
            _ => None,
        };
        fields.iter().filter_map(of).collect()
    }

    fn number(fields: &[(u64, Value)], number: u64) -> u64 {
        let of = |(field, value): &(u64, Value)| match value {
            Value::Number(value) if *field == number => Some(*value),
            _ => None,
        };
        fields.iter().find_map(of).unwrap_or(0)
    }

    fn unpacked(mut bytes: &[u8]) -> Vec<u64> {
        let mut values = Vec::new();
        while !bytes.is_empty() {
            values.push(groups(&mut bytes));
        }
        values
    }

    #[test]
    fn a_reader_finds_the_stacks_with_their_names_and_bytes() {
        let mut report = example();
        report.binary = "/opt/libx.so".to_owned();
        let profile = decoded(&render(&report));
        let texts: Vec<String> =
            messages(&profile, 6).into_iter().map(|text| String::from_utf8(text).expect("text")).collect();
        assert_eq!(texts[0], "");
        let text = |fields: &[(u64, Value)], field| texts[number(fields, field) as usize].as_str();
        let types: Vec<_> = messages(&profile, 1);
        let kinds: Vec<(String, String)> = types
            .iter()
            .map(|bytes| decoded(bytes))
            .map(|fields| (text(&fields, 1).to_owned(), text(&fields, 2).to_owned()))
            .collect();
        assert!(kinds.iter().zip(TYPES).all(|((a, b), (kind, unit))| a == kind && b == unit), "{kinds:?}");
        let functions: Vec<_> = messages(&profile, 5).iter().map(|bytes| decoded(bytes)).collect();
        let locations: Vec<_> = messages(&profile, 4).iter().map(|bytes| decoded(bytes)).collect();
        let mappings: Vec<_> = messages(&profile, 3).iter().map(|bytes| decoded(bytes)).collect();
        for (list, what) in [(&functions, "functions"), (&locations, "locations"), (&mappings, "mappings")] {
            assert!(list.iter().enumerate().all(|(at, fields)| number(fields, 1) == at as u64 + 1), "{what}");
        }
        assert_eq!(text(&mappings[0], 5), "/opt/libx.so", "its stacks come later than those of others");
        assert_eq!(mappings.len(), 3);
        let samples = messages(&profile, 2);
        assert_eq!(samples.len(), report.stacks.len());
        let mut in_use = 0;
        for (sample, stack) in samples.iter().zip(&report.stacks) {
            let sample = decoded(sample);
            let [places, values] = &[1, 2].map(|field| unpacked(&messages(&sample, field)[0]));
            assert_eq!(values.len(), TYPES.len());
            assert_eq!(values[3], stack.figures.most_in_use.bytes);
            in_use += values[3];
            for (place, at) in places.iter().zip(&stack.locations) {
                let location = &locations[*place as usize - 1];
                let expected = &report.locations[*at];
                assert_eq!(number(location, 3), expected.address);
                assert_eq!(text(&mappings[number(location, 2) as usize - 1], 5), expected.module);
                let lines = messages(location, 4);
                assert_eq!(lines.len(), expected.functions.len());
                for (line, function) in lines.iter().zip(&expected.functions) {
                    let line = decoded(line);
                    assert_eq!(number(&line, 2), function.line.unwrap_or(0));
                    let of = &functions[number(&line, 1) as usize - 1];
                    assert_eq!(Some(text(of, 2)), function.function.as_deref());
                }
            }
        }
        assert_eq!(in_use, report.stacks.iter().map(|stack| stack.figures.most_in_use.bytes).sum::<u64>());
        assert_eq!((number(&profile, 12), text(&profile, 14)), (1 << 19, DEFAULT));
    }
}
