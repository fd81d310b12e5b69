//! One operator release replaces another under live gangs.

pub(crate) mod live_gangs;
pub(crate) mod lives_on;
pub(crate) mod stopped_half_way;
