//! Advice as people and programs get it. Nothing else in the house makes text of advice.
//!
//! | module | makes |
//! |---|---|
//! | [`text`] | words for a terminal |
//! | [`json`] | JSON |
//! | [`html`] | a page, with a picture of sizes |
//! | [`options`] | option texts of programs and sessions; [`Form`] and `parameters` write one |
//! | [`values`] | values of z/TPF |
//! | [`lines`](mod@lines) | one option line for several suggestions, options files, the summary of a report |
//!
//! Invariant: a rendering adds nothing: what one of them says is in the advice, so all say the same.
//! Not here: what is advised (`rules`).

mod forms;
pub mod html;
pub mod json;
pub mod lines;
pub mod options;
pub mod parameters;
mod steps;
pub mod text;
pub mod values;

pub use forms::Form;
pub use steps::Steps;
