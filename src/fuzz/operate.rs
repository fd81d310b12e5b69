use conformance_contract::names::PART_OF;
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits;
use conformance_driver::updates::set_revision;
use conformance_expect::{Gang, scaling, schedulers};
use conformance_history::{Live, MarkName, list, revision};
use serde_json::{Value, json};

use crate::contention::preempt;
use crate::expected_state::{ExpectedState, set_max_replicas};
use crate::surroundings::prepared;
use crate::workload::{EditedPart, GeneratedWorkload, LossCause, Moment, Operation, TemplateField};

/// An edit of a gang resource: `{"kind", "name", "pointer", "before"}`.
pub(crate) const EDITED: MarkName = MarkName::of_case("gang resource edited");

/// The step of the first operation that adds a node. Step 1 adds the nodes that a workload lacks at first.
pub(crate) const FIRST_JOIN: u32 = 2;

pub(crate) struct Progress<'a> {
    pub(crate) workload: &'a GeneratedWorkload,
    pub(crate) state: ExpectedState<'a>,
    pub(crate) next_join: u32,
    pub(crate) performed: usize,
    /// Whether an operation on the pending gang has started an update.
    pub(crate) is_updating: bool,
}

impl<'a> Progress<'a> {
    pub(crate) fn of(workload: &'a GeneratedWorkload) -> Self {
        let state = ExpectedState::at_start(workload);
        Self { workload, state, next_join: FIRST_JOIN, performed: 0, is_updating: false }
    }

    /// Performs an operation at its moment. Waits for the update that it starts, unless the gang is pending.
    pub(crate) async fn perform(
        &mut self,
        test: &mut TestContext,
        operation: &Operation,
    ) -> Result<(), Stop> {
        self.performed += 1;
        let inner = operation.inner();
        match operation.moment() {
            Moment::Pending => self.is_updating |= self.act(test, inner).await?,
            Moment::AtRest | Moment::DuringRecycle => {
                if self.act(test, inner).await? {
                    self.until_updated(test).await?;
                }
            }
            Moment::DuringUpdate => {
                let updates = self.start_update(test).await?;
                self.act(test, inner).await?;
                // A recreated PodCliqueSet has its original templates: no status reports an update's end.
                if updates && *inner != Operation::Recreate {
                    self.until_updated(test).await?;
                }
            }
            Moment::AtZero => {
                let (set, replicas) = (self.workload.name(), self.state.replicas());
                test.scale("PodCliqueSet", set, 0).await?;
                test.until_converged(set).await?;
                self.act(test, inner).await?;
                test.scale("PodCliqueSet", set, replicas).await?;
            }
        }
        self.state.perform(operation);
        Ok(())
    }

    pub(crate) async fn until_updated(&self, test: &TestContext) -> Result<(), Stop> {
        test.until_updated_within(limits::ROLLOUT, self.workload.name(), "UPD-02").await
    }

    /// Starts an update of the first clique and waits for its first new pod, if the operator admits updates.
    async fn start_update(&self, test: &TestContext) -> Result<bool, Stop> {
        let first = list(&self.workload.pcs["spec"]["template"]["cliques"]).first();
        let name = first.map(|clique| clique["name"].clone()).unwrap_or_default();
        let revision = format!("during-{}", self.performed);
        let change = |clique: &mut Value| {
            if clique["name"] == name {
                set_revision(clique, &revision);
            }
        };
        let is_admitted = test.change_templates(self.workload.name(), change).await?;
        if is_admitted {
            test.until_revision_appears("UPD-01", &revision).await?;
        }
        Ok(is_admitted)
    }

    async fn act(&mut self, test: &mut TestContext, operation: &Operation) -> Result<bool, Stop> {
        match operation {
            Operation::Scale { kind, name, replicas } => test.scale(kind, name, *replicas).await?,
            Operation::LosePod { clique, number, by } => lose(test, clique, *number, *by).await?,
            Operation::DeleteGangResource { number } => {
                delete_gang_resource(test, self.workload, *number).await?;
            }
            Operation::Recreate => recreate(test, self.workload).await?,
            Operation::NodeJoins => {
                test.add_nodes(self.next_join).await?;
                self.next_join += 1;
            }
            Operation::NodeLeaves => test.drain_last_node().await?,
            Operation::ChangeTemplate { clique, field, revision } => {
                return change_template(test, self.workload, clique, *field, *revision).await;
            }
            Operation::ChangeScaleConfig { part, max_replicas } => {
                change_scale_config(test, self.workload, part, *max_replicas).await?;
            }
            Operation::DeletePodGang { number } => delete_pod_gang(test, self.workload, *number).await?,
            Operation::EditGangResource { number, part } => {
                edit_gang_resource(test, self.workload, *number, *part).await?;
            }
            Operation::RestartOperator => {
                let spec = test.local()?.spec().controller;
                test.restart_controller(spec).await?;
            }
            Operation::Preempt => preempt(test, self.workload).await?,
            // `ExpectedState` admits no operation at two moments.
            Operation::At { .. } => {}
        }
        Ok(false)
    }
}

