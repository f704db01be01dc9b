//! What the tests share: fabrics in a few words, and an oracle that walks every path by itself.
#![allow(dead_code)]

pub mod build;
pub mod oracle;
