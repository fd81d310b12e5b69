//! One run of a case on a target: its namespace, its nodes, and the verbs in which drivers speak.
//!
//! A driver acts and waits; it does not judge. What it learns that the API server does not keep (an admission answer,
//! "the barrier has passed") goes into the history as a mark. A wait that runs out stops the driver with everything
//! that is known about the moment; the judge still speaks about what happened until then.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::case::{Case, Nodes};
use super::cluster::Ground;
use super::expect::{self, Gang};
use super::history::{Header, History, Kind, Live};
use super::judge::RAN_OUT;
use super::limits::Limit;
use super::target::Target;
use super::{hyper_nodes, names, schedulers, situation};
use crate::cluster::kind::KindCluster;
use crate::cluster::local::LocalCluster;
use crate::cluster::nodes::{NodeSpec, PODS};
use crate::cluster::{ClusterError, deploy};

/// Why a driver stopped before its end.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// A named wait ran out: the judge decides whether that breaks a clause.
    #[error("waited {seconds:.1} s ({limit}) for: {condition}\n{situation}")]
    Wait {
        /// The condition's name.
        condition: String,
        /// The limit's name.
        limit: &'static str,
        /// How long.
        seconds: f64,
        /// The namespace at that moment.
        situation: String,
    },
    /// The API server refused something that the case needs.
    #[error("{action}: {reason}")]
    Refused {
        /// What was tried.
        action: String,
        /// What it said.
        reason: String,
    },
    /// The cluster failed.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

/// The mark that says how a driver stopped before its end, so that a replay judges as the run did.
pub const STOPPED: &str = "stopped";

impl Stop {
    /// As the detail of the mark [`STOPPED`].
    pub fn detail(&self) -> Value {
        json!({"cluster": matches!(self, Self::Cluster(_)), "reason": self.to_string()})
    }

    /// From the mark [`STOPPED`] of a history, if it has one.
    pub fn recorded(history: &History) -> Option<Self> {
        let (_, mark) = history.marks(STOPPED).next()?;
        let reason = mark.detail["reason"].as_str().unwrap_or_default().to_owned();
        Some(match mark.detail["cluster"] == true {
            true => Self::Cluster(ClusterError::Name(reason)),
            false => Self::Refused { action: "the driver stopped".into(), reason },
        })
    }
}

/// A case on a target.
pub struct Trial {
    /// The case.
    pub case: &'static Case,
    /// The target.
    pub target: Target,
    /// The cluster.
    pub ground: Arc<Ground>,
    /// Its namespace; its node pool has the same name.
    pub namespace: String,
    pub(super) scale: f64,
    submitted: BTreeMap<String, Value>,
    /// The nodes that it was given.
    pub(super) nodes: Vec<NodeSpec>,
    /// What it made that lies in no namespace.
    of_the_cluster: Mutex<Vec<Value>>,
    /// When its time began, and how much of it the harness spent on itself.
    pub overhead: Duration,
    /// From a gang's pods being in the scheduler's hands to the barrier having passed.
    pub negative_verdict: Option<Duration>,
}

impl std::fmt::Debug for Trial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trial({} on {} in {})", self.case.id, self.target, self.namespace)
    }
}

impl Trial {
    /// Makes the namespace and the nodes, as soon as there are enough for all that the case will ever need.
    ///
    /// # Errors
    /// [`Stop::Cluster`]; [`Stop::Wait`] if the scheduler's own picture of the topology does not take in the nodes.
    /// Nodes that it has by then are for the caller to take back.
    pub async fn begin(
        case: &'static Case,
        target: Target,
        ground: Arc<Ground>,
        namespace: String,
        scale: f64,
    ) -> Result<Self, Stop> {
        let all = case.nodes.iter().map(|nodes| nodes.count as usize).sum();
        ground.cluster.node_pools().reserve(&namespace, all).await?;
        let begin = Instant::now();
        let mut trial = Self {
            case,
            target,
            ground,
            namespace,
            scale,
            submitted: BTreeMap::new(),
            nodes: Vec::new(),
            of_the_cluster: Mutex::default(),
            overhead: Duration::ZERO,
            negative_verdict: None,
        };
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": trial.namespace, "labels": {names::RUN: trial.ground.run}}});
        deploy::create_unless_there(&trial.ground.client, &namespace).await?;
        match trial.nodes_join(0).await {
            // Volcano's domains are the backend's to make; where it does not, the judge says what comes of it.
            Err(Stop::Wait { .. }) if target == Target::Volcano => {}
            made => made?,
        }
        trial.overhead = begin.elapsed();
        Ok(trial)
    }

