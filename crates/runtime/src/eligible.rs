//! The components that ZIIP(ELIGIBLE(file,file)) names.
//!
//! Not here: what is done with them: `switch::project` and `placement`; how names fit files (`component_names`).

use crate::component_names::ComponentNames;
use crate::orders::Orders;

/// Written by [`configure`].
static NAMES: ComponentNames = ComponentNames::new();

/// Keeps the names. False if there are none.
pub(crate) fn configure(orders: &Orders<'_>) -> bool {
    NAMES.keep(orders.settings.eligible(), orders.program)
}

/// Whether a module is one of them, by the name of its file.
pub(crate) fn is_eligible(module: &[u8]) -> bool {
    NAMES.have(module)
}
