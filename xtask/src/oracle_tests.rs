//! A third-party reader and writer of transmissions: PyPI's xmi-reader, in a Python environment below the target folder.
//!
//! If the package is not available, a message in capitals says so, here and in the last line, as for advisories: a project must be
//! testable without a network.
//!
//! Not here: the comparison (`host/mainframe`, `tests/xmi_reader.rs`).

use crate::steps::{Sum, cargo, command, succeeds, target};

/// The version for which the tests were written.
const PACKAGE: &str = "xmi-reader==1.0.5";

/// Installs the package, and runs the tests that need it.
pub fn check(sum: &mut Sum) {
    let folder = target().join("xmi-reader");
    let python = folder.join("bin/python");
    // A program that is not there would be an error on the terminal.
    let has = || {
        python.exists()
            && succeeds(
                command(&python.to_string_lossy(), &["-c", "import xmi"]).stderr(std::process::Stdio::null()),
            )
    };
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE];
    let there = has()
        || succeeds(command("python3", &["-m", "venv"]).arg(&folder))
            && succeeds(&mut command(&python.to_string_lossy(), &pip))
            && has();
    if !there {
        sum.not_checked(&format!("transmissions by another program; {PACKAGE} could not be had from PyPI"));
        return;
    }
    let words =
        ["test", "--package", "underbar-mainframe", "--lib", "--features", "oracle_tests", "xmi_reader"];
    sum.check("transmissions and xmi-reader", succeeds(cargo(&words).env("UNDERBAR_XMI_READER", &python)));
}
