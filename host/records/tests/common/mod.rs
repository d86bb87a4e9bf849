//! Help for tests: folders, numbers that look random, sorts in memory.
#![allow(dead_code, reason = "each file of tests uses some of it")]

use std::path::{Path, PathBuf};

use underbar_records::{Figures, Input, Plan, To, sort};

/// A folder for one test, removed at its end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("underbar-records-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file with this content.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Numbers from a seed (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Sorts these inputs, named by their number, into memory. The error is its message.
pub fn sort_bytes(inputs: &[&[u8]], plan: &Plan) -> Result<(Vec<u8>, Figures), String> {
    let input = |(at, bytes): (usize, &&[u8])| Input {
        name: at.to_string().into(),
        bytes: Box::new(std::io::Cursor::new(bytes.to_vec())),
    };
    let mut sorted = Vec::new();
    let to = To { name: "sorted", bytes: &mut sorted };
    let inputs = inputs.iter().enumerate().map(input).collect();
    let figures = sort(inputs, plan, to, &mut |_| ()).map_err(|error| error.to_string())?;
    Ok((sorted, figures))
}
