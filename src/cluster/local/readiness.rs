use std::time::{Duration, Instant};

use conformance_contract::scheduler::Scheduler;
use conformance_install::part::Part;
use conformance_programs::process::Process;
use futures::future::try_join_all;
use kube::Client;

use super::LocalCluster;
use crate::ClusterError;
use crate::plain_http::{get, plain_client};

/// How long a part of the control plane may take to become ready. The speed of the machine is unknown then.
const CONTROL_PLANE: Duration = Duration::from_secs(180);
/// How long a scheduler may take to become ready before the cluster continues without it.
const SCHEDULER: Duration = Duration::from_secs(90);
/// How long a ready part may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

impl LocalCluster {
    /// Waits until the API server is ready. Fails early if a part exits.
    pub async fn apiserver_ready(&self) -> Result<(), ClusterError> {
        ready("the API server", &self.client(), "/readyz", CONTROL_PLANE, || self.dead()).await.map(drop)
    }

    pub(super) async fn apiserver_answers(&self) -> Result<(), ClusterError> {
        get(&self.client(), "/readyz", ANSWER).await.map(drop).map_err(|error| ClusterError::NotReady {
            what: "the API server".into(),
            seconds: ANSWER.as_secs(),
            last: error.to_string(),
        })
    }

    /// Waits until the operator is ready, and returns its readiness message. Fails early if a part exits.
    pub async fn controller_ready(&self) -> Result<String, ClusterError> {
        if let Some(operator) = &self.spec().operator {
            return self.operator_ready(operator).await;
        }
        let client = plain_client(self.layout.controller.health)?;
        ready("the backend controller", &client, "/readyz", CONTROL_PLANE, || self.dead()).await
    }

    pub async fn scheduler_ready(&self, scheduler: Scheduler) -> Result<(), ClusterError> {
        let parts: Vec<_> = self.spec().parts_of(scheduler).collect();
        let dead = || {
            let running = self.running_parts();
            parts.iter().find_map(|part| running.get(part).and_then(Process::death)).map(ClusterError::from)
        };
        try_join_all(parts.iter().map(|part| self.part_ready(*part, &dead))).await.map(drop)
    }

    pub async fn trainer_ready(&self) -> Result<(), ClusterError> {
        let parts: Vec<_> = self.spec().parts().filter(|part| part.is_of_trainer()).collect();
        let dead = || self.dead();
        try_join_all(parts.iter().map(|part| self.part_ready(*part, &dead))).await.map(drop)
    }

    async fn part_ready(
        &self,
        part: Part,
        dead: &(impl Fn() -> Option<ClusterError> + Sync),
    ) -> Result<(), ClusterError> {
        let Some(path) = part.process().and_then(|process| process.health) else { return Ok(()) };
        let client = plain_client(self.layout.home(part)?.health)?;
        ready(part.program(), &client, path, SCHEDULER, dead).await.map(drop)
    }
}

/// While etcd's database is full, etcd rejects all writes, but the API server is ready.
pub(super) async fn etcd_is_healthy(port: u16) -> Result<(), ClusterError> {
    get(&plain_client(port)?, "/health", ANSWER).await.map(drop).map_err(|error| ClusterError::Host {
        what: "etcd is not healthy",
        found: error.to_string(),
        advice: "if its database is full (NOSPACE), run fewer cases".into(),
    })
}

async fn ready(
    what: &str,
    client: &Client,
    path: &str,
    limit: Duration,
    dead: impl Fn() -> Option<ClusterError>,
) -> Result<String, ClusterError> {
    let begin = Instant::now();
    loop {
        let error = match get(client, path, Duration::from_secs(2)).await {
            Ok(text) => return Ok(text),
            Err(error) => error,
        };
        if let Some(death) = dead() {
            return Err(death);
        }
        if begin.elapsed() > limit {
            let last = error.to_string();
            return Err(ClusterError::NotReady { what: what.into(), seconds: limit.as_secs(), last });
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[rstest::rstest]
    #[case::healthy("200 OK", r#"{"health":"true","reason":""}"#, None)]
    #[case::full(
        "503 Service Unavailable",
        r#"{"health":"false","reason":"ALARM NOSPACE"}"#,
        Some("ALARM NOSPACE")
    )]
    #[tokio::test]
    async fn a_full_etcd_is_reported_with_its_alarm(
        #[case] status: &str,
        #[case] body: &str,
        #[case] alarm: Option<&str>,
    ) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let length = body.len();
        let response =
            format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            assert!(socket.read(&mut [0; 4096]).unwrap() > 0);
            socket.write_all(response.as_bytes()).unwrap();
        });
        let healthy = etcd_is_healthy(port).await.map_err(|error| error.to_string());
        server.join().unwrap();
        match alarm {
            None => assert_eq!(healthy, Ok(())),
            Some(alarm) => {
                assert!(healthy.as_ref().is_err_and(|error| error.contains(alarm)), "{healthy:?}");
            }
        }
    }
}
