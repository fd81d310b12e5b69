//! Socket files: the plugin's own, and whether a socket is still the one that it was.
//!
//! A kubelet that starts removes every socket in the folder and makes its own anew. Both are seen from the files alone;
//! when to look is `plugin`'s. The protocol on a socket is not this module's concern.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

/// What tells a file from another of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
    /// Seconds and nanoseconds of the last status change: a new file may get the inode of the old one.
    changed: (i64, i64),
}

impl FileIdentity {
    /// Of the file at `path`.
    ///
    /// # Errors
    /// There is none, or it may not be looked at.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let found = std::fs::metadata(path)?;
        Ok(Self { device: found.dev(), inode: found.ino(), changed: (found.ctime(), found.ctime_nsec()) })
    }
}

/// The plugin's socket file. It goes with this value, unless it is another's by then.
#[derive(Debug)]
pub(crate) struct OwnSocket {
    path: PathBuf,
    identity: FileIdentity,
}

impl OwnSocket {
    /// Listens at `path`. A socket that a killed plugin has left there is removed first.
    ///
    /// # Errors
    /// The folder is not there or may not be written to, or the path is too long for a socket.
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

    /// Whether a kubelet can still find it.
    pub(crate) fn is_there(&self) -> bool {
        self.path.exists()
    }
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        if FileIdentity::of(&self.path).is_ok_and(|found| found == self.identity) {
            // Should it stay, the next plugin or kubelet removes it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_the_own_one_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.sock");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "a listener leaves its file");
        let (socket, _listener) = OwnSocket::bind(path.clone()).unwrap();
        assert!(socket.is_there());
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_socket_that_has_another_owner_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.sock");
        let (first, _listening) = OwnSocket::bind(path.clone()).unwrap();
        let (second, _listening_too) = OwnSocket::bind(path.clone()).unwrap();
        drop(first);
        assert!(second.is_there());
    }

    #[tokio::test]
    async fn a_socket_made_anew_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubelet.sock");
        assert!(FileIdentity::of(&path).is_err());
        // Kept, so that its inode is not given to the second.
        let _first = UnixListener::bind(&path).unwrap();
        let before = FileIdentity::of(&path).unwrap();
        assert_eq!(FileIdentity::of(&path).unwrap(), before);
        std::fs::remove_file(&path).unwrap();
        let _second = UnixListener::bind(&path).unwrap();
        assert_ne!(FileIdentity::of(&path).unwrap(), before);
    }
}
