//! Several backends in one cluster.

pub(crate) mod all_at_once;
