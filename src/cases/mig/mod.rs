pub(crate) mod killed_during_upgrade;
pub(crate) mod lifecycle_after_upgrade;
pub(crate) mod live_gangs;
