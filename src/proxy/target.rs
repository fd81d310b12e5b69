//! The subject of a request, derived from its method and path as in Kubernetes' `RequestInfo`.

use http::{Method, Uri};
use serde::{Deserialize, Serialize};

/// What a request does, as an RBAC verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// GET of one object, or of a path without a resource.
    Get,
    /// GET of a collection.
    List,
    /// GET of a stream of events.
    Watch,
    /// POST, including subresources such as `pods/binding`.
    Create,
    /// PUT of an object.
    Update,
    /// PATCH, including server-side apply.
    Patch,
    /// DELETE of one object.
    Delete,
    /// DELETE of all objects that a selector selects.
    DeleteCollection,
}

impl Verb {
    /// The verbs of write requests.
    pub const WRITES: [Self; 5] =
        [Self::Create, Self::Update, Self::Patch, Self::Delete, Self::DeleteCollection];

    pub(crate) fn is_write(self) -> bool {
        Self::WRITES.contains(&self)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub verb: Verb,
    /// API group; empty for the core group and for paths without a resource.
    pub group: String,
    /// Plural and, if there is one, subresource: `pods`, `pods/binding`. Empty for paths without a resource.
    pub resource: String,
    pub namespace: Option<String>,
    /// Name of the object. The name comes from the path or, for a created object, from the body.
    pub name: Option<String>,
}

impl Target {
    /// Parses a path such as `/apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE`.
    pub(crate) fn of(method: &Method, uri: &Uri) -> Self {
        let mut segments: Vec<_> = uri.path().split('/').filter(|segment| !segment.is_empty()).collect();
        let group = match segments.as_slice() {
            ["apis", group, _, _, ..] => (*group).to_owned(),
            _ => String::new(),
        };
        let prefix = match segments.first() {
            Some(&"api") => 2,
            Some(&"apis") => 3,
            _ => segments.len(),
        };
        segments.drain(..prefix.min(segments.len()));
        let is_old_watch = segments.first() == Some(&"watch");
        if is_old_watch {
            segments.remove(0);
        }
        let mut namespace = None;
        if let ["namespaces", name, rest @ ..] = segments.as_slice() {
            namespace = Some((*name).to_owned());
            if !matches!(rest, [] | ["status" | "finalize", ..]) {
                segments.drain(..2);
            }
        }
        let resource = match segments.as_slice() {
            [] => String::new(),
            [resource, _, subresource, ..] => format!("{resource}/{subresource}"),
            [resource, ..] => (*resource).to_owned(),
        };
        let name = segments.get(1).map(|name| (*name).to_owned());
        let query = uri.query().unwrap_or_default();
        let is_watch = is_old_watch || query.split('&').any(|one| matches!(one, "watch=true" | "watch=1"));
        let verb = match *method {
            Method::POST => Verb::Create,
            Method::PUT => Verb::Update,
            Method::PATCH => Verb::Patch,
            Method::DELETE if name.is_some() => Verb::Delete,
            Method::DELETE => Verb::DeleteCollection,
            _ if is_watch => Verb::Watch,
            _ if name.is_none() && !resource.is_empty() => Verb::List,
            _ => Verb::Get,
        };
        Self { verb, group, resource, namespace, name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("GET /api/v1/namespaces/ns/pods", "list  pods ns")]
    #[case("GET /api/v1/pods?watch=true&resourceVersion=7", "watch  pods -")]
    #[case("GET /api/v1/watch/pods", "watch  pods -")]
    #[case("POST /api/v1/namespaces/ns/pods/p/binding", "create  pods/binding ns/p")]
    #[case(
        "PATCH /apis/grove.io/v1alpha1/namespaces/ns/podcliques/c/status",
        "patch grove.io podcliques/status ns/c"
    )]
    #[case(
        "PUT /apis/grove.io/v1alpha1/clustertopologybindings/t",
        "update grove.io clustertopologybindings -/t"
    )]
    #[case("DELETE /api/v1/namespaces/ns", "delete  namespaces ns/ns")]
    #[case("PUT /api/v1/namespaces/ns/finalize", "update  namespaces/finalize ns/ns")]
    #[case("DELETE /apis/apps/v1/namespaces/ns/deployments", "deletecollection apps deployments ns")]
    #[case("GET /apis/apps/v1", "get   -")]
    #[case("GET /readyz", "get   -")]
    fn the_target_of_a_request_is_that_of_request_info(#[case] request: &str, #[case] wanted: &str) {
        let (method, path) = request.split_once(' ').unwrap();
        let target = Target::of(&method.parse().unwrap(), &path.parse().unwrap());
        let verb = serde_json::to_value(target.verb).unwrap();
        let place = match (&target.namespace, &target.name) {
            (None, None) => "-".to_owned(),
            (Some(namespace), None) => namespace.clone(),
            (namespace, Some(name)) => format!("{}/{name}", namespace.as_deref().unwrap_or("-")),
        };
        let seen = format!("{} {} {} {place}", verb.as_str().unwrap(), target.group, target.resource);
        assert_eq!(seen, wanted);
    }
}
