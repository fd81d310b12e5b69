//! The state of an update of a PodCliqueSet.
//!
//! A pod is new if it has what cases change in a template: labels, annotations, and the variable [`REVISION`]
//! of a container.
//!
//! - `templates`: the revision of a pod and of its template
//! - `state`: the state of a PodCliqueSet at each version of a history
//! - `end`: what an update lacks to be complete

mod end;
mod state;
mod templates;

pub use self::end::{lacks, lacks_pods};
pub use self::state::{State, Units, first_change, walk};
pub use self::templates::{REVISION, is_as_asked, is_new, is_of_revision, revision, templates};
