//! The manager's journeys on emulated fabrics, under a virtual clock.
//!
//! | file | tells |
//! | --- | --- |
//! | `world` | an emulated fabric with managers at it, and time that passes for both |
//! | `mischief` | a wire that loses, doubles, delays, spoils and forges |
//! | `fabrics` | small fabrics to be at home in |
//! | `judges` | what must hold when a fabric is up, read from the devices themselves |
//! | `bring_up` | fabrics of every shape come up |
//! | `administration` | hosts ask for paths |
//! | `again` | a second bring-up writes nothing; the same inputs give the same outputs |
//! | `lanes` | engines for several virtual lanes, proven by what devices hold |
//! | `lids` | LIDs persist, conflicts are resolved, too many hosts are refused |
//! | `faults` | devices that are silent, slow, double or mad; cables that cannot be |
//! | `traffic` | how many MADs, how many at once, how many lost |
//! | `changes` | light sweeps and traps |
//! | `fresh` | new devices, and switches that start afresh |
//! | `meanwhile` | what happens while the fabric is coming up |
//! | `silence` | who does not tell or answer is not waited for |
//! | `spreading` | paths are spread anew some time after a change |
//! | `managers` | two managers on one fabric |
//! | `properties` | random fabrics on random wires |

#![allow(clippy::print_stdout, reason = "shown with the test that fails")]

mod administration;
mod again;
mod bring_up;
mod changes;
mod fabrics;
mod faults;
mod fresh;
mod judges;
mod lanes;
mod lids;
mod managers;
mod meanwhile;
mod mischief;
mod properties;
mod silence;
mod spreading;
mod traffic;
mod world;
