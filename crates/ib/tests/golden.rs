//! Answers captured from ibsim and OpenSM, both ways: the bytes parse to what the tools print for them, and what was
//! parsed gives the bytes back. `golden/README.md` says how they were captured.

use std::collections::BTreeMap;
use std::path::Path;

use ib::attribute::Fields;
use ib::sa::{self, Selector};
use ib::{print, *};

/// A captured answer and what a tool printed for it.
struct Golden {
    mad: Mad,
    printed: String,
}

#[allow(clippy::disallowed_methods, reason = "a test reads its files")]
fn golden(name: &str) -> Golden {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.golden"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("$ "));
    let digits: String = lines.by_ref().take(8).collect();
    let bytes = (0..256).map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap());
    let bytes: Vec<u8> = bytes.collect();
    let mad = Mad(bytes.try_into().unwrap());
    let printed = lines.skip(1).filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n") + "\n";
    Golden { mad, printed }
}

/// The attribute of an answer, after its header was checked and its bytes came back.
fn parsed<A: Attribute + PartialEq + std::fmt::Debug>(mad: &Mad) -> A {
    assert_eq!((mad.base_version(), mad.method(), mad.status()), (1, Method::GET_RESP, Status::OK));
    assert_eq!(mad.attribute_id(), A::ID, "{}", A::NAME);
    let value: A = mad.get();
    let mut again = *mad;
    again.0[A::OFFSET..A::OFFSET + A::LENGTH].fill(0xa5);
    again.put(&value);
    assert_eq!(again.0, mad.0, "{} does not give its bytes back", A::NAME);
    value
}

/// What `saquery` printed, by label: it fills up with dots to one column for each kind of record.
fn labelled(printed: &str) -> BTreeMap<&str, &str> {
    let lines = printed.lines().filter_map(|line| line.trim().split_once(".."));
    lines.map(|(label, value)| (label.trim_end_matches(':'), value.trim_start_matches('.'))).collect()
}

/// Every label that both know has the same value; returns the labels that only the tool knows.
fn only_in_tool(record: &impl Fields, printed: &str) -> Vec<String> {
    let mut theirs = labelled(printed);
    for (label, value) in record.fields() {
        if let Some(printed) = theirs.remove(label) {
            assert_eq!(value.lines().next().unwrap_or(""), printed, "{label}");
        }
    }
    theirs.into_keys().map(str::to_owned).collect()
}

/// Prints as the tool does, line for line.
fn prints_as_the_tool<A: Attribute + Fields + PartialEq + std::fmt::Debug>(name: &str) -> A {
    let golden = golden(name);
    let value: A = parsed(&golden.mad);
    assert_eq!(print::dump(&value), golden.printed, "{name}");
    value
}

#[test]
fn node_info() {
    let switch: NodeInfo = prints_as_the_tool("node_info_switch");
    assert_eq!((switch.node_type, switch.port_count, switch.local_port), (NodeType::SWITCH, 36, 1));
    let adapter: NodeInfo = prints_as_the_tool("node_info_adapter");
    assert_eq!((adapter.node_type, adapter.port_guid), (NodeType::CHANNEL_ADAPTER, Guid(0x100001)));
}

#[test]
fn node_description() {
    let golden = golden("node_description_switch");
    let description: NodeDescription = parsed(&golden.mad);
    assert_eq!(description.text(), "leaf1");
    assert_eq!(print::tables::node_description(&description), golden.printed);
}

#[test]
fn switch_info() {
    let info: SwitchInfo = prints_as_the_tool("switch_info");
    assert_eq!((info.linear_fdb_cap, info.linear_fdb_top), (30_720, Lid(7)));
}

#[test]
fn port_info() {
    let rate = |name: &str| prints_as_the_tool::<PortInfo>(name).link_rate().map(|rate| rate.to_string());
    assert_eq!(rate("port_info_hdr").as_deref(), Some("4xHDR"));
    assert_eq!(rate("port_info_2x_edr").as_deref(), Some("2xEDR"));
    assert_eq!(rate("port_info_sdr").as_deref(), Some("4xSDR"));
    assert_eq!(rate("port_info_adapter").as_deref(), Some("2xEDR"));
    let manager: PortInfo = prints_as_the_tool("port_info_adapter");
    assert!(manager.capability_mask & capability::IS_SM != 0);
    assert_eq!((manager.lid, manager.sm_lid), (Lid(2), Lid(2)));
    let port_0: PortInfo = prints_as_the_tool("port_info_switch_port_0");
    assert_eq!(port_0.lid, Lid(1));
    let down: PortInfo = prints_as_the_tool("port_info_down");
    assert_eq!((down.port_state, down.physical_state), (PortState::DOWN, PhysicalState::POLLING));
}

#[test]
fn extended_port_info() {
    let info: ExtendedPortInfo = prints_as_the_tool("extended_port_info");
    assert_eq!(info, ExtendedPortInfo::default());
}

