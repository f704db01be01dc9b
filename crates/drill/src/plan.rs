//! What breaks and what is mended, step by step: from the seed, the cabling and the kinds asked for, and nothing else.

use std::time::Duration;

use emulator::Fault;
use fabric::{Fabric, NodeId, PortId};

use crate::chance::Chance;
use crate::kind::Kind;
use crate::weather::Weather;

/// One step of a drill: a failure, or the end of one.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// Steps count from 1.
    pub number: u32,
    /// What kind of failure.
    pub kind: Kind,
    /// What happens, for a person.
    pub what: String,
    /// How long all is quiet before it.
    pub pause: Duration,
    /// Where set: it then waits until the manager begins something of its own, and so long more.
    pub strikes_work: Option<Duration>,
    /// What happens when, from the step's beginning.
    pub faults: Vec<(Duration, Fault)>,
    /// What happens to the manager's MADs meanwhile.
    pub weather: Weather,
    /// When the manager is killed and a fresh one starts, from the step's beginning.
    pub restart: Option<Duration>,
    /// What the step's own chance is drawn from.
    pub seed: u64,
}

/// Something that is broken until it is mended.
#[derive(Clone, Debug)]
enum Broken {
    /// Cables that are pulled, by one end of each.
    Cables(Vec<PortId>),
    /// A node without power.
    Node(NodeId),
}

/// The steps of a drill.
pub struct Plan<'f> {
    fabric: &'f Fabric,
    chance: Chance,
    kinds: Vec<Kind>,
    weights: Vec<u32>,
    most_open: usize,
    /// Links between switches, those of them that lead up from hosts, hosts, switches; what the manager's own port
    /// hangs on is in none of them.
    links: Vec<PortId>,
    uplinks: Vec<PortId>,
    hosts: Vec<NodeId>,
    switches: Vec<NodeId>,
    /// A port at the other end of the manager's own cable, and that end's switch.
    own_link: Vec<PortId>,
    cut: Vec<bool>,
    off: Vec<bool>,
    open: Vec<Broken>,
    steps: u32,
}

/// How often in a million a step waits for a while before it begins.
const WAITS: u32 = 120_000;
/// The longest such wait: longer than from sweep to sweep.
const LONGEST_WAIT: Duration = Duration::from_secs(12);
/// How often in a million a mend puts everything back at once.
const MENDS_ALL: u32 = 100_000;

const MICROSECOND: Duration = Duration::from_micros(1);
const MILLISECOND: Duration = Duration::from_millis(1);

impl<'f> Plan<'f> {
    /// A plan for a fabric whose manager sits at a port of `seat`.
    pub fn new(fabric: &'f Fabric, seat: NodeId, kinds: &[Kind], most_open: u32, seed: u64) -> Self {
        let own_link: Vec<PortId> = fabric.neighbors(seat).flat_map(|(port, peer)| [port, peer]).collect();
        let near: Vec<NodeId> = own_link.iter().map(|&port| fabric.node_of(port)).chain([seat]).collect();
        // A manager on a switch needs its switch, one on a host also that host's switches.
        let needed = |node: NodeId| if fabric.is_switch(seat) { node == seat } else { near.contains(&node) };
        let own_link = if fabric.is_switch(seat) { Vec::new() } else { own_link };
        let between_switches = |&(a, b): &(PortId, PortId)| {
            fabric.is_switch(fabric.node_of(a))
                && fabric.is_switch(fabric.node_of(b))
                && !own_link.contains(&a)
        };
        let has_hosts = |port: PortId| {
            fabric.neighbors(fabric.node_of(port)).any(|(_, peer)| !fabric.is_switch(fabric.node_of(peer)))
        };
        let links: Vec<(PortId, PortId)> = fabric.links().filter(between_switches).collect();
        let uplinks = links.iter().filter(|&&(a, b)| has_hosts(a) != has_hosts(b)).map(|&(a, _)| a).collect();
        let is_cabled = |node: &NodeId| fabric.neighbors(*node).next().is_some();
        let hosts = fabric.nodes().filter(|&node| !fabric.is_switch(node) && !needed(node));
        let mut drawn: Vec<Kind> = kinds.to_vec();
        drawn.sort();
        drawn.dedup();
        Self {
            fabric,
            chance: Chance::new(seed),
            weights: drawn.iter().map(|kind| kind.weight()).collect(),
            kinds: drawn,
            most_open: most_open.max(1) as usize,
            links: links.into_iter().map(|(a, _)| a).collect(),
            uplinks,
            hosts: hosts.filter(is_cabled).collect(),
            switches: fabric.switches().filter(|&node| !needed(node)).filter(is_cabled).collect(),
            own_link,
            cut: vec![false; fabric.port_slot_count()],
            off: vec![false; fabric.node_count()],
            open: Vec::new(),
            steps: 0,
        }
    }

