//! The parts of the contract: what each is about, and whether it is one backend's alone.

/// A part of the contract: the clauses whose ids begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// What its clauses' ids begin with, such as `AON`.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// The `schedulerName` of the only backend that owes it; `None` where every backend does.
    pub backend: Option<&'static str>,
    /// What it is about.
    pub workload: Workload,
    /// Whether it is about what becomes of a PodCliqueSet after its creation.
    pub is_later_life: bool,
}

/// What a part of the contract, or a column of a report, is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Grove's PodCliqueSets.
    PodCliqueSets,
    /// TrainJobs of the Kubeflow Trainer, on a control plane of their own.
    TrainJobs,
    /// Plain pods in a gang resource of their scheduler's own, without an operator, on a control plane of their own.
    PlainPods,
}

/// Stands for the backend of every profile of type External, whatever its name: `schedulerName`s of external
/// schedulers are the user's.
pub const EXTERNAL: &str = "external";

/// Every part, in the order of the contract.
pub static GROUPS: [Group; 20] = [
    of_all("ADM", "admission of PodCliqueSets"),
    of_all("GANG", "gang creation"),
    of_all("AON", "all-or-nothing scheduling"),
    of_all("TOPO", "topology packing"),
    of_all("DEL", "deletion and cleanup"),
    of_all("COEX", "several backends in one cluster"),
    of_one("KAI", "kai-scheduler's own", "kai-scheduler"),
    of_one("KUBE", "kube-scheduler's own", "default-scheduler"),
    of_one("VOL", "Volcano's own", "volcano"),
    of_one("KOORD", "Koordinator's own", "koord-scheduler"),
    of_one("EXT", "external schedulers' own", EXTERNAL),
    of_all("KLT", "what only real kubelets show"),
    of_all("MIG", "an operator replaced by another release under live gangs"),
    Group { workload: Workload::TrainJobs, ..of_all("TRN", "Kubeflow TrainJobs") },
    Group {
        workload: Workload::PlainPods,
        ..of_all("AIC", "gang scheduling of plain pods, for AI conformance")
    },
    later("STAT", "status"),
    later("TERM", "gang termination"),
    later("START", "startup order"),
    later("UPD", "updates"),
    later("AUTO", "autoscaling and /scale"),
];

const fn of_all(id: &'static str, title: &'static str) -> Group {
    Group { id, title, backend: None, workload: Workload::PodCliqueSets, is_later_life: false }
}

const fn later(id: &'static str, title: &'static str) -> Group {
    Group { is_later_life: true, ..of_all(id, title) }
}

const fn of_one(id: &'static str, title: &'static str, backend: &'static str) -> Group {
    Group { backend: Some(backend), ..of_all(id, title) }
}

/// The part that a clause of that id belongs to, such as `AON` for `AON-02`.
pub fn group(clause: &str) -> Option<&'static Group> {
    let (prefix, _) = clause.split_once('-')?;
    GROUPS.iter().find(|group| group.id == prefix)
}
