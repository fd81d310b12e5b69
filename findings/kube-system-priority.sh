#!/usr/bin/env bash
# kube-apiserver 1.37.2: a gang with a system class.
# Expected: a gang may have the priority class that each of its pods may have, also system-cluster-critical and system-node-critical.
# Observed: the API server accepts a pod with such a class, and rejects a PodGroup or CompositePodGroup with it. kube-scheduler binds
# only gangs whose pods have the priority of their PodGroup, so no gang can have a system class.
# Source: +k8s:maximum=1000000000 at the field priority of both kinds in k8s.io/api/scheduling (v1beta1 and v1alpha3). The admission
# plugin Priority sets this field to the value of the class, which is 2000000000 or more.
. "$(dirname "$0")/common.sh"
gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true
api_server v1.37.2 "$gates" scheduling.k8s.io/v1beta1 scheduling.k8s.io/v1alpha3
echo "kube-apiserver $kubernetes"
classes=/apis/scheduling.k8s.io/v1/priorityclasses

# PATH: prints the API server's answer to an object from standard input, which it must reject because of the limit.
rejected() {
    if request POST "$1" application/yaml >"$work/answer"; then
        echo "CHANGED: it was accepted: $(jq -c .spec "$work/answer")"
        exit 1
    fi
    jq -r .message "$work/answer"
    grep -q 'spec.priority: Invalid value: .* less than or equal to 1000000000' "$work/answer" ||
        { echo "CHANGED: it was rejected for another reason"; exit 1; }
}

for class in system-cluster-critical system-node-critical; do
    within 30 "class $class exists" get "$classes/$class"
    pod "of-$class" absent 1 "priorityClassName: $class"
    echo "seen: a pod with $class is accepted: its priority is $(jq .spec.priority "$work/answer")"
    rejected "$podgroups" <<YAML
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: of-$class}
spec: {schedulingPolicy: {gang: {minCount: 1}}, priorityClassName: $class}
YAML
    rejected "$trees" <<YAML
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: of-$class}
spec:
  workloadRef: {workloadName: w, templateName: t}
  schedulingPolicy: {gang: {minGroupCount: 1}}
  priorityClassName: $class
YAML
done
created "$classes" <<'YAML'
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: highest}, value: 1000000000}
YAML
podgroup of-highest 1 'priorityClassName: highest'
echo "seen: a PodGroup with the highest class that a user can create is accepted: its priority is $(jq .spec.priority "$work/answer")"
