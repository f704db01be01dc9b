//! Heals around a change without a look at the rest of the fabric.
//!
//! ```text
//! trap or change bit ─ gather ─ look ─ repair ─ write, wave by wave ─ raise what came back ─ repair ─ write ─ healed
//!                                 └ what cannot be healed so: the whole fabric is looked at anew
//! ```
//! *Look*: who does not answer is not waited for: its neighbours are asked ([`doubt`]). A trap names a switch, not a port. Where both ends of a link have told, only that link is asked about; else
//! every port of the switch. The change bit is cleared first, so that whatever happens later is told again. *Repair*:
//! [`routing::Repairer`] finds new ways and proves them. *Write*: the changed blocks of one wave in any order, those
//! nearest the failure first; then the next wave. *Raise*: ports that came back go into service before anything is
//! sent over them, and what is new beyond them is taken in ([`fresh`]).
//!
//! What happens during a heal is looked at while the wave at hand is written, and is one repair with what is left of the
//! first.

mod doubt;
mod flapping;
mod fresh;
mod hung;
mod links;
mod look;
mod spread;
mod write;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use fabric::{NodeId, PortId};
use ib::{Lid, Time};
use routing::{PatchEntry, Repairer, Routes};

use crate::event::{Event, Work};
use crate::manager::{Phase, SubnetManager};
use flapping::{End, Flapping};
pub(crate) use spread::Spreading;
pub use spread::{Solution, Task};

/// How long to wait for the other end of a link to tell of the same change.
const GATHER: Duration = Duration::from_micros(200);

/// So many traps at once may be more than the last switch before the manager has room for: who was not heard is asked.
const MANY: usize = 4;

/// Where a heal stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Stage {
    /// Nothing to heal.
    #[default]
    Idle,
    /// Waits for what else is told.
    Gather(Time),
    /// Asks what has changed.
    Look,
    /// Tables are to be repaired: work.
    Repair,
    /// Writes a wave of blocks.
    Write,
    /// Writes to switches that started afresh what they are to hold.
    Restore,
    /// Brings ports into service.
    Raise(Raising),
}

/// How far ports that came back are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Raising {
    Ask,
    Arm,
    Activate,
}

/// What is kept for healing.
#[derive(Default)]
pub(crate) struct Healing {
    /// Repairs the tables; none where only the engine can.
    repairer: Option<Repairer>,
    /// The port that holds each LID.
    owner: Vec<Option<PortId>>,
    stage: Stage,
    /// Switches that told of a change and were not looked at since.
    suspects: BTreeSet<NodeId>,
    /// Single ports to look at.
    ports: BTreeSet<PortId>,
    /// Switches that are looked at: whether something was found there, and whether every port was asked about.
    looking: BTreeMap<NodeId, Looked>,
    /// Ports to be asked about once their switch has answered.
    to_examine: Vec<PortId>,
    /// Switches that did not tell of a link that they lost: who is beside them was asked about them.
    asked_around: BTreeSet<NodeId>,
    /// Devices that did not answer, on the way to which all were asked.
    doubted: BTreeSet<NodeId>,
    /// When to look at who told while others were being looked at.
    more: Option<Time>,
    /// Nodes whose cabling in the graph has changed since the tables were repaired.
    changed: BTreeSet<NodeId>,
    /// Links that came back and are not in the graph yet.
    returned: Vec<(PortId, PortId)>,
    /// Devices that are new: not in the tables yet, nor cabled in the graph.
    new: BTreeSet<NodeId>,
    /// Switches that started afresh and are not written yet.
    blank: BTreeSet<NodeId>,
    /// Switches that did not confirm a block of their table, and those that are being restored: what they hold is not known.
    unsure: BTreeSet<NodeId>,
    /// Ports to bring into service.
    raise: Vec<PortId>,
    /// Waves that are not written yet.
    waves: VecDeque<Vec<PatchEntry>>,
    /// Whether switches were told that more LIDs have a route than before.
    tops_raised: bool,
    /// Switches whose hosts have to ask again, for paths of theirs bear other service levels than they know.
    ask_again: BTreeSet<NodeId>,
    /// Whether waves were given up because something else happened.
    undone: bool,
    /// How many entries a rebalance at hand changes.
    rebalancing: Option<usize>,
    /// When to spread paths anew.
    rebalance_at: Option<Time>,
    /// How far that is.
    pub(crate) spreading: Spreading,
    flapping: Flapping,
    /// Why the whole fabric must be looked at anew.
    pub(crate) anew: Option<String>,
    heal: Option<Heal>,
}

