//! The names of the checks that every history must satisfy. A case that breaks one on purpose names it.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invariant {
    /// The pods on a node never request more than the node's capacity.
    Capacity,
    /// A pod is created with Grove's scheduling gate and no other gate of Grove's.
    Gated,
    /// Grove leaves the gates of others when it releases a pod.
    LeavesOtherGates,
    /// A pod has all fields of its clique's template.
    Faithful,
    /// A pod has no other fields, except documented ones.
    NothingAdded,
    /// A released pod names the PodGang that lists its PodClique.
    NamesItsGang,
    /// Pods of one PodClique that exist at the same time have different indexes.
    UniqueIndexes,
    StaysInitialized,
    /// A pod loses its gate only after its PodGang is Initialized and the gang resource that it names exists.
    ReleasedInOrder,
    /// Pods of scaled PodGangs are bound after the minimum of their base.
    BaseFirst,
    /// After the scheduler's pass, a unit that was never whole has no bound pod.
    WholeOrNothing,
    /// A pod carries only the membership of its own scheduler's backend.
    OwnMembership,
    /// A gang resource belongs to PodGangs of its own backend.
    OwnResources,
    /// KAI's admission webhook admits every PodGroup.
    AdmittedByKai,
    /// No pod of a gang is evicted for gangs of the same priority class.
    NotEvictedForEquals,
}
