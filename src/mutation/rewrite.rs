//! Rewrites one file so that it contains all of its mutations, each behind its switch. Mutations change nodes
//! of the syntax tree, which are nested or separate. A replacement contains the original text without the
//! mutations inside it, because only one is turned on at a time.

use std::ops::Range;

use crate::mutation::{Found, SWITCH};

const LEAVING: [&str; 3] = ["break", "continue", "return"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rewritten {
    pub text: String,
    /// The pieces of the text that the tool wrote, in order, each with the number of its mutation.
    pub written: Vec<(Range<usize>, u32)>,
    pub spans: Vec<(Range<usize>, u32)>,
}

struct Insertion<'a> {
    at: usize,
    /// At one position, texts after a node come first, then those between nodes, then those before a node.
    rank: u8,
    /// Of two nested nodes, the outer one starts earlier and ends later.
    depth: (isize, isize),
    text: &'a str,
    index: usize,
    closes: bool,
}

pub(crate) fn rewrite(source: &str, mutations: &[(u32, &Found)]) -> Rewritten {
    let mut insertions = Vec::new();
    for (index, (_, found)) in mutations.iter().enumerate() {
        let Range { start, end } = found.range;
        let length = (end - start) as isize;
        let place = index as isize;
        if start == end {
            let (text, depth) = (found.wrap.before.as_str(), (0, place));
            insertions.push(Insertion { at: start, rank: 1, depth, text, index, closes: false });
            insertions.push(Insertion { at: start, rank: 1, depth, text: "", index, closes: true });
            continue;
        }
        let (before, after) = (found.wrap.before.as_str(), found.wrap.after.as_str());
        let depth = (-length, place);
        insertions.push(Insertion { at: start, rank: 2, depth, text: before, index, closes: false });
        let depth = (length, -place);
        insertions.push(Insertion { at: end, rank: 0, depth, text: after, index, closes: true });
    }
    insertions.sort_by_key(|one| (one.at, one.rank, one.depth));
    let mut result = Rewritten::default();
    let mut begins = vec![0; mutations.len()];
    let mut copied = 0;
    for insertion in insertions {
        result.text.push_str(&source[copied..insertion.at]);
        copied = insertion.at;
        let (number, begin) = (mutations[insertion.index].0, result.text.len());
        let switch = format!("crate::mutation_switch::on({number})");
        result.text.push_str(&insertion.text.replace(SWITCH, &switch));
        let end = result.text.len();
        if begin < end {
            result.written.push((begin..end, number));
        }
        if insertion.closes {
            result.spans.push((begins[insertion.index]..end, number));
        } else {
            begins[insertion.index] = begin;
        }
    }
    result.text.push_str(&source[copied..]);
    result
}

impl Rewritten {
    /// The mutations that may have caused an error at these bytes: those whose text begins or ends the span.
    pub(crate) fn at_edges_of(&self, span: &Range<usize>) -> Vec<u32> {
        let last = span.end.saturating_sub(1).max(span.start);
        let touches =
            |written: &&(Range<usize>, u32)| written.0.contains(&span.start) || written.0.contains(&last);
        let mut found: Vec<_> = self.written.iter().filter(touches).map(|(_, number)| *number).collect();
        found.dedup();
        found
    }

    fn removed(&self, own: &Range<usize>) -> Option<&str> {
        let (condition, statement) = self.text[own.clone()].split_once("{ ")?;
        condition.starts_with("if !crate::mutation_switch").then_some(statement)
    }

    /// The last removed statement in the span that contains one of these words or leaves its block.
    pub(crate) fn last_removed(&self, span: &Range<usize>, words: &[&str]) -> Option<u32> {
        let counts = |statement: &str| {
            let mut names = statement.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let leaves = names.clone().next().is_some_and(|first| LEAVING.contains(&first));
            leaves || names.any(|name| words.contains(&name))
        };
        let is_inside = |own: &Range<usize>| span.start <= own.start && own.end <= span.end;
        let mut candidates = self.spans.iter().rev();
        let last = candidates.find(|(own, _)| is_inside(own) && self.removed(own).is_some_and(counts));
        last.map(|(_, number)| *number)
    }

    pub(crate) fn removed_around(&self, span: &Range<usize>) -> Option<u32> {
        let contains = |own: &Range<usize>| own.start <= span.start && span.end <= own.end;
        let all = self.spans.iter().filter(|(own, _)| contains(own) && self.removed(own).is_some());
        all.min_by_key(|(own, _)| own.len()).map(|(_, number)| *number)
    }

    pub(crate) fn inside(&self, span: &Range<usize>) -> Vec<u32> {
        let is_inside = |(own, _): &&(Range<usize>, u32)| span.start <= own.start && own.end <= span.end;
        self.spans.iter().filter(is_inside).map(|(_, number)| *number).collect()
    }

    /// The mutations whose text contains the span, the smallest first.
    pub(crate) fn around(&self, span: &Range<usize>) -> Vec<u32> {
        let contains = |(own, _): &&(Range<usize>, u32)| own.start <= span.start && span.end <= own.end;
        let mut found: Vec<_> = self.spans.iter().filter(contains).collect();
        found.sort_by_key(|(own, number)| (own.len(), *number));
        found.into_iter().map(|(_, number)| *number).collect()
    }
}
