//! The PodCliqueSet has a clique and a scaling group of one clique. Each attempt breaks one rule, and a
//! similar attempt breaks none. Nothing else is wrong, so the refusal need not name the rule. The names of a
//! PodCliqueSet, group and clique may have 45 characters together. With `model` and `worker`, 34 remain for
//! the name of the PodCliqueSet. `lone` has no group, so 39 remain.

use std::sync::LazyLock;

use conformance_driver::admission_attempts::{clique, group, template};
use conformance_facts::attempts::{Row, Wanted};

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("PodCliqueSets that break a structural rule are refused, valid variants admitted")
        .clauses(&[ADM_04]);

struct Count {
    is_update: bool,
    /// If the target declares this feature, either answer is correct, and the attempt is left out.
    free_with: Option<Feature>,
    row: Row,
}

/// Changes of counts. The stored PodCliqueSet has 3 replicas and minAvailable 2 everywhere.
static COUNTS: LazyLock<Vec<Count>> = LazyLock::new(|| {
    const PLACES: [(&str, &str, bool); 3] = [
        ("a clique", "/spec/template/cliques/0/spec", true),
        ("a clique of a scaling group", "/spec/template/cliques/1/spec", true),
        ("a scaling group", "/spec/template/podCliqueScalingGroups/0", false),
    ];
    let mut rows = Vec::new();
    for is_update in [false, true] {
        let verb = if is_update { "update" } else { "create" };
        let row = |what: &str, values: Vec<(String, Value)>, wanted| Count {
            is_update,
            free_with: None,
            row: Row { title: format!("{verb}: {what}"), values, wanted },
        };
        let set = |replicas: i64| vec![("/spec/replicas".to_owned(), replicas.into())];
        rows.push(row("-1 replicas of the PodCliqueSet", set(-1), Wanted::Refused));
        rows.push(row("0 replicas of the PodCliqueSet", set(0), Wanted::Admitted));
        for (place, pointer, zero_means_one) in PLACES {
            let field = |name: &str, count: i64| (format!("{pointer}/{name}"), count.into());
            let (replicas, min) = (|count| field("replicas", count), |count| field("minAvailable", count));
            rows.push(row(&format!("-1 replicas of {place}"), vec![replicas(-1)], Wanted::Refused));
            // Grove treats 0 replicas of a clique like an absent field, which defaults to 1.
            if !zero_means_one {
                let zero = row(&format!("0 replicas of {place}"), vec![replicas(0)], Wanted::Refused);
                rows.push(Count { free_with: Some(Feature::ScaleToZero), ..zero });
            }
            rows.push(row(&format!("minAvailable 0 of {place}"), vec![min(0)], Wanted::Refused));
            rows.push(row(
                &format!("minAvailable of {place} above its replicas"),
                vec![min(4)],
                Wanted::Refused,
            ));
            rows.push(row(
                &format!("replicas of {place} below its minAvailable"),
                vec![replicas(1)],
                Wanted::Refused,
            ));
            rows.push(row(
                &format!("replicas of {place} equal to its minAvailable"),
                vec![replicas(2)],
                Wanted::Admitted,
            ));
            if !is_update {
                rows.push(row(&format!("1 replica of {place}"), vec![replicas(1), min(1)], Wanted::Admitted));
            }
        }
    }
    rows
});

fn counts(is_update: bool, target: Target) -> Vec<Attempt> {
    let is_asked = |count: &&Count| {
        count.is_update == is_update && !count.free_with.is_some_and(|feature| target.declares(feature))
    };
    COUNTS.iter().filter(is_asked).map(|count| count.row.attempt()).collect()
}

const CLIQUES: &[Attempt] = &[
    admitted("the unchanged PodCliqueSet", |_| {}),
    refused("no clique", &[], |pcs| {
        *template(pcs) = json!({"cliques": []});
    }),
    // Renaming the other clique would leave the scaling group without a member.
    refused("two cliques with the same name", &[], |pcs| clique(pcs, 0)["name"] = "worker".into()),
    refused("a clique name that is not a DNS label", &[], |pcs| clique(pcs, 0)["name"] = "Front_End".into()),
    admitted("a clique name that is a DNS label", |pcs| clique(pcs, 0)["name"] = "front-end".into()),
    refused("a scaling group's clique with the name of another clique", &[], |pcs| {
        rename_member(pcs, "router")
    }),
    refused("a scaling group's clique name that is not a DNS label", &[], |pcs| {
        rename_member(pcs, "Back_End")
    }),
    admitted("a scaling group's clique name that is a DNS label", |pcs| rename_member(pcs, "back-end")),
];

