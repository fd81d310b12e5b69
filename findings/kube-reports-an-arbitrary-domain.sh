#!/usr/bin/env bash
# kube-scheduler 1.36.5 (and 1.37.2 according to its source): a gang with a required topology level that fits nowhere.
# Expected: the pods' conditions report what is missing in the domain that comes closest, or in each domain.
# Observed: the pods' conditions describe the domain that was tried first, which is another one in each attempt. Here they report
# the taint of another tenant's rack, in which these pods may not run at all, and do not mention GPUs. Only the PodGroup reports
# that its message is about the first of several domains.
# Source: podGroupSchedulingPlacementAlgorithm in pkg/scheduler/schedule_one_podgroup.go ("arbitrary for now").
. "$(dirname "$0")/common.sh"
gates=GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true
api_server v1.36.5 "$gates" scheduling.k8s.io/v1alpha2
kube_scheduler "$gates"
podgroups=/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups

# Rack own has room for one pod of two. The four other racks belong to another tenant.
node own 8 '{rack: own}'
for i in 1 2 3 4; do
    node "other-$i" 8 "{rack: other-$i}"
    patched "/api/v1/nodes/other-$i" <<<'{"spec": {"taints": [{"key": "tenant", "value": "other", "effect": "NoSchedule"}]}}'
done
misleads() {
    local name=gang-$1 said
    created "$podgroups" <<YAML
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: $name}
spec:
  schedulingPolicy: {gang: {minCount: 2}}
  schedulingConstraints: {topology: [{key: rack}]}
YAML
    for i in 1 2; do pod "$name-$i" "$name" 8; done
    within 20 "$name: pods and PodGroup have conditions" has_conditions "$name"
    get "$podgroups/$name" | jq -r '.metadata.name + ": " + .status.conditions[0].message'
    # The scheduler retries, and each attempt may report another domain.
    for _ in {1..8}; do
        said=$(get "$pods" | jq -r --arg name "$name" '.items[] | select(.metadata.name | startswith($name)) | .metadata.name + ": " + .status.conditions[0].message')
        if [[ $said == *"untolerated taint"* && $said != *Insufficient* ]]; then
            echo "$said"
            return 0
        fi
        sleep 0.5
    done
    return 1
}
has_conditions() { [[ -n $(get "$podgroups/$1" | jq -r '.status.conditions[0].message // empty') && -n $(get "$pods/$1-1" | jq -r '.status.conditions[0].message // empty') ]]; }
misled=0
for round in {1..6}; do
    ! misleads "$round" || misled=$((misled + 1))
    for i in 1 2; do delete "$pods/gang-$round-$i?gracePeriodSeconds=0"; done
    delete "$podgroups/gang-$round"
done
echo "$misled of 6 gangs report another tenant's taint and no GPUs"
((misled > 0)) || { echo "CHANGED: each reports GPUs"; exit 1; }
