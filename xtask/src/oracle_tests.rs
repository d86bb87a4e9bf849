//! Packages of PyPI that tests compare with or run: each in a Python environment of its own below the target folder.
//!
//! ```text
//! start ── python3 -m venv, pip install ──> in the background ── join: the tests that need it run, with a variable that names its Python
//! ```
//!
//! If a package is not available, a message in capitals says so, here and in the last line, as for advisories: a project must be
//! testable without a network.
//!
//! Not here: the tests (`host/mainframe`, `tests/xmi_reader.rs`; `zoo/tests/fleet.rs`).

use std::path::PathBuf;
use std::process::Stdio;

use crate::aside::Aside;
use crate::steps::{Sum, command, root, succeeds, target};

/// A package that tests need.
pub struct Oracle {
    /// Its name, that of its environment, too.
    name: &'static str,
    /// The version for which the tests were written.
    package: &'static str,
    /// What Python imports.
    module: &'static str,
    /// The beginning of the names of its tests: runs without it leave them out.
    pub tests: &'static str,
    /// Tells them the Python that has the package.
    pub variable: &'static str,
    /// What is not checked without it.
    what: &'static str,
}

/// A third-party reader and writer of transmissions. Its tests are marked as ignored, in the program of [`PROGRAM`].
pub const XMI_READER: Oracle = Oracle {
    name: "xmi-reader",
    package: "xmi-reader==1.0.5",
    module: "xmi",
    tests: "xmi_reader",
    variable: "XMI_READER_PYTHON",
    what: "transmissions by another program",
};

/// The database for which the queries of `share/fleet` are written.
pub const DUCKDB: Oracle = Oracle {
    name: "duckdb",
    package: "duckdb==2.0.1",
    module: "duckdb",
    tests: "duckdb_",
    variable: "DUCKDB_PYTHON",
    what: "queries of a fleet in DuckDB",
};

/// All of them.
pub const ALL: [&Oracle; 2] = [&XMI_READER, &DUCKDB];

/// The source whose program has the tests with xmi-reader.
pub const PROGRAM: &str = "host/mainframe/src/lib.rs";

impl Oracle {
    /// The Python that has it.
    pub fn python(&self) -> PathBuf {
        root().join(target()).join(self.name).join("bin/python")
    }

    /// Starts to install the package; None if it is there.
    pub fn start_aside(&self) -> Option<Aside> {
        let install = "python3 -m venv \"$0\" && exec \"$0\"/bin/python -m pip install --quiet --disable-pip-version-check \"$1\"";
        let mut words = command("sh", &["-c", install]);
        words.arg(root().join(target()).join(self.name)).arg(self.package);
        (!self.is_there()).then(|| Aside::start(self.name, &mut words))
    }

    /// Waits for the package; false, and said, if it is not there.
    pub fn join(&self, aside: Option<Aside>, sum: &mut Sum) -> bool {
        let is_there = aside.is_none_or(|aside| aside.join().0) && self.is_there();
        if !is_there {
            sum.not_checked(&format!("{}; {} could not be had from PyPI", self.what, self.package));
        }
        is_there
    }

    fn is_there(&self) -> bool {
        let python = self.python();
        let import = format!("import {}", self.module);
        // A program that is not there would be an error on the terminal.
        python.exists()
            && succeeds(command(&python.to_string_lossy(), &["-c", &import]).stderr(Stdio::null()))
    }
}
