//! Options given in several places: the command line over `--set`, and `--set` over the file.

use std::collections::BTreeMap;

pub(crate) trait Layer {
    /// Returns the values of `self`, and for missing values those of `below`.
    #[must_use]
    fn over(self, below: Self) -> Self;
}

impl<T> Layer for Option<T> {
    fn over(self, below: Self) -> Self {
        self.or(below)
    }
}

/// A list replaces the list below as a whole.
impl<T> Layer for Vec<T> {
    fn over(self, below: Self) -> Self {
        if self.is_empty() { below } else { self }
    }
}

/// An entry replaces the entry below with the same key.
impl<V> Layer for BTreeMap<String, V> {
    fn over(self, mut below: Self) -> Self {
        below.extend(self);
        below
    }
}

/// Implements [`Layer`] field by field. A missing field does not compile.
macro_rules! layered {
    ($options:ident: $($field:ident),+) => {
        impl $crate::options::Layer for $options {
            fn over(self, below: Self) -> Self {
                Self { $($field: $crate::options::Layer::over(self.$field, below.$field)),+ }
            }
        }
    };
}
pub(super) use layered;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_replaces_the_value_below() {
        assert_eq!(Some(1).over(Some(2)), Some(1));
        assert_eq!(None.over(Some(2)), Some(2));
        assert_eq!(vec!["a"].over(vec!["b", "c"]), ["a"]);
        assert_eq!(Vec::<&str>::new().over(vec!["b"]), ["b"]);
    }

    #[test]
    fn entries_of_maps_are_merged() {
        let map = |entries: &[(&str, u32)]| -> BTreeMap<String, u32> {
            entries.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect()
        };
        assert_eq!(
            map(&[("a", 1), ("b", 2)]).over(map(&[("b", 3), ("c", 4)])),
            map(&[("a", 1), ("b", 2), ("c", 4)])
        );
    }
}
