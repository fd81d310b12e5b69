//! `load`: the target of the load test, and its figures as text.

use conformance_contract::clauses::Feature;
use conformance_contract::target::Target;
use conformance_report::{CaseResult, Report};
use serde_json::{Map, Value};

use super::Failure;

const DEFAULT_SCOPE: &str = "PodGang";

/// The seconds with the operator, divided by those of the scheduler alone.
const MAX_RATIO: f64 = 1.2;
const MAX_OPERATOR_MEGABYTES: f64 = 150.0;
const MAX_SUITE_MEGABYTES: f64 = 1000.0;
const MAX_DELETION_SECONDS: f64 = 60.0;

/// Selects the target. Without preemption, rejects one whose gang resources the operator does not create.
pub(crate) fn target(backend: &str, targets: Vec<Target>, preempts: bool) -> Result<Target, Failure> {
    let one = one_target(backend, targets, preempts)?;
    if preempts && !one.declares(Feature::Preemption) {
        return Err(Failure::Usage(format!(
            "--backend {backend}: {one} does not preempt gangs; pass another backend, or --kubernetes 1.37 for \
             kube-scheduler"
        )));
    }
    Ok(one)
}

fn one_target(backend: &str, targets: Vec<Target>, preempts: bool) -> Result<Target, Failure> {
    // Preemption is not measured with the scheduler alone.
    let creates_its_own =
        |target: &Target| !preempts && (*target == Target::KAI || target.external().is_some());
    match targets.as_slice() {
        [only] if creates_its_own(only) => Err(Failure::Usage(format!(
            "--backend {backend}: `load` also measures the scheduler without the operator, and {backend} creates its \
             gang resources itself; pass default-scheduler, volcano or koord-scheduler"
        ))),
        [only] => Ok(*only),
        several => {
            let default = several.iter().find(|target| target.scope() == Some(DEFAULT_SCOPE));
            let is_one_backend = several.iter().all(|target| target.backend() == several[0].backend());
            default.copied().filter(|_| is_one_backend).ok_or_else(|| {
                Failure::Usage(format!(
                    "`load` measures one backend at a time: pass --backend NAME, not {backend}"
                ))
            })
        }
    }
}

/// Returns the figures of a load test as text, with the limits of the reference operator and the suite.
pub(crate) fn lines(report: &Report) -> Vec<String> {
    let cases = report.targets.iter().flat_map(|target| target.cases.iter().map(move |case| (target, case)));
    let measured = cases.filter(|(_, case)| !case.figures.is_empty());
    measured.flat_map(|(target, case)| of_case(&target.title(), case)).collect()
}

