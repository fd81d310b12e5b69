use serde_json::{Value, json};

use super::*;
use crate::backend::fake_api::FakeApi;

const GANGS: Crd = Crd { name: "gangs.example.com", version: "v1", field: Some("spec.members[].minimum") };

fn schema() -> Value {
    let member = json!({"type": "object", "properties": {"minimum": {"type": "integer"}}});
    let fields = json!({"members": {"type": "array", "items": member}, "single": member});
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}})
}

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

async fn readiness(api: FakeApi) -> Result<(), String> {
    CrdDetection::new(api.client, &[GANGS], "Gangs 2").readiness().await
}

fn with_crd(crd: Value) -> FakeApi {
    FakeApi::with_objects([(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gangs.example.com",
        crd,
    )])
}

#[rstest::rstest]
#[case::too_old(&[("/spec/versions/1/schema", json!({}))], "has no spec.members[].minimum")]
#[case::not_served(&[("/spec/versions/1/served", json!(false))], "does not serve v1")]
#[case::not_established(&[("/status/conditions/0/status", json!("False"))], "is not established")]
#[tokio::test]
async fn a_missing_part_of_the_crd_is_named(#[case] edits: &[(&str, Value)], #[case] defect: &str) {
    let expected = format!("CRD gangs.example.com {defect}: Gangs 2 or newer is needed");
    assert_eq!(readiness(with_crd(crd(edits))).await, Err(expected));
}

#[tokio::test]
async fn an_installed_crd_is_ready_and_an_absent_one_is_named() {
    assert_eq!(readiness(with_crd(crd(&[]))).await, Ok(()));
    let absent = readiness(FakeApi::with_objects([])).await.unwrap_err();
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
fn fields_are_found_through_objects_and_lists(#[case] path: &str, #[case] found: bool) {
    let schema: JSONSchemaProps = serde_json::from_value(schema()).unwrap();
    assert_eq!(has_field(&schema, path), found);
}
