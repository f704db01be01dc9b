//! How the emulated devices behave.

use std::time::Duration;

use ib::wide::Addressing;
use serde::{Deserialize, Serialize};

use crate::Fault;

/// How the emulated devices behave. The defaults are those of a healthy fabric of today.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Time from leaving a port to arriving at the next, switch and cable together.
    pub hop_latency: Duration,
    /// Time that an agent takes to carry out a request.
    pub agent_time: Duration,
    /// Time that a switch's agent takes to send a directed-route packet on.
    pub forward_time: Duration,
    /// Subnet management packets that a port can hold until the agent takes them; more are dropped. At least 1.
    pub vl15_buffers: u8,
    /// Packets lost on each link that they cross, per million.
    pub loss_per_million: u32,
    /// Time that a link takes from detecting its neighbour to being up.
    pub training_time: Duration,
    /// Time until a trap that was not repressed is sent again.
    pub trap_interval: Duration,
    /// Data lanes that every port has, as PortInfo's code: 1, 2, 3, 4, 5 for 1, 2, 4, 8, 15.
    pub vl_cap: u8,
    /// Whether switches take one write of SLtoVLMappingTable for all ports in, or for all pairs of ports.
    pub optimized_sl_to_vl: bool,
    /// How many bits a LID has.
    pub addressing: Addressing,
    /// What chance is drawn from.
    pub seed: u64,
    /// Faults to come, by time since the beginning.
    pub faults: Vec<(Duration, Fault)>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            hop_latency: Duration::from_micros(1),
            agent_time: Duration::from_micros(20),
            forward_time: Duration::from_micros(1),
            vl15_buffers: 4,
            loss_per_million: 0,
            training_time: Duration::from_millis(50),
            trap_interval: Duration::from_millis(200),
            vl_cap: 4,
            optimized_sl_to_vl: false,
            addressing: Addressing::Standard,
            seed: 1,
            faults: Vec::new(),
        }
    }
}
