//! The memory that control groups leave to this process. A container on a large machine may have little.

use std::path::{Path, PathBuf};

/// The files of one version of control groups, below the folder where they are mounted.
struct Files {
    mount: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// The line of `memory.stat` with the cache that the kernel can drop at once.
    cache: &'static str,
}

const VERSION_1: Files = Files {
    mount: "sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    cache: "total_inactive_file",
};
const VERSION_2: Files =
    Files { mount: "sys/fs/cgroup", limit: "memory.max", usage: "memory.current", cache: "inactive_file" };

/// The memory left in the tightest group of this process, in MiB; `None` without a limit.
pub(crate) fn available_mib() -> Option<u64> {
    available_below(Path::new("/"))
}

fn available_below(root: &Path) -> Option<u64> {
    let groups = std::fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let left = groups.lines().filter_map(|line| {
        // `0::/path` is version 2, `5:memory:/path` version 1.
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let files = match controllers {
            "" => VERSION_2,
            _ if controllers.split(',').any(|controller| controller == "memory") => VERSION_1,
            _ => return None,
        };
        // In a container, the path may be the host's path while the mount shows the container's own group.
        Path::new(group.trim_start_matches('/'))
            .ancestors()
            .filter_map(|group| files.left_in(&root.join(files.mount).join(group)))
            .min()
    });
    left.min().map(|bytes| bytes / 1024 / 1024)
}

impl Files {
    fn left_in(&self, group: &Path) -> Option<u64> {
        let number = |file: PathBuf| std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
        let limit = number(group.join(self.limit))?;
        let usage = number(group.join(self.usage))?;
        let statistics = std::fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let cache =
            statistics.lines().find_map(|line| line.strip_prefix(self.cache)?.trim().parse::<u64>().ok());
        Some(limit.saturating_sub(usage.saturating_sub(cache.unwrap_or(0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;

    fn machine(files: &[(&str, String)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        root
    }

    fn file(path: &'static str, content: impl ToString) -> (&'static str, String) {
        (path, content.to_string())
    }

    #[test]
    fn cache_that_can_be_dropped_is_available() {
        let root = machine(&[
            file("proc/self/cgroup", "0::/user/run\n"),
            file("sys/fs/cgroup/user/run/memory.max", "max\n"),
            file("sys/fs/cgroup/user/memory.max", 3072 * MIB),
            file("sys/fs/cgroup/user/memory.current", 2048 * MIB),
            file("sys/fs/cgroup/user/memory.stat", format!("inactive_anon 7\ninactive_file {}\n", 512 * MIB)),
        ]);
        assert_eq!(available_below(root.path()), Some(1536));
    }

    #[test]
    fn a_container_sees_its_own_group_at_the_mount() {
        let root = machine(&[
            file("proc/self/cgroup", "9:cpu,cpuacct:/docker/1\n5:memory:/docker/1\n"),
            file("sys/fs/cgroup/memory/memory.limit_in_bytes", 4096 * MIB),
            file("sys/fs/cgroup/memory/memory.usage_in_bytes", 1024 * MIB),
        ]);
        assert_eq!(available_below(root.path()), Some(3072));
    }

    #[test]
    fn without_a_limit_nothing_is_known() {
        let root = machine(&[file("proc/self/cgroup", "0::/\n")]);
        assert_eq!(available_below(root.path()), None);
    }
}
