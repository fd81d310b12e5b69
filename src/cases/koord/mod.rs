//! Koordinator.

pub(crate) mod admission;
pub(crate) mod gang_group;
pub(crate) mod group_configs;
pub(crate) mod layers;
pub(crate) mod long_names;
pub(crate) mod profile;
pub(crate) mod refusals;
pub(crate) mod undeclared_layer;
pub(crate) mod whole_list;
