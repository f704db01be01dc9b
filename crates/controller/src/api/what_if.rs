//! `/api/v1/what-if`: what would become of the fabric without some links and switches, computed on a copy of it by what
//! would heal it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use fabric::{Fabric, NodeId, NodeKind};
use ib::Guid;
use routing::{LinkLoad, Patch, Repairer, Routes, islands, link_load, verify_routes};
use serde::{Deserialize, Serialize};
use subnet::InService;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::Body;
use super::links::link_at;
use super::nodes::find;
use super::problem::Problem;
use crate::site::{Busy, Site};

/// Links and switches of one question, at most.
const MOST: usize = 1_000;

/// A port.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PortName {
    /// The node, by name or GUID.
    node: String,
    /// The port there.
    port: u8,
}

/// What is to be taken out.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Question {
    /// Ports whose cables are pulled.
    #[serde(default)]
    #[schema(max_items = 1000)]
    pull: Vec<PortName>,
    /// Switches, by name or GUID, that carry nothing any more.
    #[serde(default)]
    #[schema(max_items = 1000)]
    drain: Vec<String>,
}

/// Paths on a direction of a link between switches, when every host's port sends to every other.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, ToSchema)]
struct Load {
    /// The most loaded direction.
    max: u64,
    /// 99 in 100 directions carry no more than this.
    p99: u64,
    /// Over all directions.
    mean: f64,
}

impl From<LinkLoad> for Load {
    fn from(load: LinkLoad) -> Self {
        Self { max: load.max, p99: load.p99, mean: load.mean }
    }
}

/// What would become of the fabric.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
struct Answer {
    /// Ordered pairs of hosts' ports that are cabled together now: all of them were counted.
    pairs: u64,
    /// How many of them would not be any more.
    pairs_lost: u64,
    /// Pairs of end ports that would be cabled together, but have no path by the tables: none, unless the engine fails.
    unreachable: u64,
    /// Forwarding loops by the tables: none, unless the engine fails.
    loops: u64,
    /// Credit loops by the tables: none, unless the engine fails.
    credit_loops: u64,
    /// Hosts' ports by which the largest part that is cabled together would be smaller.
    hosts_cut: u64,
    /// Paths on links now.
    before: Load,
    /// Paths on links then.
    after: Load,
    /// Entries of forwarding tables that would change.
    entries: u64,
    /// Blocks of forwarding tables that would be written.
    blocks: u64,
    /// Whether a repair would do; otherwise all tables would be computed anew.
    repaired: bool,
    /// Links between switches that would be left: the paths on both directions of each were counted.
    links: u64,
    /// How long this took, in seconds.
    seconds: f64,
}

/// Ports of hosts and of all ends by the part of the fabric that they are in.
struct Parts {
    hosts: Vec<u64>,
    ends: Vec<u64>,
}

fn ordered_pairs(parts: &[u64]) -> u64 {
    parts.iter().map(|&count| count * count.saturating_sub(1)).sum()
}

impl Parts {
    fn of(fabric: &Fabric) -> Self {
        let islands = islands(fabric);
        let mut parts = Self { hosts: vec![0; islands.count()], ends: vec![0; islands.count()] };
        for port in fabric.end_ports().filter(|&port| fabric.lid(port).0 != 0) {
            let node = fabric.node_of(port);
            let part = islands.of_node[node.index()] as usize;
            parts.ends[part] += 1;
            parts.hosts[part] += u64::from(fabric.kind(node) == NodeKind::ChannelAdapter);
        }
        parts
    }

    /// Hosts' ports of the part that has the most.
    fn largest(&self) -> u64 {
        self.hosts.iter().copied().max().unwrap_or(0)
    }

    /// Pairs of end ports in different parts.
    fn apart(&self) -> u64 {
        let all: u64 = self.ends.iter().sum();
        ordered_pairs(&[all]) - ordered_pairs(&self.ends)
    }
}

/// What is taken out, by GUIDs and ports.
struct Taken {
    pulled: Vec<(Guid, u8)>,
    drained: Vec<Guid>,
}

/// Takes it out of `fabric`; gives the switches whose cabling has changed.
fn take_out(fabric: &mut Fabric, taken: &Taken) -> Vec<NodeId> {
    let node = |fabric: &Fabric, guid| fabric.nodes().find(|&node| fabric.guid(node) == guid);
    let mut ports = Vec::new();
    for &(guid, port) in &taken.pulled {
        ports.extend(node(fabric, guid).and_then(|node| fabric.port(node, port)));
    }
    for &guid in &taken.drained {
        ports.extend(node(fabric, guid).into_iter().flat_map(|node| fabric.ports(node)));
    }
    let mut changed = BTreeSet::new();
    for port in ports {
        let Some(peer) = fabric.peer(port) else { continue };
        changed.extend([port, peer].map(|port| fabric.node_of(port)));
        fabric.disconnect(port);
    }
    changed.into_iter().filter(|&node| fabric.is_switch(node)).collect()
}

