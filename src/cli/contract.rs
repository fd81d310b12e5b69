//! `contract`: the clauses, as their pages have them.

use conformance_cases::contract_pages::section;
use conformance_contract::clauses::{CLAUSES, Clause};
use conformance_report::Exit;

use super::args::{ContractArgs, ContractVerb};
use super::{Failure, output};

/// Prints what is asked for.
///
/// # Errors
/// [`Failure::Usage`] for an id that is neither a clause's nor a group's.
pub(crate) fn contract(args: &ContractArgs) -> Result<Exit, Failure> {
    let ContractVerb::Show { ids } = &args.verb;
    let found = ids.iter().map(|id| named(id)).collect::<Result<Vec<_>, _>>()?;
    let sections: Vec<_> = found.concat().into_iter().map(section).collect();
    output::data(&sections.join("\n"));
    Ok(Exit::Conformant)
}

/// The clause of an id, or those of a group; letters of either case.
fn named(id: &str) -> Result<Vec<&'static Clause>, Failure> {
    let is_named = |clause: &&Clause| {
        let group = clause.group().map(|group| group.id).unwrap_or_default();
        clause.id.eq_ignore_ascii_case(id) || group.eq_ignore_ascii_case(id)
    };
    let found: Vec<_> = CLAUSES.iter().filter(is_named).collect();
    if found.is_empty() {
        return Err(Failure::Usage(format!(
            "{id} is neither a clause nor a group; `list --clauses` lists them"
        )));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_or_a_whole_group_is_shown() {
        let ids = |id: &str| named(id).unwrap().iter().map(|clause| clause.id).collect::<Vec<_>>();
        assert_eq!(ids("aon-02"), ["AON-02"]);
        assert_eq!(ids("COEX"), ["COEX-01", "COEX-02"]);
        assert!(named("AON-99").unwrap_err().to_string().contains("AON-99"));
    }
}
