//! The words of a text, each once.

#[global_allocator]
static ALLOC: underbar::Alloc = underbar::Alloc;

fn main() {
    let text = "a rose is a rose is a rose";
    let words: std::collections::BTreeSet<String> = text.split(' ').map(str::to_owned).collect();
    println!("{}", Vec::from_iter(words).join(" "));
}
