"""The checks of ci/charts. Each returns what it found, or raises Wrong. ci/charts-mutants shows that they fail."""

import json
import re
import subprocess

import yaml

from rendered_chart import ROOT, UNSET, at, leaves, require, with_value

MANIFESTS = {"volcano": "volcano", "koord-scheduler": "koordinator", "kai-scheduler": "kai"}
# The suite's ClusterRoles, and the ServiceAccounts of the charts that need the same rights.
ROLES = {
    "volcano": {"volcano": "volcano-scheduler"},
    "koord-scheduler": {"koord-scheduler": "koord-scheduler"},
    "kai-scheduler": {"kai-scheduler": "scheduler", "kai-binder": "binder", "kai-podgrouper": "pod-grouper"},
}
# Deployments of KAI's operator, with the ServiceAccounts that it creates for them.
ACCOUNTS_LATER = {"kai-scheduler-default": "scheduler", "binder": "binder", "pod-grouper": "pod-grouper"}
# docs/findings/kai.md
KNOWN_TO_LACK = {"kai-scheduler": {"binder: update persistentvolumes"}}
RUNNING = {"Deployment", "DaemonSet", "StatefulSet", "Job", "CronJob"}
ADMISSION = {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
POLICIES = {"MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"}


def other(value):
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else f"{value}x"


def version(chart):
    found, wanted = str(chart.metadata["version"]), chart.described["version"].removeprefix("v")
    if found == "0.0.0":
        # The release process of KAI writes the version into the chart.
        command = ["git", "-C", str(chart.checkout), "describe", "--tags", "--exact-match"]
        found = subprocess.run(command, capture_output=True, text=True).stdout.strip().removeprefix("v") or "no tag"
    require(found == wanted, f"the checkout is {found}, and the pinned version is {wanted}")
    name = chart.described["chart"].rsplit("/", 1)[-1]
    require(chart.metadata["name"] == name, f"the chart is called {chart.metadata['name']}, and the suite installs {name}")
    return f"{name} {found}"


def values_exist(chart):
    paths = list(leaves(chart.values, chart.defaults))
    for path in paths:
        require(at(chart.defaults, path) is not UNSET, f"{'.'.join(path)} is not in values.yaml, so Helm ignores it")
    return f"{len(paths)} values are in values.yaml"


def values_matter(chart):
    defaults = []
    for path in leaves(chart.values, chart.defaults):
        value, compared = at(chart.values, path), UNSET
        if value == at(chart.defaults, path):
            defaults.append(".".join(path))
            compared = other(value)
        same = chart.render(with_value(chart.values, path, compared)) == chart.text
        require(not same, f"{'.'.join(path)} does not change the rendered objects")
    note = f"; {', '.join(defaults)} as by default" if defaults else ""
    return f"each value changes the rendered objects{note}"


def versions_of_kubernetes(chart):
    first, *others = chart.kubernetes
    for kubernetes in others:
        same = chart.render(chart.values, kubernetes) == chart.text
        require(same, f"the objects for Kubernetes {kubernetes} differ from those for {first}")
    return f"{len(chart.objects)} objects, the same on {' and '.join(chart.kubernetes)}"


def namespaces(chart):
    release, pods = chart.described["namespace"], chart.pods
    created = {one["metadata"]["name"] for one in chart.all({"Namespace"})}
    # Helm creates the namespace of the release, and fails if the chart has it too.
    require(release not in created, f"the chart has the Namespace {release}, which Helm creates")
    require(pods == release or pods in created, f"nothing creates the namespace {pods}")
    where = {one["metadata"].get("namespace", release) for one in chart.all(RUNNING)}
    require(where == {pods}, f"workloads are in {sorted(where)}, and the suite expects {pods}")
    return f"release {chart.described['release']} in {release}, workloads in {pods}"


def deployments(chart):
    """What the suite waits for exists, and nothing else runs."""
    rendered = set(chart.described["deployed"]["deployments"])
    by_operator = DEPLOYED_LATER.get(chart.name, lambda _: set())(chart)
    for name in sorted(rendered - by_operator):
        replicas = chart.get("Deployment", name)["spec"].get("replicas", 1)
        require(replicas == 1, f"Deployment {name} has {replicas} replicas, want 1")
    missing = by_operator - rendered
    require(not missing, f"the suite does not wait for {sorted(missing)}")
    running, hooks = set(), []
    for one in chart.all(RUNNING):
        name, spec = one["metadata"]["name"], one["spec"]
        hook = one["metadata"].get("annotations", {}).get("helm.sh/hook")
        if hook:
            hooks.append(f"{name} ({hook})")
        elif spec.get("replicas", 1) > 0 and not selects_no_node(spec["template"]["spec"]):
            running.add(name)
    surplus = running - rendered
    require(not surplus, f"{sorted(surplus)} would run too")
    later = f"; the operator creates {', '.join(sorted(by_operator))}" if by_operator else ""
    return f"{', '.join(sorted(running))}{later}{'; hooks: ' + ', '.join(hooks) if hooks else ''}"


def selects_no_node(pod):
    affinity = pod.get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {})
    keys = [one["key"] for term in affinity.get("nodeSelectorTerms", []) for one in term["matchExpressions"]]
    return any(key.startswith("conformance.grove.io/") for key in keys)


