#!/usr/bin/env bash
# Volcano 1.15.1, the scheduler without Volcano's webhooks: a PodGroup whose queue does not exist.
# Expected: a condition or an event names the queue.
# Observed: the PodGroup gets no status, its pods get no condition, and there is no event. Once the queue exists and is Open, the
# gang is bound.
. "$(dirname "$0")/common.sh"
volcano
opened default
for i in 1 2; do node "n$i" 8; done
created "$volcano_podgroups" <<'YAML'
{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: gang}, spec: {minMember: 2, queue: missing}}
YAML
for i in 1 2; do volcano_pod "gang-$i" gang 8; done
is_silent() {
    [[ $(get "$volcano_podgroups/gang" | jq -c '.status.conditions // []') == '[]' ]] &&
        [[ $(get "$pods" | jq -c '[.items[].status.conditions[]?]') == '[]' ]] &&
        [[ $(get /api/v1/namespaces/default/events | jq '.items | length') == 0 ]]
}
for_all_of 20 "no condition of the PodGroup or of a pod, and no event" is_silent
created "$queues" <<'YAML'
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: missing}, spec: {weight: 1}}
YAML
opened missing
within 60 "the queue exists: the gang is bound" are_bound gang-1 gang-2
