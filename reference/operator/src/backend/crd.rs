//! Detects by the CRDs whether a release of a scheduler is installed (ADM-18). It checks their names, the
//! served version, and a field that older releases lack and would drop without an error. Negative answers are
//! cached only briefly, so that CRDs that are installed later are found.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionCondition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::{Api, Client};

use super::cached_answer::CachedAnswer;

const POSITIVE: Duration = Duration::from_secs(60);
const NEGATIVE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub(super) struct Crd {
    pub name: &'static str,
    pub version: &'static str,
    /// A field that older releases lack, such as `spec.subGroups[].minSubGroup`; `[]` means list items.
    pub field: Option<&'static str>,
}

pub(super) struct CrdDetection {
    client: Client,
    crds: &'static [Crd],
    release: &'static str,
    last: CachedAnswer<Result<(), String>>,
}

impl CrdDetection {
    /// `release` is the oldest release that has all of `crds`. Error messages name it.
    pub(super) fn new(client: Client, crds: &'static [Crd], release: &'static str) -> Self {
        let ttl = |answer: &Result<(), String>| if answer.is_ok() { POSITIVE } else { NEGATIVE };
        Self { client, crds, release, last: CachedAnswer::new(ttl, Err) }
    }

    pub(super) async fn readiness(&self) -> Result<(), String> {
        let (client, crds, release) = (self.client.clone(), self.crds, self.release);
        let lookup = async move {
            missing(&client, crds)
                .await
                .map_or(Ok(()), |missing| Err(format!("{missing}: {release} or newer is needed")))
        };
        self.last.get(lookup).await
    }
}

async fn missing(client: &Client, crds: &[Crd]) -> Option<String> {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    for crd in crds {
        let defect = match api.get_opt(crd.name).await {
            Ok(Some(found)) => defect(crd, &found),
            Ok(None) => Some("is not installed".to_owned()),
            Err(error) => Some(format!("cannot be looked up ({error})")),
        };
        if let Some(defect) = defect {
            return Some(format!("CRD {} {defect}", crd.name));
        }
    }
    None
}

fn defect(crd: &Crd, found: &CustomResourceDefinition) -> Option<String> {
    let conditions = found.status.as_ref().and_then(|status| status.conditions.as_ref());
    if !conditions.is_some_and(|conditions| conditions.iter().any(is_established)) {
        return Some("is not established".to_owned());
    }
    let served = found.spec.versions.iter().find(|version| version.served && version.name == crd.version);
    let Some(served) = served else {
        return Some(format!("does not serve {}", crd.version));
    };
    let schema = served.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
    let field = crd.field.filter(|path| !schema.is_some_and(|schema| has_field(schema, path)));
    field.map(|path| format!("has no {path}"))
}

fn is_established(condition: &CustomResourceDefinitionCondition) -> bool {
    condition.type_ == "Established" && condition.status == "True"
}

fn has_field(schema: &JSONSchemaProps, path: &str) -> bool {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let (name, listed) = name.strip_suffix("[]").map_or((name, false), |name| (name, true));
    let property = schema.properties.as_ref().and_then(|properties| properties.get(name));
    let property = match property.map(|property| (listed, &property.items)) {
        Some((true, Some(JSONSchemaPropsOrArray::Schema(item)))) => Some(&**item),
        Some((true, _)) => None,
        _ => property,
    };
    property.is_some_and(|property| rest.is_none_or(|rest| has_field(property, rest)))
}

#[cfg(test)]
#[path = "crd_tests.rs"]
mod tests;