const GROUPS: &[Attempt] = &[
    refused("two scaling groups with the same name", &[], |pcs| add_group(pcs, "model")),
    admitted("two scaling groups with different names", |pcs| add_group(pcs, "edge")),
    // The PodCliques of the scaling group are named `model-<index>-worker`, so none of these names collides.
    admitted("a clique with the name of a scaling group", |pcs| clique(pcs, 0)["name"] = "model".into()),
    admitted("a clique with the name of a scaling group's replica", |pcs| {
        clique(pcs, 0)["name"] = "model-0".into();
    }),
    admitted("a clique with a name like that of a member", |pcs| {
        clique(pcs, 0)["name"] = "model-00-worker".into();
    }),
    refused("a scaling-group name that is not a DNS label", &[], |pcs| {
        group(pcs, 0)["name"] = "Model_A".into();
    }),
    refused("cliqueNames with an unknown clique", &[], |pcs| {
        group(pcs, 0)["cliqueNames"] = json!(["worker", "ghost"]);
    }),
    admitted("cliqueNames with existing cliques", |pcs| {
        group(pcs, 0)["cliqueNames"] = json!(["worker", "router"])
    }),
];

const WHOLE: &[Attempt] = &[
    refused("names of 46 characters in total", &[], |pcs| pcs["metadata"]["name"] = "s".repeat(35).into()),
    admitted("names of 45 characters in total", |pcs| pcs["metadata"]["name"] = "s".repeat(34).into()),
    refused("the 40 characters of a group's second clique, and 46 in total", &[], |pcs| {
        pcs["metadata"]["name"] = "s".into();
        add_member(pcs, &"r".repeat(40));
    }),
    admitted("the 39 characters of a group's second clique, and 45 in total", |pcs| {
        pcs["metadata"]["name"] = "s".into();
        add_member(pcs, &"r".repeat(39));
    }),
];

const LONE: &[Attempt] = &[
    refused("two names of 46 characters in total", &[], |pcs| {
        pcs["metadata"]["name"] = "l".repeat(40).into()
    }),
    admitted("two names of 45 characters in total", |pcs| pcs["metadata"]["name"] = "l".repeat(39).into()),
];

const ORDER: &[Attempt] = &[
    refused("startsAfter an unknown clique", &[], |pcs| starts_after(pcs, 1, "ghost")),
    refused("a standalone clique that startsAfter an unknown clique", &[], |pcs| {
        starts_after(pcs, 0, "ghost")
    }),
    refused("startsAfter in a cycle", &[], |pcs| {
        starts_after(pcs, 0, "worker");
        starts_after(pcs, 1, "router");
    }),
    refused("startsAfter the clique itself", &[], |pcs| starts_after(pcs, 1, "worker")),
    refused("startsAfter an existing clique and an unknown one", &[], |pcs| {
        starts_after(pcs, 1, "router");
        clique(pcs, 1)["spec"]["startsAfter"] = json!(["router", "ghost"]);
    }),
    refused("startsAfter in a cycle of three cliques", &[], |pcs| {
        chain_of_three(pcs);
        starts_after(pcs, 0, "helper");
    }),
];

/// An operator that does not declare StartupOrder may refuse every startup order.
const VALID_ORDER: &[Attempt] = &[
    admitted("startsAfter an existing clique", |pcs| starts_after(pcs, 1, "router")),
    admitted("startsAfter in a chain of three cliques", chain_of_three),
];

const ORDER_CHANGED: &[Attempt] = &[
    refused("update: startsAfter an unknown clique", &[], |pcs| starts_after(pcs, 1, "ghost")),
    refused("update: startsAfter the clique itself", &[], |pcs| starts_after(pcs, 1, "worker")),
    refused("update: startsAfter in a cycle", &[], |pcs| {
        starts_after(pcs, 0, "worker");
        starts_after(pcs, 1, "router");
    }),
];

fn orders(target: Target) -> Vec<Attempt> {
    let valid = if target.declares(Feature::StartupOrder) { VALID_ORDER } else { &[] };
    [ORDER, valid].concat()
}

fn add_group(pcs: &mut Value, name: &str) {
    let model = group(pcs, 0).clone();
    let edge = json!({"name": name, "replicas": 1, "minAvailable": 1, "cliqueNames": ["router"]});
    template(pcs)["podCliqueScalingGroups"] = json!([model, edge]);
}

fn rename_member(pcs: &mut Value, name: &str) {
    clique(pcs, 1)["name"] = name.into();
    group(pcs, 0)["cliqueNames"] = json!([name]);
}

/// Moves the first clique into the scaling group, under another name.
fn add_member(pcs: &mut Value, name: &str) {
    clique(pcs, 0)["name"] = name.into();
    group(pcs, 0)["cliqueNames"] = json!(["worker", name]);
}

