use conformance_contract::clauses::Feature;
use conformance_expect::Gang;
use conformance_expect::resolver::resolved;
use conformance_facts::warnings::has_warning;
use conformance_history::SharedMark;
use serde_json::{Value, json};

use super::limits::REACTION;
use crate::context::{Stop, TestContext};

impl TestContext {
    /// Patches an object, and records the patch in a mark. A check decides whether the values stay.
    pub async fn patch_as_another_client(&self, kind: &str, name: &str, patch: Value) -> Result<(), Stop> {
        self.mark(SharedMark::WrittenByOthers, json!({"kind": kind, "name": name, "patch": patch}));
        self.patch(kind, name, patch).await.map(drop)
    }

    /// Changes a `spec` field that the backend controls, and waits until the backend restores it. Does
    /// nothing unless the operator declares self-healing.
    pub async fn provoke_repair(
        &self,
        kind: &str,
        name: &str,
        field: &str,
        wrong: Value,
    ) -> Result<(), Stop> {
        if !self.target.declares(Feature::SelfHealing) {
            return Ok(());
        }
        let original = self.look(|live| live.get(kind, name).map(|found| found["spec"][field].clone()));
        let edited = self.patch(kind, name, json!({"spec": {field: wrong}})).await?;
        let after = conformance_history::revision(&edited);
        self.until(&format!("{field} of {name} restored"), REACTION, |live| {
            let found = live.get(kind, name).filter(|found| conformance_history::revision(found) > after);
            found.is_some_and(|found| Some(&found["spec"][field]) == original.as_ref())
        })
        .await
    }

    /// Waits until a Warning event on the PodGang, or on its PodCliqueSet, contains `about`.
    pub async fn until_warned(&self, gang: &Gang, about: &str) -> Result<(), Stop> {
        let condition = format!("a warning on PodGang {} that contains {about:?}", gang.name);
        self.until(&condition, REACTION, |live| {
            resolved(live, vec![gang.clone()]).iter().any(|gang| has_warning(live, gang, about))
        })
        .await
    }
}
