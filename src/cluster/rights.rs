use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};

use super::ClusterError;

const CONCURRENCY: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    pub verb: &'static str,
    pub group: String,
    /// Plural, with a subresource if needed, such as `nodes/status`.
    pub resource: String,
    /// The right is needed only if the cluster serves one of these `GROUP/VERSION`; always, if there is none.
    pub served_in: Vec<String>,
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { verb, group, resource, .. } = self;
        if group.is_empty() { write!(f, "{verb} {resource}") } else { write!(f, "{verb} {resource}.{group}") }
    }
}

pub async fn granted(client: &Client, rights: impl IntoIterator<Item = Right>) -> Result<(), ClusterError> {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let answers = futures::stream::iter(rights).map(|right| review(&reviews, right));
    let missing: Vec<Option<String>> = answers.buffered(CONCURRENCY).try_collect().await?;
    let missing: Vec<String> = missing.into_iter().flatten().collect();
    if missing.is_empty() { Ok(()) } else { Err(ClusterError::Rights { missing }) }
}

/// Returns `VERB RESOURCE.GROUP` if the user lacks the right.
async fn review(
    reviews: &Api<SelfSubjectAccessReview>,
    right: Right,
) -> Result<Option<String>, ClusterError> {
    let words = right.to_string();
    let (resource, subresource) = match right.resource.split_once('/') {
        Some((resource, subresource)) => (resource.to_owned(), Some(subresource.to_owned())),
        None => (right.resource, None),
    };
    let attributes = ResourceAttributes {
        verb: Some(right.verb.into()),
        group: Some(right.group),
        resource: Some(resource),
        subresource,
        ..ResourceAttributes::default()
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() },
        ..Default::default()
    };
    let answer = reviews
        .create(&PostParams::default(), &review)
        .await
        .map_err(ClusterError::during("query the rights of the kubeconfig's user"))?;
    Ok((!answer.status.is_some_and(|status| status.allowed)).then_some(words))
}