/// The tables as they would be healed, in place of `routes`; the repair, where one would do.
fn heal(
    in_service: &InService,
    before: &Fabric,
    after: &Fabric,
    changed: &[NodeId],
    routes: &mut Routes,
) -> Result<Option<Patch>, Problem> {
    let repair = |repairer: &mut Repairer| repairer.repair(after, &routes.tables, changed).ok();
    if let Some(patch) = Repairer::new(before, routes).as_mut().and_then(repair) {
        Patch::apply(&mut routes.tables, patch.entries());
        for level in patch.levels() {
            routes.lanes.set_service_level(level.row as usize, level.lid, level.level);
        }
        return Ok(Some(patch));
    }
    *routes = in_service.anew(after).map_err(|error| {
        let detail = format!("no tables can be found without them: {error}");
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "no-tables", detail, "take out less")
    })?;
    Ok(None)
}

fn answer(before: &Fabric, in_service: &InService, taken: &Taken) -> Result<Answer, Problem> {
    let began = Instant::now();
    let mut routes = in_service.copy().ok_or(Busy)?;
    let load_before = link_load(before, &routes.tables);
    let mut after = before.clone();
    let changed = take_out(&mut after, taken);
    let old = routes.tables.clone();
    let patch = heal(in_service, before, &after, &changed, &mut routes)?;
    let (entries, blocks) = match &patch {
        Some(patch) => (patch.entries().len(), patch.block_count()),
        None => {
            let rows = 0..routes.tables.switches().len().min(old.switches().len());
            let entries = rows.map(|row| {
                let pairs = routes.tables.row_at(row).iter().zip(old.row_at(row));
                pairs.filter(|(new, old)| new != old).count()
            });
            (entries.sum(), routes.tables.changed_blocks(&old).count())
        }
    };
    drop(old);
    let proof = verify_routes(&after, &routes);
    let (parts_before, parts_after) = (Parts::of(before), Parts::of(&after));
    let pairs = ordered_pairs(&parts_before.hosts);
    let is_between_switches =
        |&(a, b): &(_, _)| [a, b].iter().all(|&port| after.is_switch(after.node_of(port)));
    Ok(Answer {
        pairs,
        pairs_lost: pairs - ordered_pairs(&parts_after.hosts),
        unreachable: proof.unreachable.saturating_sub(parts_after.apart()),
        loops: proof.loops,
        credit_loops: proof.credit_loops,
        hosts_cut: parts_before.largest() - parts_after.largest(),
        before: load_before.into(),
        after: link_load(&after, &routes.tables).into(),
        entries: entries as u64,
        blocks: blocks as u64,
        repaired: patch.is_some(),
        links: after.links().filter(is_between_switches).count() as u64,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// Computes on fewer threads than there are cores, and none that a heal waits for.
fn apart<T: Send>(compute: impl FnOnce() -> T + Send) -> T {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    match rayon::ThreadPoolBuilder::new().num_threads(cores.saturating_sub(1).max(1)).build() {
        Ok(pool) => pool.install(compute),
        Err(_) => compute(),
    }
}

fn taken(site: &Site, question: &Question) -> Result<Taken, Problem> {
    let count = question.pull.len() + question.drain.len();
    if !(1..=MOST).contains(&count) {
        return Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "wrong-question",
            format!("a question takes out 1 to {MOST} links and switches, not {count}"),
            "name links under `pull` and switches under `drain`",
        ));
    }
    let view = site.newest.get();
    let inventory = &view.inventory;
    let mut taken = Taken { pulled: Vec::new(), drained: Vec::new() };
    for PortName { node, port } in &question.pull {
        link_at(inventory, node, *port)?;
        taken.pulled.push((inventory.node(find(inventory, node)?).guid, *port));
    }
    for name in &question.drain {
        let node = inventory.node(find(inventory, name)?);
        if node.kind != NodeKind::Switch {
            return Err(Problem::new(
                StatusCode::BAD_REQUEST,
                "wrong-question",
                format!("{name} is no switch"),
                "drain switches; of a host, pull its link",
            ));
        }
        taken.drained.push(node.guid);
    }
    Ok(taken)
}

/// What would become of the fabric without some links and switches. It is computed on a copy: nothing is changed. One
/// question is computed at a time; the work grows with the fabric's tables alone.
#[utoipa::path(
    post, path = "/what-if", tag = "fabric", request_body = Question,
    responses(
        (status = 200, body = Answer),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json"),
        (status = 422, body = Problem, content_type = "application/problem+json"),
        (status = 503, body = Problem, content_type = "application/problem+json"),
    ),
)]
async fn what_if(State(site): State<Site>, Body(question): Body<Question>) -> Result<Json<Answer>, Problem> {
    let taken = taken(&site, &question)?;
    let permit = Arc::clone(&site.questions).try_acquire_owned().map_err(|_| {
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "another question is being computed",
            "ask again in a moment",
        )
    })?;
    let copied = site.ask(|manager, _| {
        let in_service = manager.routes_in_service().filter(|_| manager.is_settled())?;
        Some((manager.fabric().clone(), in_service))
    });
    let (fabric, in_service) = copied.await?.ok_or(Busy)?;
    let answered = tokio::task::spawn_blocking(move || {
        let answer = apart(|| answer(&fabric, &in_service, &taken));
        drop(permit);
        answer
    });
    Ok(Json(answered.await.map_err(|_| Busy)??))
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<Site> {
    OpenApiRouter::new().routes(routes!(what_if))
}
