//! Turns arguments into cases and targets. An unknown name is a usage error that suggests the closest match.

use conformance_cases as cases;
use conformance_contract::clauses::{CLAUSES, Class, EXTERNAL, Feature, Workload, clause};
use conformance_contract::external_scheduler::DECLARABLE;
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::target::{AI_CONFORMANCE_TARGETS, TARGETS, TRAIN_JOB_TARGETS, Target};
use conformance_driver::case::Case;
use conformance_fuzz as generated;
use conformance_report::Shard;
use conformance_run::environment::scope_of_later_life;
use conformance_run::runner::Plan;

use super::Failure;
use super::args::RunArgs;

/// The value that selects every backend.
const ALL: &str = "all";

/// The options of `run` that select cases and targets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selection<'a> {
    pub backend: &'a str,
    pub workload: Workload,
    pub scope: Option<&'a str>,
    pub kubernetes: Kubernetes,
    /// The features that an external scheduler declares.
    pub features: &'a [String],
    pub cases: &'a [String],
    pub clauses: &'a [String],
    pub tiers: &'a [Class],
    pub shard: Option<Shard>,
}

pub(crate) fn plan(words: Selection<'_>) -> Result<Plan, Failure> {
    let targets = match words.workload {
        Workload::PodCliqueSets => targets_declaring(words.backend, words.scope, words.features)?,
        Workload::TrainJobs => train_job_targets(words.backend)?,
        Workload::PlainPods => {
            targets_among(&AI_CONFORMANCE_TARGETS, "backend of plain pods", words.backend)?
        }
    };
    let targets = on(words.kubernetes, targets, words.scope)?;
    let generated: Vec<_> = words.cases.iter().filter_map(|word| generated::case(word)).collect();
    let is_generated = |word: &str| generated.iter().any(|case| case.id == word);
    for word in words.cases.iter().filter(|word| !is_generated(word)) {
        if !cases::all().any(|case| case.is_called(word)) {
            let all: Vec<_> = cases::all().flat_map(|case| [case.id, case.group()]).collect();
            return Err(unknown("case", word, &all, "`grove-conformance list` shows them all"));
        }
    }
    for word in words.clauses {
        if !CLAUSES.iter().any(|clause| clause.id == word) {
            let all: Vec<_> = CLAUSES.iter().map(|clause| clause.id).collect();
            return Err(unknown("clause", word, &all, "`grove-conformance contract list` shows them all"));
        }
    }
    let (chosen, left_out): (Vec<_>, Vec<_>) = cases::all().chain(generated.clone()).partition(|case| {
        let by_case = words.cases.is_empty() || words.cases.iter().any(|word| case.is_called(word));
        let by_clause =
            words.clauses.is_empty() || case.clauses.iter().any(|id| words.clauses.iter().any(|w| w == id));
        let is_of_tier = |id: &&str| clause(id).is_some_and(|clause| words.tiers.contains(&clause.class()));
        let by_tier = words.tiers.is_empty() || case.clauses.iter().any(is_of_tier);
        by_case && by_clause && by_tier
    });
    let tiers = (!words.tiers.is_empty()).then(|| "--tier".to_owned());
    let what = || [words.cases, words.clauses, tiers.as_slice()].concat().join(", ");
    if chosen.is_empty() {
        return Err(Failure::Usage(format!("{}: no selected case judges the selected clauses", what())));
    }
    if !chosen.iter().any(|case: &&Case| targets.iter().any(|target| case.is_for(*target))) {
        let (what, backend) = (what(), words.backend);
        return Err(Failure::Usage(format!("{what}: nothing selected applies to backend {backend}")));
    }
    let plan = Plan { targets, chosen, left_out, share: None, clauses: CLAUSES.to_vec() };
    Ok(match words.shard {
        Some(shard) => plan.of_shard(shard),
        None => plan,
    })
}

