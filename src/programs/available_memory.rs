use crate::cgroup_memory;

/// The available memory in MiB: that of the machine, or that of this process's control group if it is less.
pub fn in_mib() -> Option<u64> {
    let of_machine = available_in(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    Some(cgroup_memory::available_mib().map_or(of_machine, |of_group| of_group.min(of_machine)))
}

fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("MemTotal:       24000000 kB\nMemAvailable:    2097152 kB\n", Some(2048))]
    #[case("MemTotal:       24000000 kB\n", None)]
    #[case("MemAvailable: much\n", None)]
    fn available_memory_is_read_from_meminfo(#[case] text: &str, #[case] mib: Option<u64>) {
        assert_eq!(available_in(text), mib);
    }
}