fn of_case(target: &str, case: &CaseResult) -> Vec<String> {
    let figures = Figures(&case.figures);
    if case.figures.contains_key("preemptionSeconds") {
        return of_preemption(target, case, &figures);
    }
    let seconds = |stage: &str| {
        let figure = |name: &str| figures.number(&format!("{stage}{name}"));
        let (seconds, rate) = (figure("Seconds")?, figure("PodsPerSecond")?);
        Some(format!("{seconds:.1} s, {rate:.0} pods/s"))
    };
    let alone = seconds("schedulerAlone");
    let stuck =
        || figures.number("schedulerAloneBound").map(|bound| format!("only {bound} pods bound in time"));
    let failed = || case.figures.get("schedulerAloneFailed").map(|reason| format!("not measured: {reason}"));
    let peaks = case.figures.get("peakMegabytes").and_then(Value::as_object);
    let peaks = peaks.map(|all| {
        let all: Vec<_> =
            all.iter().map(|(program, peak)| format!("{program} {}", Figures::short(peak))).collect();
        all.join(", ")
    });
    let rows = [
        ("first submit to last binding", seconds("operator")),
        ("the scheduler alone", alone.or_else(stuck).or_else(failed)),
        ("ratio", figures.at_most("ratio", MAX_RATIO, "")),
        ("ratio of processor time, of all programs", figures.with("processorRatio", "")),
        ("longest time a gang was bound in part", figures.with("longestInPartSeconds", " s")),
        ("deletion of everything", figures.at_most("deletionSeconds", MAX_DELETION_SECONDS, " s")),
        (
            "operator, peak resident memory",
            figures.at_most("operatorPeakMegabytes", MAX_OPERATOR_MEGABYTES, " MB"),
        ),
        ("operator, processor time until all is bound", figures.with("operatorProcessorSeconds", " s")),
        ("operator, writes for each pod", figures.with("operatorWritesPerPod", "")),
        ("suite, peak resident memory", figures.at_most("suitePeakMegabytes", MAX_SUITE_MEGABYTES, " MB")),
        ("recorded versions of objects", figures.with("recordedVersions", "")),
        ("peak resident memory of the others, MB", peaks),
    ];
    let of_update = [
        ("update, first patch to last binding", seconds("update")),
        ("update, operator's writes for each pod", figures.with("updateWritesPerPod", "")),
        ("update, operator's processor time", figures.with("updateProcessorSeconds", " s")),
        ("update, operator's peak resident memory", figures.with("updatePeakMegabytes", " MB")),
    ];
    let count = |name| figures.with(name, "").unwrap_or_default();
    let title = format!(
        "{} on {target}: {} pods of {} PodGangs in {} PodCliqueSets",
        case.id,
        count("pods"),
        count("podGangs"),
        count("sets")
    );
    let rows = rows
        .into_iter()
        .chain(of_update.into_iter().filter(|(_, figure)| figure.is_some()))
        .map(|(what, figure)| format!("  {what:<45}{}", figure.unwrap_or_else(|| "not measured".into())));
    std::iter::once(title).chain(rows).collect()
}

fn of_preemption(target: &str, case: &CaseResult, figures: &Figures<'_>) -> Vec<String> {
    let count = |name| figures.with(name, "").unwrap_or_default();
    let title = format!(
        "{} on {target}: {} pods of {} PodGangs, {} of them of high priority",
        case.id,
        count("pods"),
        count("podGangs"),
        count("preemptors")
    );
    let rows = [
        ("until the gangs of high priority were bound", figures.with("preemptionSeconds", " s")),
        ("gangs evicted", figures.with("gangsEvicted", "")),
        ("gangs that had to be evicted", figures.with("gangsNeeded", "")),
        ("gangs left in part", figures.at_most("gangsInPart", 0.0, "")),
    ];
    let rows = rows.map(|(what, figure)| format!("  {what:<45}{}", figure.unwrap_or_default()));
    std::iter::once(title).chain(rows).collect()
}

struct Figures<'a>(&'a Map<String, Value>);

