//! Addresses of clauses: the published page of the group if its address was set at build time, otherwise the
//! clause in the report's own page.

/// The address of the published contract, such as `https://example.com/grove-conformance/contract`.
const PUBLISHED: Option<&str> = option_env!("GROVE_CONFORMANCE_CONTRACT_URL");

/// The address of a clause's published page, if this build has one.
pub fn published(clause: &str) -> Option<String> {
    PUBLISHED.and_then(|folder| page_below(folder, clause))
}

/// A Markdown link to a clause. `report.html` is in the same folder as the file with the link.
pub(super) fn clause_link(clause: &str) -> String {
    let address = published(clause).unwrap_or_else(|| format!("report.html#{clause}"));
    format!("[{clause}]({address})")
}

fn page_below(folder: &str, clause: &str) -> Option<String> {
    let (group, _) = clause.rsplit_once('-')?;
    let (group, anchor) = (group.to_lowercase(), clause.to_lowercase());
    Some(format!("{}/{group}.md#{anchor}", folder.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_has_an_anchor_on_the_page_of_its_group() {
        let address = Some("https://example.com/contract/aon.md#aon-02".to_owned());
        assert_eq!(page_below("https://example.com/contract/", "AON-02"), address);
    }
}