#[derive(Clone, Copy, Default)]
struct Looked {
    found: bool,
    whole: bool,
}

/// A heal under way.
struct Heal {
    began: Time,
    /// How often switches told of it.
    told: usize,
    cause: String,
    lost: usize,
    back: usize,
    fresh: usize,
    mads: u64,
    blocks: u64,
}

impl Healing {
    /// Whether links that came back are being asked about.
    pub fn is_asking_returned(&self) -> bool {
        self.stage == Stage::Raise(Raising::Ask)
    }

    /// Forgets all but how often links have flapped. What is computed meanwhile is of no use any more.
    pub fn restart(&mut self) {
        let flapping = std::mem::take(&mut self.flapping);
        self.spreading.outdated();
        *self = Self { flapping, ..Self::default() };
    }

    /// Whether nothing is being healed.
    pub fn is_idle(&self) -> bool {
        self.stage == Stage::Idle
    }
}

impl SubnetManager {
    /// Tables were computed by an engine: repairs begin from them.
    pub(crate) fn heal_from(&mut self, routes: &Routes) {
        self.healing.restart();
        let fabric = &self.devices.fabric;
        self.healing.repairer = Repairer::new(fabric, routes);
        self.healing.owner = vec![None; routes.tables.width()];
        for port in fabric.end_ports() {
            for lid in routing::tables::lids_of(fabric, port) {
                if let Some(owner) = self.healing.owner.get_mut(lid as usize) {
                    *owner = Some(port);
                }
            }
        }
    }

    /// Whether the link at a port is left down for now because it flaps.
    pub(crate) fn is_held_down(&self, port: PortId) -> bool {
        self.healing.flapping.is_held(self.end_of(port))
    }

    /// Takes links that are left down out of a graph that was found anew.
    pub(crate) fn leave_down(&mut self) {
        let held: Vec<PortId> =
            self.devices.fabric.links().map(|(a, _)| a).filter(|&a| self.is_held_down(a)).collect();
        for port in held {
            self.devices.fabric.disconnect(port);
        }
    }

    /// Whether nothing is being healed, nor told that would have to be.
    pub(crate) fn is_quiet(&self) -> bool {
        self.healing.is_idle() && !self.is_disturbed()
    }

    /// Paths are spread anew some time later.
    pub(crate) fn rebalance_later(&mut self, now: Time) {
        self.healing.rebalance_at = Some(now + self.config.rebalance_after);
    }

    fn end_of(&self, port: PortId) -> End {
        let fabric = &self.devices.fabric;
        (fabric.guid(fabric.node_of(port)), fabric.port_number(port))
    }

    /// The port that answers to a LID.
    pub(crate) fn owner_of(&self, lid: Lid) -> Option<PortId> {
        self.healing.owner.get(lid.0 as usize).copied().flatten()
    }

    /// A switch tells of a change: says whether it can be healed without a look at the whole fabric.
    pub(crate) fn suspect(&mut self, now: Time, switch: NodeId, cause: &str) -> bool {
        let fabric = &self.devices.fabric;
        let known = self.reached.get(switch.index()).is_some_and(|&reached| reached);
        if !self.may_heal() || !known || !fabric.is_switch(switch) {
            return false;
        }
        self.healing.suspects.insert(switch);
        self.begin_heal(now, cause);
        if let Some(heal) = &mut self.healing.heal {
            heal.told += 1;
        }
        true
    }

