//! Hosts ask for paths on queue pair 1, and get those that are programmed.

use emulator::ClientId;
use fabric::{Fabric, NodeId};
use ib::sa::{PathRecord, rmpp, status, stride};
use ib::{Attribute, AttributeId, ClassPortInfo, Gid, Lid, Mad, Method, Mtu, Packet, Status};
use subnet::Config;

use crate::fabrics;
use crate::world::{SECOND, World};

/// A host that asks.
struct Asker {
    client: ClientId,
    lid: Lid,
    next: u64,
}

impl Asker {
    fn at(world: &mut World, node: NodeId) -> Self {
        let client = world.emulator.attach(node, 1).unwrap();
        let port = world.emulator.fabric().port(node, 1).unwrap();
        Self { client, lid: world.emulator.port_info(port).lid, next: 0 }
    }

    fn send(&self, world: &mut World, mad: Mad) -> Option<Mad> {
        let (node, number) = world.seats[0].at;
        let manager = world.emulator.fabric().port(node, number).unwrap();
        let dlid = world.emulator.port_info(manager).lid;
        let packet = Packet { dlid, slid: Lid::NONE, dest_qp: 1, source_qp: 77, status: 0, mad };
        let now = world.now();
        world.emulator.send(now, self.client, &packet);
        world.run(SECOND, |world| !world.strays.is_empty());
        let (client, answer) = world.strays.pop_front()?;
        assert_eq!((client, answer.dest_qp, answer.source_qp), (self.client, 77, 1));
        assert_eq!(answer.mad.tid(), mad.tid());
        Some(answer.mad)
    }

    fn question(&mut self, method: Method, wanted: &PathRecord, mask: u64) -> Mad {
        self.next += 1;
        let mut mad = Mad::administration(method, AttributeId::PATH_RECORD, self.next);
        mad.set_component_mask(mask);
        mad.put(wanted);
        mad
    }

    fn get(&mut self, world: &mut World, wanted: PathRecord, mask: u64) -> Result<PathRecord, Status> {
        let question = self.question(Method::GET, &wanted, mask);
        let answer = self.send(world, question).unwrap();
        assert_eq!(answer.method(), Method::GET_RESP);
        if answer.status().is_ok() { Ok(answer.get()) } else { Err(answer.status()) }
    }

    /// All records of a table, segment by segment: each window lets one more come.
    fn get_table(&mut self, world: &mut World, wanted: PathRecord, mask: u64) -> Vec<PathRecord> {
        let question = self.question(Method::GET_TABLE, &wanted, mask);
        let mut segment = self.send(world, question).unwrap();
        let mut assembly = rmpp::Assembly::new(1 << 20);
        loop {
            assert_eq!(segment.method(), Method::GET_TABLE_RESP);
            let progress = assembly.accept(&segment).unwrap();
            let rmpp::Progress::Waiting(number) = progress else { break };
            let mut acknowledged = rmpp::acknowledge(&segment, number, number + 1);
            acknowledged.set_method(Method::GET_TABLE);
            segment = self.send(world, acknowledged).unwrap();
        }
        assert_eq!(usize::from(segment.attribute_offset()) * 8, stride::<PathRecord>());
        let records = assembly.payload().chunks_exact(stride::<PathRecord>());
        records.map(PathRecord::parse).collect()
    }
}

fn on_a_torus() -> (Fabric, World, Asker) {
    let fabric = fabrics::torus(&[5, 5]);
    let config = Config { engine: "torus".to_owned(), ..Config::default() };
    let mut world = World::with(&fabric, emulator::Config::default(), config);
    world.bring_up();
    let asker = Asker::at(&mut world, fabric.hosts().nth(7).unwrap());
    (fabric, world, asker)
}

#[test]
fn every_pair_has_the_service_level_of_its_path() {
    let (fabric, mut world, mut asker) = on_a_torus();
    let slid = asker.lid;
    let records = asker.get_table(&mut world, PathRecord { slid, ..Default::default() }, PathRecord::SLID);
    assert_eq!(records.len(), fabric.switch_count() + fabric.hosts().count());
    let own = fabric.port(fabric.hosts().nth(7).unwrap(), 1).unwrap();
    let switch = fabric.guid(fabric.node_of(fabric.peer(own).unwrap()));
    let mut levels = std::collections::BTreeSet::new();
    let mut reversible = std::collections::BTreeSet::new();
    for record in &records {
        assert_eq!(Some(record.sl), world.manager().service_level(switch, record.dlid), "{record:?}");
        assert_eq!((record.p_key, record.mtu, record.slid), (0xffff, Mtu::M4096, slid));
        assert_eq!(record.rate, ib::sa::rate::code(fabrics::NDR.unwrap()));
        levels.insert(record.sl);
        // The same by the two GIDs, as hosts ask.
        let by_gid = PathRecord { dest_gid: record.dest_gid, source_gid: record.source_gid, ..*record };
        let mask = PathRecord::DEST_GID | PathRecord::SOURCE_GID | PathRecord::REVERSIBLE;
        assert_eq!(asker.get(&mut world, by_gid, mask), Ok(*record));
        let back = PathRecord { slid: record.dlid, dlid: slid, ..Default::default() };
        let back = asker.get(&mut world, back, PathRecord::SLID | PathRecord::DLID).unwrap();
        assert_eq!(record.reversible, back.sl == record.sl, "{record:?} {back:?}");
        reversible.insert(record.reversible);
    }
    assert_eq!(reversible.len(), 2, "some are, some are not");
    assert!(levels.len() > 1, "{levels:?}");
    assert!(records.iter().all(|record| record.dest_gid.prefix() == Gid::DEFAULT_PREFIX));
}