/// The only gang scope that runs lifecycle cases; `None` if the user selected cases, clauses, tiers, a scope
/// or a shard.
pub(crate) fn later_life_on(args: &RunArgs, targets: &[Target]) -> Option<Target> {
    let is_selected =
        args.scope.is_some() || args.shard.is_some() || !args.cases.is_empty() || !args.clauses.is_empty();
    if args.every_scope || is_selected || !args.tiers.is_empty() {
        return None;
    }
    scope_of_later_life(targets, args.seed())
}

fn train_job_targets(backend: &str) -> Result<Vec<Target>, Failure> {
    targets_among(&TRAIN_JOB_TARGETS, "backend of TrainJobs", backend)
}

/// TrainJob targets grouped by control plane. The Job controller creates gangs for all Jobs, regardless of
/// their scheduler, so the targets that need this (the first group) have their own control plane.
pub(crate) fn by_control_plane(targets: Vec<Target>) -> (Vec<Target>, Vec<Target>) {
    targets.into_iter().partition(|target| target.declares(Feature::JobWorkload))
}

/// The targets of a backend, by `schedulerName` or by target name.
fn targets_among(columns: &[Target], what: &str, backend: &str) -> Result<Vec<Target>, Failure> {
    let is_meant = |target: &Target| [ALL, target.backend(), target.name()].contains(&backend);
    let found: Vec<_> = columns.iter().copied().filter(is_meant).collect();
    if found.is_empty() {
        let all: Vec<_> = columns.iter().map(|target| target.backend()).chain([ALL]).collect();
        return Err(unknown(what, backend, &all, ""));
    }
    Ok(found)
}

/// The targets of a backend, or the one in this gang scope.
pub(crate) fn targets(backend: &str, scope: Option<&str>) -> Result<Vec<Target>, Failure> {
    let is_meant = |target: &Target| backend == ALL || target.name() == backend;
    let of_backend: Vec<_> = TARGETS.into_iter().filter(is_meant).collect();
    if of_backend.is_empty() {
        let all: Vec<_> = TARGETS.iter().map(|target| target.name()).chain([ALL]).collect();
        return Err(unknown("backend", backend, &all, ""));
    }
    let Some(scope) = scope else { return Ok(of_backend) };
    let all: Vec<_> = of_backend.iter().filter_map(|target| target.scope()).collect();
    if all.is_empty() {
        return Err(Failure::Usage(format!(
            "backend {backend} has no gang scopes; --scope applies to default-scheduler only"
        )));
    }
    if !all.contains(&scope) {
        return Err(unknown("gang scope", scope, &all, ""));
    }
    // The other backends have only one scope.
    Ok(of_backend.into_iter().filter(|target| target.scope().is_none_or(|of| of == scope)).collect())
}

/// Like [`targets`], on clusters of that version.
pub(crate) fn targets_on(
    kubernetes: Kubernetes,
    backend: &str,
    scope: Option<&str>,
) -> Result<Vec<Target>, Failure> {
    on(kubernetes, targets(backend, scope)?, scope)
}

/// The targets for clusters of that version. A gang scope of another version is an error.
pub(crate) fn on(
    kubernetes: Kubernetes,
    targets: Vec<Target>,
    scope: Option<&str>,
) -> Result<Vec<Target>, Failure> {
    let elsewhere = targets.iter().find(|target| !target.is_on(kubernetes));
    if let (Some(scope), Some(version)) = (scope, elsewhere.map(|target| target.kubernetes())) {
        return Err(Failure::Usage(format!(
            "gang scope {scope} requires Kubernetes {version}: pass --kubernetes {version}, not {kubernetes}"
        )));
    }
    Ok(targets.into_iter().filter(|target| target.is_on(kubernetes)).collect())
}

/// The version that a gang scope needs, or the default.
pub(crate) fn version_for(scope: Option<&str>) -> Kubernetes {
    let of_scope = TARGETS.iter().find(|target| scope.is_some() && target.scope() == scope);
    of_scope.map(|target| target.kubernetes()).unwrap_or_default()
}

