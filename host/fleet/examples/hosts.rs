//! Writes the fleet of the tests into a folder: `cargo run -p underbar-fleet --features sample --example hosts -- FOLDER 10000`.
//! With a third word, also the files that are broken.

use std::path::Path;

use underbar_fleet::sample;

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, hosts, rest @ ..] = &words[..] else {
        return Err(std::io::Error::other("a folder and a number of hosts are needed"));
    };
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    for number in 0..hosts.parse().map_err(std::io::Error::other)? {
        std::fs::write(folder.join(format!("{number:05}.json")), sample::host(number).to_json())?;
    }
    if !rest.is_empty() {
        for (name, bytes) in sample::broken() {
            std::fs::write(folder.join(name), bytes)?;
        }
    }
    Ok(())
}
