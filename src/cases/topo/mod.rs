//! Topology packing. Every case leaves room for a wrong placement, so a scheduler cannot pass by luck.

pub(crate) mod becomes_resource;
pub(crate) mod empty_label;
pub(crate) mod fullest_rack_only;
pub(crate) mod larger_group_last;
pub(crate) mod mixed_shapes;
pub(crate) mod nested;
pub(crate) mod no_rack_has_room;
pub(crate) mod one_block;
pub(crate) mod one_clique;
pub(crate) mod one_host;
pub(crate) mod one_rack;
pub(crate) mod per_group;
pub(crate) mod preferred;
pub(crate) mod replacement;
pub(crate) mod replica_together;
pub(crate) mod resource_compared;
pub(crate) mod scaled_cliques;
pub(crate) mod scaled_gangs;
pub(crate) mod scaled_groups;
pub(crate) mod second_binding;
pub(crate) mod unlabelled_nodes;