fn chain_of_three(pcs: &mut Value) {
    let mut helper = clique(pcs, 0).clone();
    helper["name"] = "helper".into();
    helper["spec"]["roleName"] = "helper".into();
    if let Some(cliques) = template(pcs)["cliques"].as_array_mut() {
        cliques.push(helper);
    }
    starts_after(pcs, 1, "router");
    starts_after(pcs, 2, "worker");
}

fn starts_after(pcs: &mut Value, index: usize, other: &str) {
    template(pcs)["cliqueStartupType"] = "CliqueStartupTypeExplicit".into();
    clique(pcs, index)["spec"]["startsAfter"] = json!([other]);
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let (creates, updates) = (counts(false, test.target), counts(true, test.target));
    let mut base = test.manifest("set")?;
    test.attempt_dry_creates(&base, &creates).await?;
    let orders = orders(test.target);
    for (name, attempts) in
        [("cliques", CLIQUES), ("groups", GROUPS), ("whole", WHOLE), ("order", &orders[..])]
    {
        base["metadata"]["name"] = name.into();
        test.attempt_dry_creates(&base, attempts).await?;
    }
    test.attempt_dry_creates(&test.manifest("lone")?, LONE).await?;
    test.submit("set").await?;
    test.attempt_dry_updates("set", &[&updates, ORDER_CHANGED].concat()).await
}

fn asked(target: Target) -> Vec<Attempt> {
    let (orders, creates, updates) = (orders(target), counts(false, target), counts(true, target));
    [CLIQUES, GROUPS, WHOLE, LONE, &orders, ORDER_CHANGED, &creates, &updates].concat()
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(ADM_04, || answers(history, &asked(history.header.target)))]
}

#[cfg(test)]
mod tests {
    use conformance_contract::backend_declaration::BackendDeclaration;

    use super::*;

    const TARGET: Target = Target::KUBE_POD_GANG;

    fn ruling(overrides: &[Override<'_>]) -> Ruling {
        check(&answered(Story::whole(), &asked(TARGET), overrides).end()).remove(0).ruling
    }

    #[test]
    fn zero_replicas_are_not_checked_if_scale_to_zero_is_declared() {
        let titles = |target| -> Vec<_> { asked(target).into_iter().map(|attempt| attempt.title).collect() };
        let free = titles(Target::KUBE_POD_GROUP);
        let others: Vec<_> = titles(TARGET).into_iter().filter(|title| !free.contains(title)).collect();
        assert_eq!(
            others,
            ["create: 0 replicas of a scaling group", "update: 0 replicas of a scaling group"]
        );
    }

    #[test]
    fn a_valid_startup_order_is_checked_only_if_it_is_declared() {
        let declared = BackendDeclaration { operator: "mine v1".into(), ..BackendDeclaration::default() };
        let has_order = |target| asked(target).iter().any(|attempt| attempt.title == VALID_ORDER[0].title);
        assert!(has_order(TARGET));
        assert!(!has_order(TARGET.declared_by(declared)));
    }

    #[test]
    fn each_wrong_answer_is_a_violation() {
        assert_eq!(ruling(&[]), Ok(()));
        for attempt in asked(TARGET) {
            let code = if matches!(attempt.wanted, Wanted::Admitted) { 422 } else { 201 };
            let ruling = ruling(&[(attempt.title, code, "")]);
            assert!(matches!(ruling, Err(Broken::Violated(_))), "{}: {ruling:?}", attempt.title);
        }
    }

    #[rstest]
    #[case::forbidden("two scaling groups with the same name", 403, true)]
    #[case::invalid("create: minAvailable 0 of a clique", 422, true)]
    #[case::a_panic("no clique", 500, false)]
    #[case::unknown("startsAfter an unknown clique", 403, true)]
    #[case::a_cycle("startsAfter in a cycle", 422, true)]
    fn a_refusal_may_have_any_message(#[case] title: &str, #[case] code: u16, #[case] passes: bool) {
        let ruling = ruling(&[(title, code, "in words of its own")]);
        assert_eq!(ruling.is_ok(), passes, "{ruling:?}");
    }

    #[test]
    fn the_duplicate_name_is_the_only_error() {
        let mut pcs = grove_yaml::documents(crate::manifest("adm/structure")).unwrap().remove(0);
        let twice = CLIQUES.iter().find(|attempt| attempt.title == "two cliques with the same name").unwrap();
        twice.edit.apply(&mut pcs);
        let names: Vec<_> = [0, 1].map(|index| clique(&mut pcs, index)["name"].clone()).to_vec();
        assert_eq!(names, ["worker", "worker"]);
        assert_eq!(group(&mut pcs, 0)["cliqueNames"], json!(["worker"]));
    }
}
