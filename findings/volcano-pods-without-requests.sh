#!/usr/bin/env bash
# Volcano 1.15.1: a gang of pods that request nothing.
# Expected: minMember counts these pods like other pods, and a gang of three is not bound if only two fit.
# Observed: such a pod is best effort. The action allocate skips it, the action backfill binds it on its own, and it counts as
# ready from the start. So two of three pods are bound. With a request of 1m CPU, no pod is bound.
# Source: ReadyTaskNum in pkg/scheduler/api/job_info.go.
. "$(dirname "$0")/common.sh"
volcano
opened default
# Room for two pods: one node whose pod limit is two.
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