    /// The next step; `None` where nothing can break that is not broken.
    pub fn next_step(&mut self) -> Option<Step> {
        let step = if self.open.len() >= self.most_open { self.mend() } else { None };
        let step = match step {
            Some(step) => Some(step),
            None => self.failure().or_else(|| self.mend()),
        };
        let mut step = step?;
        self.steps += 1;
        step.number = self.steps;
        if self.chance.happens(WAITS) {
            step.pause = self.chance.time(MILLISECOND, LONGEST_WAIT);
        }
        step.seed = self.chance.below(usize::MAX) as u64;
        Some(step)
    }

    /// What stands broken between the last step and the next.
    pub fn standing(&self) -> Vec<Fault> {
        let node = |broken: &Broken| match broken {
            Broken::Node(node) => Some(Fault::PowerOff { node: *node }),
            Broken::Cables(_) => None,
        };
        let pulled = self.open.iter().flat_map(|broken| match broken {
            Broken::Cables(ports) => ports.as_slice(),
            Broken::Node(_) => &[],
        });
        pulled.map(|&port| self.unlink(port)).chain(self.open.iter().filter_map(node)).collect()
    }

    fn step(kind: Kind, what: String, faults: Vec<(Duration, Fault)>) -> Step {
        Step {
            number: 0,
            kind,
            what,
            pause: Duration::ZERO,
            strikes_work: None,
            faults,
            weather: Weather::default(),
            restart: None,
            seed: 0,
        }
    }

    fn failure(&mut self) -> Option<Step> {
        let mut weights = self.weights.clone();
        // A kind that has nothing left to break is left out.
        while weights.iter().any(|&weight| weight > 0) {
            let at = self.chance.weighted(&weights);
            if let Some(step) = self.failure_of(self.kinds[at]) {
                return Some(step);
            }
            weights[at] = 0;
        }
        None
    }

    fn failure_of(&mut self, kind: Kind) -> Option<Step> {
        match kind {
            Kind::Several => self.several(),
            Kind::DuringHeal => self.during_heal(),
            Kind::Flap => self.flap(),
            Kind::DuringWork | Kind::LostMads | Kind::LateMads | Kind::Restart | Kind::LostTrap => {
                self.in_trouble(kind)
            }
            Kind::Mend => None,
            _ => {
                let (what, broken) = self.draw(kind)?;
                let faults = self.break_now(broken, Duration::ZERO);
                Some(Self::step(kind, what, faults))
            }
        }
    }

