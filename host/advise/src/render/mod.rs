//! Advice as text for people and programs. No other module turns advice into text.
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
//! Invariant: a rendering adds nothing. All its content is in the advice, so all renderings agree.
//! Not here: the advice itself (`rules`).

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
