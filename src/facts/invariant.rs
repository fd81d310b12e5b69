//! The names of the checks that every history must satisfy. A case that violates one on purpose names it.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invariant {
    Capacity,
    /// A pod is created with Grove's scheduling gate and no other gate of Grove's.
    Gated,
    LeavesOtherGates,
    Faithful,
    /// A pod has no fields beyond its template, except documented ones.
    NothingAdded,
    /// A pod is created with the hostname and subdomain by which others find it.
    HasStableName,
    /// Containers are created with Grove's variables.
    HasVariables,
    /// A pod is created with the claims that it shares.
    HasItsClaims,
    NamesItsGang,
    UniqueIndexes,
    StaysInitialized,
    ReleasedInOrder,
    BaseFirst,
    WholeOrNothing,
    OwnMembership,
    OwnResources,
    AdmittedByKai,
    NotEvictedForEquals,
}