    /// Something that can break and is not broken.
    fn draw(&mut self, kind: Kind) -> Option<(String, Broken)> {
        match kind {
            Kind::Link | Kind::Uplink => {
                let links = if kind == Kind::Link { &self.links } else { &self.uplinks };
                let start = self.chance.below(links.len());
                let port = around(links, start).find(|&port| self.is_up(port))?;
                Some((format!("link {} is lost", self.label(port)), Broken::Cables(vec![port])))
            }
            Kind::Host | Kind::Switch => {
                let nodes = if kind == Kind::Host { &self.hosts } else { &self.switches };
                let start = self.chance.below(nodes.len());
                let node = around(nodes, start).find(|node| !self.off[node.index()])?;
                Some((
                    format!("{} {} loses its power", kind.name(), self.fabric.name(node)),
                    Broken::Node(node),
                ))
            }
            Kind::Card => {
                let start = self.chance.below(self.switches.len());
                let (node, quarter) = (around(&self.switches, start).next()?, self.chance.below(4) as u32);
                let count = u32::from(self.fabric.port_count(node));
                let (first, end) = (count * quarter / 4 + 1, (count * (quarter + 1) / 4).max(1) + 1);
                let ports: Vec<PortId> = (first..end)
                    .filter_map(|number| self.fabric.port(node, number as u8))
                    .filter(|&port| self.is_up(port))
                    .collect();
                let what = format!("ports {first} to {} of {} fail", end - 1, self.fabric.name(node));
                (!ports.is_empty()).then_some((what, Broken::Cables(ports)))
            }
            _ => None,
        }
    }

    /// One of the plain kinds of failures, links more often than others.
    fn draw_any(&mut self) -> Option<(String, Broken)> {
        let kinds = [Kind::Link, Kind::Host, Kind::Switch, Kind::Card];
        let mut weights = [6, 2, 1, 1];
        while weights.iter().any(|&weight| weight > 0) {
            let at = self.chance.weighted(&weights);
            if let Some(drawn) = self.draw(kinds[at]) {
                return Some(drawn);
            }
            weights[at] = 0;
        }
        None
    }

    fn several(&mut self) -> Option<Step> {
        let (mut faults, mut what) = (Vec::new(), Vec::new());
        for _ in 0..self.chance.between(2, 4) {
            let Some((said, broken)) = self.draw_any() else { break };
            let after = if self.chance.happens(500_000) {
                Duration::ZERO
            } else {
                self.chance.time(MICROSECOND, MILLISECOND)
            };
            faults.extend(self.break_now(broken, after));
            what.push(said);
        }
        (!what.is_empty()).then(|| Self::step(Kind::Several, what.join(", "), faults))
    }

    fn during_heal(&mut self) -> Option<Step> {
        let (first, broken) = self.draw_any()?;
        let mut faults = self.break_now(broken.clone(), Duration::ZERO);
        let mut what = vec![first];
        for _ in 0..self.chance.between(1, 3) {
            let after = self.chance.time(10 * MICROSECOND, 200 * MILLISECOND);
            if self.chance.happens(250_000)
                && let Some((said, mends)) = self.mend_one(after)
            {
                what.push(format!("{said} after {after:?}"));
                faults.extend(mends);
            } else if let Some((said, broken)) = self.draw_any() {
                what.push(format!("{said} after {after:?}"));
                faults.extend(self.break_now(broken, after));
            }
        }
        faults.sort_by_key(|(after, _)| *after);
        Some(Self::step(Kind::DuringHeal, what.join(", "), faults))
    }

    fn flap(&mut self) -> Option<Step> {
        let start = self.chance.below(self.links.len());
        let port = around(&self.links, start).find(|&port| self.is_up(port))?;
        let changes = self.chance.between(2, 9);
        let every = self.chance.time(100 * MICROSECOND, 200 * MILLISECOND);
        if changes % 2 == 1 {
            self.note_broken(Broken::Cables(vec![port]));
        }
        let (node, number) = (self.fabric.node_of(port), self.fabric.port_number(port));
        let fault = Fault::Flap { node, port: number, every, changes };
        let what = format!("link {} changes {changes} times, every {every:?}", self.label(port));
        Some(Self::step(Kind::Flap, what, vec![(Duration::ZERO, fault)]))
    }

