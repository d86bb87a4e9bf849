//! t
pub(crate) fn hold() {}
pub(crate) unsafe fn release() {}