fn gangs(test: &TestContext, workload: &GeneratedWorkload) -> Vec<Gang> {
    let history = test.history();
    scaling::gangs(&history, &workload.pcs, history.entries.len())
}

fn gang_resource(
    test: &TestContext,
    workload: &GeneratedWorkload,
    number: usize,
) -> Option<(&'static str, String)> {
    let gangs = gangs(test, workload);
    let resources = gangs.get(number).map(|gang| schedulers::resources_of(test.target, gang));
    let resource = resources.into_iter().flatten().next()?;
    Some((resource.kind, resource.name.wanted))
}

async fn lose(test: &TestContext, clique: &str, number: usize, by: LossCause) -> Result<(), Stop> {
    let of_clique = |live: &Live| {
        let pods = live.pods().filter(|pod| pod.pod_clique() == Some(clique) && !pod.is_terminating());
        let mut pods: Vec<_> = pods.map(|pod| (pod.name().to_owned(), pod.uid().to_owned())).collect();
        pods.sort();
        pods.into_iter().nth(number)
    };
    let Some((name, uid)) = test.look(of_clique) else {
        let reason = format!("PodClique {clique} has no pod number {number}");
        return Err(Stop::Refused { action: "disrupt a pod".into(), reason });
    };
    test.disrupt_pod(by.loss(), &name).await?;
    let clause = if by == LossCause::Failed { "AON-20" } else { "AON-11" };
    let deleted = Awaited::demanded_by(clause, format!("pod {name} deleted"));
    test.until(deleted, limits::REACTION, |live| !live.pods().any(|pod| pod.uid() == uid)).await
}

async fn delete_gang_resource(
    test: &TestContext,
    workload: &GeneratedWorkload,
    number: usize,
) -> Result<(), Stop> {
    let Some((kind, name)) = gang_resource(test, workload, number) else { return Ok(()) };
    let uid = |live: &Live| live.get(kind, &name).map(|found| found["metadata"]["uid"].clone());
    let deleted = test.look(uid);
    test.delete(kind, &name).await?;
    let restored = Awaited::demanded_by("GANG-12", format!("{kind} {name} restored"));
    test.until(restored, limits::REACTION, |live| uid(live).is_some_and(|uid| Some(uid) != deleted)).await
}

async fn recreate(test: &mut TestContext, workload: &GeneratedWorkload) -> Result<(), Stop> {
    let gangs = gangs(test, workload);
    test.delete("PodCliqueSet", workload.name()).await?;
    test.until_gangs_deleted(&gangs).await?;
    let deleted = Awaited::demanded_by("DEL-01", format!("PodCliqueSet {} deleted", workload.name()));
    test.until(deleted, limits::CLEANUP, |live| live.get("PodCliqueSet", workload.name()).is_none()).await?;
    test.submit_value(prepared(test, &workload.pcs)).await.map(drop)
}

async fn change_template(
    test: &TestContext,
    workload: &GeneratedWorkload,
    name: &str,
    field: TemplateField,
    revision: u32,
) -> Result<bool, Stop> {
    let change = |clique: &mut Value| {
        if clique["name"] == name {
            change_field(clique, field, revision);
        }
    };
    test.change_templates(workload.name(), change).await
}

fn change_field(clique: &mut Value, field: TemplateField, revision: u32) {
    match field {
        TemplateField::Env => set_revision(clique, &revision.to_string()),
        TemplateField::InitContainers => {
            let image = format!("registry.k8s.io/pause:3.{revision}");
            clique["spec"]["podSpec"]["initContainers"] = json!([{"name": "prepare", "image": image}]);
        }
        TemplateField::Labels => clique["labels"]["example.com/revision"] = revision.to_string().into(),
        TemplateField::Annotations => {
            clique["annotations"]["example.com/revision"] = revision.to_string().into();
        }
    }
}

async fn change_scale_config(
    test: &TestContext,
    workload: &GeneratedWorkload,
    part: &str,
    max_replicas: u32,
) -> Result<(), Stop> {
    let set = workload.name();
    let template = |live: &Live| live.get("PodCliqueSet", set).map(|pcs| pcs["spec"]["template"].clone());
    let mut template = test.look(template).unwrap_or_default();
    set_max_replicas(&mut template, part, max_replicas);
    let mut patch = json!({"spec": {"template": {"cliques": template["cliques"]}}});
    let groups = &template["podCliqueScalingGroups"];
    if groups.is_array() {
        patch["spec"]["template"]["podCliqueScalingGroups"] = groups.clone();
    }
    test.patch("PodCliqueSet", set, patch).await.map(drop)
}

