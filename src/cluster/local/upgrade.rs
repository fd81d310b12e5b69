//! Upgrades the operator as a Helm upgrade does: applies the new operator's objects over the old ones. In an
//! upgrade of Kubernetes, the harness replaces the control plane while the operator is stopped.

use conformance_install::part::Part;
use conformance_programs::ProgramError;
use rustix::process::Signal;
use serde_json::Value;

use super::LocalCluster;
use crate::{ClusterError, deploy};

/// The kinds of old objects that are deleted: webhooks without a server would block every write.
const WEBHOOKS: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

impl LocalCluster {
    /// Upgrades everything but the new operator, which [`LocalCluster::start_part`] starts.
    pub async fn begin_upgrade(&self) -> Result<(), ClusterError> {
        let upgrade = self.spec().upgrade.ok_or(ProgramError::NoProgram {
            program: "an operator to upgrade to".into(),
            reason: "the cluster was created without",
        })?;
        let old = self.controller_objects().await?;
        self.stop_part(Part::Controller, Signal::TERM).await;
        if upgrade.control_plane.is_some() {
            self.replace_control_plane().await?;
        }
        self.respecify(|spec| {
            spec.operator = upgrade.to;
            spec.controller.faults.extend(upgrade.faults);
        });
        let new = self.controller_objects().await?;
        deploy::install(&self.client(), &new).await?;
        for object in webhooks_to_delete(&old, &new) {
            deploy::delete(&self.client(), object).await?;
        }
        Ok(())
    }
}

fn webhooks_to_delete<'a>(old: &'a [Value], new: &'a [Value]) -> impl Iterator<Item = &'a Value> {
    let is_webhook = |object: &&Value| WEBHOOKS.iter().any(|kind| object["kind"] == *kind);
    let same =
        |a: &Value, b: &Value| a["kind"] == b["kind"] && a["metadata"]["name"] == b["metadata"]["name"];
    old.iter().filter(is_webhook).filter(move |object| !new.iter().any(|other| same(object, other)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_webhooks_without_a_server_are_deleted() {
        let object = |kind: &str, name: &str| json!({"kind": kind, "metadata": {"name": name}});
        let old = [
            object("CustomResourceDefinition", "podgangs"),
            object(WEBHOOKS[0], "defaults"),
            object(WEBHOOKS[1], "defaults"),
            object(WEBHOOKS[1], "rules"),
        ];
        let new = [object(WEBHOOKS[1], "defaults")];
        let deleted: Vec<_> = webhooks_to_delete(&old, &new).cloned().collect();
        assert_eq!(deleted, [old[1].clone(), old[3].clone()]);
    }
}
