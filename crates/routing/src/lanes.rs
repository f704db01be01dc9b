//! Virtual lanes: which service level each path's packets bear, and the lane that each switch gives them.
//!
//! A path is told by the switch that its packets enter the fabric at and the LID that they are for. Its service level
//! stays the same all the way; what lane that means each switch says by the port that they come in by and the one that they
//! leave by, as InfiniBand's SLtoVL mapping has it. In the simplest case a service level is a lane. On a torus it says
//! which date lines the path crosses, and the lane follows from the dimension of the port.

use std::sync::Arc;

use fabric::{Fabric, NodeId};

use crate::tables::Tables;

/// Service levels that a packet can bear.
pub const SERVICE_LEVELS: usize = 16;

/// Most data lanes that any hardware has.
pub const MOST_LANES: u8 = 15;

/// The lanes of all paths.
///
/// One lane takes no memory. Several take a byte for every switch and LID, and 8 bytes for every turn where a lane is not
/// simply the service level; clones share them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lanes {
    count: u8,
    /// LIDs in a row of `service_levels`.
    width: usize,
    /// By source row and LID; empty where all paths bear service level 0.
    service_levels: Arc<Vec<u8>>,
    turns: Option<Arc<Turns>>,
}

/// The lane of each service level for every turn: from the port that packets come in by to the one that they leave by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turns {
    /// Where each row's turns begin in `lanes`, with one more entry than there are rows.
    first: Vec<u32>,
    /// Ports of each row's switch, port 0 included.
    ports: Vec<u16>,
    /// By row, port in and port out, four bits a service level.
    lanes: Vec<u64>,
}

impl Turns {
    /// For a row for each number of external ports; all service levels on lane 0.
    pub fn new(ports: impl Iterator<Item = u8>) -> Self {
        let (mut first, mut counts) = (vec![0], Vec::new());
        for external in ports {
            let ports = u32::from(external) + 1;
            counts.push(ports as u16);
            first.push(first[first.len() - 1] + ports * ports);
        }
        let turns = first[first.len() - 1] as usize;
        Self { first, ports: counts, lanes: vec![0; turns] }
    }

    #[inline]
    fn place(&self, row: usize, in_port: u8, out_port: u8) -> Option<usize> {
        let ports = *self.ports.get(row)?;
        let (in_port, out_port) = (u16::from(in_port), u16::from(out_port));
        let known = in_port < ports && out_port < ports;
        known.then(|| {
            self.first[row] as usize + usize::from(in_port) * usize::from(ports) + usize::from(out_port)
        })
    }

    /// Sets the lane that packets bearing `service_level` take from one port of a switch on to another; says whether
    /// there are such ports and such a service level.
    pub fn set(&mut self, row: usize, (in_port, out_port): (u8, u8), service_level: u8, lane: u8) -> bool {
        let known = usize::from(service_level) < SERVICE_LEVELS && lane < MOST_LANES;
        let Some(place) = self.place(row, in_port, out_port).filter(|_| known) else { return false };
        let shift = 4 * u32::from(service_level);
        self.lanes[place] = self.lanes[place] & !(15 << shift) | u64::from(lane) << shift;
        true
    }

    #[inline]
    fn get(&self, row: usize, in_port: u8, out_port: u8, service_level: u8) -> u8 {
        let shift = 4 * u32::from(service_level & 15);
        self.place(row, in_port, out_port).map_or(0, |place| (self.lanes[place] >> shift & 15) as u8)
    }

    fn most(&self) -> u8 {
        let levels = || (0..SERVICE_LEVELS as u32).map(|level| 4 * level);
        let lanes = self.lanes.iter().filter(|&&lanes| lanes != 0);
        lanes.flat_map(|lanes| levels().map(move |shift| (lanes >> shift & 15) as u8)).max().unwrap_or(0)
    }
}

impl Lanes {
    /// All paths on lane 0.
    pub fn one() -> Self {
        Self { count: 1, width: 0, service_levels: Arc::default(), turns: None }
    }

