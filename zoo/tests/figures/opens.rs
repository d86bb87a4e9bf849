//! Libraries opened so that functions of the C library come before those of preloads.

use super::*;

pub(super) fn opens_beside_the_preload_are_counted() {
    let program = text(&compiled("figures/opens", "figures-opens", &["-ldl"])).to_owned();
    for (deep, namespaces) in [(0, 0), (3, 0), (0, 2), (40, 3)] {
        let line = [program.as_str(), &format!("{deep}"), &format!("{namespaces}")];
        let account = account("", &line);
        assert_eq!((code(account.left.status), account.left.error.as_str()), (0, ""), "{line:?}");
        exact(&account, Key::DeepbindOpens, deep);
        exact(&account, Key::DeepbindUnbound, 0);
        exact(&account, Key::NamespacesOpened, namespaces);
    }
}