    /// A failure while the manager is at work, MADs are lost or late, traps are lost, or the manager is killed.
    fn in_trouble(&mut self, kind: Kind) -> Option<Step> {
        let (what, broken) = self.draw_any()?;
        let faults = self.break_now(broken, Duration::ZERO);
        let mut step = Self::step(kind, what, faults);
        let lasts = self.chance.time(MILLISECOND, 2000 * MILLISECOND);
        match kind {
            Kind::LostMads => {
                let lose = self.chance.between(1_000, 200_000);
                step.weather = Weather { lose, lasts, ..Weather::default() };
                step.what += &format!("; {} of 1,000 MADs are lost for {lasts:?}", lose / 1000);
            }
            Kind::LateMads => {
                let latest = self.chance.time(MILLISECOND, 500 * MILLISECOND);
                let (delay, double) = (self.chance.between(20_000, 500_000), self.chance.between(0, 200_000));
                step.weather = Weather { delay, double, latest, lasts, ..Weather::default() };
                step.what += &format!("; MADs come up to {latest:?} late, and twice, for {lasts:?}");
            }
            Kind::DuringWork => {
                let after = self.chance.time(MICROSECOND, 5 * MILLISECOND);
                step.strikes_work = Some(after);
                step.what += &format!("; {after:?} after the manager began something of its own");
            }
            Kind::LostTrap => {
                step.weather = Weather { mute_traps: true, ..Weather::default() };
                step.what += "; no trap arrives";
            }
            _ => {
                let after = self.chance.time(10 * MICROSECOND, 200 * MILLISECOND);
                step.restart = Some(after);
                step.what += &format!("; the manager is killed after {after:?}");
            }
        }
        Some(step)
    }

    fn mend(&mut self) -> Option<Step> {
        let (mut what, mut faults) = self.mend_one(Duration::ZERO)?;
        if self.chance.happens(MENDS_ALL) {
            while let Some((said, more)) = self.mend_one(Duration::ZERO) {
                what += &format!(", {said}");
                faults.extend(more);
            }
        }
        Some(Self::step(Kind::Mend, what, faults))
    }

    /// Puts one of the things back that are broken.
    fn mend_one(&mut self, after: Duration) -> Option<(String, Vec<(Duration, Fault)>)> {
        if self.open.is_empty() {
            return None;
        }
        let at = self.chance.below(self.open.len());
        match self.open.swap_remove(at) {
            Broken::Cables(ports) => {
                let what = match ports[..] {
                    [port] => format!("link {} comes back", self.label(port)),
                    _ => format!("{} links of {} come back", ports.len(), self.label(ports[0])),
                };
                ports.iter().for_each(|&port| self.set_cut(port, false));
                Some((what, ports.iter().map(|&port| (after, self.relink(port))).collect()))
            }
            Broken::Node(node) => {
                self.off[node.index()] = false;
                // Power brings every cable back that is in its place; those that are pulled are not.
                let pulled = self.fabric.ports(node).filter(|port| self.cut[port.index()]);
                let faults = std::iter::once(Fault::PowerOn { node })
                    .chain(pulled.map(|port| self.unlink(port)))
                    .map(|fault| (after, fault));
                Some((format!("{} has power again", self.fabric.name(node)), faults.collect()))
            }
        }
    }

    fn break_now(&mut self, broken: Broken, after: Duration) -> Vec<(Duration, Fault)> {
        let faults = match &broken {
            Broken::Cables(ports) => ports.iter().map(|&port| (after, self.unlink(port))).collect(),
            Broken::Node(node) => vec![(after, Fault::PowerOff { node: *node })],
        };
        self.note_broken(broken);
        faults
    }

    fn note_broken(&mut self, broken: Broken) {
        match &broken {
            Broken::Cables(ports) => ports.iter().for_each(|&port| self.set_cut(port, true)),
            Broken::Node(node) => self.off[node.index()] = true,
        }
        self.open.push(broken);
    }

    fn set_cut(&mut self, port: PortId, cut: bool) {
        for end in [Some(port), self.fabric.peer(port)].into_iter().flatten() {
            self.cut[end.index()] = cut;
        }
    }

    /// Whether a cable is in its place, both its ends have power, and the manager does not hang on it.
    fn is_up(&self, port: PortId) -> bool {
        let Some(peer) = self.fabric.peer(port) else { return false };
        let has_power = |end: PortId| !self.off[self.fabric.node_of(end).index()];
        !self.cut[port.index()] && has_power(port) && has_power(peer) && !self.own_link.contains(&port)
    }