    /// Each path on the lane that its service level names. `service_levels` has a row of `width` LIDs for each row of the
    /// tables; values beyond the data lanes count as the last one. Where all are 0 that is one lane.
    pub fn by_service_level(width: usize, mut service_levels: Vec<u8>) -> Self {
        let mut most = 0;
        for level in &mut service_levels {
            *level = (*level).min(MOST_LANES - 1);
            most = most.max(*level);
        }
        if most == 0 {
            return Self::one();
        }
        Self { count: most + 1, width, service_levels: Arc::new(service_levels), turns: None }
    }

    /// Each path on the lanes that the turns along it give to its service level; values beyond 15 count as 15.
    pub fn by_turns(width: usize, mut service_levels: Vec<u8>, turns: Turns) -> Self {
        let count = turns.most() + 1;
        if count == 1 {
            return Self::one();
        }
        for level in &mut service_levels {
            *level = (*level).min(SERVICE_LEVELS as u8 - 1);
        }
        Self { count, width, service_levels: Arc::new(service_levels), turns: Some(Arc::new(turns)) }
    }

    /// The lanes that devices give to the paths of `tables`, read from the devices: `service_level` names that of packets
    /// for a LID which enter at a switch, `mapping` what a switch holds for a port in and a port out. Where one drops what is
    /// in use, the error says which switch and ports.
    pub fn of_devices(
        fabric: &Fabric,
        tables: &Tables,
        service_level: impl Fn(NodeId, u32) -> u8,
        mapping: impl Fn(NodeId, u8, u8) -> [u8; SERVICE_LEVELS],
    ) -> Result<Self, String> {
        let width = tables.width();
        let of_row = |&node: &NodeId| (0..width as u32).map(move |lid| (node, lid));
        let levels: Vec<u8> = tables
            .switches()
            .iter()
            .flat_map(of_row)
            .map(|(node, lid)| service_level(node, lid) & 15)
            .collect();
        let mut used = [false; SERVICE_LEVELS];
        levels.iter().for_each(|&level| used[usize::from(level)] = true);
        let used: Vec<u8> = (0..SERVICE_LEVELS as u8).filter(|&level| used[usize::from(level)]).collect();
        let mut turns = Turns::new(tables.switches().iter().map(|&node| fabric.port_count(node)));
        for (row, &node) in tables.switches().iter().enumerate() {
            let ports = || fabric.neighbors(node).map(|(port, _)| fabric.port_number(port));
            for (in_port, out_port) in
                std::iter::once(0).chain(ports()).flat_map(|i| ports().map(move |out| (i, out)))
            {
                let lanes = mapping(node, in_port, out_port);
                for &level in &used {
                    if !turns.set(row, (in_port, out_port), level, lanes[usize::from(level)]) {
                        return Err(format!(
                            "{} drops service level {level} from port {in_port} to port {out_port}",
                            fabric.name(node)
                        ));
                    }
                }
            }
        }
        Ok(Self::by_turns(width, levels, turns))
    }

    /// How many data lanes the paths take, 1 to 15.
    #[inline]
    pub fn count(&self) -> u8 {
        self.count
    }

    /// The service level that packets for `lid` bear which enter the fabric at the switch of this row (an adapter's
    /// switch; a switch's own packets enter at itself). 0 beyond what was routed.
    #[inline]
    pub fn service_level(&self, source_row: usize, lid: u32) -> u8 {
        let lid = lid as usize;
        if lid >= self.width {
            return 0;
        }
        let place = source_row.checked_mul(self.width).map(|start| start + lid);
        place.and_then(|place| self.service_levels.get(place)).copied().unwrap_or(0)
    }

    /// Gives another service level to the packets for `lid` that enter the fabric at the switch of this row; says whether paths
    /// have levels there and this is one of them.
    pub fn set_service_level(&mut self, source_row: usize, lid: u32, level: u8) -> bool {
        let place = source_row.checked_mul(self.width).map(|start| start + lid as usize);
        let known = (lid as usize) < self.width && level < self.levels();
        let place = place.filter(|&place| known && place < self.service_levels.len());
        let Some(place) = place else { return false };
        Arc::make_mut(&mut self.service_levels)[place] = level;
        true
    }

