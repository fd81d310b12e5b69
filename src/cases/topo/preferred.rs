//! Rack a has one node x 24 GPUs, rack b one x 8, rack c two x 16, rack d one x 2. PodCliqueSet `possible`, 4
//! pods x 8 GPUs, prefers one rack, and c has room. `impossible`, also 4 pods x 8 GPUs, fits no rack and must
//! be bound anyway. `both-levels`, 2 pods x 1 GPU, requires one rack and also prefers one.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A preferred rack is used if it has room and is ignored otherwise")
    .clauses(&[TOPO_08, TOPO_14])
    .nodes(&[
        nodes(1).gpus(24).rack("a"),
        nodes(1).gpus(8).rack("b"),
        nodes(2).gpus(16).rack("c"),
        nodes(1).gpus(2).rack("d"),
    ]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("possible").await?;
    test.until_bound(4).await?;
    test.submit("impossible").await?;
    test.until_bound(8).await?;
    test.submit("both-levels").await?;
    test.until_bound(10).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TOPO_08, || {
            packed(history, "possible")?;
            packed(history, "both-levels")
        }),
        finding(TOPO_14, || {
            // If `possible` is not in rack c, it occupies nodes that the arithmetic counts as free.
            precondition(TOPO_08, packed(history, "possible"))?;
            binding::all(&history.end(), &history.gangs("impossible")?)
        }),
    ]
}

fn packed(history: &History, set: &str) -> Ruling {
    placement::gang_in_one_domain(history, &history.base(set)?.name, RACK)?;
    binding::all(&history.end(), &history.gangs(set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rulings(possible: &[&str], impossible: &[&str]) -> [Ruling; 2] {
        let rack = |name: &str| json!({"kind": "Node", "metadata": {"name": name, "labels": {RACK: name}}});
        let mut story = Story::flat().added(rack("a")).added(rack("b"));
        let all: [(&str, &[&str]); 3] =
            [("possible", possible), ("impossible", impossible), ("both-levels", &["a", "a"])];
        for (set, racks) in all {
            let bound = racks.iter().enumerate().map(|(index, rack)| worker(set, index, Some(*rack)));
            story = story.submitted(one_clique(set, 2)).added(one_clique_gang(set, 2)).all_added(bound);
        }
        let mut found = check(&story.end()).into_iter();
        [(); 2].map(|()| found.next().expect("two findings").ruling)
    }

    #[test]
    fn a_preference_that_blocks_breaks_one_clause_only() {
        assert_eq!(rulings(&["a", "a"], &["a", "b"]), [Ok(()), Ok(())]);
        let [packed, blocked] = rulings(&["a", "a"], &[]);
        assert_eq!(packed, Ok(()));
        assert!(matches!(blocked, Err(Broken::Violated(_))), "{blocked:?}");
    }

    #[test]
    fn an_ignored_preference_breaks_the_precondition_of_the_other_gang() {
        let [spread, blocked] = rulings(&["a", "b"], &[]);
        assert!(matches!(spread, Err(Broken::Violated(_))), "{spread:?}");
        assert!(matches!(blocked, Err(Broken::Precondition { clause: "TOPO-08", .. })), "{blocked:?}");
    }
}
