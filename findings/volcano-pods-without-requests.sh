#!/usr/bin/env bash
# Volcano 1.15.1, a gang of pods that request nothing.
# One would expect: minMember counts them like other pods, and a gang of three is not bound where two fit.
# Seen: such a pod is best effort. Action allocate skips it, action backfill binds it by itself, and it counts as ready from the start:
# two of three are bound. With a request of 1m CPU none is.
# Source: ReadyTaskNum in pkg/scheduler/api/job_info.go.
. "$(dirname "$0")/common.sh"
volcano
opened default
# Two places: a node for two pods.
node n1 8
patched /api/v1/nodes/n1/status <<<'{"status": {"capacity": {"pods": "2"}, "allocatable": {"pods": "2"}}}'
gang() { # NAME RESOURCES
    volcano_podgroup "$1" 3
    for i in 1 2 3; do
        created "$pods" <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1-$i, annotations: {scheduling.k8s.io/group-name: $1}}
spec:
  schedulerName: volcano
  containers: [{name: c, image: example.com/none, resources: $2}]
YAML
    done
}
gang asks '{requests: {cpu: 1m}}'
for_all_of 15 "three pods that ask for 1m CPU, two places: nothing is bound" are_bound ""
for i in 1 2 3; do delete "$pods/asks-$i?gracePeriodSeconds=0"; done
gang silent '{}'
are_two_bound() { [[ $(bound | wc -w) == 2 ]]; }
within 30 "three pods that ask for nothing, two places: two are bound" are_two_bound
for_all_of 10 "two of three, minMember 3" are_two_bound
