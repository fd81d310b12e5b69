//! The answers of admission, and the objects that refused requests left behind.
//!
//! The driver records a mark with each [`Reply`](conformance_facts::attempts::Reply). The checks compare the
//! marks with the attempts of the case. An attempt without a mark was not sent and is not checked.
//!
//! - `replies`: whether the replies are those that the contract requires
//! - `objects`: what admitted and refused requests leave
//! - `missing_apis`: what an operator does while an API is missing

mod missing_apis;
mod objects;
mod replies;

pub use self::missing_apis::{no_loose_pods, one_process};
pub use self::objects::{deleted, left_nothing, nothing_recreated, unchanged};
pub use self::replies::{answers, refusals_contain_words, was_refused};

#[cfg(test)]
mod fixture;