    /// Gives the trial the nodes that join at this step; returns when the target's scheduler knows what domains they are
    /// in.
    ///
    /// # Errors
    /// [`Stop::Cluster`]; [`Stop::Wait`] if their domains stay unknown.
    pub async fn nodes_join(&mut self, step: u32) -> Result<(), Stop> {
        let groups = self.case.nodes.iter().filter(|group| group.joining == step);
        let first = self.nodes.len();
        let joining: Vec<_> = groups
            .flat_map(|group| (0..group.count).map(move |_| group))
            .enumerate()
            .map(|(index, group)| self.node(group, first + index))
            .collect();
        let pools = self.ground.cluster.node_pools();
        let joined = pools.add(&self.namespace, joining, self.pods_are_scarce()).await?;
        self.nodes.extend(joined);
        self.until_domains_known().await
    }

    /// Whether the case counts pods, and not only GPUs.
    fn pods_are_scarce(&self) -> bool {
        self.case.nodes.iter().any(|group| group.pods != PODS)
    }

    fn node(&self, group: &Nodes, index: usize) -> NodeSpec {
        let mut labels = BTreeMap::from([
            (names::POOL.to_owned(), self.namespace.clone()),
            (names::RUN.to_owned(), self.ground.run.clone()),
        ]);
        // A rack stands in a block: some schedulers leave a node that lacks one level's label out of every level.
        let block = group.block.or(group.rack.map(|_| "block"));
        for (key, domain) in [(names::RACK, group.rack), (names::BLOCK, block)] {
            if let Some(domain) = domain {
                labels.insert(key.into(), self.domain(domain));
            }
        }
        NodeSpec {
            name: format!("{}-{index}", self.namespace),
            labels,
            taint: Some((names::POOL.into(), self.namespace.clone())),
            gpus: group.gpus,
            pods: group.pods,
        }
    }

    /// A domain's label value: the case's short name, made unique to the trial.
    pub fn domain(&self, short: &str) -> String {
        format!("{}-{short}", self.namespace)
    }

    /// A PodCliqueSet of the case's manifest, as it will be sent: on the trial's nodes, for the target's backend.
    ///
    /// # Errors
    /// [`Stop::Refused`] if the manifest has none of that name.
    pub fn manifest(&self, name: &str) -> Result<Value, Stop> {
        self.manifest_for(self.target, name)
    }

    /// The same for another target's backend.
    ///
    /// # Errors
    /// As [`Trial::manifest`].
    pub fn manifest_for(&self, target: Target, name: &str) -> Result<Value, Stop> {
        let refused = |reason: String| Stop::Refused {
            action: format!("read the manifest of {}", self.case.id),
            reason,
        };
        let documents = crate::yaml::documents(self.case.manifest).map_err(|e| refused(e.to_string()))?;
        documents
            .into_iter()
            .find(|document| document["metadata"]["name"] == name)
            .map(|document| self.at_home_for(target, document))
            .ok_or_else(|| refused(format!("it has no document named {name}")))
    }

    /// Moves a PodCliqueSet into the trial: namespace, node pool, and the target's backend unless it names another.
    pub fn at_home(&self, pcs: Value) -> Value {
        self.at_home_for(self.target, pcs)
    }

