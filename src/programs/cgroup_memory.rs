//! The memory that control groups leave to this process. A container may have a small limit.

use std::path::{Path, PathBuf};

struct Files {
    mount: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// The line of `memory.stat` with the cache that the kernel can drop immediately.
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

/// Returns the available MiB, the minimum of all groups that contain this process, or `None` without a limit.
pub(crate) fn available_mib() -> Option<u64> {
    available_below(Path::new("/"))
}

fn available_below(root: &Path) -> Option<u64> {
    let mut available = Vec::new();
    for line in std::fs::read_to_string(root.join("proc/self/cgroup")).ok()?.lines() {
        // A line is `0::/PATH` in version 2, and for example `5:memory:/PATH` in version 1.
        let Some((controllers, group)) = line.split_once(':').and_then(|(_, rest)| rest.split_once(':'))
        else {
            continue;
        };
        let files = match controllers {
            "" => VERSION_2,
            _ if controllers.split(',').any(|controller| controller == "memory") => VERSION_1,
            _ => continue,
        };
        // Try every parent: the path may be the host's, while a container's mount shows only its own group.
        for group in Path::new(group.trim_start_matches('/')).ancestors() {
            available.extend(files.available_in(&root.join(files.mount).join(group)));
        }
    }
    available.into_iter().min().map(|bytes| bytes / 1024 / 1024)
}

impl Files {
    fn available_in(&self, group: &Path) -> Option<u64> {
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
    fn inactive_file_cache_counts_as_available() {
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
    fn the_mount_of_a_container_may_show_only_its_own_group() {
        let root = machine(&[
            file("proc/self/cgroup", "9:cpu,cpuacct:/docker/1\n5:memory:/docker/1\n"),
            file("sys/fs/cgroup/memory/memory.limit_in_bytes", 4096 * MIB),
            file("sys/fs/cgroup/memory/memory.usage_in_bytes", 1024 * MIB),
        ]);
        assert_eq!(available_below(root.path()), Some(3072));
    }

    #[test]
    fn a_group_without_a_limit_reports_nothing() {
        let root = machine(&[file("proc/self/cgroup", "0::/\n")]);
        assert_eq!(available_below(root.path()), None);
    }
}
