//! Selects cases and targets by name. An unknown name is a usage error that suggests the closest match.

use conformance_contract::clauses::{CLAUSES, Workload, clause};
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::target::Target;
use conformance_driver::case::Case;
use conformance_run::environment::choose_lifecycle_scope;
use conformance_run::run_plan::RunPlan;
use conformance_run::suites;

use super::Failure;
use super::case_filter::CaseFilter;
use super::request::{Request, Selection, Subject};
use super::target_selection::{on, targets_declaring, targets_of};

pub(crate) fn plan(
    kubernetes: Kubernetes,
    subject: &Subject,
    selection: &Selection,
) -> Result<RunPlan, Failure> {
    let (backend, scope) = (subject.backend.as_str(), subject.scope.as_deref());
    let workload = subject.workload();
    let targets = match workload {
        Workload::PodCliqueSets => targets_declaring(backend, scope, &subject.features)?,
        Workload::TrainJobs => targets_of(workload, "backend of TrainJobs", backend)?,
        Workload::PlainPods => targets_of(workload, "backend of plain pods", backend)?,
    };
    let mut targets = on(kubernetes, targets, scope)?;
    // With `--depth quick`, a scheduler with several gang scopes is judged in one of them, chosen by seed.
    if let Some(one) = selection.quick.and_then(|seed| choose_lifecycle_scope(&targets, seed)) {
        targets.retain(|target| target.scheduler() != one.scheduler() || *target == one);
    }
    let named = CaseFilter::parse_all(&selection.words)?;
    let generated = selection.words.iter().filter_map(|word| conformance_fuzz::case(word));
    let (chosen, left_out): (Vec<_>, Vec<_>) = suites::cases().chain(generated).partition(|case| {
        let is_named = named.is_empty() || named.iter().any(|filter| filter.matches(case));
        let is_of_class =
            |id: &&str| clause(id).is_some_and(|clause| selection.classes.contains(&clause.class()));
        let is_deep_enough = selection.quick.is_none() || suites::is_quick(case.id);
        is_named && is_deep_enough && (selection.classes.is_empty() || case.clauses.iter().any(is_of_class))
    });
    let classes = (!selection.classes.is_empty()).then(|| "--class".to_owned());
    let depth = selection.quick.map(|_| "--depth quick".to_owned());
    let what = || [selection.words.as_slice(), classes.as_slice(), depth.as_slice()].concat().join(", ");
    if chosen.is_empty() {
        return Err(Failure::Usage(format!(
            "{}: no case matches this selection; `grove-conformance list` shows all cases",
            what()
        )));
    }
    let (chosen, skipped) = without_skipped(chosen, &selection.skip)?;
    if chosen.is_empty() {
        return Err(Failure::Usage(format!(
            "--skip {}: every selected case is skipped; omit it, or select more cases",
            selection.skip.join(", ")
        )));
    }
    if !chosen.iter().any(|case: &&Case| targets.iter().any(|target| case.is_for(*target))) {
        let what = what();
        let why = match (chosen.as_slice(), targets.as_slice()) {
            ([case], [target, ..]) => case.requires.why_unmet(*target),
            _ => None,
        };
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        return Err(Failure::Usage(format!("{what}: no selected case applies to backend {backend}{why}")));
    }
    let plan = RunPlan { targets, chosen, left_out, skipped, shard: None, clauses: CLAUSES.to_vec() };
    Ok(match selection.shard {
        Some(shard) => plan.of_shard(shard),
        None => plan,
    })
}

