//! 1 node; a PodCliqueSet with a clique and a scaling group of one clique. In some variations, two PodCliques
//! have the same name, now or after a scale-out. In others, a name has a dot: no host name may have one.

use std::collections::BTreeMap;

use conformance_driver::admission_attempts::{clique, group, template};
use conformance_expect as expect;
use conformance_facts::attempts::Reply;
use conformance_facts::cliques::cliques_lacking_pods;
use conformance_history::list;

use crate::prelude::*;

marks! {
    /// Admission accepted the variation `set`. Its scaling groups now have `replicas` replicas.
    ADMITTED = "a variation was admitted";
    OVER = "every variation was refused or runs";
}

const PODS_MISSING: Code = Code::new("admitted-without-pods");
const NOT_ANSWERED: Code = Code::new("unexpected-answer");
const PART_NOT_NAMED: Code = Code::new("part-not-named");
const COLLISION_ADMITTED: Code = Code::new("collision-admitted");

const SET: &str = "names";

pub(crate) const CASE: Case =
    case!("A PodCliqueSet with names that collide or have a dot is refused or runs")
        .clauses(&[ADM_15, ADM_24])
        .nodes(&[nodes(1)]);

struct Variation {
    title: &'static str,
    set: &'static str,
    /// The two clique names that lead to the same PodClique name; empty if a name has a dot.
    parts: &'static [&'static str],
    edit: fn(&mut Value),
}

static VARIATIONS: [Variation; 6] = [
    Variation {
        title: "a clique that has the name of a member",
        set: "names-a",
        parts: &["model-0-worker", "worker"],
        edit: |pcs| clique(pcs, 0)["name"] = "model-0-worker".into(),
    },
    Variation {
        title: "a clique that has the name of a member in a later replica",
        set: "names-b",
        parts: &["model-1-worker", "worker"],
        edit: |pcs| clique(pcs, 0)["name"] = "model-1-worker".into(),
    },
    // `model-0-1-worker` is `1-worker` in replica 0 of `model`, and `worker` in replica 1 of `model-0`.
    Variation {
        title: "members of two scaling groups that have one name",
        set: "names-c",
        parts: &["1-worker", "worker"],
        edit: |pcs| {
            clique(pcs, 0)["name"] = "1-worker".into();
            let (mut model, mut other) = (group(pcs, 0).clone(), group(pcs, 0).clone());
            model["cliqueNames"] = json!(["1-worker"]);
            other["name"] = "model-0".into();
            template(pcs)["podCliqueScalingGroups"] = json!([model, other]);
        },
    },
    Variation {
        title: "a clique's name with a dot",
        set: "names-d",
        parts: &[],
        edit: |pcs| clique(pcs, 0)["name"] = "front.end".into(),
    },
    Variation {
        title: "a scaling group's name with a dot",
        set: "names-e",
        parts: &[],
        edit: |pcs| group(pcs, 0)["name"] = "mo.del".into(),
    },
    Variation { title: "a PodCliqueSet's name with a dot", set: "names.f", parts: &[], edit: |_| {} },
];

impl Variation {
    fn apply(&self, mut pcs: Value) -> Value {
        pcs["metadata"]["name"] = self.set.into();
        (self.edit)(&mut pcs);
        pcs
    }

    fn reply(&self, history: &History) -> Result<Reply, Broken> {
        let mut sent =
            history.marks(SharedMark::Attempt).filter(|(_, mark)| mark.detail["title"] == self.title);
        let not_sent = || Broken::NotReached(format!("the case did not send the request {:?}", self.title));
        let (_, mark) = sent.next().ok_or_else(not_sent)?;
        serde_json::from_value(mark.detail["reply"].clone()).map_err(|_| not_sent())
    }
}

fn with_group_replicas(mut pcs: Value, replicas: u64) -> Value {
    for group in template(&mut pcs)["podCliqueScalingGroups"].as_array_mut().into_iter().flatten() {
        group["replicas"] = replicas.into();
    }
    pcs
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for variation in &VARIATIONS {
        let pcs = variation.apply(test.manifest(SET)?);
        let reply = test.dry_run_create(&pcs).await?;
        test.mark(SharedMark::Attempt, json!({"title": variation.title, "reply": reply}));
        if reply.is_admitted() {
            run(test, variation.set, pcs).await?;
        }
    }
    test.mark(OVER, Value::Null);
    Ok(())
}

async fn run(test: &mut TestContext, set: &str, pcs: Value) -> Result<(), Stop> {
    test.submit_value(pcs.clone()).await?;
    for replicas in [1, 2] {
        test.mark(ADMITTED, json!({"set": set, "replicas": replicas}));
        if replicas > 1 {
            for group in list(&pcs["spec"]["template"]["podCliqueScalingGroups"]) {
                let name = format!("{set}-0-{}", text(&group["name"]));
                test.scale("PodCliqueScalingGroup", &name, replicas).await?;
            }
        }
        let gangs = expect::gangs(&with_group_replicas(pcs.clone(), replicas.into()));
        let what = format!("every pod of PodCliqueSet {set}, whose groups have {replicas} replicas");
        test.until(Awaited::demanded_by(ADM_15, what), SCHEDULING, |live| {
            cliques_lacking_pods(live, &gangs).is_empty()
        })
        .await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(ADM_15, || {
            history.at(OVER, |place| all_pods_exist(history, &history.before(place)))?;
            precondition(ADM_04, all_answered(history))
        }),
        finding(ADM_24, || both_parts_named(history)),
    ]
}

