//! A third-party reader and writer of transmissions: PyPI's xmi-reader, in a Python environment below the target folder.
//!
//! ```text
//! start ── python3 -m venv, pip install ──> in the background ── check: the program of host/mainframe's tests, `--ignored xmi_reader`
//! ```
//!
//! If the package is not available, a message in capitals says so, here and in the last line, as for advisories: a project must be
//! testable without a network.
//!
//! Not here: the comparison (`host/mainframe`, `tests/xmi_reader.rs`).

use std::path::PathBuf;
use std::process::Stdio;

use crate::aside::Aside;
use crate::steps::{Sum, command, root, succeeds, target};

/// The version for which the tests were written.
const PACKAGE: &str = "xmi-reader==1.0.5";
/// The source whose program has the tests.
pub const PROGRAM: &str = "host/mainframe/src/lib.rs";
/// The beginning of their names: all other runs leave them out.
pub const TESTS: &str = "xmi_reader";
/// Tells them the Python that has the package.
pub const PYTHON: &str = "XMI_READER_PYTHON";

/// That Python.
pub fn python() -> PathBuf {
    root().join(target()).join("xmi-reader/bin/python")
}

/// Starts to install the package; None if it is there.
pub fn start_aside() -> Option<Aside> {
    let install = "python3 -m venv \"$0\" && exec \"$0\"/bin/python -m pip install --quiet --disable-pip-version-check \"$1\"";
    let mut words = command("sh", &["-c", install]);
    words.arg(root().join(target()).join("xmi-reader")).arg(PACKAGE);
    (!is_there()).then(|| Aside::start("xmi-reader", &mut words))
}

/// Waits for the package; false, and said, if it is not there.
pub fn join(aside: Option<Aside>, sum: &mut Sum) -> bool {
    let is_there = aside.is_none_or(|aside| aside.join().0) && is_there();
    if !is_there {
        sum.not_checked(&format!("transmissions by another program; {PACKAGE} could not be had from PyPI"));
    }
    is_there
}

fn is_there() -> bool {
    let python = python();
    // A program that is not there would be an error on the terminal.
    python.exists()
        && succeeds(command(&python.to_string_lossy(), &["-c", "import xmi"]).stderr(Stdio::null()))
}
