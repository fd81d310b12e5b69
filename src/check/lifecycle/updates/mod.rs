//! Rules for rolling updates: which pods are replaced, when and in which order, and the reported progress
//! (UPD).
//!
//! The checks follow the order of the writes: see [`conformance_facts::updates`]. Every deletion that neither
//! the harness nor a scale-in explains counts as the updater's.
//!
//! - `deletions`, `steps`, `replicas`: the pods that the updater deletes, and their order
//! - `creations`, `gangs`: the pods that replace them, and their PodGangs
//! - `progress`, `end`: what the statuses report

mod creations;
mod deletions;
mod end;
mod gangs;
mod progress;
mod replicas;
mod steps;

pub use self::creations::{
    all_of_revision, made_later_is_new, made_later_is_new_or_restored, made_since_is_new,
    nothing_is_made_twice, restored_as_it_was,
};
pub use self::deletions::{nothing_is_taken, nothing_is_taken_on_delete, only_old_is_taken};
pub use self::end::{are_admitted, ended, ended_at_once, never_ended_early, pods_through, through};
pub use self::gangs::{
    gangs_stay, names_what_there_is, references_follow_the_pods, replacements_are_members,
};
pub use self::progress::{counted, counts_the_new, progress_is_true};
pub use self::replicas::{down_go_first, lowest_goes_first, one_replica_at_a_time, status_names_the_replica};
pub use self::steps::{
    minimum_stays, one_turn_at_a_time, parents_stand, steps_do_not_overlap, stopped_after_the_first_turn,
};

#[cfg(test)]
mod fixture;
