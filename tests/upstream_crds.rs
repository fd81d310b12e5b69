//! Compares our CustomResourceDefinitions with upstream's, property by property, in both directions.
//!
//! Upstream publishes its CRDs in the Go module `github.com/ai-dynamo/grove/operator/api`, without PodGang.
//! The pinned version is older than the API that we implement. Later changes are listed with their reasons.
//! An unused reason fails the test, just as an unexplained difference does. The test needs `go` on PATH, and
//! the module in its cache or a module proxy.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const MODULE: &str = "github.com/ai-dynamo/grove/operator/api";
const VERSION: &str = "v0.1.0-alpha.8";
/// Checksums as in a `go.sum`, so that the test needs neither a trusted proxy nor a checksum database.
const MODULE_SUM: &str = "h1:hsAJ8YOsmxDBqB4bpFlnss5jVBJ8rSZ0W7mPLKIPo5A=";
const GO_MOD_SUM: &str = "h1:Vm2I1VlLyNKJRmSsAoaT5KzkMQXuzYKgZ1s2GPaURHQ=";

const PAIRS: [(&str, &str); 4] = [
    ("grove.io_podcliquesets.yaml", "PodCliqueSet"),
    ("grove.io_podcliques.yaml", "PodClique"),
    ("grove.io_podcliquescalinggroups.yaml", "PodCliqueScalingGroup"),
    // Renamed after alpha.8.
    ("grove.io_clustertopologies.yaml", "ClusterTopologyBinding"),
];

/// Reasons for differences, each with paths, which include everything below them. A path that begins with a
/// kind's name applies to that kind only. After `*`, a path matches at any depth.
type Explained = &'static [(&'static str, &'static [&'static str])];

static ONLY_UPSTREAM: Explained = &[
    ("the API server adds these fields to every schema", &[".apiVersion", ".kind", ".metadata"]),
    ("replaced by updateProgress after alpha.8", &[".status.rollingUpdateProgress"]),
    (
        "replaced by counts after alpha.8",
        &[".status.updateProgress.updatedPodCliques", ".status.updateProgress.updatedPodCliqueScalingGroups"],
    ),
];

static ONLY_OURS: Explained = &[
    (
        "core/v1 of Kubernetes 1.36, upstream's is older",
        &["*.podSpec.schedulingGroup", "*.podCertificate.userAnnotations"],
    ),
    (
        "added by upstream after alpha.8",
        &[
            "*.topologyConstraint.topologyName",
            "*.topologyConstraint.pack",
            "PodCliqueSet.spec.template.podCliqueScalingGroups[].annotations",
            ".status.updateProgress.updatedPodCliquesCount",
            ".status.updateProgress.totalPodCliquesCount",
            ".status.updateProgress.updatedPodCliqueScalingGroupsCount",
            ".status.updateProgress.totalPodCliqueScalingGroupsCount",
            "ClusterTopologyBinding.spec.schedulerTopologyBindings",
            "ClusterTopologyBinding.status",
        ],
    ),
];

static DIFFERENT: Explained = &[
    ("ours defaults to 0, so that the scale subresource always has a number to show", &[".status.replicas"]),
    (
        "a closed list of domains in alpha.8, later any name of the right form",
        &["*.topologyConstraint.packDomain", "ClusterTopologyBinding.spec.levels[].domain"],
    ),
];