type Skipped = Vec<(&'static Case, String)>;

/// Removes the cases that `skip` matches. Also returns the removed cases, each with the matching word.
fn without_skipped(
    cases: Vec<&'static Case>,
    skip: &[String],
) -> Result<(Vec<&'static Case>, Skipped), Failure> {
    let filters = CaseFilter::parse_all(skip)?;
    let (mut kept, mut skipped) = (Vec::new(), Vec::new());
    for case in cases {
        match filters.iter().zip(skip).find(|(filter, _)| filter.matches(case)) {
            Some((_, word)) => skipped.push((case, word.clone())),
            None => kept.push(case),
        }
    }
    Ok((kept, skipped))
}

/// Returns the only gang scope that runs lifecycle cases. `None` means every scope: the user requested that,
/// or selected cases, clauses, classes, a scope or a shard.
pub(crate) fn lifecycle_scope(request: &Request, targets: &[Target]) -> Option<Target> {
    let Request { subject, selection, execution, .. } = request;
    let is_selected = subject.scope.is_some()
        || selection.shard.is_some()
        || !selection.words.is_empty()
        || !selection.classes.is_empty();
    if execution.is_full() || is_selected {
        return None;
    }
    choose_lifecycle_scope(targets, execution.seed())
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::Class;
    use conformance_report::Shard;

    use super::*;
    use crate::request::Cases;

    fn subject() -> Subject {
        Subject {
            cases: Cases::Suite(Workload::PodCliqueSets),
            backend: "default-scheduler".into(),
            features: Vec::new(),
            scope: None,
            versions: vec![Kubernetes::V1_36],
        }
    }

    fn plan(subject: &Subject, selection: &Selection) -> Result<RunPlan, Failure> {
        super::plan(Kubernetes::V1_36, subject, selection)
    }

    fn selection(words: &[&str]) -> Selection {
        Selection { words: words.iter().map(|word| (*word).to_owned()).collect(), ..Selection::default() }
    }

    fn shard(text: &str) -> Shard {
        text.parse().unwrap()
    }

    fn ids(cases: &[&Case]) -> Vec<&'static str> {
        cases.iter().map(|case| case.id).collect()
    }

    #[test]
    fn a_group_selects_all_its_cases() {
        let plan = plan(&subject(), &selection(&["aon"])).unwrap();
        assert!(plan.chosen.iter().all(|case| case.id.starts_with("aon/")), "{:?}", plan.chosen);
        assert_eq!(plan.chosen.len() + plan.left_out.len(), suites::cases().count());
    }

    #[test]
    fn several_words_select_the_cases_of_each() {
        let all = |words: &[&str]| plan(&subject(), &selection(words)).unwrap().chosen.len();
        assert_eq!(all(&["del", "topo/*"]), all(&["del"]) + all(&["topo/*"]));
        assert_eq!(all(&["aon/one-pod-short", "AON-02"]), all(&["AON-02"]), "the case judges the clause");
    }

    #[rstest::rstest]
    #[case::first_scope(2, 0)]
    #[case::second_scope(3, 1)]
    fn a_quick_run_has_few_cases_on_one_gang_scope(#[case] seed: u64, #[case] scope: usize) {
        let all = plan(&subject(), &Selection::default()).unwrap();
        let quick = Selection { quick: Some(seed), ..Selection::default() };
        let plan = plan(&subject(), &quick).unwrap();
        assert_eq!(plan.targets, [all.targets[scope]]);
        assert!(plan.chosen.iter().all(|case| suites::is_quick(case.id)), "{:?}", ids(&plan.chosen));
        assert_eq!(plan.chosen.len() + plan.left_out.len(), suites::cases().count());
    }

    #[test]
    fn a_quick_run_of_a_case_that_takes_long_is_rejected() {
        let quick = Selection { quick: Some(1), ..selection(&["gang/scaling"]) };
        let failure = plan(&subject(), &quick).unwrap_err().to_string();
        assert_eq!(
            failure,
            "gang/scaling, --depth quick: no case matches this selection; `grove-conformance list` shows all cases"
        );
    }

    #[test]
    fn skipped_cases_are_kept_with_their_word() {
        let skip = vec!["topo/*".to_owned(), "AON-02".to_owned()];
        let plan = plan(&subject(), &Selection { skip, ..selection(&["aon"]) }).unwrap();
        let is_skipped = |case: &Case| case.clauses.contains(&"AON-02");
        assert!(!plan.chosen.is_empty() && !plan.chosen.iter().any(|case| is_skipped(case)));
        assert!(plan.skipped.iter().all(|(case, word)| is_skipped(case) && word == "AON-02"));
        assert!(plan.skipped.iter().any(|(case, _)| case.id == "aon/one-pod-short"));
    }

    #[test]
    fn a_run_whose_cases_are_all_skipped_is_rejected() {
        let all = Selection { skip: vec!["aon".to_owned()], ..selection(&["aon"]) };
        let failure = plan(&subject(), &all).unwrap_err().to_string();
        assert_eq!(failure, "--skip aon: every selected case is skipped; omit it, or select more cases");
    }

    #[test]
    fn a_class_selects_every_case_that_decides_one_of_its_clauses() {
        let of = |classes: &[Class]| {
            let selection = Selection { classes: classes.to_vec(), ..Selection::default() };
            ids(&plan(&subject(), &selection).unwrap().chosen)
        };
        let (agnostic, sensitive) = (of(&[Class::Agnostic]), of(&[Class::Sensitive]));
        assert!(agnostic.iter().any(|id| id.starts_with("adm/")) && !agnostic.contains(&"aon/one-pod-short"));
        assert!(sensitive.contains(&"aon/one-pod-short"));
        let both = of(&[Class::Agnostic, Class::Sensitive]);
        assert!(both.len() > agnostic.len() && both.len() > sensitive.len());
        let none = Selection { classes: vec![Class::BackendSpecific], ..selection(&["del"]) };
        let failure = plan(&subject(), &none).unwrap_err().to_string();
        assert!(failure.starts_with("del, --class: "), "{failure}");
    }

    #[test]
    fn plain_pods_have_separate_targets() {
        let of = |backend: &str| {
            let cases = Cases::Suite(Workload::PlainPods);
            let subject = Subject { cases, backend: backend.to_owned(), ..subject() };
            plan(&subject, &Selection::default())
                .map(|plan| plan.targets.iter().map(|target| target.name()).collect::<Vec<_>>())
        };
        assert_eq!(of("koord-scheduler").unwrap(), ["ai-conformance-koordinator"]);
        assert_eq!(of("ai-conformance-kai").unwrap(), ["ai-conformance-kai"]);
        assert_eq!(of("kueue").unwrap(), ["ai-conformance-kueue"]);
        assert_eq!(of("all").unwrap().len(), suites::of(Workload::PlainPods).targets.len());
        let failure = of("external").unwrap_err().to_string();
        assert!(failure.starts_with("unknown backend of plain pods"), "{failure}");
    }

    #[rstest::rstest]
    #[case("default-scheduler", &[])]
    #[case("all", &[])]
    #[case("volcano", &["aon", "topo"])]
    fn every_selected_case_is_in_exactly_one_shard(#[case] backend: &str, #[case] cases: &[&str]) {
        let subject = Subject { backend: backend.to_owned(), ..subject() };
        let whole = plan(&subject, &selection(cases)).unwrap();
        let held: Vec<_> = whole
            .chosen
            .iter()
            .copied()
            .filter(|case| whole.targets.iter().any(|target| case.is_for(*target)))
            .collect();
        for count in [1, 2, 3, 7, 200] {
            let shards: Vec<_> = (1..=count)
                .map(|number| {
                    let shard = Some(shard(&format!("{number}/{count}")));
                    plan(&subject, &Selection { shard, ..selection(cases) }).unwrap()
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
                let elsewhere = shard.shard.as_ref().map_or(0, |selection| selection.elsewhere.len());
                let known = shard.chosen.len() + shard.left_out.len() + elsewhere;
                assert_eq!(known, suites::cases().count(), "nothing is dropped in silence");
            }
        }
    }

    #[test]
    fn cases_are_dealt_to_shards_in_the_order_of_the_registry() {
        let whole = ids(&plan(&subject(), &selection(&["del"])).unwrap().chosen);
        let second = Selection { shard: Some(shard("2/3")), ..selection(&["del"]) };
        let second = ids(&plan(&subject(), &second).unwrap().chosen);
        let wanted: Vec<_> = whole.iter().copied().skip(1).step_by(3).collect();
        assert_eq!(second, wanted);
    }
}
