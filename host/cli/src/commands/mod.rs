//! The commands, one file each. The table below is the only one: help, completions and the man page are made
//! from it.

pub mod demo;
pub mod run;

use clap::Subcommand;
use std::process::ExitCode;

/// What the command can do.
#[derive(Subcommand)]
pub enum Command {
    /// Run a program and report on it when it has ended
    Run(run::Run),
    /// Repeat an experiment of the documents on this machine
    Demo(demo::Demo),
}

impl Command {
    /// Does it.
    pub fn run(self) -> ExitCode {
        match self {
            Command::Run(run) => run.run(),
            Command::Demo(demo) => demo.run(),
        }
    }
}