#[test]
fn upstream_property_paths() {
    let upstream = upstream_crds();
    let ours = grove_yaml::documents(include_str!("../manifests/controller/crds.yaml")).unwrap();
    let mut unexplained = vec![];
    let mut used = BTreeSet::new();
    for (file, kind) in PAIRS {
        let text =
            std::fs::read_to_string(upstream.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let theirs = properties(&grove_yaml::documents(&text).unwrap()[0]);
        let ours = ours.iter().find(|crd| crd["spec"]["names"]["kind"] == kind).unwrap();
        let ours = properties(ours);
        assert!(theirs.len() > 3 && ours.len() > 3, "{kind}: no properties found to compare");
        for path in theirs.keys().chain(ours.keys()).collect::<BTreeSet<_>>() {
            let (what, explained) = match (theirs.get(path), ours.get(path)) {
                (Some(theirs), Some(ours)) if theirs == ours => continue,
                (Some(theirs), Some(ours)) => (format!("upstream {theirs}, ours {ours}"), DIFFERENT),
                (Some(theirs), None) => (format!("only upstream: {theirs}"), ONLY_UPSTREAM),
                (None, ours) => (format!("only ours: {}", ours.unwrap()), ONLY_OURS),
            };
            match patterns(explained).find(|pattern| covers(pattern, kind, path)) {
                Some(pattern) => drop(used.insert((explained.as_ptr(), pattern))),
                None => unexplained.push(format!("{kind}{path}: {what}")),
            }
        }
    }
    assert!(unexplained.is_empty(), "differences that nothing here explains:\n{}", unexplained.join("\n"));
    for list in [ONLY_UPSTREAM, ONLY_OURS, DIFFERENT] {
        let stale: Vec<_> =
            patterns(list).filter(|pattern| !used.contains(&(list.as_ptr(), *pattern))).collect();
        assert!(stale.is_empty(), "explained here, but no longer a difference: {stale:?}");
    }
}

fn patterns(explained: Explained) -> impl Iterator<Item = &'static str> {
    explained.iter().flat_map(|(_, patterns)| patterns.iter().copied())
}

/// Go downloads the module and verifies it against the checksums above.
fn upstream_crds() -> PathBuf {
    let workspace = tempfile::tempdir().unwrap();
    std::fs::write(workspace.path().join("go.mod"), "module upstream-crds\n\ngo 1.24\n").unwrap();
    let sums = format!("{MODULE} {VERSION} {MODULE_SUM}\n{MODULE} {VERSION}/go.mod {GO_MOD_SUM}\n");
    std::fs::write(workspace.path().join("go.sum"), sums).unwrap();
    let download = Command::new("go")
        .args(["mod", "download", "-json", &format!("{MODULE}@{VERSION}")])
        .current_dir(workspace.path())
        .output()
        .unwrap_or_else(|error| {
            panic!(
                "cannot run `go` ({error}): install Go 1.24 or newer, because upstream's CRDs are in a Go module"
            )
        });
    let answer: Value = serde_json::from_slice(&download.stdout).unwrap_or_default();
    let Some(dir) = answer["Dir"].as_str() else {
        let reason = answer["Error"].as_str().map(str::to_owned);
        let reason = reason.unwrap_or_else(|| String::from_utf8_lossy(&download.stderr).into_owned());
        panic!(
            "`go mod download {MODULE}@{VERSION}` failed; a module proxy or a filled module cache is needed: {reason}"
        );
    };
    Path::new(dir).join("core/v1alpha1/crds")
}

/// The properties of a CRD by path, each with the schema fields in `COMPARED`.
fn properties(crd: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect("", &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"], &mut found);
    found
}

fn collect(path: &str, schema: &Value, found: &mut BTreeMap<String, String>) {
    const COMPARED: [&str; 6] =
        ["type", "default", "enum", "pattern", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys"];
    if !path.is_empty() {
        let says = COMPARED
            .iter()
            .filter_map(|keyword| schema.get(keyword).map(|value| format!("{keyword} {value}")));
        found.insert(path.to_owned(), says.collect::<Vec<_>>().join(", "));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        collect(&format!("{path}.{name}"), property, found);
    }
    for (keyword, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = schema.get(keyword) {
            collect(&format!("{path}{mark}"), inner, found);
        }
    }
}

/// Whether `pattern` names `path` of `kind`, or a path above it.
fn covers(pattern: &str, kind: &str, path: &str) -> bool {
    let rest = match pattern.strip_prefix('*') {
        Some(suffix) => path.split_once(suffix).map(|(_, rest)| rest),
        None => path.strip_prefix(pattern.strip_prefix(kind).unwrap_or(pattern)),
    };
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', '{']))
}
