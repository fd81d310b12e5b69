//! Checks of the order of events by resourceVersion, because all kinds of the local cluster share one etcd.

use std::collections::BTreeMap;

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_contract::violation::Violation;
use conformance_expect::{Gang, schedulers};
use conformance_facts::gang_resources::expected;
use conformance_history::{Change, History, Live, Version, condition, owners};

use super::{Shown, none, violation};

const NEVER_CREATED: Code = Code::new("never-created");
const OUT_OF_ORDER: Code = Code::new("out-of-order");
pub(super) const UNGATED_BEFORE_GROUP: Code = Code::new("ungated-before-group");
pub(super) const UNGATED_BEFORE_INITIALIZED: Code = Code::new("ungated-before-initialized");
pub(super) const FOREIGN_GATE_REMOVED: Code = Code::new("foreign-gate-removed");
const UNGATED_WITHOUT_GROUP: Code = Code::new("ungated-without-group");

/// Requires that the first pod of each PodGang is ungated after the PodGang and its gang resources are
/// created and `Initialized` is True (GANG-07). Returns `NotReached` if no pod was ungated.
pub fn release(history: &History, gangs: &[Gang]) -> Ruling {
    let violations: Vec<_> =
        gangs.iter().filter_map(|gang| out_of_order(history, gang, Steps::Release)).collect();
    none(violations)?;
    let gated =
        gangs.iter().find(|gang| first_ungated(history).all(|pod| pod.pod().pod_gang() != Some(&gang.name)));
    match gated {
        Some(gang) => Err(Broken::NotReached(format!("no pod of PodGang {} ever lost its gate", gang.name))),
        None => Ok(()),
    }
}

/// Requires this order: the PodGang, its gang resources with parents first, and `Initialized` (GANG-22).
pub fn creation(history: &History, gangs: &[Gang]) -> Ruling {
    let violations: Vec<_> =
        gangs.iter().filter_map(|gang| out_of_order(history, gang, Steps::Creation)).collect();
    none(violations)?;
    match gangs.iter().find(|gang| became_initialized(history, &gang.name).is_none()) {
        Some(gang) => Err(Broken::NotReached(format!("PodGang {} never became Initialized", gang.name))),
        None => Ok(()),
    }
}

fn became_initialized<'a>(history: &'a History, pod_gang: &'a str) -> Option<Version<'a>> {
    history.named("PodGang", pod_gang).find(|version| {
        condition(version.object, "Initialized").is_some_and(|condition| condition["status"] == "True")
    })
}

pub fn is_gated_by(live: &Live, gate: &str) -> Ruling {
    let without = live.pods().filter(|pod| !pod.gates().contains(&gate));
    none(without.map(|pod| {
        violation(
            FOREIGN_GATE_REMOVED,
            format!("Pod {} does not have the scheduling gate {gate}", pod.name()),
        )
    }))
}

type Step<'a> = (String, Option<Version<'a>>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Steps {
    /// All steps except the last one.
    Creation,
    /// The last step, in which the first pod is ungated.
    Release,
}

/// Finds the first checked step that happened before, or without, a step that must precede it.
fn out_of_order(history: &History, gang: &Gang, checked: Steps) -> Option<Violation> {
    let (expectations, pod_gang) = (schedulers::of(history.header.target), gang.name.as_str());
    let resources = expected(history, gang);
    // A shared gang resource counts as created once it has the subgroups that the pods of this PodGang name.
    let members: Vec<_> = first_ungated(history).map(|version| version.pod()).collect();
    let is_complete = |found: &Version<'_>| {
        let mut members = members.iter().filter(|pod| pod.pod_gang() == Some(pod_gang));
        owners(found.object).iter().any(|owner| owner["kind"] == "PodGang")
            || members.all(|pod| expectations.has_part_of(found.object, *pod))
    };
    let creation_steps = |kind: &str| -> Vec<Step<'_>> {
        let of_kind = resources.iter().filter(|wanted| wanted.kind == kind);
        of_kind
            .map(|wanted| {
                let mut named = history.of(wanted.kind).filter(|found| wanted.name.matches(found.name()));
                (format!("{} {}", wanted.kind, wanted.name), named.find(is_complete))
            })
            .collect()
    };
    let initialized = became_initialized(history, pod_gang);
    let ungated = first_ungated(history).find(|version| version.pod().pod_gang() == Some(pod_gang));
    let mut phases: Vec<Vec<Step<'_>>> =
        vec![vec![(format!("PodGang {pod_gang}"), history.named("PodGang", pod_gang).next())]];
    phases.extend(expectations.kinds().iter().map(|kind| creation_steps(kind)));
    phases.push(vec![(format!("Initialized=True of PodGang {pod_gang}"), initialized)]);
    phases.push(vec![(format!("the first gate removal in PodGang {pod_gang}"), ungated)]);
    let is_checked = |number: usize| (number + 1 == phases.len()) == (checked == Steps::Release);
    for (number, later) in phases.iter().enumerate().filter(|(number, _)| is_checked(*number)) {
        for (what, after) in later.iter().filter_map(|(what, version)| Some((what, (*version)?))) {
            for (missing, before) in phases[..number].iter().flatten() {
                match before {
                    None => {
                        return Some(
                            violation(NEVER_CREATED, format!("{what} was observed, but {missing} never was"))
                                .shown_by(what, after),
                        );
                    }
                    Some(before) if before.revision() >= after.revision() => {
                        let late = violation(
                            OUT_OF_ORDER,
                            format!("{what} came before {missing}, want {missing} first"),
                        );
                        return Some(late.shown_by(what, after).shown_by(missing, *before));
                    }
                    Some(_) => {}
                }
            }
        }
    }
    None
}

