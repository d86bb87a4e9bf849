//! Prints what the reader understands of a listing on standard input:
//! `cargo run -p underbar-listing --example understood < FILE`.
use std::io::{self, Read, Write};

fn main() -> io::Result<()> {
    let (mut reader, mut piece) = (underbar_listing::Reader::new(), vec![0; 64 << 10]);
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut out = |item| drop(output.write_all(underbar_listing::shown(&item).as_bytes()));
    loop {
        match input.read(&mut piece)? {
            0 => break,
            length => reader.feed(&piece[..length], &mut out),
        }
    }
    reader.finish(&mut out);
    Ok(())
}