#[test]
fn the_narrowest_link_is_told() {
    let mut fabric = fabrics::leaf_spine(4);
    let (hosts, slow): (Vec<NodeId>, _) = (fabric.hosts().collect(), "4xHDR".parse().unwrap());
    let far = fabric.port(*hosts.last().unwrap(), 1).unwrap();
    fabric.set_rate(far, Some(slow));
    let mut world = World::healthy(&fabric);
    world.bring_up();
    let mut asker = Asker::at(&mut world, hosts[1]);
    let to = |world: &World, node| {
        let port = world.emulator.fabric().port(node, 1).unwrap();
        PathRecord { dlid: world.emulator.port_info(port).lid, slid: asker.lid, ..Default::default() }
    };
    let (near, far) = (to(&world, hosts[2]), to(&world, *hosts.last().unwrap()));
    let mask = PathRecord::SLID | PathRecord::DLID;
    let rate = |record: Result<PathRecord, Status>| record.unwrap().rate;
    assert_eq!(rate(asker.get(&mut world, near, mask)), ib::sa::rate::code(fabrics::NDR.unwrap()));
    assert!(asker.get(&mut world, far, mask).unwrap().reversible, "one lane, and the same links back");
    assert_eq!(rate(asker.get(&mut world, far, mask)), ib::sa::rate::code(slow));
    // More than the way has is no path.
    let fast = PathRecord { rate: ib::sa::rate::code(slow), rate_selector: 0, ..far };
    let asked = mask | PathRecord::RATE | PathRecord::RATE_SELECTOR;
    assert_eq!(asker.get(&mut world, fast, asked), Err(status::NO_RECORDS));
    assert!(asker.get(&mut world, PathRecord { dlid: near.dlid, ..fast }, asked).is_ok());
}

#[test]
fn questions_without_an_answer_get_their_status() {
    let (_, mut world, mut asker) = on_a_torus();
    let nobody = PathRecord { dlid: Lid(40_000), dest_gid: Gid(1), ..Default::default() };
    assert_eq!(asker.get(&mut world, nobody, PathRecord::DLID), Err(status::NO_RECORDS));
    assert_eq!(asker.get(&mut world, nobody, PathRecord::DEST_GID), Err(status::INVALID_GID));
    assert_eq!(asker.get(&mut world, nobody, 0), Err(status::TOO_MANY_RECORDS));
    assert_eq!(asker.get_table(&mut world, nobody, PathRecord::DLID), []);
    let mut other = asker.question(Method::GET, &nobody, 0);
    other.set_attribute_id(AttributeId::MULTI_PATH_RECORD);
    assert_eq!(asker.send(&mut world, other).unwrap().status(), Status::UNSUPPORTED_ATTRIBUTE);
    // What belongs to no transfer, and what is an answer itself, is not answered.
    let mut acknowledged = rmpp::acknowledge(&other, 3, 9);
    acknowledged.set_method(Method::GET_TABLE);
    assert!(asker.send(&mut world, acknowledged).is_none());
    other.make_response();
    assert!(asker.send(&mut world, other).is_none());
}

#[test]
fn hosts_learn_what_the_administrator_can_do() {
    let (_, mut world, asker) = on_a_torus();
    let answer = asker.send(&mut world, Mad::administration(Method::GET, AttributeId::CLASS_PORT_INFO, 5));
    let answer = answer.unwrap();
    assert_eq!((answer.method(), answer.status()), (Method::GET_RESP, Status::OK));
    let can: ClassPortInfo = answer.get();
    assert_eq!((can.base_version, can.class_version, can.response_time_value), (1, 2, 16));
    assert_eq!((can.capability_mask, can.capability_mask2, can.redirect_lid), (0, 0, Lid::NONE));
    let table = Mad::administration(Method::GET_TABLE, AttributeId::CLASS_PORT_INFO, 6);
    assert_ne!(asker.send(&mut world, table).unwrap().status(), Status::OK);
}
