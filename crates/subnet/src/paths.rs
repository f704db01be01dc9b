//! LIDs, tables and their proof, before anything is written.

use fabric::NodeId;
use ib::Time;
use routing::{
    Old, Options, Patch, RouteError, Routes, Tables, auto, engine_by_name, transition, verify_routes,
};

use crate::event::Event;
use crate::finding::FindingKind;
use crate::manager::{Phase, SubnetManager};

impl SubnetManager {
    pub(crate) fn compute_paths(&mut self, now: Time) {
        self.devices.renumber();
        self.leave_down();
        self.reached = self.devices.prune();
        if let Err(reason) = self.assign_lids() {
            self.refuse(now, reason);
            return;
        }
        self.know_ports_by_guid();
        let routes = match self.route() {
            Ok(routes) => routes,
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
                self.tables = Some(held);
                self.program_gently(now, &patch);
            }
            None => {
                self.tables = Some(routes.tables);
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
        )?;
        Some((held, patch))
    }

    /// Some time after a change: spreads all paths anew over the graph as it is, where their order stays the same.
    pub(crate) fn rebalance(&mut self, now: Time) {
        if !self.is_quiet() {
            self.rebalance_later(now);
            return;
        }
        let Ok(routes) = self.route() else { return };
        let Some(tables) = &self.tables else { return };
        let heights = routes.heights.as_deref().filter(|&heights| self.heights.as_deref() == Some(heights));
        let Some(heights) = heights else { return };
        let all_reached = routes.tables.switches().iter().all(|&node| self.reached[node.index()]);
        if !all_reached
            || routes.lanes.count() != 1
            || !verify_routes(&self.devices.fabric, &routes).is_clean()
        {
            return;
        }
        let Some(patch) = transition(&self.devices.fabric, heights, tables, &routes.tables, Old::InOrder)
        else {
            return;
        };
        self.heal_from(&routes);
        self.write_rebalance(now, &patch);
    }

    /// Computes all tables anew over the graph as it is.
    pub(crate) fn route_again(&mut self, now: Time, cause: String) {
        self.say(Event::Resweep { cause });
        self.exchange.clear();
        self.enter(now, Phase::Route);
        self.want_work(crate::event::Work::Route);
    }

    fn route(&mut self) -> Result<Routes, RouteError> {
        let fabric = &self.devices.fabric;
        let is_auto = self.config.engine == "auto";
        let (offered, _) = self.lanes_offered();
        let most_lanes = match self.config.lanes {
            0 if is_auto => 1,
            0 => offered,
            asked => offered.min(asked),
        };
        let options = Options { most_lanes, ..Options::default() };
        if is_auto {
            let (routes, choice) = auto(fabric, &options)?;
            self.routing = Some(choice.to_string());
            return Ok(routes);
        }
        let engine = engine_by_name(&self.config.engine)?;
        let routes = engine.route(fabric, &options)?;
        self.routing = Some(format!("{} (asked for)", engine.name()));
        Ok(routes)
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
