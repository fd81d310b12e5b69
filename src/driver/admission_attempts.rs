//! Admission tests: the driver records the response to every [`Attempt`], and a check decides later.

use std::time::Instant;

use conformance_cluster::ClusterError;
use conformance_contract::names;
use conformance_contract::scheduler::EXTERNAL_SCHEDULER;
use conformance_contract::target::{TARGETS, Target};
use conformance_expect::schedulers;
use conformance_facts::attempts::{Attempt, Reply};
use conformance_history::{Kind, SharedMark};
use http::{Method, header};
use kube::client::Body;
use serde_json::{Map, Value, json};

use crate::context::{Stop, TestContext};
use crate::diagnostics;
use crate::limits::{Limit, PACE};

const DRY_RUN: &str = "?dryRun=All";
/// Maximum number of retries of an update that the API server answers with 409 Conflict.
const CONFLICTS: usize = 10;

/// One target per backend, in the order of probing: External first, because it needs no running scheduler.
fn backends() -> Vec<Target> {
    let mut backends = vec![Target::EXTERNAL];
    for target in TARGETS {
        if backends.iter().all(|other| other.backend() != target.backend()) {
            backends.push(target);
        }
    }
    backends
}

pub fn template(pcs: &mut Value) -> &mut Value {
    &mut pcs["spec"]["template"]
}

pub fn clique(pcs: &mut Value, index: usize) -> &mut Value {
    &mut pcs["spec"]["template"]["cliques"][index]
}

pub fn group(pcs: &mut Value, index: usize) -> &mut Value {
    &mut pcs["spec"]["template"]["podCliqueScalingGroups"][index]
}

pub fn on(pcs: &mut Value, scheduler: &str) {
    for clique in template(pcs)["cliques"].as_array_mut().into_iter().flatten() {
        clique["spec"]["podSpec"]["schedulerName"] = scheduler.into();
    }
}

pub fn required(domain: &str) -> Value {
    json!({"topologyName": names::TOPOLOGY, "pack": {"required": domain}})
}

impl TestContext {
    /// Sends a create of `base` for each variation. A variation that sets no name gets a generated name.
    pub async fn attempt_creates(&self, base: &Value, attempts: &[Attempt]) -> Result<(), Stop> {
        self.send_creates(base, attempts, "").await
    }

    /// Like [`TestContext::attempt_creates`], but stores nothing.
    pub async fn attempt_dry_creates(&self, base: &Value, attempts: &[Attempt]) -> Result<(), Stop> {
        self.send_creates(base, attempts, DRY_RUN).await
    }

    pub async fn dry_run_create(&self, object: &Value) -> Result<Reply, Stop> {
        self.send(Method::POST, DRY_RUN, object).await
    }

    async fn send_creates(&self, base: &Value, attempts: &[Attempt], query: &str) -> Result<(), Stop> {
        for (number, attempt) in attempts.iter().enumerate() {
            let reply = self.send(Method::POST, query, &variation(base, number, attempt)).await?;
            self.record_reply(attempt, &reply);
        }
        Ok(())
    }

    /// Sends each variation of the stored PodCliqueSet `name` as a merge patch against its current state.
    pub async fn attempt_updates(&self, name: &str, attempts: &[Attempt]) -> Result<(), Stop> {
        self.send_updates(name, attempts, "").await
    }

    /// Like [`TestContext::attempt_updates`], but every variation starts from the same object.
    pub async fn attempt_dry_updates(&self, name: &str, attempts: &[Attempt]) -> Result<(), Stop> {
        self.send_updates(name, attempts, DRY_RUN).await
    }

    async fn send_updates(&self, name: &str, attempts: &[Attempt], query: &str) -> Result<(), Stop> {
        for attempt in attempts {
            let mut retries = 0..CONFLICTS;
            let reply = loop {
                let reply = self.send_update(name, attempt, query).await?;
                if reply.code != http::StatusCode::CONFLICT || retries.next().is_none() {
                    break reply;
                }
            };
            self.record_reply(attempt, &reply);
        }
        Ok(())
    }

