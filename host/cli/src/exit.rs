//! The exit status of the command.
//!
//! The standard library's exit code cannot be read, and the command has its own `main` (`underbar_sys::entry`).

/// An exit code, 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitCode(u8);

impl ExitCode {
    /// All is well.
    pub const SUCCESS: ExitCode = ExitCode(0);
    /// The command found a fault that it looks for.
    pub const FAILURE: ExitCode = ExitCode(1);
}

impl From<u8> for ExitCode {
    fn from(code: u8) -> ExitCode {
        ExitCode(code)
    }
}

impl From<ExitCode> for i32 {
    fn from(ExitCode(code): ExitCode) -> i32 {
        code.into()
    }
}
