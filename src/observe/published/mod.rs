//! The committed answers: `column` has those of a scheduler and version, `excerpt` the part of a history that
//! proves an answer, `versions` what changed between columns, and `page` the table. Tests in `quotations`
//! compare the pages of schedulers with the answers.

mod column;
mod excerpt;
mod page;
#[cfg(test)]
mod quotations;
mod versions;

pub use column::{by_scheduler, folder_name, sort};
pub use excerpt::{LIMIT, excerpt};
pub use page::page;
pub use versions::{VersionChange, version_changes};
