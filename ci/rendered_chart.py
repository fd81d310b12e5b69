"""A chart that Helm rendered, for ci/charts. Its checks are in chart_checks.py."""

import copy
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The minor versions that the suite supports. Templates may depend on them.
KUBERNETES = ["1.36.0", "1.37.0"]
# The folder of the chart in a checkout. {} is the pinned version.
FOLDERS = {
    "volcano": "installer/helm/chart/volcano",
    "koord-scheduler": "versions/v{}",
    "kai-scheduler": "deployments/kai-scheduler",
}
UNSET = object()


class Wrong(Exception):
    """A check failed."""


def require(condition, message):
    if not condition:
        raise Wrong(message)


def cannot(reason):
    print(f"charts: not run, {reason}", file=sys.stderr)
    sys.exit(3)


try:
    import yaml
except ImportError:
    cannot("python3-yaml is not installed (apt-get install python3-yaml)")


def helm(*words):
    done = subprocess.run(["helm", *words], capture_output=True, text=True)
    require(done.returncode == 0, f"helm {words[0]} failed: {done.stderr.strip()}")
    return done.stdout


class Chart:
    def __init__(self, described, checkout):
        self.described = described
        self.name = described["scheduler"]
        self.values = described["values"]
        self.checkout = checkout
        version = described["version"].removeprefix("v")
        self.folder = checkout / FOLDERS[self.name].format(version)
        require((self.folder / "Chart.yaml").exists(), f"{self.folder} has no Chart.yaml: is DIR a checkout of this version?")
        self.metadata = yaml.safe_load((self.folder / "Chart.yaml").read_text())
        self.defaults = yaml.safe_load((self.folder / "values.yaml").read_text())
        self.pods = described["deployed"]["namespace"]
        self.kubernetes = described.get("kubernetes", KUBERNETES)
        self.text = self.render(self.values)
        self.objects = [one for one in yaml.safe_load_all(self.text) if one]

    def render(self, values, kubernetes=None):
        release, namespace = self.described["release"], self.described["namespace"]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(values, file)
            file.flush()
            return helm("template", release, str(self.folder), "--namespace", namespace, "--values", file.name,
                        "--include-crds", "--kube-version", kubernetes or self.kubernetes[0])

    def all(self, kinds):
        return [one for one in self.objects if one["kind"] in kinds]

    def get(self, kind, name):
        found = [one for one in self.objects if one["kind"] == kind and one["metadata"]["name"] == name]
        names = ", ".join(one["metadata"]["name"] for one in self.all({kind})) or "none"
        require(found, f"the chart has no {kind} {name}; it has: {names}")
        return found[0]

    def container(self, deployment):
        return self.get("Deployment", deployment)["spec"]["template"]["spec"]["containers"][0]

    def source(self, path, pattern, what):
        """The only group of `pattern` in a file of the checkout."""
        file = self.checkout / path
        require(file.exists(), f"{file} does not exist: {what} cannot be checked")
        found = re.search(pattern, file.read_text(), re.MULTILINE | re.DOTALL)
        require(found, f"{path} does not contain {what}")
        return found[1]


def at(values, path):
    for key in path:
        if not isinstance(values, dict) or key not in values:
            return UNSET
        values = values[key]
    return values


def with_value(values, path, value):
    values = copy.deepcopy(values)
    parent = at(values, path[:-1])
    if value is UNSET:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return values


def leaves(values, defaults, path=()):
    """The paths of the values. Below a default that is empty, the chart copies everything."""
    for key, value in values.items():
        default = at(defaults, (*path, key))
        if isinstance(value, dict) and isinstance(default, dict) and default:
            yield from leaves(value, defaults, (*path, key))
        else:
            yield (*path, key)


def descriptions():
    """The charts that the suite installs, by scheduler."""
    all_of_them = yaml.safe_load_all((ROOT / "manifests/charts.yaml").read_text())
    return {one["scheduler"]: one for one in all_of_them if one}
