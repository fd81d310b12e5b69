use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
    /// Seconds and nanoseconds of the last status change: a new file may reuse the inode of the old one.
    changed: (i64, i64),
}

impl FileIdentity {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let found = std::fs::metadata(path)?;
        Ok(Self { device: found.dev(), inode: found.ino(), changed: (found.ctime(), found.ctime_nsec()) })
    }
}

/// The plugin's socket file. Dropping this value removes the file, unless another process has replaced it.
#[derive(Debug)]
pub(crate) struct OwnSocket {
    path: PathBuf,
    identity: FileIdentity,
}

impl OwnSocket {
    pub(crate) fn bind(path: PathBuf) -> io::Result<(Self, UnixListener)> {
        if let Err(error) = std::fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let listener = UnixListener::bind(&path)?;
        let identity = FileIdentity::of(&path)?;
        Ok((Self { path, identity }, listener))
    }

    pub(crate) fn exists(&self) -> bool {
        self.path.exists()
    }
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        if FileIdentity::of(&self.path).is_ok_and(|found| found == self.identity) {
            // If removal fails, the next plugin or kubelet removes the file.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_removed_on_drop() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.sock");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "a listener leaves its file");
        let (socket, _listener) = OwnSocket::bind(path.clone()).unwrap();
        assert!(socket.exists());
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_replaced_socket_file_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.sock");
        let (first, _listening) = OwnSocket::bind(path.clone()).unwrap();
        let (second, _listening_too) = OwnSocket::bind(path.clone()).unwrap();
        drop(first);
        assert!(second.exists());
    }

    #[tokio::test]
    async fn a_recreated_socket_has_another_identity() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubelet.sock");
        assert!(FileIdentity::of(&path).is_err());
        // Keep the listener open, so that the second file cannot get its inode.
        let _first = UnixListener::bind(&path).unwrap();
        let before = FileIdentity::of(&path).unwrap();
        assert_eq!(FileIdentity::of(&path).unwrap(), before);
        std::fs::remove_file(&path).unwrap();
        let _second = UnixListener::bind(&path).unwrap();
        assert_ne!(FileIdentity::of(&path).unwrap(), before);
    }
}
