//! The case creates PodGang `changing` without a PodCliqueSet. The PodGang has podgroups a and b, then b and
//! c, then b, c and d. Before the first change, a third party writes metadata to the PodGroup of b, and the
//! backend must keep this metadata. PodGang `taken` also has podgroups a and b, but a PodGroup of another
//! controller already has the name that `taken` needs for b.

use conformance_check::{foreign_fields, gang_groups};
use conformance_expect::schedulers::koordinator::POD_GROUP;
use conformance_facts::warnings::has_warning;

use crate::prelude::*;

const FOREIGN_OBJECT_TOUCHED: Code = Code::new("foreign-object-touched");
const NO_WARNING: Code = Code::new("no-warning");

pub(crate) const CASE: Case =
    case!("A GangGroup's list stays complete during changes, and foreign PodGroups are kept")
        .clauses(&[KOORD_07, KOORD_14, KOORD_15])
        .needs(&[Need::PodGangsByHand]);

const CHANGING: &str = "changing";
const TAKEN: &str = "taken";
const KEPT: &str = "changing-changing-b";
const FOREIGN: &str = "taken-taken-b";

marks! { AT_REST = "at rest"; }

const STEPS: [&[&str]; 3] = [&["a", "b"], &["b", "c"], &["b", "c", "d"]];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let namespace = test.attempt(http::Method::GET, "Namespace", &test.namespace, &Value::Null).await?;
    let namespace = namespace.accepted("read the namespace".into())?;
    let mut foreign = test.manifest(FOREIGN)?;
    // Any existing object serves as owner: the garbage collector deletes objects whose owner does not exist.
    foreign["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "Namespace", "name": test.namespace, "uid": namespace["metadata"]["uid"],
        "controller": true,
    }]);
    test.create(POD_GROUP, &foreign).await?;
    for name in [TAKEN, CHANGING] {
        test.create("PodGang", &test.manifest(name)?).await?;
    }
    let outcome = change_podgroups(test).await;
    // No controller removes this finalizer, and it would block the namespace's deletion indefinitely.
    test.attempt(http::Method::PATCH, POD_GROUP, KEPT, &json!({"metadata": {"finalizers": null}})).await?;
    outcome?;
    test.until_warned(&Gang::named_only(TAKEN), FOREIGN).await.map_err(|stop| stop.owed_by(KOORD_15))
}

async fn change_podgroups(test: &TestContext) -> Result<(), Stop> {
    until_complete(test).await?;
    let foreign = json!({"metadata": {
        "labels": {"example.com/team": "red"},
        "annotations": {"example.com/note": "not for you"},
        "finalizers": ["example.com/keep"],
    }});
    test.patch_as_another_client(POD_GROUP, KEPT, foreign).await?;
    for names in &STEPS[1..] {
        test.patch("PodGang", CHANGING, json!({"spec": {"podgroups": podgroups(names)}})).await?;
        let wanted = podgroups(names);
        test.until("the new podgroups observed", REACTION, |live| {
            live.get("PodGang", CHANGING).is_some_and(|gang| gang["spec"]["podgroups"] == wanted)
        })
        .await?;
        until_complete(test).await?;
    }
    Ok(())
}

fn podgroups(names: &[&str]) -> Value {
    let podgroup =
        |name| json!({"name": format!("{CHANGING}-{name}"), "minReplicas": 1, "podReferences": []});
    names.iter().map(podgroup).collect()
}

async fn until_complete(test: &TestContext) -> Result<(), Stop> {
    test.until("the complete list on every PodGroup", REACTION, |live| {
        let podgroups = live.get("PodGang", CHANGING).map(|gang| &gang["spec"]["podgroups"]);
        let mut names =
            podgroups.and_then(Value::as_array).into_iter().flatten().map(|podgroup| &podgroup["name"]);
        let exists = |name: &Value| {
            live.get(POD_GROUP, &format!("{CHANGING}-{}", name.as_str().unwrap_or_default())).is_some()
        };
        names.all(exists) && gang_groups::complete(live, CHANGING).is_ok()
    })
    .await?;
    test.mark(AT_REST, Value::Null);
    Ok(())
}

fn never_overwritten(history: &History) -> Ruling {
    let owned_fields = |object: &Value| {
        let metadata = &object["metadata"];
        [
            &metadata["uid"],
            &metadata["ownerReferences"],
            &metadata["labels"],
            &metadata["annotations"],
            &object["spec"],
        ]
        .map(Value::clone)
    };
    let mut versions = history.named(POD_GROUP, FOREIGN);
    let first =
        versions.next().ok_or_else(|| Broken::NotReached(format!("PodGroup {FOREIGN} never existed")))?;
    none(versions.find(|version| owned_fields(version.object) != owned_fields(first.object)).map(|version| {
        violation(FOREIGN_OBJECT_TOUCHED, format!("PodGroup {FOREIGN} of another controller was overwritten"))
            .shown_by("before", first)
            .shown_by("overwritten", version)
    }))
}

fn conflict_is_reported(history: &History) -> Ruling {
    ensure(has_warning(&history.end(), &Gang::named_only(TAKEN), FOREIGN), || {
        violation(NO_WARNING, format!("no Warning event reports that the name {FOREIGN} is taken"))
    })
}

fn all_changes_made(history: &History) -> Ruling {
    if history.marks(AT_REST).count() < STEPS.len() {
        return Err(Broken::NotReached("not every change of the PodGang was made".into()));
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(KOORD_07, || {
            for (index, _) in history.marks(AT_REST) {
                gang_groups::complete(&history.before(index), CHANGING)?;
            }
            gang_groups::complete(&history.end(), CHANGING)?;
            all_changes_made(history)?;
            gang_groups::created_before_pruned(history, CHANGING)
        }),
        finding(KOORD_14, || {
            let last = history.marks(AT_REST).last().map_or(0, |(index, _)| index);
            let metadata = all_changes_made(history).and_then(|()| foreign_fields::kept(&history.upto(last)));
            all([never_overwritten(history), metadata])
        }),
        finding(KOORD_15, || conflict_is_reported(history)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rulings(version: Value, about: &str) -> (Ruling, Ruling) {
        let event = json!({"kind": "Event", "metadata": {"name": "e"}, "type": "Warning",
            "involvedObject": {"kind": "PodGang", "name": TAKEN}, "message": about});
        let story =
            Story::on(Target::KOORDINATOR).added(owned(object(POD_GROUP, FOREIGN), "Namespace", "ns"));
        let history = story.modified(version).added(event).end();
        (never_overwritten(&history), conflict_is_reported(&history))
    }

    #[test]
    fn an_overwritten_object_and_a_missing_warning_break_one_clause_each() {
        let same = || owned(object(POD_GROUP, FOREIGN), "Namespace", "ns");
        assert_eq!(rulings(same(), &format!("{FOREIGN} is taken")), (Ok(()), Ok(())));
        assert!(matches!(rulings(same(), "nothing"), (Ok(()), Err(Broken::Violated(_)))));
        let taken_over = owned(object(POD_GROUP, FOREIGN), "PodGang", TAKEN);
        assert!(matches!(rulings(taken_over, FOREIGN), (Err(Broken::Violated(_)), Ok(()))));
        let mut listed = same();
        listed["metadata"]["annotations"] = json!({"gang.scheduling.koordinator.sh/groups": "[]"});
        assert!(rulings(listed, FOREIGN).0.is_err());
    }
}
