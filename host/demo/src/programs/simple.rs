//! A small program: some words, sorted and printed. Little heap, little stack.
//!
//! It ends with everything still in use, as small programs do; so the final figures in its accounts are also
//! its peaks.

use super::{Parameters, generator, say};

/// The number of words.
const WORDS: usize = 24;

/// Gets a piece for each word, sorts the words and prints the result.
pub fn run(parameters: &Parameters) {
    let mut random = generator(parameters.seed);
    let mut words: Vec<String> = (0..WORDS)
        .map(|_| (0..random.below(60) + 20).map(|_| char::from(b'a' + random.below(26) as u8)).collect())
        .collect();
    words.sort_unstable();
    let letters: usize = words.iter().map(String::len).sum();
    let of = |word: Option<&String>| word.map_or_else(String::new, |word| word.chars().take(8).collect());
    say(format_args!("{WORDS} words, {letters} letters, {} to {}\n", of(words.first()), of(words.last())));
    std::mem::forget(words);
}
