//! Stores the results of a pod in chunks, because a ConfigMap holds at most 1 MiB. The head is a ConfigMap
//! with the number of chunks and their digest, and is written last. Readers ignore chunks without a head. The
//! digest does not match if some chunks come from an earlier pod of the same share.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, ResourceExt};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ClusterError;

/// Bytes of a chunk. The rest of 1 MiB is for metadata.
const CHUNK: usize = 768 * 1024;
/// Maximum number of bytes per pod, because etcd stores the archives of all pods.
pub const LIMIT: usize = 8 * 1024 * 1024;
const HEAD: &str = "conformance.grove.io/results";
const KEY: &str = "results";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    pub index: usize,
    pub shares: usize,
    pub chunks: usize,
    pub sha256: String,
    /// Text that lists what the archive omits to save space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub head: Head,
    pub archive: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Incomplete {
    #[error("its results {} are missing", .0.join(", "))]
    Missing(Vec<String>),
    #[error("its results are a mix of two pods' results")]
    Mixed,
}

fn head_name(index: usize) -> String {
    format!("results-{}", index + 1)
}

fn chunk_name(index: usize, chunk: usize) -> String {
    format!("results-{}-{}", index + 1, chunk + 1)
}

fn hexadecimal(archive: &[u8]) -> String {
    Sha256::digest(archive).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn split(index: usize, shares: usize, archive: &[u8], left_out: Option<String>) -> (Head, Vec<ConfigMap>) {
    let chunks: Vec<_> = archive
        .chunks(CHUNK)
        .enumerate()
        .map(|(chunk, bytes)| ConfigMap {
            metadata: kube::api::ObjectMeta { name: Some(chunk_name(index, chunk)), ..Default::default() },
            binary_data: Some([(KEY.to_owned(), ByteString(bytes.to_vec()))].into()),
            ..ConfigMap::default()
        })
        .collect();
    let head = Head { index, shares, chunks: chunks.len(), sha256: hexadecimal(archive), left_out };
    (head, chunks)
}

/// Stores an archive, and replaces the archive of an earlier pod of the same share.
pub async fn store(
    client: &Client,
    namespace: &str,
    (index, shares): (usize, usize),
    archive: &[u8],
    left_out: Option<String>,
) -> Result<(), ClusterError> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let (head, chunks) = split(index, shares, archive, left_out);
    let text = serde_json::to_string(&head)
        .map_err(|error| ClusterError::api("store results", kube::Error::SerdeError(error)))?;
    // Delete the head first, because readers ignore chunks without a head.
    delete(&maps, &head_name(index)).await?;
    for chunk in &chunks {
        replace(&maps, chunk).await?;
    }
    let head = ConfigMap {
        metadata: kube::api::ObjectMeta {
            name: Some(head_name(index)),
            labels: Some([(HEAD.to_owned(), "head".to_owned())].into()),
            ..Default::default()
        },
        data: Some([(KEY.to_owned(), text)].into()),
        ..ConfigMap::default()
    };
    replace(&maps, &head).await
}

async fn replace(maps: &Api<ConfigMap>, map: &ConfigMap) -> Result<(), ClusterError> {
    delete(maps, &map.name_any()).await?;
    let created = maps.create(&PostParams::default(), map).await;
    let failed = |source| ClusterError::api(format!("create ConfigMap {}", map.name_any()), source);
    created.map(drop).map_err(failed)
}

async fn delete(maps: &Api<ConfigMap>, name: &str) -> Result<(), ClusterError> {
    match maps.delete(name, &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        done => done.map(drop).map_err(ClusterError::during(format!("delete ConfigMap {name}"))),
    }
}

/// Returns the stored results of each share that has a head, by index. The results of a share are
/// [`Incomplete`] if chunks are missing or do not match the digest.
pub async fn fetch(
    client: &Client,
    namespace: &str,
) -> Result<BTreeMap<usize, Result<Stored, Incomplete>>, ClusterError> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let heads = maps
        .list(&ListParams::default().labels(&format!("{HEAD}=head")))
        .await
        .map_err(ClusterError::during(format!("list the results in {namespace}")))?;
    let mut fetched = BTreeMap::new();
    for map in heads {
        let text = map.data.as_ref().and_then(|data| data.get(KEY)).map_or("", String::as_str);
        let Ok(head) = serde_json::from_str::<Head>(text) else {
            return Err(ClusterError::Results { namespace: namespace.into(), name: map.name_any() });
        };
        let (index, mut archive, mut missing) = (head.index, Vec::new(), Vec::new());
        for chunk in 0..head.chunks {
            let name = chunk_name(index, chunk);
            let found = maps.get_opt(&name).await;
            let found = found.map_err(ClusterError::during(format!("get ConfigMap {name}")))?;
            match found.and_then(|found| found.binary_data?.remove(KEY)) {
                Some(ByteString(bytes)) => archive.extend(bytes),
                None => missing.push(name),
            }
        }
        let stored = if !missing.is_empty() {
            Err(Incomplete::Missing(missing))
        } else if hexadecimal(&archive) != head.sha256 {
            Err(Incomplete::Mixed)
        } else {
            Ok(Stored { head, archive })
        };
        fetched.insert(index, stored);
    }
    Ok(fetched)
}

#[cfg(test)]
#[path = "results_tests.rs"]
mod tests;
