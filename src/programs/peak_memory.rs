//! The peak resident memory of a process, in bytes.

pub fn of_process(pid: u32) -> Option<u64> {
    of(&pid.to_string())
}

pub fn own() -> Option<u64> {
    of("self")
}

fn of(process: &str) -> Option<u64> {
    in_status(&std::fs::read_to_string(format!("/proc/{process}/status")).ok()?)
}

fn in_status(status: &str) -> Option<u64> {
    bytes(status, "VmHWM:")
}

pub(crate) fn bytes(status: &str, field: &str) -> Option<u64> {
    let kilobytes = status.lines().find_map(|line| line.strip_prefix(field))?;
    kilobytes.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_converted_from_kilobytes() {
        assert_eq!(in_status("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"), Some(2 << 20));
        assert_eq!(in_status("Name:\tx\n"), None);
        assert!(own() > Some(1 << 20));
    }
}
