//! Everything that can be read from a MAD of unknown origin. The fuzz target and the bounded test share it.

use ib::attribute::Fields;
use ib::sa::rmpp::{self, Assembly};
use ib::{print, sa, *};

/// Reads all there is to read, whatever the class says; panics where a law of the crate is broken.
pub fn look(mad: &Mad) {
    header(mad);
    management(mad);
    administration(mad);
    performance(mad);
    transport(mad);
}

fn header(mad: &Mad) {
    assert!(!format!("{mad:?}").is_empty());
    assert!(mad.route().hops().len() <= route::MAX_HOPS);
    let mut answer = *mad;
    answer.make_response();
    answer.set_status(Status::INVALID_FIELD);
    assert_eq!((answer.tid(), answer.status()), (mad.tid(), Status::INVALID_FIELD));
    assert_eq!(answer.is_returning(), mad.is_directed());
}

/// Emitting what was parsed changes nothing but reserved bits, and settles at once.
fn settles<A: Attribute + PartialEq + std::fmt::Debug>(mad: &Mad) -> A {
    let value: A = mad.get();
    let mut out = [0xa5; 256];
    value.emit(&mut out[..A::LENGTH]);
    assert_eq!(A::parse(&out), value, "{}", A::NAME);
    assert!(out[A::LENGTH..].iter().all(|&byte| byte == 0xa5), "{} writes beyond its length", A::NAME);
    let given = &mad.0[A::OFFSET..A::OFFSET + A::LENGTH];
    assert!(out.iter().zip(given).all(|(out, given)| out & !given == 0), "{} makes bits up", A::NAME);
    value
}

fn prints<A: Attribute + Fields + PartialEq + std::fmt::Debug>(mad: &Mad) -> A {
    let value: A = settles(mad);
    assert!(print::dump(&value).lines().count() >= value.fields().len());
    value
}

fn management(mad: &Mad) {
    prints::<NodeInfo>(mad);
    prints::<SwitchInfo>(mad);
    prints::<ExtendedPortInfo>(mad);
    prints::<SmInfo>(mad);
    settles::<LinearForwardingTable>(mad);
    settles::<MulticastForwardingTable>(mad);
    let info: PortInfo = prints(mad);
    if let Some(rate) = info.link_rate() {
        assert!(rate.gbps() > 0.0 && sa::rate::gbps(sa::rate::code(rate)).is_some());
    }
    let description: NodeDescription = settles(mad);
    assert!(!description.text().contains(char::is_control));
    print::tables::node_description(&description);
    print::tables::p_keys(&settles(mad), u16::MAX);
    print::tables::guids(&settles(mad), u8::MAX);
    print::tables::lanes(&settles(mad));
    print::tables::arbitration(&settles(mad), usize::MAX);
    let trap = settles::<Notice>(mad).trap();
    let told = Notice::of(&trap, NodeType::SWITCH, Lid(1));
    if !matches!(trap, Trap::Other { .. }) {
        assert_eq!(told.trap(), trap);
    }
}

fn administration(mad: &Mad) {
    let data = &mad.0[sa::OFFSET..];
    prints::<sa::NodeRecord>(mad);
    prints::<sa::PortInfoRecord>(mad);
    prints::<sa::LinkRecord>(mad);
    prints::<sa::MulticastMemberRecord>(mad);
    prints::<sa::SmInfoRecord>(mad);
    prints::<sa::InformInfo>(mad);
    settles::<sa::SwitchInfoRecord>(mad);
    settles::<sa::ServiceRecord>(mad);
    settles::<sa::InformInfoRecord>(mad);
    settles::<sa::LinearForwardingTableRecord>(mad);
    settles::<sa::MulticastForwardingTableRecord>(mad);
    settles::<sa::PKeyTableRecord>(mad);
    settles::<sa::SlToVlRecord>(mad);
    settles::<sa::VlArbitrationRecord>(mad);
    settles::<sa::GuidInfoRecord>(mad);
    settles::<sa::Report>(mad);
    assert!(prints::<sa::MultiPathRecord>(mad).gids(data).count() <= sa::MULTI_PATH_GIDS);
    let path: sa::PathRecord = prints(mad);
    let _ = (path.dest_gid.prefix(), sa::rate::gbps(path.rate), sa::Selector::from_code(path.rate_selector));
    for mask in [mad.component_mask(), u64::MAX] {
        assert!(sa::matches::<sa::PathRecord>(data, data, mask));
        assert!(sa::matches::<sa::PortInfoRecord>(data, data, mask));
        assert!(sa::matches::<sa::ServiceRecord>(data, data, mask));
    }
}

fn performance(mad: &Mad) {
    prints::<PortCounters>(mad);
    prints::<PortCountersExtended>(mad);
    prints::<ClassPortInfo>(mad);
}

fn transport(mad: &Mad) {
    let mut assembly = Assembly::new(sa::DATA);
    if let Err(reason) = assembly.accept(mad) {
        assert!(!reason.to_string().is_empty());
        let given_up = rmpp::abort(mad, reason);
        assert_eq!(given_up.rmpp_kind(), Some(rmpp::Kind::Abort));
    }
    assert!(assembly.payload().len() <= sa::DATA);
}
