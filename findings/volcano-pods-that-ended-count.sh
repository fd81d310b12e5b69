#!/usr/bin/env bash
# Volcano 1.15.1: the pods of a gang are replaced.
# Expected: a pod that is being deleted does not count towards minMember of its gang.
# Observed: a succeeded pod counts as long as it exists. A gang of three is recreated where there is room for two: one pod is
# bound alone, or two of three are bound. If a process exits with 0 on SIGTERM, the kubelet leaves such a pod for seconds.
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
# Succeeded pods use no GPUs. The third node is cordoned.
patched /api/v1/nodes/n3 <<<'{"spec": {"unschedulable": true}}'
for i in 1 2 3; do volcano_pod "new-$i" gang 8; done
is_bound_in_part() { local new; new=$(bound | grep -o 'new-.' | wc -l); ((new == 1 || new == 2)); }
within 60 "two nodes for three pods, minMember 3: a part is bound" is_bound_in_part
for_all_of 10 "a part is bound" is_bound_in_part
bound
