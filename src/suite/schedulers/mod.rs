//! What each scheduler's gang resources should be, stated by the suite itself: one file per backend.

pub mod kube;
