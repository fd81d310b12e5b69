//! Checks of replies of admission, and of objects after refusals. An attempt without a mark was not sent.

mod missing_apis;
mod objects;
mod replies;

pub use self::missing_apis::{no_loose_pods, one_process};
pub use self::objects::{deleted, left_nothing, nothing_recreated, unchanged};
pub use self::replies::{answers, refusals_contain_words, was_refused};

#[cfg(test)]
mod fixture;