    /// Sends the change as a merge patch, which replaces a whole list such as the finalizers. Without the
    /// resourceVersion, the patch could restore a finalizer that the operator has just removed.
    async fn send_update(&self, name: &str, attempt: &Attempt, query: &str) -> Result<Reply, Stop> {
        let stored = self.attempt(Method::GET, "PodCliqueSet", name, &Value::Null).await?;
        let stored = stored.accepted(format!("read PodCliqueSet {name}"))?;
        let mut edited = stored.clone();
        attempt.edit.apply(&mut edited);
        let mut patch = merge_patch(&stored, &edited);
        patch["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
        self.send(Method::PATCH, &format!("/{name}{query}"), &patch).await
    }

    /// Deletes a PodCliqueSet in mode `Background` or `Foreground`, and records the response.
    pub async fn attempt_delete(&self, name: &str, attempt: &Attempt, mode: &str) -> Result<(), Stop> {
        self.mark(SharedMark::Deleted, json!({"kind": "PodCliqueSet", "name": name}));
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": mode});
        let reply = self.send(Method::DELETE, &format!("/{name}"), &options).await?;
        self.record_reply(attempt, &reply);
        Ok(())
    }

    /// Repeats each create as a dry run until the response is the expected one, because the operator may
    /// first have to detect a change. Records the last response to each create.
    pub async fn retry_creates_until(
        &self,
        base: &Value,
        attempts: &[Attempt],
        limit: Limit,
    ) -> Result<(), Stop> {
        let begin = Instant::now();
        for (number, attempt) in attempts.iter().enumerate() {
            let pcs = variation(base, number, attempt);
            loop {
                let reply = self.send(Method::POST, DRY_RUN, &pcs).await?;
                let wrong = attempt.wrong(&reply);
                let late = begin.elapsed() > self.length_since(limit, begin);
                if wrong.is_none() || late {
                    self.record_reply(attempt, &reply);
                }
                match wrong {
                    None => break,
                    Some(wrong) if late => {
                        let condition = format!("{}: {wrong}", attempt.title);
                        return Err(self.timeout(condition, limit, begin, self.look(diagnostics::describe)));
                    }
                    Some(_) => tokio::time::sleep(PACE).await,
                }
            }
        }
        Ok(())
    }

    /// Finds a backend for a second workload, and records it in [`SharedMark::AnotherBackend`]. If the
    /// harness wrote the operator's configuration, this is External. Otherwise it is the first backend whose
    /// PodCliqueSet admission accepts; the target's own backend is tried last.
    pub async fn another_backend(
        &self,
        is_suitable: impl Fn(Target) -> bool,
    ) -> Result<Option<Target>, Stop> {
        if !self.test_cluster.configured_by_others {
            self.mark(SharedMark::AnotherBackend, json!({"scheduler": EXTERNAL_SCHEDULER, "foreign": false}));
            return Ok(Some(Target::EXTERNAL));
        }
        let mut refused = Vec::new();
        for target in backends().into_iter().chain([self.target]).filter(|target| is_suitable(*target)) {
            let reply = self.send(Method::POST, DRY_RUN, &probe(target)).await?;
            if reply.is_admitted() {
                self.mark(
                    SharedMark::AnotherBackend,
                    json!({"scheduler": target.backend(), "foreign": true}),
                );
                return Ok(Some(target));
            }
            refused.push(json!({"scheduler": target.backend(), "reply": reply}));
        }
        self.mark(SharedMark::AnotherBackend, json!({"asked": refused, "foreign": true}));
        Ok(None)
    }

    fn record_reply(&self, attempt: &Attempt, reply: &Reply) {
        self.mark(SharedMark::Attempt, json!({"title": attempt.title, "reply": reply}));
    }

    /// Sends a request to the path of the kind of `body`, or to that of PodCliqueSets if `body` has no kind.
    async fn send(&self, method: Method, tail: &str, body: &Value) -> Result<Reply, Stop> {
        let verb = match method {
            Method::PATCH => "update",
            Method::DELETE => "delete",
            _ => "create",
        };
        let kind = Kind::of_object(body).or_else(|| Kind::named("PodCliqueSet"));
        let action = format!("{verb} a {}", kind.map_or("PodCliqueSet", Kind::kind));
        let refused = |reason: String| Stop::Refused { action: action.clone(), reason };
        let kind = kind.ok_or_else(|| refused("histories do not record this kind".into()))?;
        let content =
            if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder()
            .method(method)
            .uri(format!("{}{tail}", kind.path(Some(&self.namespace))))
            .header(header::CONTENT_TYPE, content)
            .body(Body::from(body.to_string().into_bytes()))
            .map_err(|e| refused(e.to_string()))?;
        let failed = |source: kube::Error| ClusterError::api(action.clone(), source);
        let response = self.test_cluster.client.send(request).await.map_err(failed)?;
        let code = response.status().as_u16();
        let warnings = response.headers().get_all(header::WARNING).iter();
        let warnings = warnings.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
        let answer = response.into_body().collect_bytes().await.map_err(failed)?;
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let path = tail.split('?').next().unwrap_or_default().trim_start_matches('/');
        let name = [&body["metadata"]["name"], &path.into()].map(text);
        let name = name.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        Ok(Reply { name, verb: verb.into(), code, message: text(&answer["message"]), warnings })
    }
}

fn probe(target: Target) -> Value {
    let clique = json!({"name": "a", "spec": {"roleName": "a", "replicas": 1, "podSpec": {
        "containers": [{"name": "worker", "image": "registry.k8s.io/pause:3.10"}],
    }}});
    let mut pcs = json!({
        "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": "probe"},
        "spec": {"replicas": 0, "template": {"cliques": [clique]}},
    });
    schedulers::of(target).assign(&mut pcs);
    schedulers::of(target).add_requests(&mut pcs);
    pcs
}

