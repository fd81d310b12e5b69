//! The limit of open files, which is 1024 in most shells. Each watch and each concurrent request needs one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of this process as far as its user may.
pub fn raise_limit() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!(%error, "failed to raise the limit of open files");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_to_the_maximum() {
        let maximum = getrlimit(Resource::Nofile).maximum;
        let lower = Some(maximum.map_or(4096, |maximum| maximum - 1));
        setrlimit(Resource::Nofile, Rlimit { current: lower, maximum }).unwrap();
        raise_limit();
        assert_eq!(getrlimit(Resource::Nofile).current, maximum);
    }
}