def kai_deployments(chart):
    config = kai_config(chart)
    shard = chart.get("SchedulingShard", "default")["metadata"]["name"]
    operands = "pkg/operator/operands"
    name = r'^\s*defaultResourceName\s+= "([^"]+)"'
    names = {
        "scheduler": f"{kai_scheduler_name(chart)}-{shard}",
        "binder": chart.source(f"{operands}/binder/resources.go", name, "the name of the binder"),
        "podGrouper": chart.source(f"{operands}/pod_grouper/resources.go", name, "the name of the podgrouper"),
        "podGroupController": "podgroup-controller",
        "queueController": "queue-controller",
        "admission": "admission",
        "nodeScaleAdjuster": "node-scale-adjuster",
    }
    return {names[part] for part in names if config["spec"][part]["service"]["enabled"]}


DEPLOYED_LATER = {"kai-scheduler": kai_deployments}


def kai_config(chart):
    return yaml.safe_load(chart.get("ConfigMap", "kai-config-manifest")["data"]["kai-config.yaml"])


def kai_scheduler_name(chart):
    given = kai_config(chart)["spec"]["global"].get("schedulerName")
    pattern = r'DefaultSchedulerName\s+= "([^"]+)"'
    return given or chart.source("pkg/common/constants/constants.go", pattern, "the default name of the scheduler")


def images(chart):
    found = []
    for name in chart.described["deployed"]["deployments"]:
        if any(one["metadata"]["name"] == name for one in chart.all({"Deployment"})):
            container = chart.container(name)
            found.append((container["image"], container.get("imagePullPolicy", "IfNotPresent")))
    if chart.name == "kai-scheduler":
        for part in ("scheduler", "binder", "podGrouper"):
            image = kai_config(chart)["spec"][part]["service"]["image"]
            found.append((f"{image['repository']}/{image['name']}:{image['tag']}", image["pullPolicy"]))
    # koord-scheduler: the policy is constant in the template.
    wanted = "Always" if chart.name == "koord-scheduler" else "IfNotPresent"
    for image, policy in found:
        require(policy == wanted, f"the pull policy of {image} is {policy}, want {wanted}")
    return f"{', '.join(image for image, _ in found)}: {wanted}"


def accounts(chart):
    """Every pod has a ServiceAccount of the chart, and a role. KAI's operator creates the accounts of its pods."""
    found = []
    for name in chart.described["deployed"]["deployments"]:
        account = ACCOUNTS_LATER.get(name)
        if not account:
            pod = chart.get("Deployment", name)["spec"]["template"]["spec"]
            account = pod.get("serviceAccountName") or pod.get("serviceAccount") or "default"
            where = chart.get("ServiceAccount", account)["metadata"]["namespace"]
            require(where == chart.pods, f"ServiceAccount {account} is in {where}, and Deployment {name} in {chart.pods}")
        require(roles(chart, account), f"no binding gives ServiceAccount {account} of {chart.pods} a role")
        found.append(account)
    require(found, "no Deployment is waited for")
    return f"{', '.join(found)}: bound to roles"


def roles(chart, account):
    """The names of the roles of a ServiceAccount."""
    found = []
    for binding in chart.all({"ClusterRoleBinding", "RoleBinding"}):
        subject = {"kind": "ServiceAccount", "name": account, "namespace": chart.pods}
        if subject in binding["subjects"]:
            found.append(binding["roleRef"]["name"])
            if not found[-1].startswith("system:"):
                chart.get(binding["roleRef"]["kind"], found[-1])
    return found


