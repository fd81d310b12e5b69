use std::collections::BTreeMap;

use conformance_install::part::Part;
use conformance_programs::ports::Port;
use conformance_proxy::Proxy;
use parking_lot::Mutex;

#[derive(Default)]
pub(super) struct Proxies(pub(super) Mutex<BTreeMap<Part, (Proxy, Port)>>);
