//! Pods above the minimum of their gang.

pub(crate) mod before_younger_minimum;
pub(crate) mod gate_on_surplus_pod;
pub(crate) mod room_for_some;