    /// Whether changes can be healed without a look at the whole fabric.
    pub(crate) fn may_heal(&self) -> bool {
        self.phase == Phase::Up && self.healing.repairer.is_some() && !self.sweeping.is_due_anew()
    }

    /// A single port is to be looked at.
    pub(crate) fn suspect_port(&mut self, now: Time, port: PortId, cause: &str) {
        self.healing.ports.insert(port);
        self.begin_heal(now, cause);
    }

    /// Links that were lost while the fabric was being written are healed around.
    pub(crate) fn heal_what_was_lost(&mut self, now: Time) {
        self.healing.doubted.clear();
        self.healing.asked_around.clear();
        if self.healing.changed.is_empty() {
            return;
        }
        if self.may_heal() {
            self.begin_heal(now, "a link was lost while tables were written");
        } else {
            self.sweep_soon(now, "a link was lost while tables were written");
        }
    }

    fn begin_heal(&mut self, now: Time, cause: &str) {
        self.healing.spreading.outdated();
        self.do_not_wait_for_hung();
        let (mads, blocks) = (self.counts.sent_in_all(), self.counts.blocks_written());
        self.healing.heal.get_or_insert_with(|| Heal {
            began: now,
            told: 0,
            cause: cause.to_owned(),
            lost: 0,
            back: 0,
            fresh: 0,
            mads,
            blocks,
        });
        if self.healing.stage == Stage::Write {
            // What is being written may wait for a switch that is gone: that is seen at once. The rest is part of what comes.
            self.healing.undone = true;
            self.healing.waves.clear();
        }
        if self.healing.stage == Stage::Look {
            // Who is being asked may be gone, and this tells of it.
            self.healing.more.get_or_insert(now + GATHER);
        }
        if matches!(self.healing.stage, Stage::Idle | Stage::Write) {
            self.healing.stage = Stage::Gather(now + GATHER);
        }
    }

    /// When the heal wants to go on by itself.
    pub(crate) fn next_heal(&self) -> Option<Time> {
        if self.phase != Phase::Up {
            return None;
        }
        let gather = match self.healing.stage {
            Stage::Gather(due) => Some(due),
            Stage::Look => self.healing.more,
            _ => None,
        };
        let rebalance = self.healing.rebalance_at.filter(|_| self.may_spread());
        [gather, self.healing.flapping.next_release(), rebalance].into_iter().flatten().min()
    }

    /// Time has passed.
    pub(crate) fn tick_heal(&mut self, now: Time) {
        if self.phase != Phase::Up {
            return;
        }
        while let Some((guid, number)) = self.healing.flapping.release(now) {
            let node = self.devices.by_guid(guid);
            let cause = "a link that flapped has been quiet";
            match node.and_then(|node| self.devices.fabric.port(node, number)) {
                Some(port) if self.may_heal() => self.suspect_port(now, port, cause),
                // No repair takes it in: the fabric is found and routed with it.
                Some(_) => self.sweep_soon(now, cause),
                None => {}
            }
        }
        if let Stage::Gather(due) = self.healing.stage
            && due <= now
        {
            self.begin_look();
        }
        if self.healing.stage == Stage::Look && self.healing.more.is_some_and(|due| due <= now) {
            self.begin_look();
        }
        if self.healing.rebalance_at.is_some_and(|at| at <= now) && self.may_spread() {
            self.want_spreading();
        }
    }

    /// Whether nothing stands in the way of a rebalance.
    fn may_spread(&self) -> bool {
        self.is_quiet() && self.exchange.is_idle() && self.healing.spreading.is_idle()
    }

