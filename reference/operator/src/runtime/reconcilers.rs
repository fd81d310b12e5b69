use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::reconcile_loop::{Gather, Settings, run, wait_for_shutdown};
use crate::cache::caches::Caches;
use crate::context::Context;
use crate::context::queues::Inboxes;
use crate::{reconcile, status};

/// How long statuses collect changes. With thousands of pods, one write then covers most changes of a gang.
/// The maximum is short enough for statuses that are computed from other statuses (STAT-02).
const STATUS: Gather = Gather {
    min: Duration::from_millis(250),
    per_waiting: Duration::from_millis(20),
    max: Duration::from_millis(1200),
};
/// Concurrent reconciliations of PodCliques. `flow` limits how many of them create pods at the same time.
const POD_CLIQUES: usize = 4096;

/// Runs all reconcilers until `stop`. Returns false if a reconciler ends earlier.
pub(super) async fn reconcile_all(
    inboxes: Inboxes,
    context: &Arc<Context>,
    stop: &CancellationToken,
) -> bool {
    let Inboxes {
        pod_clique_sets,
        pod_clique_set_status: pcs_status,
        gang_terminations,
        scaling_groups,
        scaling_group_status: pcsg_status,
        pod_cliques,
        pod_clique_status: pclq_status,
        pod_gangs,
        pod_gang_status: gang_status,
        topologies,
    } = inboxes;
    let Caches {
        pod_clique_sets: sets,
        scaling_groups: groups,
        pod_cliques: cliques,
        pod_gangs: gangs,
        topologies: bindings,
        ..
    } = &context.caches;
    let immediate =
        |name, concurrency| Settings { name, concurrency, gather: Gather::NONE, after_own_writes: false };
    let delayed = |name| Settings { name, concurrency: 16, gather: STATUS, after_own_writes: true };
    context.queues.open(&context.caches);
    let mut all = JoinSet::new();
    macro_rules! spawn {
        ($settings:expr, $cache:ident, $inbox:ident, $reconcile:path) => {
            all.spawn(run(
                $settings,
                $cache.store.clone(),
                $inbox,
                Arc::clone(context),
                stop.clone(),
                $reconcile,
            ))
        };
    }
    spawn!(immediate("pod_clique_set", 16), sets, pod_clique_sets, reconcile::pod_clique_set::reconcile);
    spawn!(delayed("pod_clique_set_status"), sets, pcs_status, status::pod_clique_set::reconcile);
    spawn!(
        immediate("gang_termination", 16),
        sets,
        gang_terminations,
        reconcile::gang_termination::reconcile
    );
    spawn!(immediate("scaling_group", 16), groups, scaling_groups, reconcile::scaling_group::reconcile);
    spawn!(delayed("scaling_group_status"), groups, pcsg_status, status::scaling_group::reconcile);
    spawn!(immediate("pod_clique", POD_CLIQUES), cliques, pod_cliques, reconcile::pod_clique::reconcile);
    spawn!(delayed("pod_clique_status"), cliques, pclq_status, status::pod_clique::reconcile);
    spawn!(
        Settings { after_own_writes: true, ..immediate("pod_gang", 32) },
        gangs,
        pod_gangs,
        reconcile::pod_gang::reconcile
    );
    spawn!(delayed("pod_gang_status"), gangs, gang_status, status::pod_gang::reconcile);
    // A scheduler may support only one binding, so two reconciliations must not write at the same time.
    spawn!(
        Settings { concurrency: 1, ..delayed("cluster_topology_binding") },
        bindings,
        topologies,
        reconcile::cluster_topology_binding::reconcile
    );
    wait_for_shutdown(all, stop).await
}
