//! Draws workloads that a PodCliqueSet of higher priority evicts, from a range of seeds of their own.

use std::ops::Range;

use fastrand::Rng;

use crate::draw::{small_pcs, with_operations};
use crate::workload::{GeneratedWorkload, Operation};

pub(crate) const SEEDS: Range<u64> = 3_000_000..4_000_000;

/// A workload without racks, because racks would double the GPUs, and therefore the pods of the preemptor.
pub(crate) fn workload(seed: u64) -> GeneratedWorkload {
    let mut rng = Rng::with_seed(seed);
    let pcs = small_pcs(&mut rng, &format!("p{}", seed - SEEDS.start));
    let mut workload = with_operations(&mut rng, pcs).unconstrained();
    let is_kept = |operation: &Operation| {
        matches!(operation, Operation::Scale { .. } | Operation::LosePod { .. } | Operation::Recreate)
    };
    workload.operations.retain(is_kept);
    // The case has its own control plane, whose start already takes long.
    workload.operations.truncate(2);
    let place = rng.usize(0..=workload.operations.len());
    workload.operations.insert(place, Operation::Preempt);
    workload
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expected_state::ExpectedState;

    #[test]
    fn each_seed_draws_one_preemption_and_valid_operations() {
        let (mut scaled, mut other_places) = (0, 0);
        for workload in SEEDS.take(100).map(GeneratedWorkload::of_seed) {
            let mut state = ExpectedState::at_start(&workload);
            for operation in &workload.operations {
                assert!(state.apply(operation), "{}", workload.text());
            }
            let place = workload.operations.iter().position(|one| *one == Operation::Preempt).unwrap();
            assert_eq!(workload.operations.iter().filter(|one| **one == Operation::Preempt).count(), 1);
            other_places += usize::from(place > 0);
            scaled += usize::from(state.gangs().iter().any(|gang| !gang.is_base));
        }
        assert!(scaled > 10 && other_places > 10, "{scaled} with scaled PodGangs, {other_places} later");
    }
}