/// Like [`targets`], but also accepts `external:NAME`, with the features that this external scheduler
/// declares.
pub(crate) fn targets_declaring(
    backend: &str,
    scope: Option<&str>,
    features: &[String],
) -> Result<Vec<Target>, Failure> {
    let Some((EXTERNAL, name)) = backend.split_once(':') else {
        if let Some(feature) = features.first() {
            return Err(Failure::Usage(format!(
                "--features {feature}: the features of {backend} are built in; pass --features only with --backend \
                 {EXTERNAL}:NAME"
            )));
        }
        return targets(backend, scope);
    };
    if let Some(scope) = scope {
        return Err(Failure::Usage(format!(
            "backend {backend} has no gang scopes; --scope {scope} applies to default-scheduler only"
        )));
    }
    let names: Vec<String> = DECLARABLE.iter().map(ToString::to_string).collect();
    let feature = |word: &String| -> Result<Feature, Failure> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        word.parse().map_err(|_| unknown("feature", word, &names, ""))
    };
    let declared = features.iter().map(feature).collect::<Result<Vec<_>, _>>()?;
    let target = Target::external_scheduler(name, &declared)
        .map_err(|error| Failure::Usage(format!("--backend {backend}: {error}")))?;
    Ok(vec![target])
}

/// An external scheduler needs the user's own cluster, with an operator that has a profile for it: the
/// harness starts neither.
pub(crate) fn external_needs_existing(targets: &[Target], existing: bool) -> Result<(), Failure> {
    let external = targets.iter().find(|target| target.is_named_by_its_user());
    match external {
        Some(target) if !existing => Err(Failure::Usage(format!(
            "--backend {target} tests a scheduler that runs in your own cluster: pass --provider existing"
        ))),
        _ => Ok(()),
    }
}

pub(crate) fn unknown(what: &str, word: &str, all: &[&str], more: &str) -> Failure {
    let nearest =
        all.iter().max_by(|a, b| strsim::jaro_winkler(a, word).total_cmp(&strsim::jaro_winkler(b, word)));
    let mut text = format!("unknown {what} {word:?}");
    if let Some(nearest) = nearest {
        text.push_str(&format!("; did you mean {nearest:?}?"));
    }
    if !more.is_empty() {
        text.push_str(&format!(" {more}"));
    }
    Failure::Usage(text)
}

/// Parses `NODESxGPUS`.
pub(crate) fn nodes(word: &str) -> Result<(u32, u32), Failure> {
    nodes_of("--nodes", word, 1000)
}

