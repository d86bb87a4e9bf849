//! The words of a text, each once.

#[global_allocator]
static ALLOC: underbar::Alloc = underbar::Alloc;

fn main() {
    let text = "a rose is a rose is a rose";
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    words.sort();
    words.dedup();
    println!("{}", words.join(" "));
}
