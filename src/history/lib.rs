//! The history of a case: every version of every object, as the watches delivered it.

#![warn(missing_docs)]

mod fields;
mod live;
mod log;
mod mark;
mod owner;
mod query;
mod reached;
pub mod testing;

pub use conformance_contract::kinds::{KINDS, Kind};
pub use fields::{count, counted_pods, counted_times, event_about, event_note, list, name, text};
pub use live::Live;
pub use log::{Change, Entry, Gap, Header, History, HistoryError, Mark, Recorded, What};
pub use mark::{MarkName, SharedMark};
pub use owner::{controller, is_controlled_by, is_owned_by, owners};
pub use query::{Pod, Version, condition, is_of_canary, revision};
