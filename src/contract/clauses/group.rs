//! Groups are the parts of the contract. The ids of a group's clauses share a prefix.

use serde::Deserialize;

use super::GROUPS;

/// A part of the contract: all clauses whose ids share a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The prefix of the clauses' ids, such as `AON`.
    pub id: &'static str,
    /// A short title.
    pub title: &'static str,
    /// Text that applies to all clauses of the group.
    pub about: Option<&'static str>,
    /// The `schedulerName` of the only backend that must satisfy the group, or `None` if every backend must.
    pub backend: Option<&'static str>,
    /// The kind of workload that the group is about.
    pub workload: Workload,
    /// Whether the group is about the lifecycle of a PodCliqueSet after its creation.
    pub is_about_lifecycle: bool,
}

/// The workload of a part of the contract, or of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Workload {
    /// Grove's PodCliqueSets.
    #[default]
    PodCliqueSets,
    /// TrainJobs of the Kubeflow Trainer, on their own control plane.
    TrainJobs,
    /// Plain pods with their scheduler's own gang resource, without an operator, on their own control plane.
    PlainPods,
}

/// The backend of every profile of type External. The user chooses the `schedulerName` of such a profile.
pub const EXTERNAL: &str = "external";

/// Returns the group of the clause with this id, such as `AON` for `AON-02`.
pub fn group(clause: &str) -> Option<&'static Group> {
    let (prefix, _) = clause.split_once('-')?;
    GROUPS.iter().find(|group| group.id == prefix)
}
