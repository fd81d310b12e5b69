//! Hand-written reports, one with every verdict and one with all backends, and the redaction of snapshots.

use std::time::Duration;

use conformance_contract::clauses::{Clause, Feature, Tier, clause};
use conformance_contract::verdict::Outcome;
use conformance_contract::violation::{Code, Proof, Violation};

use super::left_out::interrupted as interrupted_outcome;
use super::{
    CaseResult, Component, ComponentSource, CriticalPath, ExceptedWrites, Features, Implementation,
    Judgement, PeakMemory, Provider, Report, Seconds, Settings, TargetReport, Timings, UnsupportedFeature,
};

/// Clauses of every verdict, tier, level, kind of source and backend.
const CONTRACT: [&str; 15] = [
    "ADM-01", "AON-01", "AON-02", "AON-08", "AON-10", "TOPO-01", "TOPO-08", "DEL-05", "DEL-06", "DEL-07",
    "KAI-01", "KUBE-01", "VOL-01", "KOORD-01", "EXT-01",
];

/// Hides values that change with each release of this crate.
pub(super) fn redacted() -> insta::internals::SettingsBindDropGuard {
    let version = env!("CARGO_PKG_VERSION").replace('.', r"\.");
    let mut settings = insta::Settings::clone_current();
    for before in ["suite ", "suite:\n  version: ", "name=\"suite\" value=\""] {
        settings.add_filter(&format!("({before}){version}"), "${1}[suite version]");
    }
    settings.set_omit_expression(true);
    settings.bind_to_scope()
}

/// kube-scheduler in two gang scopes. The cases have every verdict.
pub(super) fn report() -> Report {
    let base = super::testing::report(vec![flat(), pod_gang_scope()]);
    Report {
        command: "grove-conformance run --backend default-scheduler".to_owned(),
        operator: Implementation {
            name: "grove-backend-controller".to_owned(),
            version: "0.1.0".to_owned(),
            url: Some("https://example.org/grove-backend-controller".to_owned()),
            reference: true,
            ..base.operator
        },
        provider: Provider {
            feature_gates: [("GenericWorkload".to_owned(), true), ("GangScheduling".to_owned(), true)].into(),
            ..base.provider
        },
        components: vec![
            component("kube-apiserver", ComponentSource::Built, "a1"),
            component("kube-scheduler", ComponentSource::Path, "b2"),
        ],
        settings: Settings { timeout_scale: 1.5, concurrency: 4, strict: false, seed: Some(1) },
        timings: Timings {
            build_seconds: seconds(12),
            cluster_ready_seconds: seconds(3_400),
            total_seconds: seconds(41_250),
            processor_seconds: [("etcd", 3_200), ("kube-apiserver", 28_900)]
                .into_iter()
                .map(|(program, millis)| (program, Duration::from_millis(millis)))
                .collect(),
            peak_memory: PeakMemory {
                all: 1_400,
                programs: [("etcd".to_owned(), 230), ("kube-apiserver".to_owned(), 1_100)].into(),
            },
            critical_path: CriticalPath::default(),
        },
        ..base
    }
}

/// Koordinator's scheduler exited, and KAI's was not installed.
pub(super) fn all_backends() -> Report {
    let mut report = report();
    report.targets.extend([
        clean(
            "volcano",
            "v1.14.1",
            &[
                Feature::GangScheduling,
                Feature::AtomicPodGang,
                Feature::TopologyRequired,
                Feature::TopologyPreferred,
            ],
        ),
        without_scheduler(
            "koord-scheduler",
            "v1.8.0",
            &Outcome::error("koord-scheduler ended with signal 9"),
        ),
        without_scheduler("kai-scheduler", "none", &Outcome::not_run_announced("KAI binaries not found")),
        clean("external:my-scheduler", "v0.3.0", &[Feature::GangScheduling]),
    ]);
    report
}

