#!/usr/bin/env bash
# Volcano 1.15.1: conditions of a PodGroup.
# Expected: a condition that no longer holds is set to False, as the API conventions of Kubernetes require.
# Observed: after a waiting gang is bound, its PodGroup has both Unschedulable True and Scheduled True. Only their transition
# times show which one holds.
. "$(dirname "$0")/common.sh"
volcano
opened default
node n1 8
volcano_podgroup gang 2
for i in 1 2; do volcano_pod "gang-$i" gang 8; done
within 30 "one node for a gang of two: Unschedulable is True" eval 'condition "$volcano_podgroups/gang" Unschedulable | grep -q ^True'
node n2 8
within 60 "a second node: both pods are bound" are_bound gang-1 gang-2
within 30 "Scheduled is True" eval 'condition "$volcano_podgroups/gang" Scheduled | grep -q ^True'
for_all_of 10 "Unschedulable is still True" eval 'condition "$volcano_podgroups/gang" Unschedulable | grep -q ^True'
get "$volcano_podgroups/gang" | jq -c '.status.conditions[] | {type, status, reason, lastTransitionTime}'
