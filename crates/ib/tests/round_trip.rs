//! Every attribute: any bytes give a value, any value gives its bytes back, and emitting leaves no byte unwritten.

use ib::*;
use proptest::prelude::*;

/// Parses random bytes, emits over a filled buffer, parses again, emits again: value and bytes must settle at once.
fn settles<A: Attribute + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> Result<(), TestCaseError> {
    let value = A::parse(bytes);
    let mut once = [0xa5; 192];
    value.emit(&mut once[..A::LENGTH]);
    prop_assert!(once[A::LENGTH..].iter().all(|&byte| byte == 0xa5), "{} writes beyond its length", A::NAME);
    prop_assert_eq!(&A::parse(&once), &value);
    let mut twice = [0x5a; 192];
    value.emit(&mut twice[..A::LENGTH]);
    prop_assert_eq!(&once[..A::LENGTH], &twice[..A::LENGTH], "{} leaves bytes unwritten", A::NAME);
    for (at, (&parsed, &given)) in once[..A::LENGTH].iter().zip(bytes).enumerate() {
        prop_assert_eq!(parsed & !given, 0, "{} sets bits of byte {} that were not given", A::NAME, at);
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_attribute_settles(bytes in proptest::collection::vec(any::<u8>(), 192)) {
        settles::<NodeDescription>(&bytes)?;
        settles::<NodeInfo>(&bytes)?;
        settles::<SwitchInfo>(&bytes)?;
        settles::<PortInfo>(&bytes)?;
        settles::<ExtendedPortInfo>(&bytes)?;
        settles::<GuidInfo>(&bytes)?;
        settles::<PKeyTable>(&bytes)?;
        settles::<SlToVlMapping>(&bytes)?;
        settles::<VlArbitration>(&bytes)?;
        settles::<LinearForwardingTable>(&bytes)?;
        settles::<MulticastForwardingTable>(&bytes)?;
        settles::<SmInfo>(&bytes)?;
        settles::<Notice>(&bytes)?;
        settles::<ClassPortInfo>(&bytes)?;
        settles::<PortCounters>(&bytes)?;
        settles::<PortCountersExtended>(&bytes)?;
        let _ = Notice::parse(&bytes).trap();
    }

    #[test]
    fn every_record_settles(bytes in proptest::collection::vec(any::<u8>(), 192)) {
        settles::<sa::NodeRecord>(&bytes)?;
        settles::<sa::PortInfoRecord>(&bytes)?;
        settles::<sa::SwitchInfoRecord>(&bytes)?;
        settles::<sa::LinkRecord>(&bytes)?;
        settles::<sa::PathRecord>(&bytes)?;
        settles::<sa::MultiPathRecord>(&bytes)?;
        settles::<sa::MulticastMemberRecord>(&bytes)?;
        settles::<sa::ServiceRecord>(&bytes)?;
        settles::<sa::InformInfo>(&bytes)?;
        settles::<sa::InformInfoRecord>(&bytes)?;
        settles::<sa::SmInfoRecord>(&bytes)?;
        settles::<sa::LinearForwardingTableRecord>(&bytes)?;
        settles::<sa::MulticastForwardingTableRecord>(&bytes)?;
        settles::<sa::PKeyTableRecord>(&bytes)?;
        settles::<sa::SlToVlRecord>(&bytes)?;
        settles::<sa::VlArbitrationRecord>(&bytes)?;
        settles::<sa::GuidInfoRecord>(&bytes)?;
        settles::<sa::Report>(&bytes)?;
    }
}

/// Which bits a device may set: all of the attribute but what the standard reserves.
fn kept<A: Attribute>() -> Vec<(usize, u8)> {
    let mut out = [0; 192];
    A::parse(&[0xff; 192]).emit(&mut out[..A::LENGTH]);
    out[..A::LENGTH].iter().copied().enumerate().filter(|&(_, byte)| byte != 0xff).collect()
}

#[test]
fn only_reserved_bits_are_lost() {
    assert_eq!(kept::<NodeInfo>(), []);
    assert_eq!(kept::<SwitchInfo>(), [(16, 0xfe), (17, 0)]);
    assert_eq!(kept::<PortInfo>(), [(34, 0xf7), (52, 0x1f), (56, 0x7f), (63, 0x1f)]);
    assert_eq!(kept::<SmInfo>(), [(21, 0), (22, 0), (23, 0)]);
    assert_eq!(kept::<PortCounters>(), [(0, 0)]);
    assert_eq!(kept::<PortCountersExtended>(), [(0, 0)]);
    assert_eq!(kept::<Notice>(), []);
    assert_eq!(kept::<GuidInfo>(), []);
    assert_eq!(kept::<SlToVlMapping>(), []);
}
