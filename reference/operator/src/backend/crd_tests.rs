//! CRD checks against a fake API server.

use serde_json::{Value, json};

use super::*;
use crate::backend::made_up_api::MadeUpApi;

const GANGS: Crd = Crd { name: "gangs.example.com", version: "v1", field: Some("spec.members[].minimum") };

fn schema() -> Value {
    let member = json!({"type": "object", "properties": {"minimum": {"type": "integer"}}});
    let fields = json!({"members": {"type": "array", "items": member}, "single": member});
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}})
}

/// A valid CRD after `edits` (JSON pointers).
fn crd(edits: &[(&str, Value)]) -> Value {
    let mut crd = json!({
        "metadata": {"name": GANGS.name},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Gang", "plural": "gangs"},
            "versions": [
                {"name": "v0", "served": true, "storage": false},
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema()}},
            ],
        },
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    });
    for (pointer, value) in edits {
        *crd.pointer_mut(pointer).unwrap() = value.clone();
    }
    crd
}

async fn readiness(api: MadeUpApi) -> Result<(), String> {
    CrdDetection::new(api.client, &[GANGS], "Gangs 2").readiness().await
}

fn holding(crd: Value) -> MadeUpApi {
    MadeUpApi::holding([("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gangs.example.com", crd)])
}

#[rstest::rstest]
#[case::too_old(&[("/spec/versions/1/schema", json!({}))], "has no spec.members[].minimum")]
#[case::not_served(&[("/spec/versions/1/served", json!(false))], "does not serve v1")]
#[case::not_yet(&[("/status/conditions/0/status", json!("False"))], "is not established")]
#[tokio::test]
async fn what_is_missing_is_named(#[case] edits: &[(&str, Value)], #[case] defect: &str) {
    let expected = format!("CRD gangs.example.com {defect}: Gangs 2 or newer is needed");
    assert_eq!(readiness(holding(crd(edits))).await, Err(expected));
}

#[tokio::test]
async fn whole_or_absent() {
    assert_eq!(readiness(holding(crd(&[]))).await, Ok(()));
    let absent = readiness(MadeUpApi::holding([])).await.unwrap_err();
    assert_eq!(absent, "CRD gangs.example.com is not installed: Gangs 2 or newer is needed");
}

#[rstest::rstest]
#[case("spec", true)]
#[case("spec.members", true)]
#[case("spec.members[].minimum", true)]
#[case("spec.members[].maximum", false)]
#[case("spec.members.minimum", false)]
#[case("spec.single.minimum", true)]
#[case("spec.single[].minimum", false)]
#[case("status.phase", false)]
fn fields_of_a_schema(#[case] path: &str, #[case] found: bool) {
    let schema: JSONSchemaProps = serde_json::from_value(schema()).unwrap();
    assert_eq!(has_field(&schema, path), found);
}
