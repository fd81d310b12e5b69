//! Clauses that no case judges yet, of a PodCliqueSet's later life: autoscaling. They are in the contract and in no report.
//! Whoever writes the first case of one moves its entry to
//! [`CLAUSES`](super::CLAUSES), which a test of the cases asks to be judged on every target that owes it.
//!
//! Words, beside those of the other clauses: m, r are `minAvailable` and the live `spec.replicas` of a clique, M, R those of a
//! scaling group, D is `terminationDelay`. A clique is **held** once it had m pods bound in this generation. A pod is
//! **healthy** if it is bound, not terminating, and not (not Ready while a started container is not ready, or a last exit
//! was not 0). **Breached** is a clique that was held and has fewer than m healthy pods, a group replica with a member
//! breached or missing, a group with fewer than M replicas that are not; **since** is the event from which that holds without
//! a break. A **recycle** of a PCS replica or of a group replica deletes its pods because of a breach and makes them anew; a
//! **generation** are the pods between two recycles, to none of which a terminating pod belongs. A **turn** is one pod of a
//! standalone clique, or one replica of a scaling group, taken down by an update; the **floor** is min(m, r − 1), for groups
//! min(M, R − 1).

use super::table::scheduling;
use super::{Clause, Feature};
use Feature::ScaleToZero;

/// Those clauses, by group.
#[rustfmt::skip] // one clause reads as one paragraph
pub static AHEAD: &[Clause] = &[
    // Autoscaling, and `/scale`.
    scheduling("AUTO-06", "0 = idle: the clique leaves the gang, the others run on and stay a gang; back to m: \
        admitted as a whole", "G677, #809").of(ScaleToZero),
];
