//! The registry: every case, by group. A new case is a file in its group's folder, its manifest beside it, and a line
//! in the group's `CASES`.

mod adm;
mod aon;
mod del;
mod gang;
mod kube;
mod topo;

use super::case::Case;

/// The groups, in the order of the contract.
const GROUPS: [&[&Case]; 6] = [adm::CASES, gang::CASES, aon::CASES, topo::CASES, del::CASES, kube::CASES];

/// Every case.
pub fn all() -> impl Iterator<Item = &'static Case> {
    GROUPS.into_iter().flatten().copied()
}

/// The case of that id.
pub fn case(id: &str) -> Option<&'static Case> {
    all().find(|case| case.id == id)
}