async fn delete_pod_gang(
    test: &TestContext,
    workload: &GeneratedWorkload,
    number: usize,
) -> Result<(), Stop> {
    let gangs = gangs(test, workload);
    let Some(gang) = gangs.get(number) else { return Ok(()) };
    let uid = |live: &Live| live.get("PodGang", &gang.name).map(|found| found["metadata"]["uid"].clone());
    let deleted = test.look(uid);
    test.delete("PodGang", &gang.name).await?;
    let clause = if gang.is_base { "GANG-01" } else { "GANG-03" };
    let again = Awaited::demanded_by(clause, format!("PodGang {} created again", gang.name));
    test.until(again, limits::REACTION, |live| uid(live).is_some_and(|uid| Some(uid) != deleted)).await
}

async fn edit_gang_resource(
    test: &TestContext,
    workload: &GeneratedWorkload,
    number: usize,
    part: EditedPart,
) -> Result<(), Stop> {
    let Some((kind, name)) = gang_resource(test, workload, number) else { return Ok(()) };
    let found = test.look(|live| live.get(kind, &name).cloned()).unwrap_or_default();
    let Some(edit) = Edit::of(&found, part) else { return Ok(()) };
    let edited = test.patch(kind, &name, edit.patch).await?;
    let (pointer, before, after) = (edit.pointer, edit.before, revision(&edited));
    test.mark(EDITED, json!({"kind": kind, "name": name, "pointer": pointer, "before": before}));
    let restored = Awaited::demanded_by("GANG-12", format!("{pointer} of {kind} {name} restored"));
    test.until(restored, limits::REACTION, |live| {
        let newer = live.get(kind, &name).filter(|found| revision(found) > after);
        newer.is_some_and(|found| found.pointer(&pointer) == Some(&before))
    })
    .await
}

struct Edit {
    pointer: String,
    before: Value,
    patch: Value,
}

impl Edit {
    /// `None` if the gang resource has no such part.
    fn of(found: &Value, part: EditedPart) -> Option<Self> {
        match part {
            EditedPart::Label => {
                let before = found["metadata"]["labels"][PART_OF].clone();
                let pointer = format!("/metadata/labels/{}", PART_OF.replace('/', "~1"));
                let patch = json!({"metadata": {"labels": {(PART_OF): "edited"}}});
                before.is_string().then_some(Self { pointer, before, patch })
            }
            EditedPart::ListEntry => {
                let (below, number) = last_number_in_list(&found["spec"], "", false)?;
                let mut spec = found["spec"].clone();
                *spec.pointer_mut(&below)? = (number + 1).into();
                let pointer = format!("/spec{below}");
                Some(Self { pointer, before: number.into(), patch: json!({"spec": spec}) })
            }
        }
    }
}

/// A number in the last entry of a list below `value`, with its JSON pointer.
fn last_number_in_list(value: &Value, pointer: &str, is_in_list: bool) -> Option<(String, u64)> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(key, value)| {
            let pointer = format!("{pointer}/{key}");
            match value.as_u64().filter(|_| is_in_list) {
                Some(number) => Some((pointer, number)),
                None => last_number_in_list(value, &pointer, is_in_list),
            }
        }),
        Value::Array(entries) => entries
            .iter()
            .enumerate()
            .rev()
            .find_map(|(place, entry)| last_number_in_list(entry, &format!("{pointer}/{place}"), true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_changes_one_label_or_one_number_of_the_last_entry() {
        let entries = json!([{"name": "a", "minMember": 2}, {"name": "b", "minMember": 3}]);
        let spec = json!({"minMember": 5, "subGroups": entries});
        let found = json!({"metadata": {"labels": {(PART_OF): "w"}}, "spec": spec});
        let label = Edit::of(&found, EditedPart::Label).unwrap();
        assert_eq!((found.pointer(&label.pointer), label.before), (Some(&json!("w")), json!("w")));
        let entry = Edit::of(&found, EditedPart::ListEntry).unwrap();
        assert_eq!((entry.pointer.as_str(), entry.before), ("/spec/subGroups/1/minMember", json!(3)));
        let mut wanted = spec;
        wanted["subGroups"][1]["minMember"] = json!(4);
        assert_eq!(entry.patch, json!({"spec": wanted}));
        let without = json!({"metadata": {}, "spec": {"minMember": 5}});
        for part in [EditedPart::Label, EditedPart::ListEntry] {
            assert!(Edit::of(&without, part).is_none(), "{part:?}");
        }
    }

    #[rstest::rstest]
    #[case(TemplateField::Env, "/spec/podSpec/containers/0/env/0/value", "2")]
    #[case(
        TemplateField::InitContainers,
        "/spec/podSpec/initContainers/0/image",
        "registry.k8s.io/pause:3.2"
    )]
    #[case(TemplateField::Labels, "/labels/example.com~1revision", "2")]
    #[case(TemplateField::Annotations, "/annotations/example.com~1revision", "2")]
    fn a_change_of_a_template_changes_one_field(
        #[case] field: TemplateField,
        #[case] pointer: &str,
        #[case] value: &str,
    ) {
        let mut clique = json!({"name": "a", "spec": {"podSpec": {"containers": [{"name": "main"}]}}});
        change_field(&mut clique, field, 2);
        assert_eq!(clique.pointer(pointer), Some(&json!(value)));
    }
}