/// The `x` prevents collisions with names that an operator derives from the name of `base`.
fn variation(base: &Value, number: usize, attempt: &Attempt) -> Value {
    let mut pcs = base.clone();
    let name = base["metadata"]["name"].as_str().unwrap_or_default();
    pcs["metadata"]["name"] = format!("{name}-x{number}").into();
    attempt.edit.apply(&mut pcs);
    pcs
}

/// Returns the merge patch (RFC 7386) that turns `before` into `after`.
fn merge_patch(before: &Value, after: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (before, after) else { return after.clone() };
    let removed = old.keys().filter(|key| !new.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let changed = new.iter().filter(|(key, value)| old.get(*key) != Some(*value));
    let changed = changed.map(|(key, value)| {
        let patch = old.get(key).map_or_else(|| value.clone(), |old| merge_patch(old, value));
        (key.clone(), patch)
    });
    Value::Object(removed.chain(changed).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_contract::names::DEFAULT_SCHEDULER;

    #[test]
    fn a_probe_selects_its_backend_by_name() {
        for target in backends() {
            let clique = &probe(target)["spec"]["template"]["cliques"][0];
            let named = clique["spec"]["podSpec"]["schedulerName"].as_str().unwrap_or(DEFAULT_SCHEDULER);
            assert_eq!(named, target.backend());
        }
    }

    #[test]
    fn a_patch_contains_only_changed_fields() {
        let before =
            json!({"spec": {"replicas": 0, "template": {"cliques": [{"name": "a"}], "topology": {}}}});
        let mut after = before.clone();
        assert_eq!(merge_patch(&before, &after), json!({}));
        template(&mut after)["cliques"][0]["name"] = "b".into();
        if let Some(template) = template(&mut after).as_object_mut() {
            template.remove("topology");
        }
        let patch = json!({"spec": {"template": {"cliques": [{"name": "b"}], "topology": null}}});
        assert_eq!(merge_patch(&before, &after), patch);
    }
}
