use conformance_contract::scheduler::EXTERNAL_SCHEDULER;
use conformance_contract::target::Target;
use conformance_driver::admission_attempts::on;

use crate::backends::{Backend, switch_to};

pub(crate) static BACKEND: Backend = Backend {
    targets: &[Target::EXTERNAL],
    switch_to_it: switch_to(|pcs| on(pcs, EXTERNAL_SCHEDULER)),
    own: None,
};