impl Figures<'_> {
    fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name)?.as_f64()
    }

    fn short(figure: &Value) -> String {
        figure.as_f64().map_or_else(|| "-".into(), |figure| format!("{figure:.0}"))
    }

    fn with(&self, name: &str, unit: &str) -> Option<String> {
        self.0.get(name).filter(|figure| figure.is_number()).map(|figure| format!("{figure}{unit}"))
    }

    fn at_most(&self, name: &str, max: f64, unit: &str) -> Option<String> {
        let (figure, shown) = (self.number(name)?, self.with(name, unit)?);
        let missed = if figure > max { ": MISSED" } else { "" };
        Some(format!("{shown} (at most {max}{unit}{missed})"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_of_an_update_are_printed_if_there_was_one() {
        let mut case = CaseResult::new("scale/50x8-300-update", "t", Vec::new());
        let lines = |case: &CaseResult| {
            let lines = of_case("volcano", case).into_iter();
            lines.filter(|line| line.contains("update, ")).collect::<Vec<_>>()
        };
        assert_eq!(lines(&case), [""; 0]);
        case.figures = json!({
            "updateSeconds": 60, "updatePodsPerSecond": 5, "updateWritesPerPod": 9.25, "updateProcessorSeconds": 4.5,
            "updatePeakMegabytes": 50.1,
        })
        .as_object()
        .cloned()
        .unwrap();
        assert_eq!(
            lines(&case),
            [
                "  update, first patch to last binding          60.0 s, 5 pods/s",
                "  update, operator's writes for each pod       9.25",
                "  update, operator's processor time            4.5 s",
                "  update, operator's peak resident memory      50.1 MB",
            ]
        );
    }

    #[test]
    fn a_figure_that_exceeds_its_limit_is_marked() {
        let mut case = CaseResult::new("scale/50x8-300", "t", Vec::new());
        case.figures = json!({
            "pods": 300, "podGangs": 27, "sets": 6, "operatorSeconds": 12.5, "operatorPodsPerSecond": 24,
            "schedulerAloneSeconds": 10, "schedulerAlonePodsPerSecond": 30, "ratio": 1.25, "deletionSeconds": 3.5,
            "processorRatio": 1.5,
            "operatorPeakMegabytes": 40.2, "operatorWritesPerPod": 3.75, "suitePeakMegabytes": null, "recordedVersions": 2000,
            "peakMegabytes": {"etcd": 80.4, "kwok": 60},
        })
        .as_object()
        .cloned()
        .unwrap();
        assert_eq!(
            of_case("default-scheduler (PodGang scope)", &case),
            [
                "scale/50x8-300 on default-scheduler (PodGang scope): 300 pods of 27 PodGangs in 6 PodCliqueSets",
                "  first submit to last binding                 12.5 s, 24 pods/s",
                "  the scheduler alone                          10.0 s, 30 pods/s",
                "  ratio                                        1.25 (at most 1.2: MISSED)",
                "  ratio of processor time, of all programs     1.5",
                "  longest time a gang was bound in part        not measured",
                "  deletion of everything                       3.5 s (at most 60 s)",
                "  operator, peak resident memory               40.2 MB (at most 150 MB)",
                "  operator, processor time until all is bound  not measured",
                "  operator, writes for each pod                3.75",
                "  suite, peak resident memory                  not measured",
                "  recorded versions of objects                 2000",
                "  peak resident memory of the others, MB       etcd 80, kwok 60",
            ]
        );
    }

    #[test]
    fn a_partially_bound_gang_is_marked() {
        let mut case = CaseResult::new("scale/9x8-72-preempt", "t", Vec::new());
        case.figures = json!({
            "pods": 80, "podGangs": 10, "preemptors": 1, "preemptionSeconds": 2.5, "gangsEvicted": 2, "gangsNeeded": 1,
            "gangsInPart": 1,
        })
        .as_object()
        .cloned()
        .unwrap();
        let lines = of_case("kai-scheduler", &case);
        assert_eq!(lines[1], "  until the gangs of high priority were bound  2.5 s");
        assert_eq!(lines[4], "  gangs left in part                           1 (at most 0: MISSED)");
    }

    #[test]
    fn one_target_is_measured() {
        let both = || vec![Target::KUBE_POD_GROUP, Target::KUBE_POD_GANG];
        let one = |backend, targets| target(backend, targets, false).ok();
        assert_eq!(one("default-scheduler", both()), Some(Target::KUBE_POD_GANG));
        assert_eq!(one("default-scheduler", vec![Target::KUBE_POD_GROUP]), Some(Target::KUBE_POD_GROUP));
        assert_eq!(one("volcano", vec![Target::VOLCANO]), Some(Target::VOLCANO));
        for (backend, targets) in
            [("all", [both(), vec![Target::VOLCANO]].concat()), ("kai-scheduler", vec![Target::KAI])]
        {
            assert!(matches!(target(backend, targets, false), Err(Failure::Usage(_))), "{backend}");
        }
        let preempting = |target_of: Target| target("x", vec![target_of], true).ok();
        assert_eq!(preempting(Target::KUBE_POD_GANG), None);
        for declaring in [Target::KUBE_TREE, Target::KAI] {
            assert_eq!(preempting(declaring), Some(declaring));
        }
    }
}
