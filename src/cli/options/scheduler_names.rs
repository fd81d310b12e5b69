//! Help texts that list schedulers, with the names from their descriptions.

use conformance_contract::target::TARGETS;
use conformance_install::schedulers::helm::Release;
use conformance_install::schedulers::{self, sources};

pub(super) fn backend() -> String {
    let mut names: Vec<_> = TARGETS.iter().map(|target| target.name()).collect();
    names.dedup();
    format!(
        "Backend to judge ({}); all of them in one control plane (all); or your own scheduler that reads \
         PodGangs (external:NAME) [default: default-scheduler]",
        names.join(", ")
    )
}

pub(super) fn component() -> String {
    let with_chart = schedulers::all().filter_map(Release::pinned);
    let charts: Vec<_> = with_chart.map(|release| release.scheduler.name()).collect();
    format!(
        "Where a program comes from, instead of the pinned version: a path (kube-scheduler=./my-scheduler, \
         or kai-scheduler=DIR for a folder with KAI's programs and CRDs); src:DIR, a checkout that is built \
         once per content ({}); version:V, another published version \
         (kube-scheduler=version:1.37.1), which is built; or, on kind, chart:REF, a Helm chart ({}): an OCI reference, \
         REPOSITORY/CHART, a path, @VERSION for another version of the pinned chart, or pinned. May be \
         repeated",
        one_of(&sources()),
        one_of(&charts)
    )
}

/// `a, b or c`.
fn one_of(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.join(", "),
    }
}
