#!/usr/bin/env bash
# Volcano 1.15.1 and kube-scheduler 1.36.5: a pod with an unbound claim of a storage class with WaitForFirstConsumer.
# Expected: both schedulers select a node and leave the volume to the provisioner. The provisioner here is not a CSI driver, so no
# CSINode limits it.
# Observed: kube-scheduler selects a node. Volcano treats the provisioner's name as the name of a CSI driver, and the pod waits
# because the node has no `attachable-volumes-csi-NAME`. Volcano's flag --ignored-provisioners exempts a name.
. "$(dirname "$0")/common.sh"
volcano
opened default
node n1 8
created /apis/storage.k8s.io/v1/storageclasses <<'YAML'
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: example.com/local, volumeBindingMode: WaitForFirstConsumer}
YAML
claim() {
    created /api/v1/namespaces/default/persistentvolumeclaims <<YAML
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $1}
spec: {storageClassName: local, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
YAML
}
selected() { get "/api/v1/namespaces/default/persistentvolumeclaims/$1" | jq -r '.metadata.annotations["volume.kubernetes.io/selected-node"] // empty'; }

claim of-volcano
volcano_podgroup gang 1
volcano_pod gang-1 gang 1 'volumes: [{name: v, persistentVolumeClaim: {claimName: of-volcano}}]'
within 60 "Volcano: Insufficient attachable-volumes-csi-example.com/local" eval \
    'get "$pods/gang-1" | jq -r ".status.conditions[].message" | grep -q "attachable-volumes-csi-example.com/local"'
get "$pods/gang-1" | jq -r '.status.conditions[] | select(.type == "PodScheduled") | .message'
for_all_of 10 "no node is selected for its claim" eval '[[ -z $(selected of-volcano) ]]'

kube_scheduler AllAlpha=false
claim of-kube-scheduler
created "$pods" <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: plain}
spec:
  containers: [{name: c, image: example.com/none, resources: {limits: {nvidia.com/gpu: "1"}}}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: of-kube-scheduler}}]
YAML
within 30 "kube-scheduler: node n1 is selected for the claim" eval '[[ $(selected of-kube-scheduler) == n1 ]]'
