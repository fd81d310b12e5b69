use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::mutation::Mutation;

/// Draws mutations uniformly, in the order of the draw. Each folder has its share; the seed decides the rest.
pub fn sample(mutations: &[Mutation], size: usize, seed: &str) -> Vec<Mutation> {
    let mut folders: BTreeMap<&str, Vec<&Mutation>> = BTreeMap::new();
    for mutation in mutations {
        folders.entry(mutation.folder()).or_default().push(mutation);
    }
    let total = mutations.len().max(1);
    let size = size.min(mutations.len());
    let mut shares: Vec<(&str, usize, usize)> = Vec::new();
    for (folder, own) in &folders {
        let exact = own.len() * size;
        shares.push((folder, exact / total, exact % total));
    }
    // Rounding leaves a rest, which the largest remainders get.
    let given: usize = shares.iter().map(|(_, share, _)| share).sum();
    shares.sort_by_key(|(folder, _, remainder)| {
        (std::cmp::Reverse(*remainder), Sha256::digest(format!("{seed}/{folder}")))
    });
    for (_, share, _) in shares.iter_mut().take(size - given) {
        *share += 1;
    }
    let mut drawn = Vec::new();
    for (folder, share, _) in shares {
        let mut own = folders.remove(folder).unwrap_or_default();
        own.sort_by_cached_key(|mutation| key(seed, mutation));
        drawn.extend(own.into_iter().take(share).cloned());
    }
    drawn.sort_by_cached_key(|mutation| key(seed, mutation));
    drawn
}

fn key(seed: &str, mutation: &Mutation) -> [u8; 32] {
    Sha256::digest(format!("{seed}/{}", mutation.id)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::mutation;

    fn population(folders: &[(&str, u32)]) -> Vec<Mutation> {
        let mut all = Vec::new();
        for (folder, count) in folders {
            for _ in 0..*count {
                all.push(mutation(all.len() as u32 + 1, &format!("{folder}/a.rs")));
            }
        }
        all
    }

    fn counts(sample: &[Mutation]) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for mutation in sample {
            *counts.entry(mutation.folder()).or_default() += 1;
        }
        counts
    }

    #[test]
    fn each_folder_has_its_share() {
        let all = population(&[("plan", 600), ("status", 300), ("update", 100)]);
        let drawn = sample(&all, 20, "a");
        assert_eq!(counts(&drawn), [("plan", 12), ("status", 6), ("update", 2)].into());
        let few = population(&[("plan", 7), ("status", 7), ("update", 7)]);
        assert_eq!(sample(&few, 10, "a").len(), 10, "what rounding leaves over is drawn too");
        assert_eq!(sample(&few, 100, "a").len(), 21);
    }

    #[test]
    fn the_seed_alone_decides_what_is_drawn() {
        let all = population(&[("plan", 100), ("status", 100)]);
        assert_eq!(sample(&all, 10, "a"), sample(&all, 10, "a"));
        assert_ne!(sample(&all, 10, "a"), sample(&all, 10, "b"));
        let mut reversed = all.clone();
        reversed.reverse();
        assert_eq!(sample(&reversed, 10, "a"), sample(&all, 10, "a"));
    }
}
