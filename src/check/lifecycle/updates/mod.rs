//! Checks of rolling updates (UPD), in the order of the writes. The updater is the part of an operator that
//! replaces pods. Every deletion counts as the updater's, except deletions by the harness or by a scale-in.

mod creations;
mod deletions;
mod end;
mod gangs;
mod progress;
mod replicas;
mod steps;
mod totals;

pub use self::creations::{
    all_of_revision, created_pods_are_new, created_pods_are_new_or_restored, no_excess_pods_created,
    pods_created_since_are_new, replacements_are_kept, restored_from_old_template,
};
pub use self::deletions::{
    updater_deletes_none, updater_deletes_none_on_delete, updater_deletes_only_old,
    updater_deletes_only_old_since,
};
pub use self::end::{
    are_admitted, ended, ended_at_once, is_complete, never_ended_early, none_beyond, pods_are_complete,
};
pub use self::gangs::{
    gangs_stay, references_follow_the_pods, references_match_pods, replacements_are_members,
};
pub use self::progress::{counted, counts_new_pods, progress_is_correct};
pub use self::replicas::{
    lowest_is_updated_first, one_replica_at_a_time, status_names_the_replica, unavailable_are_updated_first,
};
pub use self::steps::{minimum_stays, parents_stay_ready, steps_do_not_overlap, stopped_after_first_step};
pub use self::totals::end_is_reported;

#[cfg(test)]
mod fixture;