/// Like [`nodes`], for another option and maximum.
pub(crate) fn nodes_of(option: &str, word: &str, most: u32) -> Result<(u32, u32), Failure> {
    let wrong =
        || Failure::Usage(format!("{option} {word}: expected NODESxGPUS, e.g. 8x8 for 8 nodes of 8 GPUs"));
    let (count, gpus) = word.split_once('x').ok_or_else(wrong)?;
    match (count.parse(), gpus.parse()) {
        (Ok(count), Ok(gpus @ 0..=1000)) if (1..=most).contains(&count) => Ok((count, gpus)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<'a>(cases: &'a [String], clauses: &'a [String]) -> Selection<'a> {
        let kubernetes = Kubernetes::V1_36;
        Selection {
            workload: Workload::PodCliqueSets,
            backend: "default-scheduler",
            scope: None,
            kubernetes,
            features: &[],
            cases,
            clauses,
            tiers: &[],
            shard: None,
        }
    }

    fn shard(text: &str) -> Shard {
        text.parse().unwrap()
    }

    fn ids(cases: &[&Case]) -> Vec<&'static str> {
        cases.iter().map(|case| case.id).collect()
    }

    #[test]
    fn a_group_is_all_its_cases() {
        let plan = plan(words(&["aon".into()], &[])).unwrap();
        assert!(plan.chosen.iter().all(|case| case.id.starts_with("aon/")), "{:?}", plan.chosen);
        assert_eq!(plan.chosen.len() + plan.left_out.len(), cases::all().count());
    }

    #[test]
    fn a_clause_is_every_case_that_judges_it() {
        let plan = plan(words(&[], &["AON-02".into()])).unwrap();
        assert!(plan.chosen.iter().any(|case| case.id == "aon/one-pod-short"));
    }

    #[test]
    fn a_tier_is_every_case_that_judges_a_clause_of_it() {
        let of = |tiers| ids(&plan(Selection { tiers, ..words(&[], &[]) }).unwrap().chosen);
        let (agnostic, sensitive) = (of(&[Class::Agnostic]), of(&[Class::Sensitive]));
        assert!(agnostic.iter().any(|id| id.starts_with("adm/")) && !agnostic.contains(&"aon/one-pod-short"));
        assert!(sensitive.contains(&"aon/one-pod-short"));
        let both = of(&[Class::Agnostic, Class::Sensitive]);
        assert!(both.len() > agnostic.len() && both.len() > sensitive.len());
        let cases = ["del".to_owned()];
        let none = Selection { tiers: &[Class::BackendSpecific], ..words(&cases, &[]) };
        let failure = plan(none).unwrap_err().to_string();
        assert!(failure.starts_with("del, --tier: "), "{failure}");
    }

    #[test]
    fn plain_pods_have_columns_of_their_own() {
        let of = |backend| {
            let words = Selection { workload: Workload::PlainPods, backend, ..words(&[], &[]) };
            plan(words).map(|plan| plan.targets.iter().map(|target| target.name()).collect::<Vec<_>>())
        };
        assert_eq!(of("koord-scheduler").unwrap(), ["ai-conformance-koordinator"]);
        assert_eq!(of("ai-conformance-kai").unwrap(), ["ai-conformance-kai"]);
        assert_eq!(of("all").unwrap().len(), AI_CONFORMANCE_TARGETS.len());
        let failure = of("external").unwrap_err().to_string();
        assert!(failure.starts_with("unknown backend of plain pods"), "{failure}");
    }

    #[test]
    fn a_gang_scope_is_of_one_version() {
        assert_eq!(version_for(None), Kubernetes::V1_36);
        assert_eq!(version_for(Some("Tree")), Kubernetes::V1_37);
        let tree = targets_on(Kubernetes::V1_37, "default-scheduler", None).unwrap();
        assert_eq!(tree, [Target::KUBE_TREE]);
        let failure =
            targets_on(Kubernetes::V1_36, "default-scheduler", Some("Tree")).unwrap_err().to_string();
        assert!(failure.contains("pass --kubernetes 1.37, not 1.36"), "{failure}");
    }

    #[rstest::rstest]
    #[case("default-scheduler", &[])]
    #[case("all", &[])]
    #[case("volcano", &["aon".to_owned(), "topo".to_owned()])]
    fn every_chosen_case_is_in_one_shard(#[case] backend: &str, #[case] cases: &[String]) {
        let words = Selection { backend, ..words(cases, &[]) };
        let whole = plan(words).unwrap();
        let held: Vec<_> = whole
            .chosen
            .iter()
            .copied()
            .filter(|case| whole.targets.iter().any(|target| case.is_for(*target)))
            .collect();
        for count in [1, 2, 3, 7, 200] {
            let shards: Vec<_> = (1..=count)
                .map(|number| {
                    plan(Selection { shard: Some(shard(&format!("{number}/{count}"))), ..words }).unwrap()
                })
                .collect();
            let mut all: Vec<&str> = shards.iter().flat_map(|shard| ids(&shard.chosen)).collect();
            let mut wanted = ids(&held);
            all.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(all, wanted, "each once, in {count} shards");
            let sizes = shards.iter().map(|shard| shard.chosen.len());
            assert!(sizes.clone().max() <= sizes.min().map(|least| least + 1), "shares are even");
            for shard in &shards {
                let elsewhere = shard.share.as_ref().map_or(0, |share| share.elsewhere.len());
                let known = shard.chosen.len() + shard.left_out.len() + elsewhere;
                assert_eq!(known, cases::all().count(), "nothing is dropped in silence");
            }
        }
    }

    #[test]
    fn shards_take_turns_in_the_order_of_the_registry() {
        let del = ["del".to_owned()];
        let words = words(&del, &[]);
        let whole = ids(&plan(words).unwrap().chosen);
        let second = ids(&plan(Selection { shard: Some(shard("2/3")), ..words }).unwrap().chosen);
        let wanted: Vec<_> = whole.iter().copied().skip(1).step_by(3).collect();
        assert_eq!(second, wanted);
    }

    #[test]
    fn an_external_scheduler_is_what_it_declares() {
        let declared = ["AtomicPodGang".to_owned(), "TopologyRequired".to_owned()];
        let targets = targets_declaring("external:mine", None, &declared).unwrap();
        let [target] = targets.as_slice() else { panic!("{targets:?}") };
        assert_eq!(target.words(), "--backend external:mine --features AtomicPodGang,TopologyRequired");
        assert!(external_needs_existing(&targets, true).is_ok());
        let failure = external_needs_existing(&targets, false).unwrap_err().to_string();
        assert!(
            failure.contains("--backend external:mine") && failure.contains("--provider existing"),
            "{failure}"
        );
        assert!(external_needs_existing(&TARGETS, false).is_ok());
    }

    #[rstest::rstest]
    #[case("external:mine", None, &["AtomicPodGan"], r#"did you mean "AtomicPodGang"?"#)]
    #[case("external:mine", None, &["SelfHealing"], "SelfHealing is about resources that a backend makes")]
    #[case("external:mine", Some("PodGang"), &[], "has no gang scopes")]
    #[case("external:", None, &[], "is no name of a profile")]
    #[case("external:volcano", None, &[], "is the schedulerName of a backend")]
    #[case("volcano", None, &["AtomicPodGang"], "the features of volcano are built in")]
    #[case("extern:mine", None, &[], "unknown backend")]
    fn words_that_name_no_external_scheduler(
        #[case] backend: &str,
        #[case] scope: Option<&str>,
        #[case] features: &[&str],
        #[case] message: &str,
    ) {
        let features: Vec<String> = features.iter().map(|word| (*word).to_owned()).collect();
        let failure = targets_declaring(backend, scope, &features).unwrap_err().to_string();
        assert!(failure.contains(message), "{failure}");
    }

    #[rstest::rstest]
    #[case(&["aon/one-pod-shrt"], &[], r#"unknown case "aon/one-pod-shrt"; did you mean "aon/one-pod-short"?"#)]
    #[case(&[], &["COEX-3"], r#"unknown clause "COEX-3"; did you mean "COEX-03"?"#)]
    #[case(&["aon/one-pod-short"], &["ADM-01"], "aon/one-pod-short, ADM-01: no selected case judges")]
    fn words_that_mean_nothing(#[case] cases: &[&str], #[case] clauses: &[&str], #[case] message: &str) {
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let failure = plan(words(&own(cases), &own(clauses))).unwrap_err();
        assert!(failure.to_string().contains(message), "{failure}");
    }

    #[rstest::rstest]
    #[case("8x8", Some((8, 8)))]
    #[case("3x0", Some((3, 0)))]
    #[case("0x8", None)]
    #[case("8", None)]
    #[case("ax8", None)]
    fn nodes_words(#[case] word: &str, #[case] expected: Option<(u32, u32)>) {
        assert_eq!(nodes(word).ok(), expected);
    }
}
