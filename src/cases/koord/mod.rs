//! Cases about Koordinator: its PodGroups, GangGroups and topology layers.

pub(crate) mod admission;
pub(crate) mod gang_group;
pub(crate) mod gang_list_complete;
pub(crate) mod layers;
pub(crate) mod long_names;
pub(crate) mod partial_topology_fails_closed;
pub(crate) mod profile;
pub(crate) mod refusals;
pub(crate) mod undeclared_layer;
