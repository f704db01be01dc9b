//! `/api/v1/fabric`: where the fabric stands, in one answer.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::name;
use crate::site::Site;
use crate::view::{Heals, LinkState};

/// Links by what they are doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct LinkCounts {
    /// In service.
    pub active: usize,
    /// Lost.
    pub down: usize,
    /// Flapping, and left down for a while.
    pub held_down: usize,
}

/// What the verifier says of the tables, as of the last bring-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Proof {
    /// Ordered pairs of end ports that were checked.
    pub pairs: u64,
    /// Pairs without a path.
    pub unreachable: u64,
    /// Forwarding loops.
    pub loops: u64,
    /// Credit loops.
    pub credit_loops: u64,
}

/// Something that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Finding {
    /// What kind of thing.
    pub kind: String,
    /// Which device and port.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// What would mend it.
    pub mend: String,
}

/// Where the fabric stands.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Fabric {
    /// `up`, `refused`, `standby`, or the phase of the bring-up under way.
    pub state: String,
    /// Where the door to the fabric leads.
    pub place: String,
    /// Whether the fabric is emulated.
    pub emulated: bool,
    /// The topology that was recognised, and the engine.
    pub routing: Option<String>,
    /// Switches in service.
    pub switches: usize,
    /// Hosts' adapters in service.
    pub hosts: usize,
    /// Nodes that were there and are gone.
    pub absent: usize,
    /// Links.
    pub links: LinkCounts,
    /// LIDs given out.
    pub lids: usize,
    /// Data lanes that paths take.
    pub virtual_lanes: u8,
    /// The proof of the tables.
    pub proof: Option<Proof>,
    /// Why the fabric cannot be brought up as asked, where it cannot.
    pub refused: Option<String>,
    /// Heals since the controller started.
    pub heals: Heals,
    /// Requests sent, repeats included.
    pub mads_sent: u64,
    /// Requests sent again.
    pub mads_retried: u64,
    /// What is not as it should be: at most 100 of it.
    pub findings: Vec<Finding>,
    /// The number of the newest event.
    pub newest_event: u64,
    /// When this picture was taken.
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// When the controller started.
    #[schema(value_type = String, format = DateTime)]
    pub started: Timestamp,
    /// Heddle's version.
    pub version: &'static str,
}

const FINDINGS: usize = 100;

/// Where the fabric stands: state, counts, proof, heals, findings.
#[utoipa::path(get, path = "/fabric", tag = "fabric", responses((status = 200, body = Fabric)))]
async fn fabric(State(site): State<Site>) -> Json<Fabric> {
    let view = site.newest.get();
    let report = view.report.as_ref();
    let count = |state| view.inventory.count(state);
    let findings = report.iter().flat_map(|report| &report.findings).take(FINDINGS);
    Json(Fabric {
        state: name(view.phase()),
        place: site.place.to_string(),
        emulated: site.is_emulated,
        routing: report.and_then(|report| report.routing.clone()),
        switches: report.map_or(0, |report| report.switches),
        hosts: report.map_or(0, |report| report.hosts),
        absent: view.inventory.absent(),
        links: LinkCounts {
            active: count(LinkState::Active),
            down: count(LinkState::Down),
            held_down: count(LinkState::HeldDown),
        },
        lids: report.map_or(0, |report| report.lids),
        virtual_lanes: report.map_or(0, |report| report.virtual_lanes),
        proof: report.map(|report| Proof {
            pairs: report.verify.pairs,
            unreachable: report.verify.unreachable,
            loops: report.verify.loops,
            credit_loops: report.verify.credit_loops,
        }),
        refused: report.and_then(|report| report.refused.clone()),
        heals: view.heals,
        mads_sent: report.map_or(0, |report| report.mads.sent),
        mads_retried: report.map_or(0, |report| report.mads.retried),
        findings: findings
            .map(|finding| Finding {
                kind: name(finding.kind),
                place: finding.place.clone(),
                message: finding.message.clone(),
                mend: finding.mend.clone(),
            })
            .collect(),
        newest_event: *site.journal.newest().borrow(),
        time: view.time,
        started: site.started,
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// The routes of this file.
pub fn routes() -> OpenApiRouter<Site> {
    OpenApiRouter::new().routes(routes!(fabric))
}
