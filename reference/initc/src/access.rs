//! The files with which the pod reaches the API server. The pod may start before Kubernetes has written the
//! token into the Secret that it mounts. The kubelet then adds the files to the running pod.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;

pub(crate) const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

const FILES: [&str; 3] = ["ca.crt", "namespace", "token"];
const LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(500);

pub(crate) async fn until_present(folder: &Path) -> anyhow::Result<()> {
    let Some(file) = missing(folder) else { return Ok(()) };
    tracing::info!(file = %file.display(), "waiting for the token of the ServiceAccount");
    let present = async {
        while missing(folder).is_some() {
            tokio::time::sleep(POLL).await;
        }
    };
    if tokio::time::timeout(LIMIT, present).await.is_ok() {
        return Ok(());
    }
    let (file, limit) = (missing(folder).unwrap_or(file), LIMIT.as_secs());
    bail!(
        "{} is still missing or empty after {limit} s: check the Secret that the pod mounts",
        file.display()
    )
}

fn missing(folder: &Path) -> Option<PathBuf> {
    let has_content = |file: &PathBuf| std::fs::metadata(file).is_ok_and(|found| found.len() > 0);
    FILES.iter().map(|file| folder.join(file)).find(|file| !has_content(file))
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    /// A folder with the CA, the namespace and this token.
    fn folder(name: &str, token: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("grove-initc-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (file, content) in [("ca.crt", "ca"), ("namespace", "ns"), ("token", token)] {
            std::fs::write(folder.join(file), content).unwrap();
        }
        folder
    }

    async fn seconds(folder: &Path) -> (anyhow::Result<()>, u64) {
        let start = Instant::now();
        let found = until_present(folder).await;
        (found, start.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_present_token_needs_no_wait() {
        let folder = folder("present", "t");
        let (found, seconds) = seconds(&folder).await;
        std::fs::remove_dir_all(folder).unwrap();
        assert_eq!((found.is_ok(), seconds), (true, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_token_is_awaited() {
        let folder = folder("late", "");
        let write = async {
            sleep(Duration::from_secs(20)).await;
            std::fs::write(folder.join("token"), "t").unwrap();
        };
        let ((found, seconds), ()) = tokio::join!(seconds(&folder), write);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(found.is_ok() && (20..22).contains(&seconds), "{found:?} after {seconds} s");
    }

    #[tokio::test(start_paused = true)]
    async fn the_error_names_the_file_that_stays_empty() {
        let folder = folder("never", "");
        std::fs::remove_file(folder.join("ca.crt")).unwrap();
        let write = async {
            sleep(Duration::from_secs(20)).await;
            std::fs::write(folder.join("ca.crt"), "ca").unwrap();
        };
        let ((found, seconds), ()) = tokio::join!(seconds(&folder), write);
        std::fs::remove_dir_all(&folder).unwrap();
        let error = found.unwrap_err().to_string();
        assert!(error.contains("/token is still missing or empty after 60 s"), "{error}");
        assert!((60..62).contains(&seconds), "after {seconds} s");
    }
}
