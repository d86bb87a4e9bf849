//! The platforms that a rule may serve.

/// The kind of program or system on which the advised values are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// A program under underbar.
    Linux,
    /// A program of Language Environment.
    LanguageEnvironment,
    /// A session of Natural, with Adabas.
    Natural,
    /// Load libraries of z/OS.
    Libraries,
    /// A z/TPF system.
    Ztpf,
}

impl Platform {
    /// All platforms, in the order of the manual.
    pub const ALL: [Platform; 5] =
        [Self::Linux, Self::LanguageEnvironment, Self::Natural, Self::Libraries, Self::Ztpf];
}
