//! Faults that mutants enable. Only a build with `--cfg mutants` contains them. In every other build `fault!`
//! is the constant `false`, so the program contains neither the code of a fault nor its name.

use std::sync::LazyLock;

use jiff::Timestamp;

#[cfg(mutants)]
pub(crate) use active::{activate, is_active, parse};

#[cfg(mutants)]
macro_rules! fault {
    ($name:literal) => {
        $crate::faults::is_active($name)
    };
}

#[cfg(not(mutants))]
macro_rules! fault {
    ($name:literal) => {
        false
    };
}

pub(crate) use fault;

pub(crate) static STARTED: LazyLock<Timestamp> = LazyLock::new(Timestamp::now);

#[cfg(mutants)]
mod active {
    use std::collections::BTreeSet;
    use std::sync::{LazyLock, OnceLock};

    use super::STARTED;

    /// A line for each fault: its name, what it does, and the clauses that it violates.
    const LIST: &str = include_str!("faults.txt");

    static ACTIVE: OnceLock<BTreeSet<String>> = OnceLock::new();

    pub(crate) fn parse(name: &str) -> Result<String, String> {
        let mut known = LIST.lines().filter_map(|line| line.split_once(": "));
        let is_known = known.any(|(known, _)| known == name);
        is_known
            .then(|| name.to_owned())
            .ok_or_else(|| format!("unknown fault {name:?}: src/faults.txt lists all faults"))
    }

    /// Must be called once, before the controller starts.
    pub(crate) fn activate(names: Vec<String>) {
        LazyLock::force(&STARTED);
        ACTIVE.get_or_init(|| names.into_iter().collect());
    }

    pub(crate) fn is_active(name: &str) -> bool {
        ACTIVE.get().is_some_and(|active| active.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    fn used_faults(folder: &Path) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(used_faults(&path));
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let code = std::fs::read_to_string(&path).unwrap();
                let calls = code.split("fault!(\"").skip(1);
                found.extend(calls.filter_map(|call| Some(call.split_once('"')?.0.to_owned())));
            }
        }
        found
    }

    #[test]
    fn every_fault_is_listed_and_used() {
        let line = |line: &str| line.split_once(": ").unwrap().0.to_owned();
        let listed: BTreeSet<_> = include_str!("faults.txt").lines().map(line).collect();
        assert_eq!(listed, used_faults(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")));
    }
}
