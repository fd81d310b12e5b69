#!/usr/bin/env bash
# Koordinator 1.8.0: a gang loses all its pods, and new pods are created.
# Expected: a gang of three with minMember 3 is bound whole each time.
# Observed: a gang that was bound once is satisfied indefinitely (match policy once-satisfied, the default). After all its pods
# are gone, new pods of the same PodGroup are bound one by one. Here two of three pods are bound on two nodes.
. "$(dirname "$0")/common.sh"
koordinator
for i in 1 2 3; do node "n$i" 8; done
koordinator_podgroup gang 3
for i in 1 2 3; do koordinator_pod "old-$i" gang 8; done
within 60 "a gang of three is bound" are_bound old-1 old-2 old-3
for i in 1 2 3; do delete "$pods/old-$i?gracePeriodSeconds=0"; done
within 20 "all its pods are gone" eval '[[ $(get "$pods" | jq ".items | length") == 0 ]]'
sleep 5
patched /api/v1/nodes/n3 <<<'{"spec": {"unschedulable": true}}'
for i in 1 2 3; do koordinator_pod "new-$i" gang 8; done
are_two_bound() { [[ $(bound | wc -w) == 2 ]]; }
within 60 "two nodes for three new pods: two are bound" are_two_bound
for_all_of 15 "two of three, minMember 3" are_two_bound

# A control: a gang of the same size that was never bound.
for i in 1 2 3; do delete "$pods/new-$i?gracePeriodSeconds=0"; done
koordinator_podgroup another 3
for i in 1 2 3; do koordinator_pod "another-$i" another 8; done
for_all_of 20 "another gang of three on the two nodes: nothing is bound" are_bound ""