#[test]
fn tables_of_a_port() {
    let keys = golden("p_key_table");
    let table: PKeyTable = parsed(&keys.mad);
    assert_eq!(table.0[..4].iter().map(|key| key.0).collect::<Vec<_>>(), [0xffff, 0x8001, 0x7002, 0]);
    assert!(keys.printed.starts_with(&print::tables::p_keys(&table, 0)));

    let guids = golden("guid_info");
    let table: GuidInfo = parsed(&guids.mad);
    assert_eq!(table.0[0], Guid(0x100001));
    assert!(guids.printed.starts_with(&print::tables::guids(&table, 0)));

    for name in ["sl_to_vl_adapter", "sl_to_vl_switch"] {
        let lanes = golden(name);
        let table: SlToVlMapping = parsed(&lanes.mad);
        assert_eq!((table.0[14], table.0[15]), (14, 7));
        let line = lanes.printed.lines().next().unwrap();
        assert!(line.ends_with(&print::tables::lanes(&table)), "{line}");
    }

    let (low, high) = (golden("vl_arbitration_low"), golden("vl_arbitration_high"));
    let (low_table, high_table) = (parsed(&low.mad), parsed(&high.mad));
    let both = print::tables::arbitration(&low_table, 8) + &print::tables::arbitration(&high_table, 8);
    assert_eq!(both, low.printed);
    assert_eq!(high_table.0[0], ArbitrationEntry { lane: 0, weight: 4 });
}

#[test]
fn forwarding_tables() {
    let linear = golden("linear_forwarding_table");
    let table: LinearForwardingTable = parsed(&linear.mad);
    let mut entries = 0;
    for line in linear.printed.lines().filter(|line| line.starts_with("0x")) {
        let mut words = line.split_whitespace();
        let lid = usize::from_str_radix(&words.next().unwrap()[2..], 16).unwrap();
        assert_eq!(table.0[lid], words.next().unwrap().parse::<u8>().unwrap());
        entries += 1;
    }
    assert_eq!((entries, table.0[4]), (6, NO_ROUTE));

    // `ibroute` marks ports 1 and 35; 35 lies in another block of ports.
    let multicast: MulticastForwardingTable = parsed(&golden("multicast_forwarding_table").mad);
    assert_eq!((multicast.0[0], multicast.0[1..].iter().all(|&ports| ports == 0)), (1 << 1, true));
}

#[test]
fn sm_info() {
    let golden = golden("sm_info");
    let info: SmInfo = parsed(&golden.mad);
    assert!(golden.printed.contains(&format!("sm guid {:#x}", info.guid.0)));
    assert!(
        golden.printed.contains(&format!("priority {} state {} SMINFO_MASTER", info.priority, info.state.0))
    );
    assert_eq!(info.state, SmState::MASTER);
}

#[test]
fn counters() {
    let golden_counters = golden("port_counters");
    let counters: PortCounters = parsed(&golden_counters.mad);
    // perfquery 44 has VL15Dropped under this label.
    let printed = golden_counters
        .printed
        .replace("QP1Dropped:......................11", "QP1Dropped:......................0");
    assert_eq!(print::dump(&counters), printed);
    assert_eq!((counters.symbol_errors, counters.transmit_wait), (17, 99));

    let extended = golden("port_counters_extended");
    let counters: PortCountersExtended = parsed(&extended.mad);
    // The tool leaves out the error counters, which this agent does not have.
    assert!(print::dump(&counters).starts_with(&extended.printed));
    assert_eq!(counters.symbol_errors, 0);
}

#[test]
fn class_port_info() {
    let golden = golden("class_port_info");
    let info: ClassPortInfo = ClassPortInfo::parse(&golden.mad.0[sa::OFFSET..]);
    assert_eq!((info.base_version, info.class_version, info.capability_mask), (1, 2, 0x2602));
    assert_eq!((info.capability_mask2, info.response_time_value), (0xb5e8, 0x10));
    assert_eq!((info.redirect_qp, info.redirect_q_key, info.trap_q_key), (1, 0x8001_0000, 0x8001_0000));
}

#[test]
fn a_refusal_says_why() {
    let mad = golden("refused").mad;
    assert_eq!(mad.status(), Status::UNSUPPORTED_ATTRIBUTE);
    assert!(mad.is_returning());
}

#[test]
fn node_record() {
    let golden = golden("sa_node_record");
    let record: sa::NodeRecord = parsed(&golden.mad);
    assert_eq!(only_in_tool(&record, &golden.printed), ["reserved"]);
    assert_eq!((record.lid, record.description.text().as_str()), (Lid(2), "node1"));
}

#[test]
fn port_info_record() {
    let golden = golden("sa_port_info_record");
    let record: sa::PortInfoRecord = parsed(&golden.mad);
    assert_eq!(only_in_tool(&record, &golden.printed), [""; 0]);
    assert_eq!((record.lid, record.port), (Lid(1), 35));
}

#[test]
fn switch_and_link_records() {
    let record: sa::SwitchInfoRecord = parsed(&golden("sa_switch_info_record").mad);
    assert_eq!((record.lid, record.info), (Lid(1), golden("switch_info").mad.get()));
    let golden = golden("sa_link_record");
    let record: sa::LinkRecord = parsed(&golden.mad);
    assert_eq!(only_in_tool(&record, &golden.printed), [""; 0]);
}

