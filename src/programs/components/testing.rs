use std::borrow::Cow;

use super::amendment::Amendment;
use super::component::{Component, Module, Purpose};

pub(super) const fn module(go_sum: &'static str, amendment: Option<&'static Amendment>) -> Module {
    let (name, go_mod) = ("m", "module example.com/m\n");
    Module { name, go_mod, go_sum, ldflags: Cow::Borrowed("-s -w"), amendment }
}

pub(super) const fn program(
    name: &'static str,
    version: &'static str,
    package: &'static str,
    module: &'static Module,
) -> Component {
    Component { name, version, package, module, purpose: Purpose::ControlPlane }
}
