//! Readers: text of several kinds in, a [`crate::Pool`] out. No function here opens a file.

pub(crate) mod place;
