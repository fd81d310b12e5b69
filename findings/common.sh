# shellcheck shell=bash
# A control plane in a temporary folder, built from pinned public Go modules: etcd, kube-apiserver, one scheduler, and simulated
# nodes. No program of this project runs. A script sources this file, creates nodes and gangs, and prints what it observes.
set -euo pipefail

for tool in go curl jq openssl python3; do
    command -v "$tool" >/dev/null || { echo "$tool is needed on PATH"; exit 3; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
ended() {
    # shellcheck disable=SC2046 # They are numbers.
    kill -9 $(jobs -p) 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap ended EXIT

etcd_module=go.etcd.io/etcd/server/v3@v3.6.10

# MODULE@VERSION PACKAGE...: builds programs in $work/bin, with the replacements of the module's go.mod. Kubernetes replaces its
# own modules by folders that no proxy serves. These modules are released under the same number, with v0 instead of v1.
# FINDINGS_PROGRAMS may name a folder with programs that are already built. It has a folder MODULE@VERSION for each module.
built() {
    local module=$1 folder="$work/build-${1//[\/@]/-}" go_mod
    shift
    mkdir -p "$folder" "$work/bin"
    if [[ -d ${FINDINGS_PROGRAMS:-} ]]; then
        ln -sf "$FINDINGS_PROGRAMS/$module"/* "$work/bin/"
        return
    fi
    (
        cd "$folder"
        go mod init finding >/dev/null 2>&1
        go mod edit -require="$module"
        go_mod=$(go mod download -json "$module" | jq -r .GoMod)
        go mod edit -json "$go_mod" | jq -r --arg own "${module/*@v1./v0.}" '.Replace[]? |
            if .New.Path | startswith("./staging") then "\(.Old.Path)=\(.Old.Path)@\($own)"
            elif .New.Version then "\(.Old.Path)=\(.New.Path)@\(.New.Version)" else empty end' |
            while read -r replaced; do
                go mod edit -replace="$replaced"
            done
        [[ $module != volcano.sh/volcano@* ]] || volcano_apis
        CGO_ENABLED=0 go build -mod=mod -trimpath -ldflags='-s -w' -o "$work/bin/" "$@"
    ) >"$folder.log" 2>&1 || { tail -n 20 "$folder.log"; echo "$module could not be built"; exit 3; }
}

# VERSION GATES API...: starts etcd and an API server with these feature gates (GATE=true,...) and API versions.
api_server() {
    local version=$1 gates=$2
    shift 2
    built "$etcd_module" go.etcd.io/etcd/server/v3
    mv "$work/bin/v3" "$work/bin/etcd" 2>/dev/null || mv "$work/bin/server" "$work/bin/etcd"
    built "k8s.io/kubernetes@$version" k8s.io/kubernetes/cmd/kube-apiserver
    kubernetes=$version
    local etcd_port peer_port
    read -r etcd_port peer_port port < <(free_ports)
    "$work/bin/etcd" --data-dir="$work/etcd" --listen-client-urls="http://127.0.0.1:$etcd_port" \
        --advertise-client-urls="http://127.0.0.1:$etcd_port" --listen-peer-urls="http://127.0.0.1:$peer_port" \
        --initial-advertise-peer-urls="http://127.0.0.1:$peer_port" --initial-cluster="default=http://127.0.0.1:$peer_port" \
        --log-level=error >"$work/etcd.log" 2>&1 &
    openssl genrsa -out "$work/key" 2048 2>/dev/null
    openssl rsa -in "$work/key" -pubout -out "$work/key.pub" 2>/dev/null
    echo 'token,admin,admin,system:masters' >"$work/tokens"
    "$work/bin/kube-apiserver" --etcd-servers="http://127.0.0.1:$etcd_port" --bind-address=127.0.0.1 --secure-port="$port" \
        --cert-dir="$work/certificates" --token-auth-file="$work/tokens" --authorization-mode=RBAC \
        --service-account-key-file="$work/key.pub" --service-account-signing-key-file="$work/key" \
        --service-account-issuer=https://kubernetes.default.svc --service-cluster-ip-range=10.96.0.0/16 \
        --disable-admission-plugins=ServiceAccount,TaintNodesByCondition --feature-gates="$gates" \
        --runtime-config="$(printf '%s=true,' "$@")" >"$work/kube-apiserver.log" 2>&1 &
    within 120 "the API server is ready" get /readyz
    within 30 "namespace default exists" get /api/v1/namespaces/default
    cat >"$work/kubeconfig" <<YAML
apiVersion: v1
kind: Config
current-context: it
clusters: [{name: it, cluster: {server: 'https://127.0.0.1:$port', insecure-skip-tls-verify: true}}]
users: [{name: it, user: {token: token}}]
contexts: [{name: it, context: {cluster: it, user: it}}]
YAML
}

# GATES: starts a kube-scheduler of the API server's version.
kube_scheduler() {
    built "k8s.io/kubernetes@$kubernetes" k8s.io/kubernetes/cmd/kube-scheduler
    "$work/bin/kube-scheduler" --kubeconfig="$work/kubeconfig" --authentication-kubeconfig="$work/kubeconfig" \
        --authorization-kubeconfig="$work/kubeconfig" --leader-elect=false --secure-port=0 --feature-gates="$1" \
        >"$work/kube-scheduler.log" 2>&1 &
    echo "kube-scheduler $kubernetes, $1"
}

# Starts kube-scheduler 1.37 with gangs, topology and trees.
kube_scheduler_1_37() {
    local gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true
    api_server v1.37.2 "$gates" scheduling.k8s.io/v1beta1 scheduling.k8s.io/v1alpha3
    kube_scheduler "$gates"
}

# Volcano 1.15.1 needs an API module that not every proxy serves. v1.14.0 is served, but lacks the name of one annotation.
volcano_apis() {
    cp -r "$(go mod download -json volcano.sh/apis@v1.14.0 | jq -r .Dir)" apis
    chmod -R u+w apis
    printf 'package v1beta1\n\nconst QueueAllocationGateKey = GroupName + "/queue-allocation-gate"\n' \
        >apis/pkg/apis/scheduling/v1beta1/lacking.go
    go mod edit -replace=volcano.sh/apis=./apis
}

# MODULE FOLDER FILE...: installs CRDs from FOLDER of a module that was built.
crds() {
    local module=$1 folder name
    folder=$(go mod download -json "$module" | jq -r .Dir)/$2
    shift 2
    for file in "$@"; do
        created /apis/apiextensions.k8s.io/v1/customresourcedefinitions <"$folder/$file"
        name=$(jq -r .metadata.name "$work/answer")
        until get "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/$name" |
            jq -e '.status.conditions[]? | select(.type == "Established" and .status == "True")' >/dev/null; do
            sleep 0.2
        done
    done
    sleep 2
}

# PLUGINS: starts Volcano's scheduler 1.15.1 without its other programs, with these additional plugins in its second tier, on an API
# server of Kubernetes 1.36.5.
volcano() {
    local module=volcano.sh/volcano@v1.15.1
    api_server v1.36.5 AllAlpha=false scheduling.k8s.io/v1
    built "$module" volcano.sh/volcano/cmd/scheduler
    mv "$work/bin/scheduler" "$work/bin/vc-scheduler"
    crds "$module" config/crd/volcano/bases scheduling.volcano.sh_podgroups.yaml scheduling.volcano.sh_queues.yaml \
        topology.volcano.sh_hypernodes.yaml
    cat >"$work/volcano.yaml" <<YAML
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: nodeorder}, {name: binpack}${1:+$(printf ', {name: %s}' "$@")}]
YAML
    DEBUG_SOCKET_DIR="$work" "$work/bin/vc-scheduler" --kubeconfig="$work/kubeconfig" --scheduler-conf="$work/volcano.yaml" \
        --leader-elect=false --schedule-period=500ms --cache-dumper=false --feature-gates=ResourceTopology=false \
        >"$work/vc-scheduler.log" 2>&1 &
    echo "vc-scheduler 1.15.1, plugins priority, gang, predicates, nodeorder, binpack $*"
    within 60 "it has made its queue default" get "$queues/default"
}
queues=/apis/scheduling.volcano.sh/v1beta1/queues
volcano_podgroups=/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups
opened() { patched "$queues/$1/status" <<<'{"status": {"state": "Open"}}'; }

# NAME MINMEMBER
volcano_podgroup() {
    created "$volcano_podgroups" <<YAML
{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: $1}, spec: {minMember: $2, queue: default}}
YAML
}

# NAME PODGROUP GPUS [FIELDS OF THE SPEC]
volcano_pod() {
    created "$pods" <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, annotations: {scheduling.k8s.io/group-name: $2}}
spec:
  schedulerName: volcano
  containers: [{name: c, image: example.com/none, resources: {limits: {nvidia.com/gpu: "$3"}}}]
  ${4:-}
YAML
}

# Starts Koordinator's scheduler 1.8.0 on an API server of Kubernetes 1.36.5. It has the plugin Coscheduling at the extension points
# at which its chart enables it.
koordinator() {
    local module=github.com/koordinator-sh/koordinator@v1.8.0 plugin='[{name: Coscheduling}]'
    api_server v1.36.5 AllAlpha=false scheduling.k8s.io/v1
    built "$module" github.com/koordinator-sh/koordinator/cmd/koord-scheduler
    crds "$module" config/crd/bases scheduling.koordinator.sh_reservations.yaml scheduling.koordinator.sh_devices.yaml \
        scheduling.sigs.k8s.io_podgroups.yaml scheduling.koordinator.sh_clusternetworktopologies.yaml
    cat >"$work/koordinator.yaml" <<YAML
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: $work/kubeconfig}
profiles:
- schedulerName: koord-scheduler
  plugins:
    preEnqueue: {enabled: $plugin}
    preFilter: {enabled: $plugin}
    postFilter: {disabled: [{name: '*'}], enabled: $plugin}
    reserve: {enabled: $plugin}
    permit: {enabled: $plugin}
    preBind: {enabled: [{name: Coscheduling}, {name: DefaultPreBind}]}
    postBind: {enabled: $plugin}
YAML
    local address
    read -r address _ _ < <(free_ports)
    "$work/bin/koord-scheduler" --config="$work/koordinator.yaml" --address=127.0.0.1 --port="$address" --secure-port=0 -v=2 \
        >"$work/koord-scheduler.log" 2>&1 &
    echo "koord-scheduler 1.8.0, plugin Coscheduling"
}
koordinator_podgroups=/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups

# NAME MINMEMBER
koordinator_podgroup() {
    created "$koordinator_podgroups" <<YAML
{apiVersion: scheduling.sigs.k8s.io/v1alpha1, kind: PodGroup, metadata: {name: $1}, spec: {minMember: $2}}
YAML
}

# NAME PODGROUP GPUS [FIELDS OF THE SPEC]
koordinator_pod() {
    created "$pods" <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1, labels: {pod-group.scheduling.sigs.k8s.io: $2}}
spec:
  schedulerName: koord-scheduler
  containers: [{name: c, image: example.com/none, resources: {limits: {nvidia.com/gpu: "$3"}}}]
  ${4:-}
YAML
}

free_ports() {
    # The kernel chooses three ports. They stay open until all three are known, so that no port is returned twice.
    python3 -c 'import socket
held = [socket.socket() for _ in range(3)]
for one in held: one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in held))'
}

request() { # METHOD PATH [TYPE]; reads the body from standard input if TYPE is given
    local more=()
    [[ -z ${3:-} ]] || more=(-H "Content-Type: $3" --data-binary @-)
    curl -sk --fail-with-body -X "$1" -H 'Authorization: Bearer token' "${more[@]}" "https://127.0.0.1:$port$2"
}
get() { request GET "$1"; }
delete() { request DELETE "$1" >/dev/null; }
created() { request POST "$1" application/yaml >"$work/answer" || { cat "$work/answer"; exit 3; }; }
patched() { request PATCH "$1" application/merge-patch+json >"$work/answer" || { cat "$work/answer"; exit 3; }; }

pods=/api/v1/namespaces/default/pods
podgroups=/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups
trees=/apis/scheduling.k8s.io/v1alpha3/namespaces/default/compositepodgroups

# NAME GPUS [LABELS]: creates a node that is ready, with labels as a YAML map.
node() {
    created /api/v1/nodes <<YAML
{apiVersion: v1, kind: Node, metadata: {name: $1, labels: ${3:-{\}}}}
YAML
    patched "/api/v1/nodes/$1/status" <<JSON
{"status": {"capacity": {"nvidia.com/gpu": "$2", "cpu": "64", "memory": "256Gi", "pods": "110"},
 "allocatable": {"nvidia.com/gpu": "$2", "cpu": "64", "memory": "256Gi", "pods": "110"},
 "conditions": [{"type": "Ready", "status": "True", "reason": "It", "message": "",
                 "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
JSON
}

# NAME PODGROUP GPUS [FIELDS OF THE SPEC]
pod() {
    created "$pods" <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  schedulingGroup: {podGroupName: $2}
  containers: [{name: c, image: example.com/none, resources: {limits: {nvidia.com/gpu: "$3"}}}]
  ${4:-}
YAML
}

# NAME MINCOUNT [FIELDS OF THE SPEC]
podgroup() {
    created "$podgroups" <<YAML
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: $1}
spec: {schedulingPolicy: {gang: {minCount: $2}}${3:+, $3}}
YAML
}

# NAME MINCOUNT TREE: creates a PodGroup of a tree.
member() { podgroup "$1" "$2" "parentCompositePodGroupName: $3, workloadRef: {workloadName: w, templateName: $1}"; }

# NAME MINGROUPCOUNT
tree() {
    created "$trees" <<YAML
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: $1}
spec:
  workloadRef: {workloadName: w, templateName: $1}
  schedulingPolicy: {gang: {minGroupCount: $2}}
YAML
}

# Prints the names of bound pods in one line.
bound() { get "$pods" | jq -r '[.items[] | select(.spec.nodeName) | .metadata.name] | join(" ")'; }
are_bound() { [[ $(bound) == "$*" ]]; }
# PATH TYPE: prints the status and reason of a condition.
condition() { get "$1" | jq -r --arg type "$2" '.status.conditions[]? | select(.type == $type) | "\(.status) \(.reason)"'; }
is_condition() { [[ $(condition "$1" "$2") == "$3" ]]; }

# SECONDS WHAT COMMAND...: waits at most SECONDS until COMMAND succeeds.
within() {
    local until=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < until)) || { echo "CHANGED: it did not come to this: $what"; tail -n 5 "$work"/*.log; exit 1; }
        sleep 0.2
    done
    echo "seen: $what"
}

# SECONDS WHAT COMMAND...: checks that COMMAND succeeds throughout SECONDS.
for_all_of() {
    local until=$((SECONDS + $1)) what=$2 seconds=$1
    shift 2
    while ((SECONDS < until)); do
        "$@" || { echo "CHANGED: it did not stay so for $seconds s: $what"; exit 1; }
        sleep 0.5
    done
    echo "seen for $seconds s: $what"
}
