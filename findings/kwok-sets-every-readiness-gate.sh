#!/usr/bin/env bash
# KWOK 0.8.0 with its own stages: readiness gates.
# Expected: like a kubelet, KWOK leaves the conditions of a pod's readiness gates to the controllers that own them. The pod is not
# Ready until they are True.
# Observed: KWOK sets the condition of every readiness gate to True itself, and the pod is Ready at once. So simulated nodes do
# not reveal a controller that fails to set its gate.
. "$(dirname "$0")/common.sh"
api_server v1.36.5 AllAlpha=false v1
built sigs.k8s.io/kwok@v0.8.0 sigs.k8s.io/kwok/cmd/kwok
stages=$(go mod download -json sigs.k8s.io/kwok@v0.8.0 | jq -r .Dir)/kustomize/stage
for stage in "$stages"/node/fast/node-*.yaml "$stages"/pod/fast/pod-*.yaml; do
    cat "$stage" && echo ---
done >"$work/stages.yaml"
"$work/bin/kwok" --kubeconfig="$work/kubeconfig" --manage-all-nodes=true --config="$work/stages.yaml" >"$work/kwok.log" 2>&1 &
"$work/bin/kwok" --version
node n1 8
created "$pods" <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: gated}
spec:
  nodeName: n1
  readinessGates: [{conditionType: example.com/loaded}]
  containers: [{name: c, image: example.com/none}]
YAML
within 30 "the gate's condition is True, and nobody here owns it" eval '[[ $(condition "$pods/gated" example.com/loaded) == True* ]]'
within 10 "the pod is Ready" eval '[[ $(condition "$pods/gated" Ready) == True* ]]'
get "$pods/gated" | jq -c '.status.conditions[] | {type, status, reason}'
