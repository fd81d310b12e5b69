#!/usr/bin/env bash
# kube-scheduler 1.37.2: the pods of a gang are replaced.
# Expected: pods that are being deleted do not count towards the minimum. A gang of four that is recreated is bound whole.
# Observed: bound pods that are Terminating count towards minCount, so a replacement in the same PodGroup is bound alone.
# Source: pkg/scheduler/backend/cache/podgroupstate.go.
. "$(dirname "$0")/common.sh"
kube_scheduler_1_37
for i in 1 2 3 4; do node "n$i" 8; done

podgroup gang 4
for i in 1 2 3 4; do pod "old-$i" gang 8 'terminationGracePeriodSeconds: 600'; done
within 20 "a gang of four is bound" are_bound old-1 old-2 old-3 old-4
# No kubelet stops these pods, so they stay Terminating.
for i in 1 2 3 4; do delete "$pods/old-$i"; done
node n5 8
for i in 1 2 3 4; do pod "new-$i" gang 8; done
is_one_bound() { [[ $(bound | grep -o 'new-.' | wc -l) == 1 ]]; }
within 20 "four pods take their places, and there is room for one: it is bound" is_one_bound
for_all_of 10 "one of four, minCount 4" is_one_bound
