//! 3 nodes x 8 GPUs; a gang of a leader and 2 workers, each x 8 GPUs, runs.

use conformance_history::revision;

use super::by_hand;
use crate::prelude::*;

pub(crate) const CASE: Case = case!("Gang resources of a running gang are restored after deletion or edits")
    .clauses(&[GANG_12, GANG_26])
    .nodes(&[nodes(3).gpus(8)])
    .with(&[Property::ResizableResources]);

const SET: &str = "healed";

marks! {
    RESIZED = "resized";
    DISOWNED = "disowned";
    RESTORED = "restored";
}

const STEPS: usize = 3;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    let gangs = vec![test.base_gang(SET)?];
    by_hand::delete_all(test, &gangs[0]).await?;
    until_restored(test, &gangs).await?;
    edit_all(test, &gangs, RESIZED, json!({"spec": {"minMember": 1}})).await?;
    edit_all(test, &gangs, DISOWNED, json!({"metadata": {"ownerReferences": Value::Null}})).await
}

async fn edit_all(test: &TestContext, gangs: &[Gang], mark: MarkName, patch: Value) -> Result<(), Stop> {
    for resource in schedulers::resources_of(test.target, &gangs[0]) {
        test.mark(mark, json!({"kind": resource.kind, "name": resource.name.wanted}));
        let written = test.patch(resource.kind, &resource.name.wanted, patch.clone()).await?;
        let name = resource.name.wanted;
        test.until(&format!("{name} observed as {mark}"), REACTION, |live| {
            live.get(resource.kind, &name).is_some_and(|object| revision(object) >= revision(&written))
        })
        .await?;
    }
    until_restored(test, gangs).await
}

async fn until_restored(test: &TestContext, gangs: &[Gang]) -> Result<(), Stop> {
    let history = test.history();
    test.until("gang resources that match their PodGangs", REACTION, |live| is_whole(&history, live, gangs))
        .await?;
    test.mark(RESTORED, Value::Null);
    Ok(())
}

fn is_whole(history: &History, live: &Live, gangs: &[Gang]) -> bool {
    gang_resources::owned(history, live, gangs).is_ok()
        && gang_resources::match_pod_gangs(history, live, gangs).is_ok()
}

fn restored_after_each_edit(history: &History) -> Ruling {
    let gangs = history.gangs(SET)?;
    history.waited_for(SharedMark::Converged)?;
    gang_resources::were_created(history, &gangs)?;
    for (index, mark) in history.marks(SharedMark::Deleted) {
        let text = |key: &str| mark.detail[key].as_str().unwrap_or_default();
        let next = history.marks(RESTORED).map(|(at, _)| at).find(|at| *at > index);
        let until = next.unwrap_or(history.entries.len());
        gang_resources::restored(&history.upto(until), index, text("kind"), text("name"))?;
    }
    let end = history.end();
    gang_resources::owned(history, &end, &gangs)?;
    gang_resources::match_pod_gangs(history, &end, &gangs)?;
    if history.marks(RESTORED).count() < STEPS {
        return Err(Broken::NotReached("not every manual change was made".into()));
    }
    let (converged, _) = history.reached(SharedMark::Converged)?;
    binding::others_untouched(history, converged, &[])
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(GANG_12, || restored_after_each_edit(history)),
        finding(GANG_26, || {
            precondition(GANG_12, restored_after_each_edit(history))?;
            binding::whole(&history.end(), &history.units(SET)?)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(resources: &[Value]) -> Ruling {
        let sent = Story::on(Target::VOLCANO).submitted(one_clique(SET, 3)).added(one_clique_gang(SET, 3));
        let with_resources = sent.all_added(resources.iter().cloned());
        let runs = with_resources.workers(SET, 3, 3).mark(SharedMark::Converged, Value::Null);
        let deleted = runs.mark(SharedMark::Deleted, json!({"kind": KIND, "name": "healed-0"}));
        let story = if resources.is_empty() { deleted } else { deleted.deleted(object(KIND, "healed-0")) };
        check(&story.end()).remove(0).ruling
    }

    const KIND: &str = "PodGroup.scheduling.volcano.sh";

    #[test]
    fn a_gang_resource_that_is_not_restored_is_a_violation() {
        let ruling = ruling(&[object(KIND, "healed-0")]);
        assert!(matches!(ruling, Err(Broken::Violated(_))), "{ruling:?}");
    }

    #[test]
    fn missing_gang_resources_break_the_precondition() {
        let ruling = ruling(&[]);
        assert!(matches!(ruling, Err(Broken::Precondition { clause: "GANG-08", .. })), "{ruling:?}");
    }
}
