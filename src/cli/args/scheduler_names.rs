//! Help texts that list schedulers, with the names from their descriptions.

use conformance_contract::target::TARGETS;
use conformance_install::schedulers::helm::Release;
use conformance_install::schedulers::{self, sources};

/// The help of `--backend`.
pub(super) fn backend() -> String {
    let mut names: Vec<_> = TARGETS.iter().map(|target| target.name()).collect();
    names.dedup();
    format!(
        "Backend to judge ({}); all of them in one control plane (all); or your own scheduler that reads PodGangs \
         (external:NAME)",
        names.join(", ")
    )
}

/// The help of `--scheduler-source`.
pub(super) fn scheduler_source() -> String {
    format!(
        "Build this scheduler from a working tree of its repository, once per content, instead of the pinned version: \
         {}, e.g. vc-scheduler=../volcano. May be repeated",
        one_of(&sources())
    )
}

/// The help of `--chart`.
pub(super) fn chart() -> String {
    let with_chart = schedulers::all().filter_map(Release::pinned);
    let names: Vec<_> = with_chart.map(|release| release.scheduler.name()).collect();
    format!(
        "With --install helm, use this chart for {} instead of the pinned one: an OCI reference, REPOSITORY/CHART, or a \
         path. @VERSION alone selects another version of the pinned chart. May be repeated",
        one_of(&names)
    )
}

/// `a, b or c`.
fn one_of(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.join(", "),
    }
}
