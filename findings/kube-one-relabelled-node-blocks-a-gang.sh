#!/usr/bin/env bash
# kube-scheduler 1.36.5 (and 1.37.2 according to its source): a bound gang with a required topology level. One of its nodes loses the
# label of the level, and then a pod on another node is replaced.
# Expected: the replacement is bound in the rack in which the rest of the gang runs, or reports Unschedulable.
# Observed: it reports SchedulerError and is not bound, although the rack has room. The PodGroup still reports that it is scheduled.
# Once the label is restored, the replacement is bound.
# Source: getScheduledPodsTopologyDomain in pkg/scheduler/framework/plugins/topologyaware/topology_placement.go returns an error if the
# node of any scheduled pod has no label, or if the nodes have different values. GeneratePlacements makes it an error of the gang.
. "$(dirname "$0")/common.sh"
gates=GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true
api_server v1.36.5 "$gates" scheduling.k8s.io/v1alpha2
kube_scheduler "$gates"
podgroups=/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups
for i in 1 2 3 4; do node "n$i" 8 '{rack: a}'; done
created "$podgroups" <<'YAML'
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: gang}
spec:
  schedulingPolicy: {gang: {minCount: 3}}
  schedulingConstraints: {topology: [{key: rack}]}
YAML
for i in 1 2 3; do pod "gang-$i" gang 8; done
within 30 "four nodes in one rack: a gang of three is bound" are_bound gang-1 gang-2 gang-3

relabelled=$(get "$pods/gang-1" | jq -r .spec.nodeName)
patched "/api/v1/nodes/$relabelled" <<<'{"metadata": {"labels": {"rack": null}}}'
# No object shows when the scheduler has seen the change.
sleep 2
delete "$pods/gang-3?gracePeriodSeconds=0"
pod gang-4 gang 8
within 30 "node $relabelled has no rack, and pod gang-3 is replaced: gang-4 is False, SchedulerError" \
    is_condition "$pods/gang-4" PodScheduled "False SchedulerError"
get "$pods/gang-4" | jq -r '.status.conditions[] | select(.type == "PodScheduled") | .message'
for_all_of 15 "two free nodes in the rack of gang-2, and gang-4 is not bound" are_bound gang-1 gang-2
echo "the PodGroup: $(condition "$podgroups/gang" PodGroupScheduled)"
patched "/api/v1/nodes/$relabelled" <<<'{"metadata": {"labels": {"rack": "a"}}}'
within 60 "with the label, gang-4 is bound" are_bound gang-1 gang-2 gang-4