fn first_ungated(history: &History) -> impl Iterator<Item = Version<'_>> {
    let mut seen = std::collections::BTreeSet::new();
    history.pods().filter(move |version| {
        version.change != Change::Deleted
            && !version.pod().gates().contains(&names::GATE)
            && seen.insert(version.uid().to_owned())
    })
}

/// Requires that no pod is ungated before its gang resource exists (GANG-07). A surplus pod, which names
/// none, must wait for the gang resource of its PodGang.
pub fn no_pod_before_its_group(history: &History) -> Ruling {
    no_later_pod_before_its_group(history, 0)
}

/// Like [`no_pod_before_its_group`], for pods that did not exist before the entry `since` (UPD-08).
pub fn no_later_pod_before_its_group(history: &History, since: usize) -> Ruling {
    let former = history.before(since);
    let is_former = |version: &Version<'_>| former.pods().any(|pod| pod.uid() == version.uid());
    let expectations = schedulers::of(history.header.target);
    let Some(of_pods) = expectations.kinds().last().copied() else { return Ok(()) };
    let of_pod_gangs = expectations.kind_of_pod_gang().unwrap_or(of_pods);
    let mut created: BTreeMap<(&str, &str), Version<'_>> = BTreeMap::new();
    for kind in [of_pods, of_pod_gangs] {
        for version in history.of(kind) {
            created.entry((kind, version.name())).or_insert(version);
        }
    }
    none(first_ungated(history).filter(|version| !is_former(version)).filter_map(|version| {
        let named = expectations.named_by(version.pod()).map(|group| (of_pods, group));
        let (kind, group) = named.or(version.pod().pod_gang().map(|gang| (of_pod_gangs, gang)))?;
        let what = format!("Pod {} lost its gate", version.name());
        match created.get(&(kind, group)) {
            Some(found) if found.revision() < version.revision() => None,
            Some(found) => Some(
                violation(UNGATED_BEFORE_GROUP, format!("{what} before {kind} {group} existed"))
                    .shown_by("ungated", version)
                    .shown_by("created", *found),
            ),
            None => Some(
                violation(UNGATED_WITHOUT_GROUP, format!("{what}, but {kind} {group} never existed"))
                    .shown_by("ungated", version),
            ),
        }
    }))
}

#[cfg(test)]
mod tests {
    use conformance_expect as expect;
    use conformance_history::testing::{self, Story, object, owned};
    use serde_json::{Value, json};

    use super::*;

