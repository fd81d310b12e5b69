#!/usr/bin/env bash
# Koordinator 1.8.0: a gang waits for room, while nothing else changes in the cluster.
# Expected: the scheduler waits for a change, or longer after each attempt, and writes the condition of a pod only when it changes.
# Observed: the scheduler retries the gang without a pause, and writes the conditions of its pods at least ten times per second. It
# also creates events continuously. Each condition quotes the pod that failed first, which is another one in each attempt.
# Source: rejectGangGroup in pkg/scheduler/plugins/coscheduling/core/core.go rejects the pods of the gang that wait in Permit.
# handleBindingCycleError in pkg/scheduler/schedule_one.go of k8s.io/kubernetes 1.35 treats each of them as a deleted pod, which
# requeues the pod that had no room. The gate SchedulerPopFromBackoffQ, on by default, takes it from the backoff queue at once.
. "$(dirname "$0")/common.sh"
koordinator
for i in 1 2; do node "n$i" 8; done

events() { get /api/v1/namespaces/default/events | jq '.items | length'; }
writes=0
# In a race, Koordinator loses a gang and does not retry it, so a second and a third gang may be needed.
for gang in one two three; do
    koordinator_podgroup "$gang" 3
    for i in 1 2 3; do koordinator_pod "$gang-$i" "$gang" 8; done
    within 30 "three pods, two nodes: $gang-1 is Unschedulable" is_condition "$pods/$gang-1" PodScheduled "False Unschedulable"
    version=$(get "$pods" | jq -r .metadata.resourceVersion)
    before=$(events)
    get "$pods?watch=true&timeoutSeconds=10&resourceVersion=$version" >"$work/watched"
    writes=$(jq -s 'map(select(.type == "MODIFIED")) | length' "$work/watched")
    echo "gang $gang in 10 s: $writes writes of its pods, $(($(events) - before)) new events"
    ((writes < 100)) || break
    for i in 1 2 3; do delete "$pods/$gang-$i?gracePeriodSeconds=0"; done
done
((writes >= 100)) || { echo "CHANGED: a waiting gang is written less than ten times per second"; exit 1; }
echo "its conditions, by the number of writes:"
jq -r 'select(.type == "MODIFIED") | .object | .metadata.name as $pod | .status.conditions[]? |
    select(.type == "PodScheduled") | "\($pod): \(.message)"' "$work/watched" | sort | uniq -c | sort -rn | awk "NR <= 6"
are_bound "" || { echo "CHANGED: a pod is bound"; exit 1; }
