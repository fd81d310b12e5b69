//! The state of an update of a PodCliqueSet. A pod is new if it matches the current template in labels,
//! annotations, the variable [`REVISION`] and the images of init containers. Each case that updates a
//! template changes at least one of these.

mod end;
mod state;
mod templates;

pub use self::end::{exceeds, lacks, lacks_pods};
pub use self::state::{State, Units, first_change, walk};
pub use self::templates::{REVISION, has_revision_of, is_new, is_of_revision, revision, templates};
