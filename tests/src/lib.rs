//! What the end-to-end tests share: the `heddle` binary, a running ibsim, the tools that judge, the shared data.
//!
//! Every server that starts here listens on an abstract socket of its own and is ended by its process id.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

pub mod heddle;
pub mod ibsim;
pub mod shared;
pub mod tools;
pub mod up;
