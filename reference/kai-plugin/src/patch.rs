//! The entry in `runtimePatches` that sets the queue. An update keeps the entry, because the trainer reads
//! the runtime only at creation. In a new TrainJob, which may be a copy of another, the entry is replaced.

use serde_json::{Value, json};
use webhook_server::{FieldError, PatchOperation};

use crate::policy::{Policy, QUEUE_LABEL};

/// The `manager` of the entry. The trainer requires a domain and a path.
pub const MANAGER: &str = "kai.scheduler/trainer-plugin";
/// The limit in the trainer's CRD.
const MAX_ENTRIES: usize = 16;

pub fn entry(policy: Policy<'_>) -> Option<Value> {
    let queue = policy.queue()?;
    let labels = json!({"metadata": {"labels": {QUEUE_LABEL: queue}}});
    let job = |name| json!({"name": name, "template": {"spec": {"template": labels}}});
    let jobs: Vec<_> = policy.jobs().map(job).collect();
    Some(json!({
        "manager": MANAGER,
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}},
    }))
}

pub fn own_entry(train_job: &Value) -> Option<&Value> {
    entries(train_job).iter().find(|entry| entry["manager"] == MANAGER)
}

pub fn set_entry(train_job: &Value, wanted: Option<Value>) -> Result<Vec<PatchOperation>, FieldError> {
    let entries = entries(train_job);
    let is_ours = |entry: &&Value| entry["manager"] == MANAGER;
    let ours: Vec<_> = entries.iter().filter(is_ours).map(without_time).collect();
    let is_up_to_date = match (&wanted, ours.as_slice()) {
        (None, []) => true,
        (Some(wanted), [found]) => *found == without_time(wanted),
        _ => false,
    };
    if is_up_to_date {
        return Ok(Vec::new());
    }
    let mut all: Vec<_> = entries.iter().filter(|entry| !is_ours(entry)).cloned().collect();
    all.extend(wanted);
    if all.len() > MAX_ENTRIES {
        let message = format!(
            "the list has {MAX_ENTRIES} entries, and the queue of the training runtime needs one: remove an \
             entry"
        );
        return Err(FieldError::forbidden("spec.runtimePatches", message));
    }
    Ok(vec![PatchOperation::add("/spec/runtimePatches", all.into())])
}

fn entries(train_job: &Value) -> &[Value] {
    train_job.pointer("/spec/runtimePatches").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Removes the time of the last change, which the trainer writes into each entry.
fn without_time(entry: &Value) -> Value {
    let mut entry = entry.clone();
    if let Some(fields) = entry.as_object_mut() {
        fields.remove("time");
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime(queue: &str) -> Value {
        let jobs = json!([{"name": "initializer"}, {"name": "node"}]);
        let policy = json!({"kaiScheduler": {"queue": queue}});
        json!({"spec": {"podGroupPolicy": policy, "template": {"spec": {"replicatedJobs": jobs}}}})
    }

    fn wanted(queue: &str) -> Option<Value> {
        entry(Policy::of(&runtime(queue)).unwrap())
    }

    fn train_job(patches: Value) -> Value {
        json!({"spec": {"runtimePatches": patches}})
    }

    fn written(train_job: &Value, wanted: Option<Value>) -> Value {
        serde_json::to_value(set_entry(train_job, wanted).unwrap()).unwrap()
    }

    #[test]
    fn the_entry_only_labels_every_replicated_job() {
        let labelled = |name: &str| {
            json!({"name": name, "template": {"spec": {"template": {"metadata": {"labels": {
                "kai.scheduler/queue": "team-a"}}}}}})
        };
        let template = json!({"spec": {"replicatedJobs": [labelled("initializer"), labelled("node")]}});
        let expected = json!({"manager": MANAGER, "trainingRuntimeSpec": {"template": template}});
        assert_eq!(wanted("team-a"), Some(expected));
        assert_eq!(wanted(""), None);
    }

    #[rstest::rstest]
    #[case::none(json!(null))]
    #[case::empty(json!([]))]
    #[case::of_others(json!([{"manager": "kueue"}, {"manager": "user"}]))]
    fn entries_of_others_stay_first(#[case] patches: Value) {
        let mut expected = patches.as_array().cloned().unwrap_or_default();
        expected.push(wanted("a").unwrap());
        let operation = json!([{"op": "add", "path": "/spec/runtimePatches", "value": expected}]);
        assert_eq!(written(&train_job(patches), wanted("a")), operation);
    }

    #[test]
    fn a_patched_train_job_needs_no_patch() {
        let mut ours = wanted("a").unwrap();
        ours["time"] = json!("2026-01-01T00:00:00Z");
        let patched = train_job(json!([ours, {"manager": "user"}]));
        assert_eq!(written(&patched, wanted("a")), json!([]));
        assert_eq!(written(&train_job(json!([])), None), json!([]));
        assert_eq!(written(&json!({"spec": {}}), None), json!([]));
    }

    #[rstest::rstest]
    #[case::another_queue(wanted("b"))]
    #[case::no_queue(None)]
    fn a_copied_entry_is_replaced(#[case] wanted_entry: Option<Value>) {
        let copied = train_job(json!([wanted("a").unwrap(), {"manager": "user"}]));
        let mut expected = vec![json!({"manager": "user"})];
        expected.extend(wanted_entry.clone());
        assert_eq!(written(&copied, wanted_entry)[0]["value"], json!(expected));
    }

    #[test]
    fn at_most_sixteen_entries_are_allowed() {
        let others = |count: usize| {
            let all: Vec<_> = (0..count).map(|index| json!({"manager": format!("m{index}")})).collect();
            train_job(all.into())
        };
        assert!(set_entry(&others(15), wanted("a")).is_ok());
        assert_eq!(set_entry(&others(16), wanted("a")).unwrap_err().path, "spec.runtimePatches");
        assert_eq!(set_entry(&others(16), None), Ok(Vec::new()));
    }
}