    fn at_home_for(&self, target: Target, mut pcs: Value) -> Value {
        pcs["metadata"]["namespace"] = self.namespace.clone().into();
        schedulers::of(target).claim(&mut pcs);
        let slot = self.ground.cluster.node_pools().slots().filter(|_| self.pods_are_scarce());
        for clique in pcs["spec"]["template"]["cliques"].as_array_mut().into_iter().flatten() {
            let pod = &mut clique["spec"]["podSpec"];
            pod["nodeSelector"][names::POOL] = self.namespace.clone().into();
            let toleration = json!({"key": names::POOL, "value": self.namespace, "effect": "NoSchedule"});
            match pod["tolerations"].as_array_mut() {
                Some(tolerations) => tolerations.push(toleration),
                None => pod["tolerations"] = json!([toleration]),
            }
            if let Some(slot) = slot {
                for amounts in ["requests", "limits"] {
                    pod["containers"][0]["resources"][amounts][slot] = "1".into();
                }
            }
        }
        pcs
    }

    /// Submits a PodCliqueSet of the case's manifest; its gangs as the contract derives them.
    ///
    /// # Errors
    /// [`Stop::Refused`] with admission's reason.
    pub async fn submit(&mut self, name: &str) -> Result<Vec<Gang>, Stop> {
        let pcs = self.manifest(name)?;
        self.submit_value(pcs).await
    }

    /// Submits a PodCliqueSet that the case has made itself.
    ///
    /// # Errors
    /// [`Stop::Refused`] with admission's reason.
    pub async fn submit_value(&mut self, pcs: Value) -> Result<Vec<Gang>, Stop> {
        let name = pcs["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        self.submitted.insert(name.clone(), pcs.clone());
        self.mark("submitted", json!({"name": name}));
        self.create("PodCliqueSet", &pcs).await?;
        Ok(expect::gangs(&pcs))
    }

    /// Sends an object to be created, whatever comes of it: `Ok` or the API server's refusal.
    ///
    /// # Errors
    /// [`Stop::Cluster`] if it did not answer.
    pub async fn attempt(
        &self,
        method: http::Method,
        kind: &str,
        name: &str,
        body: &Value,
    ) -> Result<Answer, Stop> {
        self.attempt_at(method, kind, name, "", body).await
    }

    async fn attempt_at(
        &self,
        method: http::Method,
        kind: &str,
        name: &str,
        tail: &str,
        body: &Value,
    ) -> Result<Answer, Stop> {
        let action = format!("{method} {kind} {name}");
        let wrong = |reason: String| Stop::Refused { action: action.clone(), reason };
        let kind = self.ground.recorder.kind(kind);
        let kind = kind.ok_or_else(|| wrong("the history does not hold this kind".into()))?;
        let collection = kind.path(Some(&self.namespace));
        let path =
            if method == http::Method::POST { collection } else { format!("{collection}/{name}{tail}") };
        let content =
            if method == http::Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, content)
            .body(if body.is_null() { Vec::new() } else { body.to_string().into_bytes() })
            .map_err(|e| wrong(e.to_string()))?;
        match self.ground.client.request::<Value>(request).await {
            Ok(object) => Ok(Answer::Accepted(object)),
            // A request that admission or validation denies is an answer; one that the API server or a webhook could not
            // deal with is a failing cluster.
            Err(kube::Error::Api(status)) if status.code < 500 && status.code != 429 => {
                Ok(Answer::Refused { code: status.code, message: status.message.clone() })
            }
            Err(source) => Err(ClusterError::api(action, source).into()),
        }
    }

