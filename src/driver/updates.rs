use conformance_facts::updates::{REVISION, is_of_revision, lacks};
use conformance_history::SharedMark;
use serde_json::{Value, json};

use crate::context::{Answer, Awaited, Stop, TestContext};
use crate::limits::{Limit, SCHEDULING};

impl TestContext {
    /// Changes all clique templates of a PodCliqueSet. An operator need not support updates, so a refusal is
    /// recorded as a mark and returns `false`.
    pub async fn change_templates(&self, set: &str, change: impl Fn(&mut Value)) -> Result<bool, Stop> {
        let pcs = self.look(|live| live.get("PodCliqueSet", set).cloned()).ok_or_else(|| Stop::Refused {
            action: format!("change the templates of PodCliqueSet {set}"),
            reason: "the PodCliqueSet does not exist".to_owned(),
        })?;
        let mut cliques = pcs["spec"]["template"]["cliques"].clone();
        cliques.as_array_mut().into_iter().flatten().for_each(change);
        let patch = json!({"spec": {"template": {"cliques": cliques}}});
        match self.attempt(http::Method::PATCH, "PodCliqueSet", set, &patch).await? {
            Answer::Accepted(_) => self.caught_up().await.map(|()| true),
            Answer::Refused { message, .. } => {
                self.mark(SharedMark::UpdateRefused, json!({"name": set, "message": message}));
                Ok(false)
            }
        }
    }

    pub async fn revise(&self, set: &str, revision: &str) -> Result<bool, Stop> {
        self.change_templates(set, |clique| set_revision(clique, revision)).await
    }

    pub async fn until_revision_appears(&self, clause: &'static str, revision: &str) -> Result<(), Stop> {
        let started = Awaited::demanded_by(clause, format!("a pod of revision {revision}"));
        self.until(started, SCHEDULING, |live| live.pods().any(|pod| is_of_revision(pod, revision))).await
    }

    /// Waits until all pods match their clique template and are Ready, and the status reports the end.
    pub async fn until_updated(&self, set: &str, clause: &'static str) -> Result<(), Stop> {
        self.until_updated_within(SCHEDULING, set, clause).await
    }

    /// Like [`TestContext::until_updated`], with a longer limit for an update of many pods.
    pub async fn until_updated_within(
        &self,
        limit: Limit,
        set: &str,
        clause: &'static str,
    ) -> Result<(), Stop> {
        let awaited = Awaited::demanded_by(clause, format!("the update of PodCliqueSet {set} completed"));
        let updated = self.until(awaited, limit, |live| lacks(live, set).is_none()).await;
        match updated {
            Err(Stop::Timeout(mut timeout)) => {
                let lack = self.look(|live| lacks(live, set)).unwrap_or_default();
                timeout.condition = format!("{} ({lack})", timeout.condition);
                Err(Stop::Timeout(timeout))
            }
            ended => ended,
        }
    }
}

/// Sets the revision variable, without moving it: the former revision then restores the former template.
pub fn set_revision(clique: &mut Value, revision: &str) {
    let own = json!({"name": REVISION, "value": revision});
    let containers = clique["spec"]["podSpec"]["containers"].as_array_mut();
    for container in containers.into_iter().flatten() {
        match container["env"].as_array_mut() {
            Some(variables) => match variables.iter_mut().find(|variable| variable["name"] == REVISION) {
                Some(found) => *found = own.clone(),
                None => variables.push(own.clone()),
            },
            None => container["env"] = json!([own]),
        }
    }
}

pub fn resize(clique: &mut Value, revision: &str, gpus: u32) {
    set_revision(clique, revision);
    clique["spec"]["podSpec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = json!(gpus);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enrichment::{WITH_ALL, enrich};

    #[test]
    fn a_new_revision_keeps_the_other_variables() {
        let other = json!({"name": "OTHER", "value": "1"});
        let revision = |value: &str| json!({"name": REVISION, "value": value});
        let clique = |first: Value| {
            let containers = json!([{"name": "a", "env": first}, {"name": "b"}]);
            json!({"spec": {"podSpec": {"containers": containers}}})
        };
        let mut changed = clique(json!([revision("1"), other]));
        set_revision(&mut changed, "2");
        let containers = &changed["spec"]["podSpec"]["containers"];
        assert_eq!(containers[0]["env"], json!([revision("2"), other]));
        assert_eq!(containers[1]["env"], json!([revision("2")]));
    }

    #[test]
    fn the_former_revision_restores_an_enriched_template() {
        let container = json!({
            "name": "a", "env": [{"name": REVISION, "value": "1"}, {"name": "OTHER", "value": "1"}],
            "resources": {"limits": {"nvidia.com/gpu": 1}},
        });
        let clique = json!({"name": "worker", "spec": {"podSpec": {"containers": [container]}}});
        let mut pcs = json!({"kind": "PodCliqueSet", "spec": {"template": {"cliques": [clique]}}});
        enrich(&mut pcs, WITH_ALL, &[], false);
        let given = pcs["spec"]["template"]["cliques"][0].clone();
        assert_eq!(given["spec"]["podSpec"]["containers"].as_array().map(Vec::len), Some(2));
        let mut changed = given.clone();
        resize(&mut changed, "2", 64);
        assert_ne!(changed, given);
        resize(&mut changed, "1", 1);
        assert_eq!(changed, given);
    }
}
