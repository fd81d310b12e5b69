#!/usr/bin/env bash
# Volcano 1.15.1, the scheduler without Volcano's controllers, with the plugin proportion (as in the configuration of its chart).
# Expected: the queue `default`, which the scheduler itself creates, can be used, or a gang reports that its queue is not open.
# Observed: the queue has no state, and the scheduler allocates nothing from it. The PodGroup reports NotEnoughResources although
# all GPUs are free. With `status.state: Open`, the gang is bound.
. "$(dirname "$0")/common.sh"
volcano proportion
for i in 1 2; do node "n$i" 8; done
volcano_podgroup gang 2
for i in 1 2; do volcano_pod "gang-$i" gang 8; done
within 60 "two free nodes, a gang of two: Unschedulable, NotEnoughResources" \
    is_condition "$volcano_podgroups/gang" Unschedulable "True NotEnoughResources"
[[ -z $(get "$queues/default" | jq -r '.status.state // empty') ]] || { echo "CHANGED: the queue has a state"; exit 1; }
for_all_of 15 "nothing is bound, and no condition names the queue" eval \
    'are_bound "" && ! get "$volcano_podgroups/gang" | jq -c .status.conditions | grep -qi queue'
get "$volcano_podgroups/gang" | jq -c '.status.conditions[] | {type, reason, message}'
opened default
within 60 "with the queue Open the gang is bound" are_bound gang-1 gang-2