def rights(chart):
    """The roles of the chart have the rights of the suite's own manifests, which were read from the schedulers' sources."""
    compared, lacks = 0, set()
    for role, account in ROLES[chart.name].items():
        names = roles(chart, account)
        rules = [rule for one in chart.all({"ClusterRole", "Role"}) if one["metadata"]["name"] in names for rule in one["rules"]]
        own = (ROOT / "manifests" / MANIFESTS[chart.name] / "scheduler.yaml").read_text()
        (ours,) = [one for one in yaml.safe_load_all(own)
                   if one and one["kind"] == "ClusterRole" and one["metadata"]["name"] == f"grove-conformance:{role}"]
        for group, resource, verb in each_right(ours["rules"]):
            # Informers list and watch. The rights of roles that Kubernetes has are not in the chart.
            if verb == "get" or (any(name.startswith("system:") for name in names) and not is_custom(chart, group)):
                continue
            compared += 1
            if not any(allows(rule, group, resource, verb) for rule in rules):
                lacks.add(f"{account}: {verb} {resource}")
    known = KNOWN_TO_LACK.get(chart.name, set())
    require(not lacks - known, f"the roles lack {sorted(lacks - known)}")
    require(not known - lacks, f"the roles now have {sorted(known - lacks)}: shorten KNOWN_TO_LACK and docs/findings")
    note = f", lacking as known: {', '.join(sorted(known))}" if known else ""
    return f"{compared} rights, as in the suite's own roles{note}"


def is_custom(chart, group):
    return any(crd["spec"]["group"] == group for crd in chart.all({"CustomResourceDefinition"}))


def each_right(rules):
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                yield from ((group, resource, verb) for verb in rule["verbs"])


def allows(rule, group, resource, verb):
    # The suite's roles have each right for all names.
    wanted = [("apiGroups", group), ("resources", resource), ("verbs", verb)]
    return "resourceNames" not in rule and all({name, "*"} & set(rule.get(key, [])) for key, name in wanted)


def crds(chart):
    served = {}
    for crd in chart.all({"CustomResourceDefinition"}):
        for one in crd["spec"]["versions"]:
            if one["served"]:
                served[f"{crd['spec']['group']}/{one['name']}", crd["spec"]["names"]["kind"]] = one
    for name in chart.described["crds"]:
        chart.get("CustomResourceDefinition", name)
    custom = list(chart.described["objects"])
    custom += [one for one in chart.objects if (one["apiVersion"], one["kind"]) in served]
    if chart.name == "kai-scheduler":
        custom.append(kai_config(chart))
    for one in custom:
        what = f"{one['kind']} {one['metadata']['name']}"
        version = served.get((one["apiVersion"], one["kind"]))
        require(version, f"no CRD of the chart serves {what} in {one['apiVersion']}")
        body = {key: value for key, value in one.items() if key not in ("apiVersion", "kind", "metadata")}
        check_fields(body, version["schema"]["openAPIV3Schema"], what)
    return f"{len(chart.described['crds'])} CRDs, whose schemas have each field of {len(custom)} custom resources"


