use conformance_run::node_templates::MAX_NODES;

use super::Failure;

/// Parses `NODESxGPUS`, or several of them, separated by commas.
pub(crate) fn parse(words: &str) -> Result<Vec<(u32, u32)>, Failure> {
    let shapes = words.split(',').map(|word| parse_one(word, MAX_NODES));
    let shapes = shapes.collect::<Result<Vec<_>, _>>()?;
    let count: u32 = shapes.iter().map(|(count, _)| count).sum();
    if count > MAX_NODES {
        return Err(Failure::Usage(format!("--nodes {words}: {count} nodes, expected at most {MAX_NODES}")));
    }
    Ok(shapes)
}

pub(crate) fn parse_one(word: &str, max: u32) -> Result<(u32, u32), Failure> {
    let wrong =
        || Failure::Usage(format!("--nodes {word}: expected NODESxGPUS, e.g. 8x8 for 8 nodes of 8 GPUs"));
    let (count, gpus) = word.split_once('x').ok_or_else(wrong)?;
    match (count.parse(), gpus.parse()) {
        (Ok(count), Ok(gpus @ 0..=1000)) if (1..=max).contains(&count) => Ok((count, gpus)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("8x8", Some(vec![(8, 8)]))]
    #[case("3x0", Some(vec![(3, 0)]))]
    #[case("4x8,2x4", Some(vec![(4, 8), (2, 4)]))]
    #[case("1000x8", Some(vec![(1000, 8)]))]
    #[case("1000x8,1x4", None)]
    #[case("0x8", None)]
    #[case("8", None)]
    #[case("ax8", None)]
    #[case("4x8,", None)]
    #[case("4x8,2", None)]
    fn nodes_are_counts_and_gpus(#[case] word: &str, #[case] expected: Option<Vec<(u32, u32)>>) {
        assert_eq!(parse(word).ok(), expected);
    }
}