pub(super) fn interrupted() -> Report {
    let mut report = report();
    let target = report.targets[0].clone();
    let interrupt = |case: &CaseResult| {
        let clauses = case.clauses.iter().map(|judgement| judgement.clause.clone());
        CaseResult::without_running(case.id.clone(), case.title.clone(), clauses, &interrupted_outcome())
    };
    let cases = target.cases.iter().map(|case| match case.id.as_str() {
        "aon/fits" => interrupt(case),
        _ => target.with_violations(case),
    });
    let cases = cases.collect();
    report.targets[0] = target.reconclude(cases);
    report.incomplete("interrupted (SIGINT)")
}

pub(super) fn violation(message: &str) -> Violation {
    let bind = |pod: &str, node: &str, resource_version: &str, at: &str| Proof {
        what: format!("bound to node {node}"),
        kind: "Pod".to_owned(),
        namespace: Some("aon-one-pod-short".to_owned()),
        name: pod.to_owned(),
        resource_version: resource_version.to_owned(),
        at: Some(time(at)),
    };
    Violation::new(
        Code::new("bound-in-part"),
        message,
        [
            bind("short-0-worker-x7k2p", "pool-3-node-0", "812", "2026-12-01T10:00:07.120Z"),
            bind("short-0-worker-m4dqz", "pool-3-node-1", "815", "2026-12-01T10:00:07.131Z"),
        ],
    )
}

fn flat() -> TargetReport {
    let topology = "the Workload API of 1.36 has no preferred levels";
    let features = Features {
        supported: vec![Feature::GangScheduling, Feature::TopologyRequired],
        unsupported: vec![
            missing(Feature::AtomicPodGang, "PodGroups are scheduled one by one"),
            missing(Feature::TopologyPreferred, topology),
        ],
        declared: vec!["scheduler gate GangScheduling".to_owned()],
        ..Features::default()
    };
    let bound = "2 of 5 pods were bound though only 4 fit";
    let checked = vec![
        case("adm/one-backend", "two scheduler names", &[("ADM-01", Outcome::pass())], 310),
        CaseResult {
            excepted_writes: vec![ExceptedWrites {
                writer: "kwok".to_owned(),
                object: "Pod fits-0-a-x".to_owned(),
                count: 2,
            }],
            ..case("aon/fits", "4 nodes, 4 pods", &[("AON-01", Outcome::pass())], 1_204)
        },
        case("kube/gang-resources", "one PodGroup per podgroup", &[("KUBE-01", Outcome::pass())], 800),
        failed(bound),
        CaseResult {
            negative_verdict_seconds: Some(seconds(2_050)),
            ..case(
                "aon/one-clique-too-large",
                "clique B does not fit",
                &[(
                    "AON-08",
                    Outcome::fail("").of_known_deviation("PodGroups are scheduled one by one", true),
                )],
                3_417,
            )
        },
        CaseResult {
            attempts: 2,
            reproduce: Some("grove-conformance run aon/pending-does-not-block".to_owned()),
            ..case(
                "aon/pending-does-not-block",
                "a smaller gang after a pending one",
                &[("AON-10", flaky())],
                6_090,
            )
        },
        case(
            "topo/required",
            "a gang in one rack, beside one that needs a preferred level | both",
            &[("TOPO-01", Outcome::pass()), ("TOPO-08", Outcome::unsupported(topology))],
            2_500,
        ),
        case(
            "del/capacity-is-given-on",
            "a waiting unit takes over",
            &[("DEL-05", Outcome::error("the watch of pods has a gap between 901 and 977"))],
            9_999,
        ),
        CaseResult::without_running("del/controller-down", "deleted meanwhile", ["DEL-06"], &filtered_out()),
    ];
    target("PodGroup scope", features, checked)
}

