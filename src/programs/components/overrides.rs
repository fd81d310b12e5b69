use std::collections::BTreeMap;
use std::path::PathBuf;

use super::component::Component;
use crate::ProgramError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replacement {
    File(PathBuf),
    Version(&'static Component),
}

pub type Overrides = BTreeMap<String, Replacement>;

pub fn to_build_for(component: &'static Component, overrides: &Overrides) -> Option<&'static Component> {
    match overrides.get(component.name) {
        None => Some(component),
        Some(Replacement::Version(other)) => Some(*other),
        Some(Replacement::File(_)) => None,
    }
}

pub fn reject_unknown_overrides(
    overrides: &Overrides,
    components: impl Iterator<Item = &'static Component>,
) -> Result<(), ProgramError> {
    let known: Vec<_> = components.map(|component| component.name).collect();
    for (name, replacement) in overrides {
        if let Replacement::File(path) = replacement
            && !known.contains(&name.as_str())
        {
            let reason = format!("unknown component; known: {}", known.join(", "));
            return Err(ProgramError::Override { name: name.clone(), path: path.clone(), reason });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::component::Module;
    use super::super::testing::{module, program};
    use super::*;

    static MODULE: Module = module("", None);
    static PINNED: Component = program("etcd", "v3.6.10", "m", &MODULE);
    static OTHER: Component = program("etcd", "v3.6.9", "m", &MODULE);

    #[test]
    fn a_replaced_program_is_not_built_from_its_pins() {
        let with = |replacement| Overrides::from([("etcd".to_owned(), replacement)]);
        assert_eq!(to_build_for(&PINNED, &Overrides::new()), Some(&PINNED));
        assert_eq!(to_build_for(&PINNED, &with(Replacement::Version(&OTHER))), Some(&OTHER));
        assert_eq!(to_build_for(&PINNED, &with(Replacement::File("/bin/true".into()))), None);
    }

    #[test]
    fn an_unknown_program_is_rejected() {
        let unknown = Overrides::from([("kubelet".to_owned(), Replacement::File("/bin/true".into()))]);
        let error = reject_unknown_overrides(&unknown, [&PINNED].into_iter()).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("known: etcd"), "{error}");
        assert!(reject_unknown_overrides(&Overrides::new(), std::iter::empty()).is_ok());
    }
}
