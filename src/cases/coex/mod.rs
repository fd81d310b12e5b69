//! Several backends in one cluster.

pub(crate) mod all_at_once;
pub(crate) mod second_finds_no_room;
