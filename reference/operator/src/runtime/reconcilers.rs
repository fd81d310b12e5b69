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
    let (context, stop) = (|| Arc::clone(context), || stop.clone());
    let mut all = JoinSet::new();
    all.spawn(run(
        immediate("pod_clique_set", 16),
        sets.store.clone(),
        pod_clique_sets,
        context(),
        stop(),
        reconcile::pod_clique_set::reconcile,
    ));
    all.spawn(run(
        delayed("pod_clique_set_status"),
        sets.store.clone(),
        pcs_status,
        context(),
        stop(),
        status::pod_clique_set::reconcile,
    ));
    all.spawn(run(
        immediate("gang_termination", 16),
        sets.store.clone(),
        gang_terminations,
        context(),
        stop(),
        reconcile::gang_termination::reconcile,
    ));
    all.spawn(run(
        immediate("scaling_group", 16),
        groups.store.clone(),
        scaling_groups,
        context(),
        stop(),
        reconcile::scaling_group::reconcile,
    ));
    all.spawn(run(
        delayed("scaling_group_status"),
        groups.store.clone(),
        pcsg_status,
        context(),
        stop(),
        status::scaling_group::reconcile,
    ));
    all.spawn(run(
        immediate("pod_clique", POD_CLIQUES),
        cliques.store.clone(),
        pod_cliques,
        context(),
        stop(),
        reconcile::pod_clique::reconcile,
    ));
    all.spawn(run(
        delayed("pod_clique_status"),
        cliques.store.clone(),
        pclq_status,
        context(),
        stop(),
        status::pod_clique::reconcile,
    ));
    all.spawn(run(
        Settings { after_own_writes: true, ..immediate("pod_gang", 32) },
        gangs.store.clone(),
        pod_gangs,
        context(),
        stop(),
        reconcile::pod_gang::reconcile,
    ));
    all.spawn(run(
        delayed("pod_gang_status"),
        gangs.store.clone(),
        gang_status,
        context(),
        stop(),
        status::pod_gang::reconcile,
    ));
    // A scheduler may support only one binding, so two reconciliations must not write at the same time.
    all.spawn(run(
        Settings { concurrency: 1, ..delayed("cluster_topology_binding") },
        bindings.store.clone(),
        topologies,
        context(),
        stop(),
        reconcile::cluster_topology_binding::reconcile,
    ));
    wait_for_shutdown(all, &stop()).await
}
