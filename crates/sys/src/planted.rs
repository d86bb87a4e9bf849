//! Planted faults: the code of a model with one known mistake in it, which the model must find.
//!
//! ```text
//! code under a model   if planted!(torn_take) { the mistake } else { what is right }
//! its test             finds(&["torn_take", ...], || the model)      or finds_all_but(&[...], || the model)
//! cargo xtask models   UNDERBAR_PLANTED=torn_take PROGRAM ──> "found the planted fault torn_take"
//! ```
//!
//! One program of models serves for all of its faults: its environment chooses one, or none.
//!
//! Invariant: in every build but the models' [`planted!`](crate::planted!) is the word `false`, so no mistake is in the code.
//! Not here: a list of the faults, which `cargo xtask models` reads from the sources, and what each of them means, which is where it is
//! planted.

/// Is this fault planted? `false` in every build but that of the models.
#[cfg(not(loom))]
#[macro_export]
macro_rules! planted {
    ($fault:ident) => {
        false
    };
}

/// Is this fault planted? The environment of the program chooses it.
#[cfg(loom)]
#[macro_export]
macro_rules! planted {
    ($fault:ident) => {
        $crate::planted::is_planted(stringify!($fault))
    };
}

#[cfg(loom)]
pub use chosen::{finds, finds_all_but, is_planted};

#[cfg(loom)]
mod chosen {
    use std::io::Write as _;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::string::String;
    use std::sync::OnceLock;

    /// The variable that chooses a fault.
    const VARIABLE: &str = "UNDERBAR_PLANTED";

    /// The chosen fault; none if the variable is not set.
    fn chosen() -> Option<&'static str> {
        static CHOSEN: OnceLock<Option<String>> = OnceLock::new();
        CHOSEN.get_or_init(|| std::env::var(VARIABLE).ok()).as_deref()
    }

    /// Is this fault the chosen one?
    pub fn is_planted(fault: &str) -> bool {
        chosen() == Some(fault)
    }

    /// Runs a model. Without a planted fault it must hold. With one of `faults` it must fail, and reports this on standard output,
    /// past the capture of the test harness, for `cargo xtask models`. Another fault is not for this model, which is not run.
    ///
    /// # Panics
    /// If the model does not hold, or does not find the planted fault.
    pub fn finds(faults: &[&str], model: impl FnOnce()) {
        finds_if(|fault| faults.contains(&fault), model);
    }

    /// As [`finds`], for a model that finds each fault of the package but these.
    ///
    /// # Panics
    /// As [`finds`].
    pub fn finds_all_but(faults: &[&str], model: impl FnOnce()) {
        finds_if(|fault| !faults.contains(&fault), model);
    }

    fn finds_if(is_found: impl FnOnce(&str) -> bool, model: impl FnOnce()) {
        let Some(fault) = chosen() else { return model() };
        if !is_found(fault) {
            return;
        }
        assert!(catch_unwind(AssertUnwindSafe(model)).is_err(), "the planted fault {fault} was not found");
        // One write, so that tests that run side by side do not mix their lines.
        let line = std::format!("found the planted fault {fault}\n");
        std::io::stdout().write_all(line.as_bytes()).expect("standard output");
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    #[test]
    #[allow(clippy::assertions_on_constants, reason = "it must be one")]
    fn nothing_is_planted_outside_of_the_models() {
        const IS_PLANTED: bool = planted!(any_fault);
        assert!(!IS_PLANTED);
    }
}