    fn gangs() -> Vec<Gang> {
        expect::testing::named_gangs(&json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "a", "spec": {"replicas": 1}}],
        }}}))
    }

    fn pod_gang(initialized: &str) -> Value {
        let mut pod_gang = object("PodGang", "w-0");
        pod_gang["spec"] = json!({"podgroups": [{"name": "w-0-a", "minReplicas": 1}]});
        pod_gang["status"] = json!({"conditions": [{"type": "Initialized", "status": initialized}]});
        pod_gang
    }

    fn pod(gated: bool) -> Value {
        let mut pod = object("Pod", "p");
        pod["metadata"]["labels"] = json!({"grove.io/podgang": "w-0", "grove.io/podclique": "w-0-a"});
        pod["spec"] = json!({"schedulingGroup": {"podGroupName": "w-0-w-0-a"}});
        if gated { testing::gated(pod) } else { pod }
    }

    /// Steps: G PodGang, W Workload, P PodGroup, I Initialized=True, C pod created, U pod ungated.
    fn story(steps: &str) -> History {
        let steps = steps.chars().map(|step| match step {
            'G' => pod_gang("False"),
            'W' => object("Workload", "w-0"),
            'P' => object("PodGroup", "w-0-w-0-a"),
            'I' => pod_gang("True"),
            'C' => pod(true),
            _ => pod(false),
        });
        Story::flat().all_added(steps).end()
    }

    #[rstest::rstest]
    #[case::the_order("GWPCIU", None)]
    #[case::pod_created_first("CGWPIU", None)]
    #[case::ungated_first(
        "GWPCUI",
        Some(
            "the first gate removal in PodGang w-0 came before Initialized=True of PodGang w-0, want \
             Initialized=True of PodGang w-0 first",
        )
    )]
    #[case::ungated_and_never_initialized("GWPCU", Some("but Initialized=True of PodGang w-0 never was"))]
    #[case::group_after_initialized("GWICPU", None)]
    #[case::group_after_release(
        "GWICUP",
        Some(
            "the first gate removal in PodGang w-0 came before PodGroup w-0-w-0-a, want PodGroup \
             w-0-w-0-a first"
        )
    )]
    #[case::group_before_workload("GPWCIU", None)]
    #[case::no_workload("GPCIU", Some("but Workload w-0 never was"))]
    #[case::workload_before_gang("WGPCIU", None)]
    #[case::never_gated(
        "GWPUI",
        Some(
            "the first gate removal in PodGang w-0 came before Initialized=True of PodGang w-0, want \
             Initialized=True of PodGang w-0 first"
        )
    )]
    fn a_release_out_of_order_is_a_violation(#[case] steps: &str, #[case] broken: Option<&str>) {
        assert_ruling(release(&story(steps), &gangs()), broken);
    }

    #[rstest::rstest]
    #[case::the_order("GWPCIU", None)]
    #[case::pod_created_first("CGWPIU", None)]
    #[case::ungated_first("GWPCUI", None)]
    #[case::group_after_initialized(
        "GWICPU",
        Some(
            "Initialized=True of PodGang w-0 came before PodGroup w-0-w-0-a, want PodGroup \
             w-0-w-0-a first"
        )
    )]
    #[case::group_before_workload(
        "GPWCIU",
        Some("PodGroup w-0-w-0-a came before Workload w-0, want Workload w-0 first")
    )]
    #[case::no_workload("GPCIU", Some("but Workload w-0 never was"))]
    #[case::workload_before_gang(
        "WGPCIU",
        Some("Workload w-0 came before PodGang w-0, want PodGang w-0 first")
    )]
    fn a_creation_out_of_order_is_a_violation(#[case] steps: &str, #[case] broken: Option<&str>) {
        assert_ruling(creation(&story(steps), &gangs()), broken);
    }

    fn assert_ruling(ruling: Ruling, broken: Option<&str>) {
        match (broken, ruling) {
            (None, Ok(())) => {}
            (Some(message), Err(Broken::Violated(all))) => {
                assert!(all[0].message.contains(message), "{all:?}");
            }
            (_, other) => panic!("{other:?}"),
        }
    }

    /// A shared PodGroup gets its subgroup for a PodGang when that PodGang is created.
    #[rstest::rstest]
    #[case::part_added_in_time(&["base"], &["base", "leaf"], true, true)]
    #[case::part_existed_before(&["base", "leaf"], &["base", "leaf"], false, true)]
    #[case::part_never_added(&["base"], &["base"], false, false)]
    fn a_shared_gang_resource_counts_as_created_with_its_part_for_the_gang(
        #[case] before: &[&str],
        #[case] after: &[&str],
        #[case] created: bool,
        #[case] released: bool,
    ) {
        const POD_GROUP: &str = schedulers::kai::POD_GROUP;
        let shared = |leaves: &[&str]| {
            let mut found = owned(object(POD_GROUP, "grove-w-0"), "PodCliqueSet", "w");
            found["spec"]["subGroups"] = leaves.iter().map(|name| json!({"name": name})).collect();
            found
        };
        let mut pod = pod(false);
        pod["metadata"]["annotations"] = json!({"pod-group-name": "grove-w-0"});
        pod["metadata"]["labels"]["kai.scheduler/subgroup-name"] = "leaf".into();
        let story = Story::on(conformance_contract::target::Target::KAI).added(shared(before));
        let story = story.added(pod_gang("False")).modified(shared(after)).modified(pod_gang("True"));
        let history = story.added(pod).end();
        let gangs = expect::resolver::resolved_in(&history, gangs());
        assert_eq!(creation(&history, &gangs).is_ok(), created, "{:?}", creation(&history, &gangs));
        assert_eq!(release(&history, &gangs).is_ok(), released, "{:?}", release(&history, &gangs));
    }

    #[test]
    fn without_a_release_or_initialized_the_rulings_are_undecided() {
        assert!(matches!(release(&story("GWPCI"), &gangs()), Err(Broken::NotReached(_))));
        assert_eq!(creation(&story("GWPCI"), &gangs()), Ok(()));
        assert!(matches!(creation(&story("GWPC"), &gangs()), Err(Broken::NotReached(_))));
    }

    #[rstest::rstest]
    #[case("CPU", true)]
    #[case("CUP", false)]
    #[case("CU", false)]
    fn a_pod_released_before_its_group_is_a_violation(#[case] steps: &str, #[case] is_satisfied: bool) {
        let history = story(steps);
        assert_eq!(no_pod_before_its_group(&history).is_ok(), is_satisfied);
        assert_eq!(no_later_pod_before_its_group(&history, 1), Ok(()), "the pod existed before");
    }
}