    fn unlink(&self, port: PortId) -> Fault {
        Fault::Unlink { node: self.fabric.node_of(port), port: self.fabric.port_number(port) }
    }

    fn relink(&self, port: PortId) -> Fault {
        Fault::Relink { node: self.fabric.node_of(port), port: self.fabric.port_number(port) }
    }

    fn label(&self, port: PortId) -> String {
        let other = self.fabric.peer(port).map_or_else(String::new, |peer| self.fabric.port_label(peer));
        format!("{} - {other}", self.fabric.port_label(port))
    }
}

/// All items once, from one of them on.
fn around<T: Copy>(items: &[T], start: usize) -> impl Iterator<Item = T> + '_ {
    items[start..].iter().chain(&items[..start]).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use emulator::{Config, Emulator};
    use fabric::generate::FatTreeSpec;

    fn tree() -> Fabric {
        FatTreeSpec { levels: Some(2), radix: 4, ..FatTreeSpec::default() }.build().unwrap()
    }

    fn all() -> Vec<Kind> {
        Kind::FAILURES.iter().map(|(kind, _, _)| *kind).collect()
    }

    fn seat(fabric: &Fabric) -> NodeId {
        fabric.hosts().next().unwrap()
    }

    #[test]
    fn a_seed_gives_the_same_plan_and_another_seed_another() {
        let fabric = tree();
        let steps = |seed| {
            let mut plan = Plan::new(&fabric, seat(&fabric), &all(), 4, seed);
            (0..200).map(|_| plan.next_step().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(steps(5), steps(5));
        assert_ne!(steps(5), steps(6));
        let kinds: Vec<Kind> = steps(5).iter().map(|step| step.kind).collect();
        assert!(all().iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
        assert!(steps(5).iter().zip(1..).all(|(step, number)| step.number == number));
    }

    #[test]
    fn the_managers_own_link_and_switch_are_left_alone() {
        let fabric = tree();
        let seat = seat(&fabric);
        let own = fabric.port(seat, 1).unwrap();
        for seed in 0..20 {
            let mut plan = Plan::new(&fabric, seat, &all(), 6, seed);
            let mut emulator = Emulator::new(&fabric, Config::default());
            for _ in 0..60 {
                for (_, fault) in plan.next_step().unwrap().faults {
                    emulator.apply(fault);
                    let is_its = matches!(fault, Fault::PowerOff { node } if node == seat);
                    assert!(!is_its && emulator.fabric().peer(own).is_some(), "{fault:?}");
                }
            }
        }
    }

    #[test]
    fn what_stands_broken_is_what_the_steps_have_left() {
        let fabric = tree();
        // Flaps and failures in the middle of others come to the same, but later.
        let kinds = [Kind::Link, Kind::Switch, Kind::Host, Kind::Card, Kind::Several];
        for seed in 0..20 {
            let mut plan = Plan::new(&fabric, seat(&fabric), &kinds, 5, seed);
            let mut stepped = Emulator::new(&fabric, Config::default());
            for _ in 0..40 {
                for (_, fault) in plan.next_step().unwrap().faults {
                    stepped.apply(fault);
                }
                let mut at_once = Emulator::new(&fabric, Config::default());
                plan.standing().into_iter().for_each(|fault| at_once.apply(fault));
                let links = |emulator: &Emulator| emulator.fabric().links().collect::<Vec<_>>();
                assert_eq!(links(&stepped), links(&at_once), "seed {seed}");
            }
        }
    }

    #[test]
    fn nothing_breaks_where_nothing_can() {
        let mut fabric = Fabric::new();
        let switch = fabric.add_node(fabric::NodeKind::Switch, ib::Guid(1), 4, "switch");
        let host = fabric.add_node(fabric::NodeKind::ChannelAdapter, ib::Guid(2), 1, "host");
        fabric.connect((switch, 1), (host, 1), None).unwrap();
        assert_eq!(Plan::new(&fabric, host, &all(), 4, 1).next_step(), None);
    }
}
