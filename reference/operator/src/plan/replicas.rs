//! Plans which pods of a PodClique to create and to delete. A new pod takes the lowest free index. So a
//! replacement gets the lost pod's index and hostname, and belongs to the hard gang if that pod did (AON-11).

use std::cmp::Reverse;
use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExistingPod {
    pub uid: String,
    pub index: Option<i32>,
    pub bound: bool,
    pub ready: bool,
    pub current: bool,
    /// Creation time in seconds.
    pub created: i64,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PodChanges {
    pub create: Vec<i32>,
    pub delete: Vec<String>,
}

/// `unseen` contains the indexes of created pods that are not in the cache yet.
///
/// Pods with an index below `hard` belong to the hard gang and are deleted last. The others are deleted in
/// this order: without a node, not Ready, of an old template, the newest (AUTO-07).
pub(crate) fn plan(wanted: i32, hard: i32, live: &[ExistingPod], unseen: &[i32]) -> PodChanges {
    let wanted = usize::try_from(wanted).unwrap_or(0);
    let present = live.len() + unseen.len();
    if present < wanted {
        let taken: BTreeSet<_> =
            live.iter().filter_map(|pod| pod.index).chain(unseen.iter().copied()).collect();
        let free = (0..).filter(|index| !taken.contains(index));
        return PodChanges { create: free.take(wanted - present).collect(), delete: Vec::new() };
    }
    if !unseen.is_empty() {
        // Unseen pods would be deleted first, but a pod can be deleted only once the cache shows it.
        return PodChanges { create: Vec::new(), delete: Vec::new() };
    }
    let mut victims: Vec<_> = live.iter().collect();
    victims.sort_by_key(|pod| {
        let index = pod.index.unwrap_or(i32::MAX);
        (index < hard, pod.bound, pod.ready, pod.current, Reverse((pod.created, index)))
    });
    let excess = victims.into_iter().take(present - wanted);
    PodChanges { create: Vec::new(), delete: excess.map(|pod| pod.uid.clone()).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each word is an index with letters: `b` bound, `r` Ready, `o` old template, `y` created later.
    fn pods(text: &str) -> Vec<ExistingPod> {
        let pod = |text: &str| ExistingPod {
            uid: text.to_owned(),
            index: text.trim_end_matches(char::is_alphabetic).parse().ok(),
            bound: text.contains('b'),
            ready: text.contains('r'),
            current: !text.contains('o'),
            created: text.contains('y').into(),
        };
        text.split_whitespace().map(pod).collect()
    }

    #[rstest::rstest]
    #[case::from_nothing(3, "", &[], &[0, 1, 2])]
    #[case::unseen_count(3, "", &[0, 1], &[2])]
    #[case::a_lost_pod_is_replaced_at_its_index(3, "0b 2b", &[], &[1])]
    #[case::enough(2, "0 1", &[], &[])]
    #[case::enough_with_unseen(2, "0", &[1], &[])]
    fn creates_the_lowest_free_indexes(
        #[case] wanted: i32,
        #[case] live: &str,
        #[case] unseen: &[i32],
        #[case] create: &[i32],
    ) {
        let expected = PodChanges { create: create.to_vec(), delete: Vec::new() };
        assert_eq!(plan(wanted, 1, &pods(live), unseen), expected);
    }

    #[rstest::rstest]
    #[case::highest_index_first(2, 0, "0b 1b 2b 3b", &["3b", "2b"])]
    #[case::unscheduled_first(3, 0, "0b 1b 2 3b", &["2"])]
    #[case::surplus_before_the_hard_gang(3, 2, "0b 1 2b 3b", &["3b"])]
    #[case::then_the_hard_gang(1, 3, "0b 1 2b 3b", &["3b", "1", "2b"])]
    #[case::not_ready_first(1, 0, "0br 1b 2br", &["1b", "2br"])]
    #[case::then_old(1, 0, "0bro 1br 2br", &["0bro", "2br"])]
    #[case::then_the_newest(2, 0, "0bry 1br 2br", &["0bry"])]
    #[case::unready_before_old_before_new(1, 0, "0bo 1bro 2bry 3br", &["0bo", "1bro", "2bry"])]
    #[case::the_hard_gang_is_kept(1, 1, "0 1bry 2br", &["1bry", "2br"])]
    #[case::all(0, 2, "0b 1b", &["1b", "0b"])]
    fn deletes_unbound_unready_old_and_surplus_pods_first(
        #[case] wanted: i32,
        #[case] hard: i32,
        #[case] live: &str,
        #[case] delete: &[&str],
    ) {
        let expected: Vec<_> = delete.iter().map(|uid| (*uid).to_owned()).collect();
        assert_eq!(plan(wanted, hard, &pods(live), &[]).delete, expected);
    }
}
