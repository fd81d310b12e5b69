//! PodCliqueSet `unmoved` has 2 + 1 pods, and `after` has 1 pod. Once this pod is bound, the operator has
//! processed everything that was submitted before.

use conformance_check::admission;
use conformance_driver::admission_attempts::{clique, group};

use crate::prelude::*;

marks! {
    UPDATES_BEGIN = "updates begin";
    SEEN = "seen";
}

pub(crate) const CASE: Case =
    case!("A refused create leaves no object, and a refused update changes nothing")
        .clauses(&[ADM_05])
        .nodes(&[nodes(1)]);

/// Each create, with the clause that requires its refusal.
const CREATES: &[(&str, Attempt)] = &[
    (
        ADM_02,
        refused("created with a scheduler that is not enabled", &[], |pcs| {
            clique(pcs, 0)["spec"]["podSpec"]["schedulerName"] = "nobodys-scheduler".into();
            clique(pcs, 1)["spec"]["podSpec"]["schedulerName"] = "nobodys-scheduler".into();
        }),
    ),
    (
        ADM_04,
        refused("created with minAvailable above replicas", &[], |pcs| {
            clique(pcs, 0)["spec"]["minAvailable"] = 3.into();
        }),
    ),
];

/// ADM-03 requires that these updates are refused.
const UPDATES: &[Attempt] = &[
    refused("updated to another minAvailable", &[], |pcs| {
        clique(pcs, 0)["spec"]["minAvailable"] = 1.into();
    }),
    refused("updated to another minAvailable and more replicas", &[], |pcs| {
        pcs["spec"]["replicas"] = 2.into();
        clique(pcs, 0)["spec"]["minAvailable"] = 1.into();
    }),
    refused("updated to other cliqueNames and another label", &[], |pcs| {
        pcs["metadata"]["labels"]["team"] = "changed".into();
        group(pcs, 0)["cliqueNames"] = json!(["prefill"]);
    }),
];

fn creates() -> Vec<Attempt> {
    CREATES.iter().map(|(_, attempt)| *attempt).collect()
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge("unmoved").await?;
    test.attempt_creates(&test.manifest("unmoved")?, &creates()).await?;
    test.caught_up().await?;
    test.mark(UPDATES_BEGIN, Value::Null);
    test.attempt_updates("unmoved", UPDATES).await?;
    test.submit("after").await?;
    // Only the pod of `after` counts: an update that was admitted by mistake may have changed the others.
    let is_after = |pod: &Pod<'_>| pod.label(names::PART_OF) == Some("after") && pod.node().is_some();
    test.until(Awaited::demanded_by(AON_01, "the pod of PodCliqueSet after bound"), SCHEDULING, |live| {
        live.pods().any(|pod| is_after(&pod))
    })
    .await?;
    test.mark(SEEN, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(ADM_05, || {
        history.reached(SEEN)?;
        // An attempt that is admitted may leave objects and changes, so it proves nothing.
        for (clause, attempt) in CREATES {
            precondition(clause, answers(history, &[*attempt]))?;
        }
        precondition(ADM_03, answers(history, UPDATES))?;
        admission::left_nothing(history, &creates())?;
        let (begin, _) = history.reached(UPDATES_BEGIN)?;
        admission::unchanged(history, "unmoved", begin)
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(overrides: &[Override<'_>], left: &[Value]) -> Ruling {
        let created = answered(Story::flat().added(object("PodCliqueSet", "unmoved")), &creates(), overrides);
        let updated = answered(created.mark(UPDATES_BEGIN, Value::Null), UPDATES, overrides);
        check(&updated.all_added(left.iter().cloned()).mark(SEEN, Value::Null).end()).remove(0).ruling
    }

    #[test]
    fn a_refused_request_leaves_nothing() {
        assert_eq!(ruling(&[], &[]), Ok(()));
        // The fixture names the PodCliqueSet of each create `x`.
        for left in [object("PodGang", "x-0"), object("PodGang", "unmoved-0")] {
            let ruling = ruling(&[], &[left]);
            assert!(matches!(ruling, Err(Broken::Violated(_))), "{ruling:?}");
        }
    }

    #[rstest]
    #[case::without_a_backend(CREATES[0].1.title, ADM_02)]
    #[case::minimum_above_replicas(CREATES[1].1.title, ADM_04)]
    #[case::another_shape(UPDATES[0].title, ADM_03)]
    fn an_admitted_request_breaks_the_precondition(#[case] title: &str, #[case] wanted: &str) {
        let ruling = ruling(&[(title, 201, "")], &[]);
        assert!(matches!(ruling, Err(Broken::Precondition { clause, .. }) if clause == wanted), "{ruling:?}");
    }
}
