#!/usr/bin/env bash
# Koordinator 1.8.0: a pod of a gang has a scheduling gate.
# Expected: the scheduler leaves a gated pod alone. A gang starts when minMember of its pods have no gate, and these are bound.
# Observed: the scheduler sometimes tries a gated pod like the other pods of its gang, and counts it towards minMember. The API
# server refuses to bind it. The gang of three with minMember 2 is then bound with one pod, and a pod without a gate waits although
# two nodes are free.
# Which pods the scheduler tries is random, because it iterates over a map, so the script tries several gangs.
# Source: NextPod in pkg/scheduler/plugins/coscheduling/core/core.go ignores scheduling gates. isGangValidForPermit in core/gang.go
# counts the gated pod.
. "$(dirname "$0")/common.sh"
koordinator
for i in 1 2 3; do node "n$i" 8; done

refused=0 alone=0
for try in {1..40}; do
    gang=gang-$try
    koordinator_podgroup "$gang" 2
    koordinator_pod "$gang-2" "$gang" 8 'schedulingGates: [{name: example.com/wait}]'
    for i in 0 1; do koordinator_pod "$gang-$i" "$gang" 8; done
    sleep 5
    if is_condition "$pods/$gang-2" PodScheduled "False SchedulerError"; then
        ((refused += 1))
        get "$pods/$gang-2" | jq -r '.status.conditions[] | select(.type == "PodScheduled") | .message'
        [[ $(bound) != "$gang-"[01] ]] || ((alone += 1))
    fi
    echo "try $try: minMember 2, one of three pods is gated. Bound: $(bound)"
    ((alone == 0)) || break
    for i in 0 1 2; do delete "$pods/$gang-$i?gracePeriodSeconds=0"; done
done
((refused)) || { echo "CHANGED: in 40 gangs the scheduler did not try to bind the gated pod"; exit 1; }
((alone)) || { echo "CHANGED: in 40 gangs no pod was bound alone"; exit 1; }
echo "seen: it tried to bind the gated pod of $refused of $try gangs"
for_all_of 30 "the gang has minMember 2, two nodes are free, and one pod is bound" are_bound "$(bound)"

# A control: a gang of three without a gate.
for i in 0 1 2; do delete "$pods/$gang-$i?gracePeriodSeconds=0"; done
koordinator_podgroup another 3
for i in 0 1 2; do koordinator_pod "another-$i" another 8; done
within 60 "a gang of three without a gate is bound" are_bound another-0 another-1 another-2