    /// Creates an object. One that lies in no namespace is deleted with the trial.
    ///
    /// # Errors
    /// [`Stop::Refused`].
    pub async fn create(&self, kind: &str, object: &Value) -> Result<Value, Stop> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let made = self.attempt(http::Method::POST, kind, &name, object).await?;
        let mut made = made.accepted(format!("create {kind} {name}"))?;
        made["kind"] = kind.into();
        if Kind::named(kind).is_some_and(|kind| !kind.namespaced) {
            self.of_the_cluster.lock().unwrap_or_else(PoisonError::into_inner).push(made.clone());
        }
        Ok(made)
    }

    /// Deletes what it made that lies in no namespace, as far as it is still there; one that stays keeps no other.
    ///
    /// # Errors
    /// The last [`Stop::Cluster`].
    pub async fn clear_cluster(&self) -> Result<(), Stop> {
        let made = std::mem::take(&mut *self.of_the_cluster.lock().unwrap_or_else(PoisonError::into_inner));
        let mut cleared = Ok(());
        for object in made.iter().rev() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            // Nothing else that has the name by now.
            let this_one = json!({"apiVersion": "v1", "kind": "DeleteOptions",
                "preconditions": {"uid": object["metadata"]["uid"]}});
            let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
            let gone = self.attempt(http::Method::DELETE, &kind, &name, &this_one).await;
            cleared = gone.map(drop).and(cleared);
        }
        cleared
    }

    /// Merge-patches an object.
    ///
    /// # Errors
    /// [`Stop::Refused`].
    pub async fn patch(&self, kind: &str, name: &str, patch: Value) -> Result<Value, Stop> {
        self.attempt(http::Method::PATCH, kind, name, &patch).await?.accepted(format!("patch {kind} {name}"))
    }

    /// Merge-patches a subresource, e.g. `status`.
    ///
    /// # Errors
    /// [`Stop::Refused`].
    pub async fn patch_sub(
        &self,
        kind: &str,
        name: &str,
        subresource: &str,
        patch: Value,
    ) -> Result<Value, Stop> {
        let tail = format!("/{subresource}");
        self.attempt_at(http::Method::PATCH, kind, name, &tail, &patch)
            .await?
            .accepted(format!("patch {kind} {name}{tail}"))
    }

    /// Sets `spec.replicas` of a PodCliqueSet, PodCliqueScalingGroup or PodClique.
    ///
    /// # Errors
    /// [`Stop::Refused`].
    pub async fn scale(&self, kind: &str, name: &str, replicas: u32) -> Result<(), Stop> {
        self.mark("scaled", json!({"kind": kind, "name": name, "replicas": replicas}));
        self.patch(kind, name, json!({"spec": {"replicas": replicas}})).await.map(drop)
    }

    /// Deletes an object, in the background mode that kubectl uses.
    ///
    /// # Errors
    /// [`Stop::Refused`].
    pub async fn delete(&self, kind: &str, name: &str) -> Result<(), Stop> {
        self.mark("deleted", json!({"kind": kind, "name": name}));
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
        self.attempt(http::Method::DELETE, kind, name, &options)
            .await?
            .accepted(format!("delete {kind} {name}"))
            .map(drop)
    }

    /// Deletes a pod at once, as a node that vanished would.
    ///
    /// # Errors
    /// [`Stop::Refused`].
    pub async fn lose_pod(&self, name: &str) -> Result<(), Stop> {
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0});
        self.mark("pod lost", json!({"name": name}));
        self.attempt(http::Method::DELETE, "Pod", name, &options)
            .await?
            .accepted(format!("delete pod {name}"))
            .map(drop)
    }

    /// Adds a mark to the history: something that the judge needs to know and no object says.
    pub fn mark(&self, name: &str, detail: Value) {
        self.ground.recorder.mark(&self.namespace, name, detail);
    }

    /// Looks at the trial's namespace as it is now.
    pub fn look<T>(&self, at: impl FnOnce(&Live) -> T) -> T {
        self.ground.recorder.look(&self.namespace, at)
    }

    /// Waits until a condition holds of the namespace, by watching.
    ///
    /// # Errors
    /// [`Stop::Wait`] with the moment; [`Stop::Cluster`] if a part of the cluster has died meanwhile.
    pub async fn until(
        &self,
        condition: &str,
        limit: Limit,
        holds: impl Fn(&Live) -> bool,
    ) -> Result<(), Stop> {
        self.until_in(&self.namespace, condition, limit, holds).await
    }

    /// The same of the objects that lie in no namespace.
    ///
    /// # Errors
    /// As [`Trial::until`].
    pub async fn until_in_cluster(
        &self,
        condition: &str,
        limit: Limit,
        holds: impl Fn(&Live) -> bool,
    ) -> Result<(), Stop> {
        self.until_in("", condition, limit, holds).await
    }

    /// The same of any namespace.
    ///
    /// # Errors
    /// As [`Trial::until`].
    pub async fn until_in(
        &self,
        namespace: &str,
        condition: &str,
        limit: Limit,
        holds: impl Fn(&Live) -> bool,
    ) -> Result<(), Stop> {
        let length = limit.length.mul_f64(self.scale);
        let begin = Instant::now();
        let recorder = &self.ground.recorder;
        let mut changes = recorder.follow(namespace);
        let wait = async {
            while !recorder.look(namespace, &holds) {
                if changes.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        if tokio::time::timeout(length, wait).await.is_ok() {
            tracing::debug!(
                case = self.case.id,
                condition,
                seconds = begin.elapsed().as_secs_f64(),
                "reached"
            );
            return Ok(());
        }
        self.ground.cluster.healthy().await?;
        self.mark(RAN_OUT, json!({"condition": condition}));
        Err(Stop::Wait {
            condition: condition.into(),
            limit: limit.name,
            seconds: begin.elapsed().as_secs_f64(),
            situation: self.look(situation::describe),
        })
    }

    /// Waits until so many pods of the workload are bound.
    ///
    /// # Errors
    /// As [`Trial::until`].
    pub async fn until_bound(&self, count: usize) -> Result<(), Stop> {
        let condition = format!("{count} pods bound");
        self.until(&condition, super::limits::SCHEDULING, |live| live.bound() >= count).await
    }

    /// Waits until every pod of a PodGang that the target's gangs hold is in the scheduler's hands: all of them, or,
    /// where surplus stays gated until the hard gang is bound (KUBE-08, Koordinator), the hard gang alone.
    ///
    /// # Errors
    /// As [`Trial::until`].
    pub async fn until_released(&self, gang: &Gang) -> Result<(), Stop> {
        let count = match self.target {
            Target::KubePodGang | Target::Koordinator => gang.minimum(),
            _ => gang.pods(),
        };
        let condition = format!("{count} pods of {} released to the scheduler", gang.name);
        self.until(&condition, super::limits::REACTION, |live| {
            let of_gang = live.pods().filter(|pod| pod.pod_gang() == Some(&gang.name));
            of_gang.filter(|pod| pod.gates().is_empty()).count() >= count
        })
        .await
    }

    /// The local control plane, for cases that stop or restart a part of it ([`super::case::Lane::Alone`]).
    ///
    /// # Errors
    /// [`Stop::Cluster`] on a cluster of another provider.
    pub fn local(&self) -> Result<&LocalCluster, Stop> {
        Ok(self.ground.local()?)
    }

    /// The kind cluster, for cases that do something to a kubelet.
    ///
    /// # Errors
    /// [`Stop::Cluster`] on a cluster of another provider.
    pub fn kind(&self) -> Result<&KindCluster, Stop> {
        Ok(self.ground.kind()?)
    }

    /// Everything that happened to the trial so far.
    pub fn history(&self) -> History {
        let header = Header::new(self.case.id, self.target, &self.namespace, self.submitted.clone());
        let pool = self.namespace.clone();
        self.ground.recorder.history(header, |object| match object["kind"].as_str().unwrap_or_default() {
            "ClusterTopologyBinding" | "Topology" => true,
            "HyperNode" => hyper_nodes::mentions(object, &pool),
            _ => {
                object["metadata"]["labels"][names::POOL] == pool.as_str()
                    || object["metadata"]["name"] == pool.as_str()
            }
        })
    }
}

/// The API server's answer to an attempt.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Done; the object as it is now.
    Accepted(Value),
    /// Refused.
    Refused {
        /// HTTP status code.
        code: u16,
        /// Its message.
        message: String,
    },
}

impl Answer {
    /// The object, or a stop that says what was refused.
    ///
    /// # Errors
    /// [`Stop::Refused`].
    pub fn accepted(self, action: String) -> Result<Value, Stop> {
        match self {
            Self::Accepted(object) => Ok(object),
            Self::Refused { message, .. } => Err(Stop::Refused { action, reason: message }),
        }
    }
}
