//! 1 node; 2 pods of one clique. Grove overwrites some labels of its template, but not the others.

use conformance_check::invariants;
use conformance_driver::admission_attempts::clique;
use conformance_facts::attempts::refused_or_warned;

use crate::prelude::*;

marks! {
    SUBMITTED = "admitted and submitted";
}

pub(crate) const CASE: Case =
    case!("Labels and fields that Grove overwrites are refused or warned about, others reach the pods")
        .clauses(&[ADM_25, GANG_16])
        .nodes(&[nodes(1)]);

const SET: &str = "own-labels";

const LABELLED: Attempt = admitted("a template with Grove's labels and others", |_| {});

const OVERWRITTEN: &[Attempt] = &[
    refused_or_warned("a name label", &["app.kubernetes.io/name"], |pcs| {
        label(pcs, "app.kubernetes.io/name")
    }),
    refused_or_warned("a component label", &["app.kubernetes.io/component"], |pcs| {
        label(pcs, "app.kubernetes.io/component");
    }),
    refused_or_warned("a part-of label", &["app.kubernetes.io/part-of"], |pcs| {
        label(pcs, "app.kubernetes.io/part-of");
    }),
    refused_or_warned("the label of a PodGang", &["grove.io/podgang"], |pcs| label(pcs, "grove.io/podgang")),
    refused_or_warned("a hostname", &["hostname"], |pcs| {
        without_labels(pcs);
        clique(pcs, 0)["spec"]["podSpec"]["hostname"] = "example".into();
    }),
    refused_or_warned("a variable of Grove's", &["GROVE_PCS_NAME"], |pcs| {
        without_labels(pcs);
        let container = &mut clique(pcs, 0)["spec"]["podSpec"]["containers"][0];
        container["env"] = json!([{"name": "GROVE_PCS_NAME", "value": "example"}]);
    }),
];

fn without_labels(pcs: &mut Value) {
    clique(pcs, 0)["labels"] = json!({});
}

fn label(pcs: &mut Value, key: &str) {
    clique(pcs, 0)["labels"] = json!({key: "example"});
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let pcs = test.manifest(SET)?;
    test.attempt_dry_creates(&pcs, OVERWRITTEN).await?;
    let reply = test.dry_run_create(&pcs).await?;
    test.mark(SharedMark::Attempt, json!({"title": LABELLED.title, "reply": reply}));
    if reply.is_admitted() {
        test.submit_value(pcs).await?;
        test.mark(SUBMITTED, Value::Null);
        test.until_converged(SET).await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(ADM_25, || answers(history, OVERWRITTEN)),
        finding(GANG_16, || {
            precondition(ADM_25, answers(history, &[LABELLED.words_only()]))?;
            if history.marks(SUBMITTED).next().is_none() {
                return Err(Broken::NotAsked("admission rejects Grove's labels in a template".into()));
            }
            invariants::templates_are_kept(history)?;
            history.reached(SharedMark::Converged).map(drop)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Value {
        grove_yaml::documents(crate::manifest("adm/overwritten-fields")).unwrap().remove(0)
    }

    fn found(story: Story) -> [Ruling; 2] {
        let found = check(&story.mark(SharedMark::Converged, Value::Null).end());
        [found[0].ruling.clone(), found[1].ruling.clone()]
    }

    #[rstest]
    #[case::warned(201, "spec.template.cliques[0].labels[app.kubernetes.io/name] is ignored", true)]
    #[case::refused(422, "no", true)]
    #[case::silent(201, "", false)]
    fn an_overwritten_label_needs_a_warning(#[case] code: u16, #[case] message: &str, #[case] passes: bool) {
        let all = [OVERWRITTEN, &[LABELLED]].concat();
        let story = answered(Story::flat(), &all, &[("a name label", code, message)]);
        assert_eq!(found(story)[0].is_ok(), passes);
    }

    /// Grove may replace the values of its own labels, but not of other labels.
    #[rstest]
    #[case::kept("serving", true)]
    #[case::changed("another", false)]
    fn other_labels_must_reach_the_pods(#[case] team: &str, #[case] kept: bool) {
        let all = [OVERWRITTEN, &[LABELLED]].concat();
        let story = answered(Story::flat().submitted(manifest()), &all, &[]).mark(SUBMITTED, Value::Null);
        let mut pod = owned(object("Pod", "own-labels-0-worker-x"), "PodClique", "own-labels-0-worker");
        pod["metadata"]["labels"] = json!({
            names::POD_CLIQUE: "own-labels-0-worker", "app.kubernetes.io/name": "own-labels-0-worker",
            "app.kubernetes.io/component": "pcs-podclique", "app.kubernetes.io/part-of": "own-labels",
            "app.kubernetes.io/version": "1.0", "example.com/team": team,
        });
        pod["spec"] = manifest()["spec"]["template"]["cliques"][0]["spec"]["podSpec"].clone();
        let [_, fidelity] = found(story.added(pod));
        let wanted: &[&str] = if kept { &[] } else { &["template-lost"] };
        assert_eq!(codes(fidelity), wanted);
    }

    #[test]
    fn a_webhook_that_fails_breaks_the_precondition() {
        let all = [OVERWRITTEN, &[LABELLED]].concat();
        let [_, fidelity] = found(answered(Story::flat(), &all, &[(LABELLED.title, 500, "panic")]));
        assert!(matches!(fidelity, Err(Broken::Precondition { clause: ADM_25, .. })), "{fidelity:?}");
    }

    #[test]
    fn an_operator_that_rejects_the_labels_owes_no_pods() {
        let all = [OVERWRITTEN, &[LABELLED]].concat();
        let [reported, fidelity] =
            found(answered(Story::flat(), &all, &[(LABELLED.title, 422, "reserved labels")]));
        assert_eq!(reported, Ok(()));
        assert!(matches!(fidelity, Err(Broken::NotAsked(_))), "{fidelity:?}");
    }
}
