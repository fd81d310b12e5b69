//! What a scheduler uses while many gangs wait.

pub(crate) mod many_waiting_gangs;
