//! Leader election with a Lease (`coordination.k8s.io/v1`). A candidate measures how long the Lease has not
//! changed, and never compares clocks. A leader that cannot renew in time exits: another may have taken over.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Client;
use kube::api::{Api, PostParams};
use tokio::time::Instant;

use crate::faults::fault;

pub(super) const LEASE_NAME: &str = "grove-backend-controller";
const LEASE_DURATION: Duration = Duration::from_secs(15);
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
const RETRY_PERIOD: Duration = Duration::from_secs(2);

pub(super) struct Candidate {
    leases: Api<Lease>,
    identity: String,
    seen: Option<(LeaseSpec, Instant)>,
}

impl Candidate {
    pub(super) fn new(client: Client, namespace: &str, identity: String) -> Self {
        Self { leases: Api::namespaced(client, namespace), identity, seen: None }
    }

    pub(super) async fn lead(&mut self) {
        loop {
            if self.attempt_within(RENEW_DEADLINE).await == Some(true) {
                return tracing::info!(identity = self.identity, "this replica is the leader");
            }
            tokio::time::sleep(RETRY_PERIOD).await;
        }
    }

    pub(super) async fn keep(&mut self) {
        let mut renewed = Instant::now();
        while renewed.elapsed() < RENEW_DEADLINE {
            tokio::time::sleep(RETRY_PERIOD).await;
            // Other candidates measure from the write of the lease, which is later than this time.
            let started = Instant::now();
            match self.attempt_within(RENEW_DEADLINE.saturating_sub(renewed.elapsed())).await {
                Some(true) => renewed = started,
                Some(false) => break,
                None => {}
            }
        }
        tracing::error!(identity = self.identity, "this replica lost the lease and stops");
    }

    pub(super) async fn release(&mut self) {
        let Ok(Some(mut lease)) = self.leases.get_opt(LEASE_NAME).await else { return };
        let Some(spec) =
            lease.spec.as_mut().filter(|spec| spec.holder_identity.as_ref() == Some(&self.identity))
        else {
            return;
        };
        spec.holder_identity = None;
        if let Err(error) = self.leases.replace(LEASE_NAME, &PostParams::default(), &lease).await {
            tracing::debug!(%error, "cannot release the lease");
        }
    }

    async fn attempt_within(&mut self, limit: Duration) -> Option<bool> {
        match tokio::time::timeout(limit, self.attempt()).await {
            Ok(Ok(leads)) => return Some(leads),
            Ok(Err(error)) => tracing::warn!(%error, "cannot acquire or renew the lease"),
            Err(_) => tracing::warn!(?limit, "timed out while acquiring or renewing the lease"),
        }
        None
    }

    /// Returns false if another candidate holds the lease. Any other write to the lease causes a conflict,
    /// after which the lease is read once more. After a second conflict, the next attempt decides.
    async fn attempt(&mut self) -> Result<bool, kube::Error> {
        match self.take_or_renew().await {
            Err(kube::Error::Api(status)) if status.is_conflict() && fault!("lease-always-taken") => Ok(true),
            Err(kube::Error::Api(status)) if status.is_conflict() => {
                tracing::debug!(
                    reason = status.message,
                    "another candidate wrote the lease; reading the lease again"
                );
                self.take_or_renew().await
            }
            result => result,
        }
    }

    async fn take_or_renew(&mut self) -> Result<bool, kube::Error> {
        let Some(mut lease) = self.leases.get_opt(LEASE_NAME).await? else {
            let lease = Lease {
                metadata: ObjectMeta { name: Some(LEASE_NAME.to_owned()), ..ObjectMeta::default() },
                spec: Some(renewed(None, &self.identity)),
            };
            return self.leases.create(&PostParams::default(), &lease).await.map(|_| true);
        };
        let spec = lease.spec.clone().unwrap_or_default();
        if self.seen.as_ref().is_none_or(|(seen, _)| *seen != spec) {
            self.seen = Some((spec.clone(), Instant::now()));
        }
        let unchanged = self.seen.as_ref().map_or(Duration::ZERO, |(_, since)| since.elapsed());
        if !may_take(&spec, &self.identity, unchanged) && !fault!("lease-always-taken") {
            return Ok(false);
        }
        lease.spec = Some(renewed(Some(&spec), &self.identity));
        self.leases.replace(LEASE_NAME, &PostParams::default(), &lease).await.map(|_| true)
    }
}

fn may_take(lease: &LeaseSpec, identity: &str, unchanged: Duration) -> bool {
    let duration =
        lease.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs);
    match lease.holder_identity.as_deref() {
        None | Some("") => true,
        Some(holder) => holder == identity || unchanged > duration.unwrap_or(LEASE_DURATION),
    }
}

