#!/usr/bin/env bash
# kube-scheduler 1.36.5: a gang with a required topology level.
# Expected: a node whose label for the level is empty belongs to no domain.
# Observed: nodes with an empty label form one domain. A gang that must be in one rack is bound to two nodes that are in no rack.
# Source: kubernetes/kubernetes#140308.
. "$(dirname "$0")/common.sh"
gates=GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true
api_server v1.36.5 "$gates" scheduling.k8s.io/v1alpha2
kube_scheduler "$gates"
podgroups=/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups
for i in 1 2; do node "empty-$i" 8 "{rack: ''}"; done
node "alone" 8 "{rack: one}"
created "$podgroups" <<'YAML'
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: gang}
spec:
  schedulingPolicy: {gang: {minCount: 2}}
  schedulingConstraints: {topology: [{key: rack}]}
YAML
for i in 1 2; do pod "gang-$i" gang 8; done
within 30 "two pods are bound, and no rack has two nodes" are_bound gang-1 gang-2
get "$pods" | jq -r '.items[] | .metadata.name + " on " + .spec.nodeName'
