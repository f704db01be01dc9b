//! A fabric of agents that answers MADs as devices do, under a virtual clock.
//!
//! [`Emulator`] holds the state of every node and port of a [`fabric::Fabric`] and a queue of what is to happen.
//! A client attached to a port sends [`ib::Packet`]s; [`Emulator::advance`] lets time pass; answers and traps come out
//! of [`Emulator::receive`]. Packets cross link after link: directed routes through the agent of each switch, with the
//! few buffers that virtual lane 15 has there, LID-routed ones through the forwarding tables as they were written.
//!
//! | file | holds |
//! | --- | --- |
//! | `config` | latencies, buffers, loss, addressing, the schedule of faults |
//! | `state` | what the devices hold |
//! | `queue` | what is to happen when, and the packets under way |
//! | `wire` | a packet's way from port to port |
//! | `agent` | what an agent answers, a file a group of attributes |
//! | `training` | links that go down and come up |
//! | `traps` | notices to the subnet manager, until repressed |
//! | `fault` | faults on purpose |
//! | `writes` | which blocks of forwarding tables were written when, for those who ask |
//! | `ibsim` | the datagrams of ibsim's clients, answered by the emulator |
//!
//! Invariants: no clock is read, no chance is drawn but from the seed; the same inputs at the same times give the
//! same outputs, bit by bit. Time of an agent's answer includes its queue; effects of a request show when it arrives.

mod agent;
mod config;
mod emulator;
mod fault;
pub mod ibsim;
mod queue;
mod state;
mod training;
mod traps;
mod wire;
mod writes;

pub use config::Config;
pub use emulator::{AttachError, ClientId, Emulator, Statistics};
pub use fault::{Behaviour, Counter, Fault};
pub use writes::TableWrite;