fn pod_gang_scope() -> TargetReport {
    let features = Features {
        supported: vec![Feature::GangScheduling, Feature::AtomicPodGang],
        unsupported: vec![missing(Feature::TopologyRequired, "not part of this example")],
        ..Features::default()
    };
    let all = [
        ("ADM-01", Outcome::pass()),
        ("AON-01", Outcome::pass()),
        ("AON-02", Outcome::pass()),
        ("AON-08", Outcome::pass()),
        ("AON-10", Outcome::pass()),
        ("DEL-05", Outcome::pass()),
        ("DEL-06", Outcome::pass()),
        ("DEL-07", Outcome::pass()),
        ("KUBE-01", Outcome::pass()),
    ];
    target("PodGang scope", features, vec![case("all/kept", "every promise is kept", &all, 7_000)])
}

fn clean(backend: &str, version: &str, supported: &[Feature]) -> TargetReport {
    checked_with(backend, version, supported, |_| Outcome::pass())
}

fn without_scheduler(backend: &str, version: &str, outcome: &Outcome) -> TargetReport {
    let features = [Feature::GangScheduling, Feature::AtomicPodGang, Feature::TopologyRequired];
    checked_with(backend, version, &features, |clause| match clause.tier {
        Tier::Contract => Outcome::pass(),
        Tier::Scheduling => outcome.clone(),
    })
}

fn checked_with(
    backend: &str,
    version: &str,
    supported: &[Feature],
    outcome: impl Fn(&Clause) -> Outcome,
) -> TargetReport {
    let features = Features { supported: supported.to_vec(), ..Features::default() };
    let owed = contract().into_iter().filter(|clause| clause.applies_to_backend(backend));
    let checked = owed.filter(|clause| clause.feature.is_none_or(|feature| supported.contains(&feature)));
    let found: Vec<(&str, Outcome)> = checked.map(|clause| (clause.id, outcome(clause))).collect();
    let cases = vec![case("all/judged", "whatever is owed", &found, 1_000)];
    TargetReport::new(backend, None, version, features).conclude(contract(), cases)
}

fn failed(message: &str) -> CaseResult {
    let folder = "cases/default-scheduler-podgroup-scope/aon/one-pod-short";
    let mut short =
        case("aon/one-pod-short", "5 pods, 4 nodes", &[("AON-02", Outcome::fail(message))], 4_321);
    short.clauses[0].violations = vec![violation(message)];
    CaseResult {
        overhead_seconds: Some(seconds(640)),
        reproduce: Some("grove-conformance run aon/one-pod-short".to_owned()),
        artifacts: Some(folder.to_owned()),
        ..short
    }
}

fn target(variant: &str, features: Features, cases: Vec<CaseResult>) -> TargetReport {
    TargetReport::new("default-scheduler", Some(variant.to_owned()), "v1.36.4", features)
        .conclude(contract(), cases)
}

fn contract() -> Vec<&'static Clause> {
    CONTRACT.iter().map(|id| clause(id).unwrap()).collect()
}

fn case(id: &str, title: &str, found: &[(&str, Outcome)], millis: u64) -> CaseResult {
    let judgement = |(clause, outcome): &(&str, Outcome)| Judgement {
        clause: (*clause).to_owned(),
        outcome: outcome.clone(),
        violations: Vec::new(),
    };
    let case = CaseResult::new(id, title, found.iter().map(judgement).collect());
    CaseResult { duration_seconds: seconds(millis), ..case }
}

fn flaky() -> Outcome {
    let attempts = [Outcome::fail("the smaller gang was not bound within 30 s"), Outcome::pass()];
    Outcome::of_attempts(&attempts).unwrap()
}

fn filtered_out() -> Outcome {
    Outcome::not_run_announced("not selected by --group AON")
}

fn missing(name: Feature, reason: &str) -> UnsupportedFeature {
    UnsupportedFeature { name, reason: reason.to_owned() }
}

fn component(name: &str, source: ComponentSource, byte: &str) -> Component {
    let digest = format!("sha256:{}", byte.repeat(32));
    Component { name: name.to_owned(), version: "v1.36.4".to_owned(), source, chart: None, digest }
}

fn seconds(millis: u64) -> Seconds {
    Duration::from_millis(millis).into()
}

fn time(text: &str) -> jiff::Timestamp {
    text.parse().unwrap()
}
