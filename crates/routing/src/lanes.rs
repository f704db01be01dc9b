//! Virtual lanes: which service level each path's packets bear, and the lane that each switch gives them.
//!
//! A path is told by the switch that its packets enter the fabric at and the LID that they are for. Its service level
//! stays the same all the way; what lane that means is for each port to say that packets leave by. Mostly a service
//! level is a lane. On a torus it says which date lines the path crosses, and a port's lane follows from its dimension.

/// Service levels that a packet can bear.
pub const SERVICE_LEVELS: usize = 16;

/// Most data lanes that any hardware has.
pub const MOST_LANES: u8 = 15;

/// The lanes of all paths.
///
/// One lane takes no memory. Several take a byte for every switch and LID, and 8 bytes for every port where a lane is not
/// simply the service level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lanes {
    count: u8,
    /// LIDs in a row of `service_levels`.
    width: usize,
    /// By source row and LID; empty where all paths bear service level 0.
    service_levels: Vec<u8>,
    ports: Option<PortLanes>,
}

/// The lane of each service level on each port, where lanes are not simply service levels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortLanes {
    /// Ports of a switch, port 0 included: all rows are as long.
    ports: usize,
    /// By row and port, four bits a service level.
    lanes: Vec<u64>,
}

impl PortLanes {
    /// For `rows` switches of at most `ports` ports (port 0 included), all service levels on lane 0.
    pub fn new(rows: usize, ports: usize) -> Self {
        Self { ports, lanes: vec![0; rows * ports] }
    }

    /// Sets the lane that packets bearing `service_level` take when they leave a switch by a port; says whether there
    /// are such a port and such a service level.
    pub fn set(&mut self, row: usize, port: u8, service_level: u8, lane: u8) -> bool {
        let port = usize::from(port);
        let known = port < self.ports && usize::from(service_level) < SERVICE_LEVELS && lane < MOST_LANES;
        let Some(lanes) = self.lanes.get_mut(row * self.ports + port).filter(|_| known) else { return false };
        let shift = 4 * u32::from(service_level);
        *lanes = *lanes & !(15 << shift) | u64::from(lane) << shift;
        true
    }

    #[inline]
    fn get(&self, row: usize, port: u8, service_level: u8) -> u8 {
        let port = usize::from(port);
        let lanes = if port < self.ports { self.lanes.get(row * self.ports + port) } else { None };
        lanes.map_or(0, |lanes| (lanes >> (4 * u32::from(service_level & 15)) & 15) as u8)
    }

    fn most(&self) -> u8 {
        let levels = || (0..SERVICE_LEVELS as u32).map(|level| 4 * level);
        self.lanes
            .iter()
            .flat_map(|lanes| levels().map(move |shift| (lanes >> shift & 15) as u8))
            .max()
            .unwrap_or(0)
    }
}

impl Lanes {
    /// All paths on lane 0.
    pub fn one() -> Self {
        Self { count: 1, width: 0, service_levels: Vec::new(), ports: None }
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
        Self { count: most + 1, width, service_levels, ports: None }
    }

    /// Each path on the lanes that the ports along it give to its service level; values beyond 15 count as 15.
    pub fn by_port(width: usize, mut service_levels: Vec<u8>, ports: PortLanes) -> Self {
        let count = ports.most() + 1;
        if count == 1 {
            return Self::one();
        }
        for level in &mut service_levels {
            *level = (*level).min(SERVICE_LEVELS as u8 - 1);
        }
        Self { count, width, service_levels, ports: Some(ports) }
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
        self.service_levels.get(source_row * self.width + lid).copied().unwrap_or(0)
    }

    /// The lane that packets bearing `service_level` take when they leave the switch of this row by `out_port`, whichever
    /// port they came in by. Service levels that no path bears go round the lanes.
    #[inline]
    pub fn lane(&self, row: usize, out_port: u8, service_level: u8) -> u8 {
        match &self.ports {
            None => service_level % self.count,
            Some(ports) => ports.get(row, out_port, service_level),
        }
    }

    /// The SLtoVL mapping of a switch's port, for every port that packets come in by: the lane of each service level.
    pub fn mapping(&self, row: usize, out_port: u8) -> [u8; SERVICE_LEVELS] {
        std::array::from_fn(|level| self.lane(row, out_port, level as u8))
    }

    /// Whether every switch's every port has the same mapping, [`Lanes::mapping`] of any.
    pub fn is_uniform(&self) -> bool {
        self.ports.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lane_is_lane_0_everywhere() {
        let lanes = Lanes::one();
        assert_eq!((lanes.count(), lanes.service_level(7, 9), lanes.lane(3, 200, 15)), (1, 0, 0));
        assert_eq!(Lanes::by_service_level(2, vec![0; 4]), lanes);
        assert_eq!(Lanes::by_port(2, vec![3; 4], PortLanes::new(2, 3)), lanes);
        assert!(lanes.is_uniform());
    }

    #[test]
    fn a_service_level_is_a_lane() {
        let lanes = Lanes::by_service_level(2, vec![0, 1, 2, 0]);
        assert_eq!(lanes.count(), 3);
        assert_eq!([lanes.service_level(0, 1), lanes.service_level(1, 0)], [1, 2]);
        assert_eq!([lanes.service_level(1, 2), lanes.service_level(2, 0)], [0, 0]);
        assert_eq!(lanes.mapping(9, 9)[..5], [0, 1, 2, 0, 1]);
        assert_eq!(Lanes::by_service_level(1, vec![200]).count(), MOST_LANES);
    }

    #[test]
    fn ports_say_which_lane_a_service_level_is() {
        let mut ports = PortLanes::new(2, 3);
        assert!(ports.set(1, 2, 15, 4) && ports.set(1, 2, 15, 1) && ports.set(0, 1, 0, 1));
        assert!(
            !ports.set(2, 0, 0, 1)
                && !ports.set(0, 3, 0, 1)
                && !ports.set(0, 0, 16, 1)
                && !ports.set(0, 0, 0, 15)
        );
        let lanes = Lanes::by_port(1, vec![15, 99], ports);
        assert_eq!((lanes.count(), lanes.is_uniform()), (2, false));
        assert_eq!(lanes.service_level(1, 0), 15);
        assert_eq!(
            [lanes.lane(1, 2, 15), lanes.lane(1, 2, 14), lanes.lane(0, 1, 0), lanes.lane(0, 9, 0)],
            [1, 0, 1, 0]
        );
        assert_eq!(lanes.mapping(1, 2)[14..], [0, 1]);
    }
}
