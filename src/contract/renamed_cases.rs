//! Case ids of suite versions before 0.2.0 that have changed since.

/// Each former id and the current id, sorted by the former id.
pub const RENAMED: &[(&str, &str)] = &[
    ("adm/admitted-lives", "adm/longest-names-bound"),
    ("adm/never-blocked", "adm/topology-deleted"),
    ("adm/unhonourable-topology", "adm/unsupported-topology-level"),
    ("aic/fits-whole", "aic/fitting-gang-bound"),
    ("aon/across-cliques", "aon/one-clique-too-large"),
    ("aon/each-clique-alone", "aon/cliques-fit-separately"),
    ("aon/fits-whole", "aon/exact-fit-bound"),
    ("aon/gang-shown-late", "aon/gang-resources-late"),
    ("aon/namesakes", "aon/same-name-two-namespaces"),
    ("aon/room-for-one-of-two-cliques", "aon/competing-two-clique-gangs"),
    ("aon/scaled-is-whole-or-not", "aon/scaled-gang-short"),
    ("aon/scaled-of-two-cliques", "aon/scaled-gang-clique-short"),
    ("auto/group-out", "auto/scale-out-partly-fits"),
    ("auto/idle", "auto/scale-to-zero"),
    ("auto/off-and-on", "auto/scale-to-zero-briefly"),
    ("auto/out-and-in", "auto/scale-out-then-in"),
    ("auto/while-waiting", "auto/scaled-while-base-pending"),
    ("coex/all-at-once", "coex/each-scheduler-own-gangs"),
    ("coex/second-finds-no-room", "coex/nodes-filled-by-other"),
    ("del/everything-gone", "del/all-objects-deleted"),
    ("del/held-by-others", "del/foreign-gate-and-finalizer"),
    ("del/same-name-disturbed", "del/same-name-api-faults"),
    ("gang/at-rest", "gang/no-writes-when-converged"),
    ("gang/back-and-forth", "gang/scaled-in-then-out"),
    ("gang/healed-by-hand", "gang/edited-resources-restored"),
    ("gang/healed-disturbed", "gang/restored-despite-api-faults"),
    ("gang/healed-while-pending", "gang/workload-restored-while-pending"),
    ("gang/healed-while-running", "gang/workload-restored-while-running"),
    ("gang/scaled-in-while-one-leaves", "gang/scale-in-terminating-pod"),
    ("koord/group-configs", "koord/partial-topology-fails-closed"),
    ("koord/whole-list", "koord/gang-list-complete"),
    ("kube/composite-later", "kube/composite-api-enabled-later"),
    ("kube/declared-gates", "kube/gate-declared-off"),
    ("kube/escape-hatch", "kube/own-scheduling-group"),
    ("kube/never-reshaped", "kube/live-resources-unchanged"),
    ("kube/pass-through", "kube/gang-scheduling-disabled"),
    ("mig/lives-on", "mig/lifecycle-after-upgrade"),
    ("mig/stopped-half-way", "mig/killed-during-upgrade"),
    ("start/init-rights", "start/init-container-permissions"),
    ("start/waiting-pods", "start/init-container-dependencies"),
    ("stat/calm", "stat/status-stable-while-pending"),
    ("stat/disturbed", "stat/status-write-faults"),
    ("stat/recounted", "stat/counts-match-pods"),
    ("stat/refused", "stat/gang-resources-refused"),
    ("term/clock-changed", "term/termination-delay-changed"),
    ("term/fought-for", "term/freed-capacity-contested"),
    ("term/half-gangs", "term/partial-gangs-deadlock"),
    ("term/hanging", "term/old-pod-terminating"),
    ("term/healed", "term/short-breach-ignored"),
    ("term/killed", "term/controller-killed"),
    ("term/lost-early", "term/breached-at-start"),
    ("term/never-again", "term/unbound-gang-not-terminated"),
    ("term/never-bound-beside", "term/another-replica-never-bound"),
    ("term/never-whole", "term/partial-gang-releases-capacity"),
    ("term/no-shelter", "term/terminated-during-stuck-update"),
    ("term/other-block", "term/recreated-in-other-block"),
    ("term/other-rack", "term/recreated-in-other-rack"),
    ("term/recycled", "term/breached-replica-recreated"),
    ("term/recycled-and-scaled-in", "term/scaled-in-during-termination"),
    ("topo/becomes-resource", "topo/binding-becomes-resources"),
    ("topo/fullest-rack-only", "topo/only-rack-with-room"),
    ("topo/larger-group-last", "topo/larger-group-gets-rack"),
    ("topo/one-clique", "topo/constraint-on-one-clique"),
    ("topo/replica-together", "topo/replica-shares-rack"),
    ("topo/scaled-cliques", "topo/scaled-gang-clique-constraint"),
    ("topo/scaled-gangs", "topo/scaled-gang-own-rack"),
    ("topo/scaled-groups", "topo/scaled-gang-group-constraint"),
    ("trn/everything-gone", "trn/all-objects-deleted"),
    ("trn/fits-whole", "trn/fitting-job-bound"),
    ("trn/initializer-stays", "trn/initializer-not-evicted"),
    ("trn/own-roles", "trn/permissions-sufficient"),
    ("trn/parts-killed", "trn/components-killed"),
    ("trn/plugin-away", "trn/plugin-down"),
    ("trn/queue-that-counts", "trn/queue-precedence"),
    ("trn/room-given-back", "trn/capacity-freed"),
    ("upd/all-at-once", "upd/on-delete-all-pods"),
    ("upd/changed-early", "upd/changed-before-first-status"),
    ("upd/down-first", "upd/unavailable-replicas-first"),
    ("upd/in-place-full", "upd/no-spare-capacity"),
    ("upd/kept-in-block", "upd/replacement-stays-in-block"),
    ("upd/kept-in-rack", "upd/replacement-stays-in-rack"),
    ("upd/lost-meanwhile", "upd/pods-lost-during-update"),
    ("upd/nothing-changed", "upd/template-unchanged"),
    ("upd/old-until-its-turn", "upd/old-template-before-step"),
    ("upd/one-clique", "upd/only-changed-clique"),
    ("upd/place-taken", "upd/freed-capacity-taken"),
    ("upd/rolled", "upd/rolling-update"),
    ("upd/scaled-meanwhile", "upd/scaled-during-update"),
    ("upd/scaled-turn", "upd/scaled-gang-updated"),
];

/// Returns the current id of a case. `id` may be an id of a version before 0.2.0.
pub fn current(id: &str) -> &str {
    RENAMED.iter().find(|(former, _)| *former == id).map_or(id, |&(_, current)| current)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renamed_ids_are_sorted_and_lead_to_current_ids() {
        assert!(RENAMED.is_sorted_by(|one, next| one.0 < next.0), "each former id once, in order");
        for &(former, new) in RENAMED {
            assert_eq!((current(former), current(new)), (new, new));
        }
        assert_eq!(current("aon/one-pod-short"), "aon/one-pod-short");
    }
}
