use serde_json::Value;

use crate::{Gang, gangs};

/// `w-0` is the base PodGang of the first replica of `w`, and `w-0-sg-0` its first scaled PodGang of `sg`.
pub fn named_gangs(pcs: &Value) -> Vec<Gang> {
    let mut all = gangs(pcs);
    let mut scaled = std::collections::BTreeMap::<String, usize>::new();
    for gang in &mut all {
        let group = gang.groups.first().and_then(|group| group.scaling_group.clone());
        gang.name = match group.filter(|_| !gang.is_base) {
            None => gang.replica_name(),
            Some((name, _)) => {
                let next = scaled.entry(name.clone()).or_default();
                *next += 1;
                format!("{name}-{}", *next - 1)
            }
        };
    }
    all
}