    /// Nothing is under way: goes on to the next stage; says whether there was one.
    pub(crate) fn advance_heal(&mut self, now: Time) -> bool {
        match self.healing.stage {
            Stage::Idle | Stage::Gather(_) | Stage::Repair => return false,
            Stage::Look => self.end_look(now),
            Stage::Write => self.next_wave(now),
            Stage::Restore => self.end_restore(now),
            Stage::Raise(Raising::Ask) => self.arm_raised(now),
            Stage::Raise(Raising::Arm) => self.activate_raised(),
            Stage::Raise(Raising::Activate) => self.end_raise(now),
        }
        true
    }

    /// Whether something was told that was not looked at yet.
    fn is_disturbed(&self) -> bool {
        !self.healing.suspects.is_empty() || !self.healing.ports.is_empty()
    }

    fn want_repair(&mut self) {
        self.healing.stage = Stage::Repair;
        self.want_work(Work::Repair);
    }

    /// Finds new ways around what was lost, and over what came back.
    pub(crate) fn repair(&mut self, now: Time) {
        let changed: Vec<NodeId> = std::mem::take(&mut self.healing.changed).into_iter().collect();
        // What is left of a rebalance is left for later.
        self.healing.rebalancing = None;
        self.healing.undone = false;
        let (Some(repairer), Some(tables)) = (&mut self.healing.repairer, &self.tables) else {
            self.reroute_all(now, "these tables can only be computed anew");
            return;
        };
        match repairer.repair(&self.devices.fabric, tables, &changed) {
            Ok(patch) => {
                for change in patch.levels() {
                    self.lanes.set_service_level(change.row as usize, change.lid, change.level);
                    self.healing.ask_again.insert(tables.switches()[change.row as usize]);
                }
                self.write_in_waves(&patch);
                self.healing.stage = Stage::Write;
                self.sort_waves(&changed);
                self.next_wave(now);
            }
            Err(_) if self.is_disturbed() => {
                // Whatever else was told belongs to the same change.
                self.healing.undone = true;
                self.begin_look();
            }
            Err(needs) => self.reroute_all(now, &needs.to_string()),
        }
    }

    /// Everything that is known is done: raises what came back, looks at what was told meanwhile, or is healed.
    fn after_write(&mut self, now: Time) {
        if let Some(cause) = self.healing.anew.take() {
            self.look_anew(now, cause);
        } else if self.is_disturbed() {
            self.begin_look();
        } else if !self.healing.changed.is_empty() {
            // Links were lost while their neighbours waited for something else.
            self.want_repair();
        } else if self.has_to_restore() {
            self.begin_restore();
        } else if !self.healing.returned.is_empty() || !self.healing.raise.is_empty() {
            self.begin_raise();
        } else {
            self.healed(now);
        }
    }

    fn healed(&mut self, now: Time) {
        self.healing.stage = Stage::Idle;
        self.healing.asked_around.clear();
        self.healing.doubted.clear();
        self.sweeping.look_for(self.orphans());
        if let Some(entries) = self.healing.rebalancing.take() {
            let before = self.healing.heal.take().map_or(0, |heal| heal.blocks);
            self.say(Event::Rebalanced { entries, blocks: self.counts.blocks_written() - before });
            return;
        }
        let Some(heal) = self.healing.heal.take() else { return };
        if heal.told >= MANY {
            self.sweep_at(now);
        }
        if heal.lost + heal.back + heal.fresh == 0 {
            return;
        }
        // What stands where the engine put it cannot be spread better, unless something came back that it did not know of.
        let displaced = self.healing.repairer.as_ref().is_some_and(|repairer| repairer.displaced() > 0);
        if displaced || heal.back > 0 {
            self.rebalance_later(now);
        }
        self.say(Event::Healed {
            cause: heal.cause,
            lost: heal.lost,
            back: heal.back,
            fresh: heal.fresh,
            blocks: self.counts.blocks_written() - heal.blocks,
            mads: self.counts.sent_in_all() - heal.mads,
            seconds: now.since(heal.began).as_secs_f64(),
        });
    }
}
