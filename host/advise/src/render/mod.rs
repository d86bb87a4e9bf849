//! Advice as people and programs get it. Nothing else in the house makes text of advice.
//!
//! | module | makes |
//! |---|---|
//! | `text` | words for a terminal |
//! | `json` | JSON |
//!
//! Invariant: a rendering adds nothing: what one of them says is in the advice, so all say the same.
//! Not here: what is advised (`rules`).

mod json;
mod text;
