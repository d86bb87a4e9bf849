//! Empty: this package exists for its lock file. See `Cargo.toml` beside this folder.
