//! The input of a resource: the settings that it obeys, and the constructor's argument.
//!
//! Not here: where the settings come from (`options`), and the resources (`resources`).

use core::ffi::c_char;

use underbar_options::Settings;

use crate::environment::Environment;

/// The settings, of which each resource obeys its part.
pub(crate) struct Orders<'a> {
    /// The settings in force for this program.
    pub settings: &'a Settings,
    /// The number of complaints about the text.
    pub errors: u64,
    /// The text.
    pub text: &'a [u8],
    /// The source of the text.
    pub environment: Environment<'a>,
    /// The program's name.
    pub program: &'a [u8],
    /// Whether accounts of this process are requested.
    pub is_accounted: bool,
}

/// The constructor's argument.
pub(crate) struct Given {
    /// Null, or the environment as `main` gets it, which the kernel put just above the first thread's stack.
    pub environment: *const *const c_char,
}
