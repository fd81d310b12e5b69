//! The state of an update of a PodCliqueSet.
//!
//! A pod is new if its labels, its annotations, the variable [`REVISION`] of its containers and the images of
//! its init containers match the current template. When a case changes a template, it changes at least one
//! of these.
//!
//! - `templates`: the revision of a pod and of its template
//! - `state`: the state of a PodCliqueSet at each version of a history
//! - `end`: what an update lacks to be complete

mod end;
mod state;
mod templates;

pub use self::end::{lacks, lacks_pods};
pub use self::state::{State, Units, first_change, walk};
pub use self::templates::{REVISION, has_revision_of, is_new, is_of_revision, revision, templates};