/// A failing webhook neither refuses nor admits a PodCliqueSet.
fn all_answered(history: &History) -> Ruling {
    none(VARIATIONS.iter().filter_map(|variation| {
        let reply = variation.reply(history).ok()?;
        let is_answered = reply.is_admitted() || reply.is_refused();
        (!is_answered).then(|| violation(NOT_ANSWERED, format!("{}: {reply}", variation.title)))
    }))
}

fn all_pods_exist(history: &History, live: &Live) -> Ruling {
    let mut replicas: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, mark) in history.marks(ADMITTED) {
        replicas.insert(text(&mark.detail["set"]), mark.detail["replicas"].as_u64().unwrap_or(1));
    }
    all(replicas.into_iter().map(|(set, replicas)| {
        let pcs = with_group_replicas(history.submitted(set)?.clone(), replicas);
        none(
            cliques_lacking_pods(live, &expect::gangs(&pcs))
                .into_iter()
                .map(|lack| violation(PODS_MISSING, format!("PodCliqueSet {set} was admitted, but {lack}"))),
        )
    }))
}

fn both_parts_named(history: &History) -> Ruling {
    let mut violations = Vec::new();
    for variation in VARIATIONS.iter().filter(|variation| !variation.parts.is_empty()) {
        let reply = match variation.reply(history) {
            Ok(reply) => reply,
            Err(not_reached) => return none(violations).and(Err(not_reached)),
        };
        if reply.is_refused() {
            let missing = variation.parts.iter().filter(|part| !reply.mentions(part));
            violations.extend(missing.map(|part| {
                let message = format!("{}: the refusal does not name {part:?}: {reply}", variation.title);
                violation(PART_NOT_NAMED, message)
            }));
        } else {
            let message = format!("{}: want it refused, but {reply}", variation.title);
            violations.push(violation(COLLISION_ADMITTED, message));
        }
    }
    none(violations)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Value {
        grove_yaml::documents(crate::manifest("adm/names-refused-or-run")).unwrap().remove(0)
    }

    fn replied(story: Story, variation: &Variation, code: u16, message: &str) -> Story {
        let reply = json!({"name": "x", "verb": "create", "code": code, "message": message, "warnings": []});
        story.mark(SharedMark::Attempt, json!({"title": variation.title, "reply": reply}))
    }

    fn rulings(story: Story) -> [Ruling; 2] {
        let found = check(&story.mark(OVER, Value::Null).end());
        [found[0].ruling.clone(), found[1].ruling.clone()]
    }

    fn all_refused(message: impl Fn(&Variation) -> String) -> [Ruling; 2] {
        let refused = |story, variation: &Variation| replied(story, variation, 422, &message(variation));
        rulings(VARIATIONS.iter().fold(Story::flat(), refused))
    }

    #[test]
    fn a_refusal_names_both_parts_as_whole_words() {
        let both = |variation: &Variation| format!("{:?} collide", variation.parts);
        assert_eq!(all_refused(both), [Ok(()), Ok(())]);
        let [_, one] = all_refused(|variation| {
            format!("PodClique x-0-{} exists", variation.parts.first().unwrap_or(&""))
        });
        assert_eq!(codes(one)[0], "part-not-named");
    }

    #[test]
    fn a_webhook_that_fails_breaks_the_clause_about_names() {
        let [first, others @ ..] = &VARIATIONS;
        let failed = replied(Story::flat(), first, 500, "panic");
        let refused = |story, variation: &Variation| replied(story, variation, 422, "");
        let [created, _] = rulings(others.iter().fold(failed, refused));
        assert!(matches!(created, Err(Broken::Precondition { clause: ADM_04, .. })), "{created:?}");
    }

    #[rstest]
    #[case::both_pods(2, false)]
    #[case::one_pod(1, true)]
    fn an_admitted_variation_needs_all_pods(#[case] pods: usize, #[case] violated: bool) {
        let [first, others @ ..] = &VARIATIONS;
        let mut story = replied(Story::flat(), first, 201, "").submitted(first.apply(manifest()));
        story = story.mark(ADMITTED, json!({"set": first.set, "replicas": 1}));
        for number in 0..pods {
            let mut pod = object("Pod", &format!("p{number}"));
            pod["metadata"]["labels"] = json!({names::POD_CLIQUE: "names-a-0-model-0-worker"});
            story = story.added(pod);
        }
        let refused = |story, variation: &Variation| {
            replied(story, variation, 422, &format!("{:?} collide", variation.parts))
        };
        let [created, named] = rulings(others.iter().fold(story, refused));
        assert_eq!(created.is_err(), violated, "{created:?}");
        assert_eq!(codes(named), ["collision-admitted"]);
    }

    #[test]
    fn the_variations_collide_at_the_replicas_of_the_case() {
        for variation in VARIATIONS.iter().filter(|variation| !variation.parts.is_empty()) {
            let pcs = with_group_replicas(variation.apply(manifest()), 2);
            let mut cliques: Vec<_> = expect::gangs(&pcs)
                .into_iter()
                .flat_map(|gang| gang.groups)
                .map(|group| group.clique)
                .collect();
            let all = cliques.len();
            cliques.sort();
            cliques.dedup();
            assert_eq!(cliques.len(), all - 1, "{}", variation.title);
        }
    }
}
