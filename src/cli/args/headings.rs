//! The headings of the options of `run`, in the order of its help text.

pub(super) const SELECTION: &str = "Selection";
pub(super) const OPERATOR: &str = "Operator";
pub(super) const CLUSTER: &str = "Cluster";
pub(super) const PROGRAMS: &str = "Programs";
pub(super) const DEPTH: &str = "Depth";
pub(super) const OUTPUT: &str = "Output";
pub(super) const OTHER_TOOLS: &str = "Other tools";