#[test]
fn path_record() {
    let golden = golden("sa_path_record");
    let record: sa::PathRecord = parsed(&golden.mad);
    assert_eq!((record.dlid, record.slid, record.p_key), (Lid(7), Lid(2), 0xffff));
    assert_eq!(record.dest_gid.to_string(), "fe80::10:6");
    assert_eq!((record.mtu, sa::rate::gbps(record.rate)), (Mtu::M2048, Some(10.0)));
    assert_eq!(Selector::from_code(record.rate_selector), Selector::Exactly);
    assert!(record.reversible);
    // The tool prints a selector and its value as one number.
    let theirs = labelled(&golden.printed);
    for (label, selector, value) in [
        ("mtu", record.mtu_selector, record.mtu.0),
        ("rate", record.rate_selector, record.rate),
        ("pkt_life", record.packet_life_selector, record.packet_life),
    ] {
        assert_eq!(theirs[label], format!("0x{:X}", selector << 6 | value), "{label}");
    }
    for (label, value) in record.fields() {
        if !["mtu", "rate", "pkt_life"].contains(&label) {
            assert_eq!(theirs.get(label).copied().unwrap_or(&value), value, "{label}");
        }
    }
}

#[test]
fn multicast_member_record() {
    let golden = golden("sa_multicast_member_record");
    let record: sa::MulticastMemberRecord = parsed(&golden.mad);
    let theirs = labelled(&golden.printed);
    assert_eq!(theirs["MGID"], record.group_gid.to_string());
    assert_eq!(theirs["mlid"], format!("{:#x}", record.group_lid.0));
    assert_eq!(theirs["qkey"], format!("{:#x}", record.q_key));
    assert_eq!(theirs["rate"], format!("{:#x}", record.rate_selector << 6 | record.rate));
    assert_eq!((record.scope, record.p_key), (2, 0xffff));
}

#[test]
fn manager_and_service_records() {
    let manager = golden("sa_sm_info_record");
    let record: sa::SmInfoRecord = parsed(&manager.mad);
    let theirs = labelled(&manager.printed);
    assert_eq!((theirs["LID"], theirs["GUID"]), ("2", record.info.guid.to_string().as_str()));

    let service = golden("sa_service_record");
    let record: sa::ServiceRecord = parsed(&service.mad);
    let theirs = labelled(&service.printed);
    assert_eq!(theirs["ServiceID"], format!("{:#018x}", record.id));
    assert_eq!(theirs["ServiceGID"], record.gid.to_string());
    assert_eq!(theirs["ServiceLease"], format!("0x{:X}", record.lease));
    assert!(record.name.starts_with(b"heddle.test\0"));
    assert_eq!(
        theirs["ServiceData64.1"],
        format!("0x{:016x}", u64::from_be_bytes(*record.data[48..].first_chunk().unwrap()))
    );
}

#[test]
fn subscriptions() {
    let golden = golden("sa_inform_info_record");
    let record: sa::InformInfoRecord = parsed(&golden.mad);
    let missing = only_in_tool(&record.info, &golden.printed);
    assert_eq!(missing, ["SubscriberEnum", "SubscriberGID"]);
    let subscriber = Gid::new(record.subscriber_prefix, Guid(record.subscriber_guid));
    assert_eq!(labelled(&golden.printed)["SubscriberGID"], subscriber.to_string());
    assert_eq!((record.info.trap_number, record.info.producer), (64, 4));
    let answer: sa::InformInfo = parsed(&self::golden("inform_info").mad);
    // The administrator tells the queue pair to the subscriber alone.
    assert_eq!((answer.qpn, record.info.qpn), (1, 0));
    assert_eq!(sa::InformInfo { qpn: 0, ..answer }, record.info);
}

#[test]
fn table_records() {
    let lft: sa::LinearForwardingTableRecord = parsed(&golden("sa_linear_forwarding_table_record").mad);
    assert_eq!(lft.table, golden("linear_forwarding_table").mad.get());
    let mft: sa::MulticastForwardingTableRecord = parsed(&golden("sa_multicast_forwarding_table_record").mad);
    assert_eq!(mft.table, golden("multicast_forwarding_table").mad.get());
    let keys: sa::PKeyTableRecord = parsed(&golden("sa_p_key_table_record").mad);
    assert_eq!((keys.lid, keys.port, keys.table.0[0]), (Lid(6), 1, PartitionKey::DEFAULT_FULL));
    let guids: sa::GuidInfoRecord = parsed(&golden("sa_guid_info_record").mad);
    assert_eq!((guids.lid, guids.guids.0[0]), (Lid(2), Guid(0x100001)));
    let lanes: sa::SlToVlRecord = parsed(&golden("sa_sl_to_vl_record").mad);
    assert_eq!((lanes.lid, lanes.table), (Lid(2), SlToVlMapping::default()));
    let turns: sa::VlArbitrationRecord = parsed(&golden("sa_vl_arbitration_record").mad);
    assert_eq!((turns.lid, turns.port, turns.block), (Lid(2), 1, 1));
}
