//! The layers that set options, weakest first, each with its name in the options report.
//!
//! Not here: what was set (`settings`).

/// The source that last set a value, weakest layer first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum WhereSet {
    /// underbar's default.
    UnderbarDefault,
    /// The default that IBM supplies with Language Environment.
    LanguageEnvironmentDefault,
    /// `/etc/underbar.opts`.
    SystemFile,
    /// The user's options file.
    UserFile,
    /// The options file that belongs to the program.
    ProgramFile,
    /// The environment variable UNDERBAR_OPTS.
    Environment,
    /// A file named on the command line.
    OptionsFile,
    /// A text on the command line.
    CommandLine,
    /// A suggestion under trial.
    Tune,
}

impl WhereSet {
    /// The layers that are read from files without being named by the user.
    pub const UNASKED_FILES: [WhereSet; 3] = [Self::SystemFile, Self::UserFile, Self::ProgramFile];

    /// As printed in the options report; at most 29 columns.
    pub const fn label(self) -> &'static str {
        match self {
            Self::UnderbarDefault => "underbar default",
            Self::LanguageEnvironmentDefault => "IBM-supplied default",
            Self::SystemFile => "/etc/underbar.opts",
            Self::UserFile => "user options file",
            Self::ProgramFile => "program options file",
            Self::Environment => "UNDERBAR_OPTS",
            Self::OptionsFile => "options file (--opts-file)",
            Self::CommandLine => "command line (--opts)",
            Self::Tune => "underbar tune",
        }
    }
}
