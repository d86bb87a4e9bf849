//! Empty: this package exists for its lock file. See `Cargo.toml` next to this folder.
