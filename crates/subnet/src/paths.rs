//! LIDs, tables and their proof, before anything is written.

use std::sync::Arc;

use fabric::{Fabric, NodeId};
use ib::Time;
use routing::{
    Old, Options, Patch, RouteError, Routes, Tables, auto, engine_by_name, transition, verify_routes,
};

use crate::event::Event;
use crate::finding::FindingKind;
use crate::manager::{Phase, SubnetManager};

/// Which tables are wanted: all that an engine needs beside the graph.
pub(crate) struct Wanted {
    engine: String,
    options: Options,
}

impl Wanted {
    /// Computes them, and says in words what was chosen.
    pub fn route(&self, fabric: &Fabric) -> Result<(Routes, String), RouteError> {
        if self.engine == "auto" {
            let (routes, choice) = auto(fabric, &self.options)?;
            return Ok((routes, choice.to_string()));
        }
        let engine = engine_by_name(&self.engine)?;
        let routes = engine.route(fabric, &self.options)?;
        Ok((routes, format!("{} (asked for)", engine.name())))
    }
}

impl SubnetManager {
    pub(crate) fn compute_paths(&mut self, now: Time) {
        self.devices.renumber();
        self.leave_down();
        self.reached = self.devices.prune();
        self.devices.mend_ways(&self.reached);
        self.keep_who_told();
        if let Err(reason) = self.assign_lids() {
            self.refuse(now, reason);
            return;
        }
        self.know_ports_by_guid();
        let routes = match self.wanted_routes().route(&self.devices.fabric) {
            Ok((routes, routing)) => {
                self.routing = Some(routing);
                routes
            }
            Err(error) => {
                let reason = self.said_of(&error);
                self.refuse(now, reason);
                return;
            }
        };
        self.verification = verify_routes(&self.devices.fabric, &routes);
        if !self.verification.is_clean() {
            let said = self.unproven();
            self.find(
                FindingKind::Unproven,
                "the fabric".to_owned(),
                said.clone(),
                "choose another engine with --engine, or mend the cabling",
            );
            self.refuse(now, said);
            return;
        }
        if let Some(reason) = self.beyond_some_table(&routes.tables) {
            self.refuse(now, reason);
            return;
        }
        let gentle = self.gently(&routes);
        self.heal_from(&routes);
        // The order says nothing of credit loops where there is more than one lane.
        self.heights = routes.heights.filter(|_| routes.lanes.count() == 1);
        self.lanes = routes.lanes;
        match gentle {
            Some((held, patch)) => {
                self.tables = Some(Arc::new(held));
                self.program_gently(now, &patch);
            }
            None => {
                self.tables = Some(Arc::new(routes.tables));
                self.begin_programming(now);
            }
        }
    }

    /// The tables in service, and how to come from them to these routes without breaking a pair that works, where that is
    /// possible: no switch is fresh or holds what is not known, and what they hold climbs by the same order.
    fn gently(&self, routes: &Routes) -> Option<(Tables, Patch)> {
        let heights = routes.heights.as_ref().filter(|_| routes.lanes.count() == 1)?;
        let wanted = &routes.tables;
        let holds = |node: NodeId| self.reached[node.index()] && self.held_row(node).is_some();
        if !wanted.switches().iter().all(|&node| holds(node)) {
            return None;
        }
        let held = Tables::from_rows(&self.devices.fabric, wanted.width(), |node| self.held_row(node));
        let sure = self.former.as_ref().is_some_and(|former| former.heights.as_ref() == Some(heights));
        let patch = transition(
            &self.devices.fabric,
            heights,
            &held,
            wanted,
            if sure { Old::InOrder } else { Old::Unknown },
            &|| false,
        )?;
        Some((held, patch))
    }

    /// Computes all tables anew over the graph as it is.
    pub(crate) fn route_again(&mut self, now: Time, cause: String) {
        self.say(Event::Resweep { cause });
        self.exchange.clear();
        self.enter(now, Phase::Route);
        self.want_work(crate::event::Work::Route);
    }

    /// What is to be computed over the fabric's graph.
    pub(crate) fn wanted_routes(&self) -> Wanted {
        let is_auto = self.config.engine == "auto";
        let (offered, _) = self.lanes_offered();
        let most_lanes = match self.config.lanes {
            0 if is_auto => 1,
            0 => offered,
            asked => offered.min(asked),
        };
        Wanted { engine: self.config.engine.clone(), options: Options { most_lanes, ..Options::default() } }
    }

    /// An engine's error, with the port that stands in the way where the hardware has too few lanes.
    fn said_of(&self, error: &RouteError) -> String {
        if let &RouteError::TooFewLanes { engine, needed, given } = error
            && let (offered, Some(port)) = self.lanes_offered()
            && given == offered
        {
            return format!(
                "{engine} needs {needed} virtual lanes and {} has {offered}: replace what has too few, or take 'nue', which \
                 fits any number, or 'up-down', which fits one",
                self.devices.place(port)
            );
        }
        error.to_string()
    }

    fn unproven(&self) -> String {
        let proof = &self.verification;
        let mut said = format!(
            "the tables are not sound and were not written: {} of {} pairs unreachable, {} loops, {} credit loops",
            proof.unreachable, proof.pairs, proof.loops, proof.credit_loops
        );
        if let Some(pair) = &proof.first_unreachable {
            said.push_str(&format!("; no path from {} to {} (LID {})", pair.from, pair.to, pair.lid));
        }
        if let Some(witness) = &proof.witness {
            said.push_str(&format!("; a credit loop: {}", witness.ports.join(" -> ")));
        }
        said
    }

    /// A switch whose table cannot hold all LIDs.
    fn beyond_some_table(&self, tables: &Tables) -> Option<String> {
        let top = |node| tables.top_lid(node);
        tables.switches().iter().copied().filter(|&node| self.reached[node.index()]).find_map(|node| {
            let cap = self.devices.switches[node.index()].linear_fdb_cap;
            (top(node) >= cap).then(|| {
                format!(
                    "the forwarding table of {} holds {cap} LIDs and the fabric needs {}: replace the switch, or split \
                     the fabric into subnets",
                    self.devices.place(self.devices.management_port(node)),
                    top(node) + 1,
                )
            })
        })
    }

    pub(crate) fn refuse(&mut self, now: Time, reason: String) {
        self.exchange.clear();
        self.refused = Some(reason.clone());
        self.enter(now, Phase::Refused);
        self.say(Event::Refused { reason });
    }
}
