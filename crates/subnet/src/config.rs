//! What an operator may set.

use std::collections::BTreeMap;
use std::time::Duration;

use ib::wide::Addressing;
use ib::{Guid, Lid};
use serde::{Deserialize, Serialize};

/// What an operator may set. Defaults are those of a fabric of one tenant without quality of service.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The routing engine's name, or `auto`.
    pub engine: String,
    /// How many bits a LID has.
    pub addressing: Addressing,
    /// The most MADs under way at once; 0 leaves it to the window (OpenSM's `max_wire_smps`).
    pub max_wire_smps: u32,
    /// The most MADs under way to one device: its agent serves them one by one out of few buffers.
    pub max_per_device: u8,
    /// The wire holds senders back by itself, as ibsim's sockets do and no real fabric does: nothing is lost by
    /// sending much at once.
    pub flow_controlled: bool,
    /// How long to wait for an answer before asking again; doubled each time.
    pub timeout: Duration,
    /// How often to ask again.
    pub retries: u8,
    /// Time between two light sweeps.
    pub sweep_interval: Duration,
    /// How long a fabric must be quiet after a change until paths are spread anew over what there is.
    pub rebalance_after: Duration,
    /// LIDs of former runs by port GUID: a port keeps its own.
    pub known_lids: BTreeMap<Guid, Lid>,
    /// The key written to every port, and sent with every request.
    pub m_key: u64,
    /// 0 to 15: the higher of two managers is the master.
    pub priority: u8,
    /// How long a packet may cross the subnet, written to ports: 4.096 us times two to this.
    pub subnet_timeout: u8,
    /// How long a packet may wait in a switch: 4.096 us times two to this.
    pub packet_life_time: u8,
    /// How long the head of a queue may wait at a switch's port: 4.096 us times two to this.
    pub head_of_queue_life: u8,
    /// The same at ports that lead to hosts: shorter, so that one stuck host does not stop the fabric.
    pub leaf_head_of_queue_life: u8,
    /// After how many dropped packets a lane stalls.
    pub vl_stall_count: u8,
    /// The most virtual lanes to put into use, as PortInfo's code: 1, 2, 3, 4, 5 for 1, 2, 4, 8, 15.
    pub max_operational_vls: u8,
    /// The most data lanes that paths may take, 1 to 15; 0: as many as the ports between switches have, but one where
    /// `auto` chooses, since one lane heals quickest.
    pub lanes: u8,
    /// Write service-level mapping and arbitration to adapters' ports. Devices come up with sound defaults, so this
    /// is off unless quality of service is wanted.
    pub qos: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            engine: "auto".to_owned(),
            addressing: Addressing::Standard,
            max_wire_smps: 0,
            max_per_device: 1,
            flow_controlled: false,
            timeout: Duration::from_millis(200),
            retries: 3,
            sweep_interval: Duration::from_secs(10),
            rebalance_after: Duration::from_secs(30),
            known_lids: BTreeMap::new(),
            m_key: 0,
            priority: 8,
            subnet_timeout: 18,
            packet_life_time: 18,
            head_of_queue_life: 18,
            leaf_head_of_queue_life: 16,
            vl_stall_count: 7,
            max_operational_vls: 5,
            lanes: 0,
            qos: false,
        }
    }
}

impl Config {
    /// Whether nobody asked for other times at ports than the usual ones.
    pub(crate) fn has_default_timers(&self) -> bool {
        let times = |config: &Self| {
            (
                config.subnet_timeout,
                config.head_of_queue_life,
                config.leaf_head_of_queue_life,
                config.vl_stall_count,
            )
        };
        times(self) == times(&Self::default())
    }
}