    /// How many service levels paths may bear.
    pub fn levels(&self) -> u8 {
        if self.turns.is_some() { SERVICE_LEVELS as u8 } else { self.count }
    }

    /// The lane that packets bearing `service_level` take which came into the switch of this row by `in_port` (0: its own)
    /// and leave by `out_port`. Service levels that no path bears go round the lanes where these are simply levels.
    #[inline]
    pub fn lane(&self, row: usize, in_port: u8, out_port: u8, service_level: u8) -> u8 {
        match &self.turns {
            None => service_level % self.count,
            Some(turns) => turns.get(row, in_port, out_port, service_level),
        }
    }

    /// What a switch's SLtoVLMappingTable holds for a turn: the lane of each service level.
    pub fn mapping(&self, row: usize, in_port: u8, out_port: u8) -> [u8; SERVICE_LEVELS] {
        std::array::from_fn(|level| self.lane(row, in_port, out_port, level as u8))
    }

    /// Whether [`Lanes::mapping`] is the same for every turn of every switch.
    pub fn is_uniform(&self) -> bool {
        self.turns.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lane_is_lane_0_everywhere() {
        let lanes = Lanes::one();
        assert_eq!((lanes.count(), lanes.service_level(7, 9), lanes.lane(3, 200, 7, 15)), (1, 0, 0));
        assert_eq!(Lanes::by_service_level(2, vec![1; 4]).service_level(usize::MAX, 1), 0);
        assert_eq!(Lanes::by_service_level(2, vec![0; 4]), lanes);
        assert_eq!(Lanes::by_turns(2, vec![3; 4], Turns::new([3, 3].into_iter())), lanes);
        assert!(lanes.is_uniform());
    }

    #[test]
    fn a_service_level_is_a_lane() {
        let lanes = Lanes::by_service_level(2, vec![0, 1, 2, 0]);
        assert_eq!(lanes.count(), 3);
        assert_eq!([lanes.service_level(0, 1), lanes.service_level(1, 0)], [1, 2]);
        assert_eq!([lanes.service_level(1, 2), lanes.service_level(2, 0)], [0, 0]);
        assert_eq!(lanes.mapping(9, 9, 9)[..5], [0, 1, 2, 0, 1]);
        assert_eq!(Lanes::by_service_level(1, vec![200]).count(), MOST_LANES);
        let mut moved = lanes.clone();
        assert!(moved.set_service_level(1, 0, 1) && moved.set_service_level(1, 1, 2));
        assert_eq!([moved.service_level(1, 0), moved.service_level(1, 1)], [1, 2]);
        assert!(
            ![(0, 2, 0), (2, 0, 0), (0, 0, 3)].iter().any(|&(s, lid, l)| moved.set_service_level(s, lid, l))
        );
        assert_eq!(lanes.service_level(1, 0), 2, "what was cloned stays as it is");
        assert!(!Lanes::one().set_service_level(0, 0, 0));
    }

    #[test]
    fn turns_say_which_lane_a_service_level_is() {
        let mut turns = Turns::new([2, 3].into_iter());
        assert!(turns.set(1, (2, 3), 15, 4) && turns.set(1, (2, 3), 15, 1) && turns.set(0, (0, 1), 0, 1));
        assert!(!turns.set(2, (0, 0), 0, 1) && !turns.set(0, (3, 0), 0, 1) && !turns.set(0, (0, 3), 0, 1));
        assert!(!turns.set(0, (0, 0), 16, 1) && !turns.set(0, (0, 0), 0, 15));
        let lanes = Lanes::by_turns(1, vec![15, 99], turns);
        assert_eq!((lanes.count(), lanes.is_uniform()), (2, false));
        assert_eq!(lanes.service_level(1, 0), 15);
        assert_eq!([lanes.lane(1, 2, 3, 15), lanes.lane(1, 2, 3, 14), lanes.lane(1, 3, 2, 15)], [1, 0, 0]);
        assert_eq!([lanes.lane(0, 0, 1, 0), lanes.lane(0, 0, 9, 0)], [1, 0]);
        assert_eq!(lanes.mapping(1, 2, 3)[14..], [0, 1]);
    }
}
