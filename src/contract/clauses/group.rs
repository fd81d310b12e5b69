//! The parts of the contract: what each is about, and whether it is one backend's alone.

use serde::Deserialize;

use super::GROUPS;

/// A part of the contract: the clauses whose ids begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// What its clauses' ids begin with, such as `AON`.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// What holds for all of its clauses.
    pub about: Option<&'static str>,
    /// The `schedulerName` of the only backend that owes it; `None` where every backend does.
    pub backend: Option<&'static str>,
    /// What it is about.
    pub workload: Workload,
    /// Whether it is about what becomes of a PodCliqueSet after its creation.
    pub is_later_life: bool,
}

/// What a part of the contract, or a column of a report, is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Workload {
    /// Grove's PodCliqueSets.
    #[default]
    PodCliqueSets,
    /// TrainJobs of the Kubeflow Trainer, on a control plane of their own.
    TrainJobs,
    /// Plain pods in a gang resource of their scheduler's own, without an operator, on a control plane of their own.
    PlainPods,
}

/// Stands for the backend of every profile of type External, whatever its name: `schedulerName`s of external
/// schedulers are the user's.
pub const EXTERNAL: &str = "external";

/// The part that a clause of that id belongs to, such as `AON` for `AON-02`.
pub fn group(clause: &str) -> Option<&'static Group> {
    let (prefix, _) = clause.split_once('-')?;
    GROUPS.iter().find(|group| group.id == prefix)
}