def check_fields(value, schema, path):
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    if isinstance(value, dict):
        known, more = schema.get("properties", {}), schema.get("additionalProperties")
        for key in schema.get("required", []):
            require(key in value or key in ("apiVersion", "kind"), f"{path} lacks the required {key}")
        for key, inner in value.items():
            require(key in known or more, f"the schema of {path} has no {key}, so the API server drops it")
            if key in known or isinstance(more, dict):
                check_fields(inner, known.get(key, more), f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            check_fields(inner, schema.get("items", {}), f"{path}[]")
    elif "type" in schema:
        types = {"string": str, "boolean": bool, "integer": int, "number": (int, float)}
        right = isinstance(value, types[schema["type"]]) and (schema["type"] == "boolean" or not isinstance(value, bool))
        require(right, f"{path} is {value!r}, want {schema['type']}")
    require("enum" not in schema or value in schema["enum"], f"{path} is {value!r}, want one of {schema.get('enum')}")


def webhooks(chart):
    for one in chart.all(ADMISSION):
        names = [hook["name"] for hook in one.get("webhooks") or []]
        require(not names, f"{one['kind']} {one['metadata']['name']} has {names}")
    policies = [one["metadata"]["name"] for one in chart.all(POLICIES)]
    require(not policies, f"the chart has admission policies: {policies}")
    empty = len(chart.all(ADMISSION))
    return f"none{f', {empty} empty configurations' if empty else ''}; no admission policies"


def has_args(chart, deployment, wanted):
    args = chart.container(deployment)["args"]
    for one in wanted:
        require(one in args, f"Deployment {deployment} lacks {one}; it has: {' '.join(args)}")


def scheduler_of_volcano(chart):
    custom = chart.values["custom"]
    name = chart.source("cmd/scheduler/app/options/options.go", r'defaultSchedulerName\s+= "([^"]+)"', "the default name")
    args = chart.container("volcano-scheduler")["args"]
    require(not [arg for arg in args if arg.startswith("--scheduler-name=")], "the chart names the scheduler")
    require(name == chart.name, f"the scheduler is called {name}, want {chart.name}")
    configuration, file = chart.get("ConfigMap", "volcano-scheduler-configmap")["data"], "volcano-scheduler.conf"
    require(list(configuration) == [file], f"the ConfigMap has {list(configuration)}, want {file}")
    found = yaml.safe_load(configuration[file])
    wanted = json.loads(custom["scheduler_config_override"])
    require(found == wanted, f"the configuration is {found}, want {wanted}")
    has_args(chart, "volcano-scheduler", [
        f"--scheduler-conf=/volcano.scheduler/{file}",
        f"--schedule-period={custom['scheduler_schedule_period']}",
        f"--kube-api-qps={custom['scheduler_kube_api_qps']}",
        f"--kube-api-burst={custom['scheduler_kube_api_burst']}",
        f"--feature-gates={custom['scheduler_feature_gates']}",
        f"-v={custom['scheduler_log_level']}",
        "--leader-elect=false",
    ])
    mounts = {one["mountPath"]: one["name"] for one in chart.container("volcano-scheduler")["volumeMounts"]}
    require(mounts.get("/volcano.scheduler") == "scheduler-config", "the configuration is not mounted")
    plugins = [plugin["name"] for tier in found["tiers"] for plugin in tier["plugins"]]
    return f"{name}, period {custom['scheduler_schedule_period']}, {found['actions']}; plugins {', '.join(plugins)}"


def scheduler_of_koordinator(chart):
    text = chart.get("ConfigMap", "koord-scheduler-config")["data"]["koord-scheduler-config"]
    (profile,) = yaml.safe_load(text)["profiles"]
    require(profile["schedulerName"] == chart.name, f"the scheduler is called {profile['schedulerName']}, want {chart.name}")
    # The reference configuration of the suite enables Coscheduling at these points.
    for point in ("preEnqueue", "preFilter", "postFilter", "preScore", "score", "reserve", "permit", "preBind", "postBind"):
        enabled = [plugin["name"] for plugin in profile["plugins"][point]["enabled"]]
        require("Coscheduling" in enabled, f"Coscheduling is not enabled in {point}: {enabled}")
    (args,) = [one["args"] for one in profile["pluginConfig"] if one["name"] == "Coscheduling"]
    require(args.get("awareNetworkTopology"), f"Coscheduling ignores topology: {args}")
    level = chart.values["scheduler"]["log"]["level"]
    file = "--config=/config/koord-scheduler.config"
    has_args(chart, chart.name, ["--enable-network-topology-manager=true", f"--v={level}", file])
    return f"{chart.name}, Coscheduling with topology, preemption {'on' if args.get('enablePreemption') else 'off'}"


def scheduler_of_kai(chart):
    name = kai_scheduler_name(chart)
    require(name == chart.name, f"the scheduler is called {name}, want {chart.name}")
    options = chart.checkout / "cmd/scheduler/app/options/options.go"
    flags = re.findall(r'Var\(&s\.\w+, "([^"]+)"', options.read_text())
    spec = chart.get("SchedulingShard", "default")["spec"]
    for flag, value in chart.values["scheduler"]["args"].items():
        require(flag in flags, f"the scheduler has no flag --{flag}, and KAI's operator ignores it")
        require(spec["args"][flag] == value, f"the shard has {flag}={spec['args'][flag]}, want {value}")
    pattern = r"defaultActionPriorities = map\[string\]int\{(.*?)\}"
    block = chart.source("pkg/apis/kai/v1/schedulingshard_types.go", pattern, "the actions of a shard")
    actions = re.findall(r'"(\w+)":', block)
    off = spec.get("actions", {})
    for action in off:
        require(action in actions, f"KAI has no action {action}: {actions}")
    on = [action for action in actions if off.get(action, {}).get("enabled", True)]
    require(on == ["allocate"], f"the actions are {on}, want allocate alone")
    queue = kai_config(chart)["spec"]["global"]["queueLabelKey"]
    require(queue == "kai.scheduler/queue", f"the label of queues is {queue}")
    queues = [one["metadata"]["name"] for one in chart.all({"Queue"})]
    require(not queues, f"the chart creates the queues {queues}, which the suite creates too")
    return f"{name}, period {spec['args']['schedule-period']}, actions {', '.join(on)}; queues by the label {queue}"


SCHEDULERS = {"volcano": scheduler_of_volcano, "koord-scheduler": scheduler_of_koordinator, "kai-scheduler": scheduler_of_kai}


def scheduler(chart):
    return SCHEDULERS[chart.name](chart)


CHECKS = [version, values_exist, values_matter, versions_of_kubernetes, namespaces, deployments, images, accounts, rights, crds,
          webhooks, scheduler]
