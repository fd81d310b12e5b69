#!/usr/bin/env bash
# kube-scheduler 1.37.2: scheduling gates in gangs.
# Expected: a gate holds only its own pod. A gang whose other pods reach its minimum is bound.
# Observed: one gated pod holds back every unbound pod of its PodGroup, and in a tree every unbound pod of the tree. The other
# pods reach the minimum without it. No condition of a pod or a group and no event reports this. All pods are bound once the gate
# is removed.
# Source: pkg/scheduler/backend/queue/scheduling_queue.go (a group is one entity of the queue).
. "$(dirname "$0")/common.sh"
kube_scheduler_1_37
for i in 1 2 3; do node "n$i" 8; done
gate='schedulingGates: [{name: example.com/quota}]'

tree both 2
member left 1 both
member right 1 both
pod right-2 right 8 "$gate"
pod left-1 left 8
pod right-1 right 8
for_all_of 15 "minimum 1 + 1, three free nodes, one surplus pod gated: nothing is bound" are_bound ""
is_silent() {
    [[ -z $(get "$pods/left-1" | jq -r '.status.conditions[]? | select(.reason == "Unschedulable") | .message') ]] &&
        [[ -z $(get "$podgroups/left" | jq -r '.status.conditions[]?.message') ]] &&
        [[ $(get /api/v1/namespaces/default/events | jq '.items | length') == 0 ]]
}
is_silent || { echo "CHANGED: something reports it now"; exit 1; }
echo "seen: no condition of a waiting pod or of its PodGroup, and no event, reports it"
patched "$pods/right-2" <<<'{"spec": {"schedulingGates": null}}'
within 10 "without the gate all are bound" are_bound left-1 right-1 right-2
