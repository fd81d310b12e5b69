//! Checks of gang termination (TERM): when it happens, and which objects it deletes and keeps.

mod objects;
mod pods;
mod reports;
mod timing;

pub use self::objects::{kept, other_replicas_untouched};
pub use self::pods::{
    named_before_release, nothing_else_deleted, recreated, recreated_in_time, replaced_once_or_twice,
};
pub use self::reports::{loss_of_all_pods_reported, reported_by_events, shown_in_statuses};
pub use self::timing::{after_the_delay, not_before_the_delay, own_terminations, patience, times};
