//! 1 node; a PodCliqueSet of a clique of 2 pods and a scaling group of 1 replica, and a control PodCliqueSet
//! of 1 pod. In the first, everything changes except pod templates. In the control, the template changes.

use conformance_check::services;

use crate::prelude::*;

marks! { UPDATED = "updated"; }

const SET: &str = "unchanged";
const CONTROL: &str = "control-changed";

pub(crate) const CASE: Case =
    case!("An update starts only if a template's labels, annotations or pod spec change")
        .clauses(&[UPD_01, UPD_26, GANG_28])
        .nodes(&[nodes(1)]);

fn changes() -> [(&'static str, Value); 3] {
    let containers = json!([{"name": "worker", "image": "registry.k8s.io/pause:3.10", "env": [{"name": "REVISION", "value": "2"}]}]);
    [
        ("/labels", json!({"conformance.grove.io/changed": "label"})),
        ("/annotations", json!({"conformance.grove.io/changed": "annotation"})),
        ("/spec/podSpec/containers", containers),
    ]
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in [SET, CONTROL] {
        test.submit_and_converge(set).await?;
    }
    for patch in [
        json!({"metadata": {"labels": {"team": "a"}, "annotations": {"note": "a"}}}),
        json!({"spec": {"template": {"terminationDelay": "3h"}}}),
        json!({"spec": {"updateStrategy": {"type": "RollingRecreate"}}}),
        json!({"spec": {"template": {"headlessServiceConfig": {"publishNotReadyAddresses": false}}}}),
    ] {
        test.patch("PodCliqueSet", SET, patch).await?;
    }
    for replicas in [5, 2, 4, 3] {
        test.change_templates(SET, |clique| clique["spec"]["replicas"] = json!(replicas)).await?;
    }
    test.change_templates(SET, |clique| {
        if let Some(config) = clique["spec"].get_mut("autoScalingConfig") {
            config["maxReplicas"] = json!(7);
        }
    })
    .await?;
    test.patch(
        "PodCliqueSet",
        SET,
        json!({"spec": {"template": {"podCliqueScalingGroups": [larger(test)?]}}}),
    )
    .await?;
    // These values are the defaults of the webhook and the API server, so the templates do not change.
    let unchanged = test.change_templates(SET, |clique| {
        clique["spec"]["podSpec"]["restartPolicy"] = json!("Always");
        clique["spec"]["podSpec"]["terminationGracePeriodSeconds"] = json!(30);
    });
    unchanged.await?;
    test.scale("PodCliqueSet", SET, 2).await?;
    for (field, value) in changes() {
        let changed = test.change_templates(CONTROL, |clique| set(clique, field, &value));
        if !changed.await? {
            return Ok(());
        }
        let replaced = Awaited::demanded_by(UPD_01, "every pod of the control PodCliqueSet new");
        test.until(replaced, limits::SCHEDULING, |live| updates::pods_are_complete(live, CONTROL).is_ok())
            .await?;
        test.mark(UPDATED, json!({"field": field}));
        test.until_updated(CONTROL, UPD_02).await?;
    }
    let selected = Awaited::demanded_by(GANG_28, "Services that select the pods of their replicas");
    test.until(selected, REACTION, |live| services::select_their_pods(live, SET).is_ok()).await
}

/// The scaling group with 2 replicas. Only PodCliqueSet replicas that are created later use it.
fn larger(test: &TestContext) -> Result<Value, Stop> {
    let mut group = test.manifest(SET)?["spec"]["template"]["podCliqueScalingGroups"][0].clone();
    group["replicas"] = json!(2);
    group["scaleConfig"] = json!({"minReplicas": 2, "maxReplicas": 5});
    Ok(group)
}

fn set(clique: &mut Value, field: &str, value: &Value) {
    match field.rsplit_once('/') {
        Some(("", field)) => clique[field] = value.clone(),
        Some((parent, field)) => {
            if let Some(parent) = clique.pointer_mut(parent) {
                parent[field] = value.clone();
            }
        }
        None => {}
    }
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        update_finding(history, UPD_01, || {
            for (place, _) in history.marks(UPDATED) {
                updates::pods_are_complete(&history.before(place), CONTROL)?;
            }
            let updated = history.marks(UPDATED).count();
            if updated < changes().len() {
                return Err(Broken::NotReached(format!(
                    "{updated} of {} changes were made",
                    changes().len()
                )));
            }
            Ok(())
        }),
        update_finding(history, UPD_26, || {
            all([
                updates::updater_deletes_none(history, SET),
                updates::updater_deletes_only_old(history, CONTROL),
            ])?;
            // Once the control is updated, the operator has had time for the earlier changes.
            history.reached(UPDATED).map(drop)
        }),
        update_finding(history, GANG_28, || {
            history.reached(UPDATED)?;
            services::select_their_pods(&history.end(), SET)
        }),
    ]
}
