#!/usr/bin/env bash
# Volcano 1.15.1: events about a PodGroup whose gang is bound at once.
# Expected: no event reports that the gang is unschedulable.
# Observed: the scheduler writes a Warning with the reason Unschedulable and "0/1 tasks in gang unschedulable: pod group is ready".
# Source: in the session that allocates the gang, its pods are Binding, which ScheduledStatus in pkg/scheduler/api/helpers.go does not
# count. So the phase is still Inqueue at the end of the session (getPodGroupPhase in pkg/scheduler/framework/session.go), and
# RecordJobStatusEvent in pkg/scheduler/cache/cache.go writes this Warning for each PodGroup that is Inqueue.
. "$(dirname "$0")/common.sh"
volcano
opened default
node n1 8
volcano_podgroup gang 1
volcano_pod gang-1 gang 8
within 60 "a free node, a gang of one: it is bound" are_bound gang-1
# Such an event before the pod exists is correct: its message says that the group is not ready.
warning() {
    get /api/v1/namespaces/default/events | jq -r '.items[] |
        select(.type == "Warning" and .reason == "Unschedulable" and .involvedObject.kind == "PodGroup") |
        .message | select(contains("pod group is ready"))'
}
within 30 "a Warning with the reason Unschedulable about the PodGroup" eval '[[ -n $(warning) ]]'
warning
get "$volcano_podgroups/gang" | jq -c '.status.conditions[]? | {type, status, reason}'
