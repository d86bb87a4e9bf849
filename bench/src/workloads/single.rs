//! Workloads of one thread and small blocks: last in first out, random order, growth, and a compiler's mix.

use super::{add, get};
use crate::random::Random;
use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;

/// Gets 64 bytes and frees them at once, `steps` times.
pub(super) fn lifo(steps: usize, seed: u64) -> u64 {
    let mut sum = seed;
    for step in 0..steps {
        let block = get(64, step as u8);
        sum = sum.wrapping_add(u64::from(block[0]));
    }
    sum
}

/// Gets 1,000 blocks of 16 to 512 bytes and frees them in random order, `steps` times.
pub(super) fn random_order(steps: usize, seed: u64) -> u64 {
    const BLOCKS: usize = 1_000;
    let mut random = Random::new(seed);
    // Sizes and orders are drawn before the loop, so that the loop is mostly the allocator's.
    let sizes: Vec<usize> = (0..BLOCKS).map(|_| random.between(16, 512)).collect();
    let mut order: Vec<usize> = (0..BLOCKS).collect();
    random.shuffle(&mut order);
    let mut blocks: Vec<Vec<u8>> = (0..BLOCKS).map(|_| Vec::new()).collect();
    let mut sum = seed;
    for step in 0..steps {
        for (block, size) in blocks.iter_mut().zip(&sizes) {
            *block = get(*size, step as u8);
        }
        for index in &order {
            sum = add(sum, blocks[*index].len() as u64 + *index as u64);
            blocks[*index] = Vec::new();
        }
    }
    sum
}

/// Keeps 64 blocks that grow by a quarter at a time from 16 bytes to 1 MiB, then start anew; one growth a step times 64.
pub(super) fn growing(steps: usize, seed: u64) -> u64 {
    const LIVE: usize = 64;
    const LARGEST: usize = 1 << 20;
    let mut random = Random::new(seed);
    let mut blocks: Vec<Vec<u8>> = (0..LIVE).map(|_| get(random.size_between(16, LARGEST), 0)).collect();
    let mut sum = seed;
    for step in 0..steps * LIVE {
        let slot = random.below(LIVE);
        let block = &mut blocks[slot];
        let wanted = block.capacity() + block.capacity() / 4 + 16;
        if wanted > LARGEST {
            *block = get(16, step as u8);
            continue;
        }
        let length = block.len();
        block.reserve_exact(wanted - length);
        // Only the last bytes are written: a realloc that moves pages instead of bytes may show.
        block.resize((length + 64).min(wanted), step as u8);
        sum = add(sum, black_box(block.len()) as u64);
    }
    sum
}

/// A node of a syntax tree: boxes of three sizes and now and then a name.
enum Node {
    Number(u64),
    Name(String),
    Pair(Box<(Node, Node)>),
    List(Vec<Node>),
}

/// Builds, folds and drops one "function" of a program after another; a few of its strings live to the end.
pub(super) fn compiler(steps: usize, seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let mut symbols: HashMap<String, u64> = HashMap::new();
    let mut kept: BTreeMap<u64, String> = BTreeMap::new();
    let mut sum = seed;
    for step in 0..steps {
        let body: Vec<Node> = (0..60).map(|_| grow(&mut random, 6)).collect();
        let mut text = String::new();
        for node in &body {
            sum = add(sum, fold(node, &mut symbols, &mut text));
        }
        sum = add(sum, text.len() as u64);
        kept.insert(random.draw(), text.split_off(text.len() - text.len().min(200)));
        if step % 16 == 15 {
            symbols.clear();
        }
    }
    kept.values().fold(sum, |sum, text| add(sum, text.len() as u64))
}

/// A tree of at most `depth` levels.
fn grow(random: &mut Random, depth: usize) -> Node {
    if depth == 0 {
        return Node::Number(random.draw());
    }
    match random.below(8) {
        0 => Node::Number(random.draw()),
        1 | 2 => Node::Name(format!("name_{}_{}", depth, random.below(5_000))),
        3..=5 => Node::Pair(Box::new((grow(random, depth - 1), grow(random, depth - 1)))),
        _ => Node::List((0..random.between(1, 6)).map(|_| grow(random, depth - 1)).collect()),
    }
}

/// Walks a tree: names go to the symbol table, everything to the text.
fn fold(node: &Node, symbols: &mut HashMap<String, u64>, text: &mut String) -> u64 {
    match node {
        Node::Number(value) => {
            text.push_str(&(value % 1_000).to_string());
            *value
        }
        Node::Name(name) => {
            text.push_str(name);
            let next = symbols.len() as u64;
            *symbols.entry(name.clone()).or_insert(next)
        }
        Node::Pair(pair) => add(fold(&pair.0, symbols, text), fold(&pair.1, symbols, text)),
        Node::List(items) => {
            items.iter().fold(items.len() as u64, |sum, item| add(sum, fold(item, symbols, text)))
        }
    }
}
