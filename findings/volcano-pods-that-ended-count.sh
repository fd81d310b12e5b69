#!/usr/bin/env bash
# Volcano 1.15.1, a gang whose pods are replaced.
# One would expect: a pod that is being deleted does not help its gang to minMember.
# Seen: one that has succeeded does, as long as it exists: of a gang of three that comes back where there is room for two, a pod is
# bound alone, or two of three. A kubelet leaves such pods for seconds when their process ends with 0 on SIGTERM.
# Source: ReadyTaskNum in pkg/scheduler/api/job_info.go.
. "$(dirname "$0")/common.sh"
volcano
opened default
for i in 1 2 3; do node "n$i" 8; done
volcano_podgroup gang 3
for i in 1 2 3; do volcano_pod "old-$i" gang 8 'terminationGracePeriodSeconds: 600'; done
within 60 "a gang of three is bound" are_bound old-1 old-2 old-3
for i in 1 2 3; do
    delete "$pods/old-$i"
    patched "$pods/old-$i/status" <<<'{"status": {"phase": "Succeeded"}}'
done
# What has ended holds no GPUs; the third node goes.
patched /api/v1/nodes/n3 <<<'{"spec": {"unschedulable": true}}'
for i in 1 2 3; do volcano_pod "new-$i" gang 8; done
is_bound_in_part() { local new; new=$(bound | grep -o 'new-.' | wc -l); ((new == 1 || new == 2)); }
within 60 "two nodes for three pods, minMember 3: a part is bound" is_bound_in_part
for_all_of 10 "a part is bound" is_bound_in_part
bound