fn renewed(old: Option<&LeaseSpec>, identity: &str) -> LeaseSpec {
    let now = MicroTime(Timestamp::now());
    let same = old.filter(|old| old.holder_identity.as_deref() == Some(identity));
    let transitions = old.map_or(0, |old| old.lease_transitions.unwrap_or(0) + i32::from(same.is_none()));
    LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        lease_duration_seconds: i32::try_from(LEASE_DURATION.as_secs()).ok(),
        acquire_time: same.and_then(|old| old.acquire_time.clone()).or_else(|| Some(now.clone())),
        renew_time: Some(now),
        lease_transitions: Some(transitions),
        ..LeaseSpec::default()
    }
}

#[cfg(test)]
mod tests {
    use http::{Method, Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use tower_test::mock;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_leader_without_responses_gives_up_before_its_lease_expires() {
        let (service, _silent) = mock::pair::<Request<Body>, Response<Body>>();
        let mut candidate = candidate(Client::new(service, "default"));
        assert!(tokio::time::timeout(LEASE_DURATION, candidate.keep()).await.is_ok());
    }

    fn candidate(client: Client) -> Candidate {
        Candidate::new(client, "ns", "me".to_owned())
    }

    #[tokio::test]
    async fn a_lease_of_another_candidate_is_not_taken() {
        let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
        tokio::spawn(async move {
            while let Some((request, send)) = handle.next_request().await {
                let (code, body): (u16, _) = match *request.method() {
                    Method::GET => {
                        let spec = json!({"holderIdentity": "other", "leaseDurationSeconds": 15});
                        (200, json!({"metadata": {"name": LEASE_NAME, "resourceVersion": "1"}, "spec": spec}))
                    }
                    _ => {
                        let reason = json!("Conflict");
                        (409, json!({"kind": "Status", "status": "Failure", "reason": reason, "code": 409}))
                    }
                };
                let body = Body::from(serde_json::to_vec(&body).unwrap());
                send.send_response(Response::builder().status(code).body(body).unwrap());
            }
        });
        let mut candidate = candidate(Client::new(service, "default"));
        assert!(!candidate.attempt().await.unwrap());
    }

    /// Each read returns the next of `holders`. The first `refusals` writes fail with a conflict.
    async fn conflicts(
        holders: &'static [&'static str],
        mut refusals: usize,
        mut handle: mock::Handle<Request<Body>, Response<Body>>,
    ) {
        let mut reads = 0;
        while let Some((request, send)) = handle.next_request().await {
            let holder = holders[reads.min(holders.len() - 1)];
            let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": 15});
            let lease = json!({"metadata": {"name": LEASE_NAME, "resourceVersion": "1"}, "spec": spec});
            let (code, body) = match *request.method() {
                Method::GET => {
                    reads += 1;
                    (200, lease)
                }
                _ if refusals == 0 => (200, lease),
                _ => {
                    refusals -= 1;
                    (409, json!({"kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409}))
                }
            };
            let body = Body::from(serde_json::to_vec(&body).unwrap());
            send.send_response(Response::builder().status(code).body(body).unwrap());
        }
    }

    /// The expected result of the attempt. `None` means that the attempt failed, so that a leader retries.
    #[rstest::rstest]
    #[case::no_conflict(&["me"], 0, Some(true))]
    #[case::still_the_holder(&["me"], 1, Some(true))]
    #[case::not_the_holder_any_more(&["me", "other"], 1, Some(false))]
    #[case::two_conflicts(&["me"], 2, None)]
    #[case::another_was_faster(&["", "other"], 1, Some(false))]
    #[tokio::test]
    async fn after_a_conflict_the_new_holder_decides(
        #[case] holders: &'static [&'static str],
        #[case] refusals: usize,
        #[case] leads: Option<bool>,
    ) {
        let (service, handle) = mock::pair::<Request<Body>, Response<Body>>();
        tokio::spawn(conflicts(holders, refusals, handle));
        let mut candidate = candidate(Client::new(service, "default"));
        assert_eq!(candidate.attempt_within(RENEW_DEADLINE).await, leads);
    }

    #[rstest::rstest]
    #[case::free(None, 0, true)]
    #[case::released(Some(""), 0, true)]
    #[case::own(Some("me"), 0, true)]
    #[case::held(Some("other"), 14, false)]
    #[case::expired(Some("other"), 16, true)]
    fn a_lease_is_taken_only_if_it_is_free_or_expired(
        #[case] holder: Option<&str>,
        #[case] unchanged: u64,
        #[case] taken: bool,
    ) {
        let lease = LeaseSpec {
            holder_identity: holder.map(str::to_owned),
            lease_duration_seconds: Some(15),
            ..LeaseSpec::default()
        };
        assert_eq!(may_take(&lease, "me", Duration::from_secs(unchanged)), taken);
    }

    #[test]
    fn transitions_count_changes_of_the_holder() {
        let first = renewed(None, "a");
        let again = renewed(Some(&first), "a");
        let other = renewed(Some(&again), "b");
        assert_eq!(
            [&first, &again, &other].map(|lease| lease.lease_transitions),
            [Some(0), Some(0), Some(1)]
        );
        assert_eq!(first.acquire_time, again.acquire_time);
    }
}
