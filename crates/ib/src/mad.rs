//! The 256 bytes of a MAD, read and written in place.
//!
//! Nothing is taken apart that is not asked for: the hot paths of manager and emulator look at a few header fields of
//! millions of MADs. Byte positions are those of the standard's common header; bytes 32 on differ by class:
//!
//! | bytes | directed route | LID routed | administration | performance |
//! | --- | --- | --- | --- | --- |
//! | 4, 6, 7 | status with direction bit, hop pointer, hop count | status | status | status |
//! | 24-31 | M_Key | M_Key | RMPP | - |
//! | 32-35 | DrSLID, DrDLID | - | RMPP | - |
//! | 36-55 | - | - | SM_Key, offset, component mask | - |
//! | data | 64-127 | 64-127 | 56-255 | 64-255 |
//! | 128-255 | initial path, return path | - | data | data |

use std::fmt;

use crate::{Attribute, AttributeId, DirectedRoute, ManagementClass, Method, Status};

/// One management datagram.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Mad(pub [u8; 256]);

impl Default for Mad {
    fn default() -> Self {
        Self([0; 256])
    }
}

macro_rules! header {
    ($($(#[$doc:meta])* $get:ident, $set:ident: $int:ty = $at:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $get(&self) -> $int {
            let mut bytes = [0; size_of::<$int>()];
            bytes.copy_from_slice(&self.0[$at..$at + size_of::<$int>()]);
            <$int>::from_be_bytes(bytes)
        }

        #[doc = concat!("Sets what [`Mad::", stringify!($get), "`] reads.")]
        #[inline(always)]
        pub fn $set(&mut self, value: $int) {
            self.0[$at..$at + size_of::<$int>()].copy_from_slice(&value.to_be_bytes());
        }
    )*};
}

impl Mad {
    header! {
        /// 1.
        base_version, set_base_version: u8 = 0;
        /// 1 for subnet management, 2 for subnet administration.
        class_version, set_class_version: u8 = 2;
        /// Bytes 4 and 5 as they stand: in a directed-route MAD the top bit is the direction.
        raw_status, set_raw_status: u16 = 4;
        /// How many hops of a directed route lie behind.
        hop_pointer, set_hop_pointer: u8 = 6;
        /// How many hops a directed route has.
        hop_count, set_hop_count: u8 = 7;
        /// What ties an answer to its request.
        tid, set_tid: u64 = 8;
        /// Which part of the attribute, or which port.
        attribute_modifier, set_attribute_modifier: u32 = 20;
        /// The key of subnet management.
        m_key, set_m_key: u64 = 24;
        /// Where a directed route begins; permissive when at the sender.
        dr_slid, set_dr_slid: u16 = 32;
        /// Where a directed route ends; permissive when at the receiver.
        dr_dlid, set_dr_dlid: u16 = 34;
        /// RMPP version of an administration MAD, 0 where RMPP is not in use.
        rmpp_version, set_rmpp_version: u8 = 24;
        /// RMPP type: 1 data, 2 acknowledge, 3 stop, 4 abort.
        rmpp_type, set_rmpp_type: u8 = 25;
        /// RMPP response time (top 5 bits) and flags: 1 active, 2 first, 4 last.
        rmpp_flags, set_rmpp_flags: u8 = 26;
        /// RMPP status.
        rmpp_status, set_rmpp_status: u8 = 27;
        /// RMPP segment number.
        rmpp_segment, set_rmpp_segment: u32 = 28;
        /// RMPP payload length, or new window.
        rmpp_length, set_rmpp_length: u32 = 32;
        /// The key of subnet administration.
        sm_key, set_sm_key: u64 = 36;
        /// Length of one record of a table, in 8 bytes.
        attribute_offset, set_attribute_offset: u16 = 44;
        /// Which fields of the record the query names.
        component_mask, set_component_mask: u64 = 48;
    }

    /// The management class.
    #[inline(always)]
    pub fn class(&self) -> ManagementClass {
        ManagementClass(self.0[1])
    }

    /// The method.
    #[inline(always)]
    pub fn method(&self) -> Method {
        Method(self.0[3])
    }

    /// Sets the method.
    #[inline(always)]
    pub fn set_method(&mut self, method: Method) {
        self.0[3] = method.0;
    }

    /// The attribute's number.
    #[inline(always)]
    pub fn attribute_id(&self) -> AttributeId {
        AttributeId(u16::from_be_bytes([self.0[16], self.0[17]]))
    }

    /// Sets the attribute's number.
    #[inline(always)]
    pub fn set_attribute_id(&mut self, id: AttributeId) {
        self.0[16..18].copy_from_slice(&id.0.to_be_bytes());
    }

    /// Whether it is a directed-route MAD.
    #[inline(always)]
    pub fn is_directed(&self) -> bool {
        self.class() == ManagementClass::SUBN_DIRECTED
    }

    /// The status, without the direction bit of directed routes.
    #[inline(always)]
    pub fn status(&self) -> Status {
        let mask = if self.is_directed() { 0x7fff } else { 0xffff };
        Status(self.raw_status() & mask)
    }

    /// Sets the status and leaves the direction bit of directed routes.
    #[inline(always)]
    pub fn set_status(&mut self, status: Status) {
        let keep = if self.is_directed() { self.raw_status() & 0x8000 } else { 0 };
        self.set_raw_status(keep | status.0);
    }

    /// The direction of a directed route: set on the way back.
    #[inline(always)]
    pub fn is_returning(&self) -> bool {
        self.raw_status() & 0x8000 != 0
    }

    /// The 64 bytes of a subnet management attribute.
    #[inline(always)]
    pub fn data(&self) -> &[u8; 64] {
        self.0[64..128].try_into().expect("64 bytes")
    }

    /// The 64 bytes of a subnet management attribute, to write.
    #[inline(always)]
    pub fn data_mut(&mut self) -> &mut [u8; 64] {
        (&mut self.0[64..128]).try_into().expect("64 bytes")
    }

    /// The ports that a directed route leaves by; entry 0 is not used.
    #[inline(always)]
    pub fn initial_path(&self) -> &[u8; 64] {
        self.0[128..192].try_into().expect("64 bytes")
    }

    /// The ports that a directed-route MAD came in by; entry 0 is not used.
    #[inline(always)]
    pub fn return_path(&self) -> &[u8; 64] {
        self.0[192..256].try_into().expect("64 bytes")
    }

    /// The return path, to write.
    #[inline(always)]
    pub fn return_path_mut(&mut self) -> &mut [u8; 64] {
        (&mut self.0[192..256]).try_into().expect("64 bytes")
    }

    /// The directed route that it was sent with; hop counts beyond 63 are cut.
    pub fn route(&self) -> DirectedRoute {
        let hops = usize::from(self.hop_count()).min(crate::route::MAX_HOPS);
        DirectedRoute::new(&self.initial_path()[1..=hops]).unwrap_or_default()
    }

    /// Reads the attribute that its class and number say it carries; the caller has compared them.
    #[inline]
    pub fn get<A: Attribute>(&self) -> A {
        A::parse(&self.0[A::OFFSET..])
    }

    /// Writes an attribute's data and number.
    #[inline]
    pub fn put<A: Attribute>(&mut self, attribute: &A) {
        self.set_attribute_id(A::ID);
        attribute.emit(&mut self.0[A::OFFSET..]);
    }

    fn begin(
        class: ManagementClass,
        version: u8,
        method: Method,
        id: AttributeId,
        modifier: u32,
        tid: u64,
    ) -> Self {
        let mut mad = Self::default();
        mad.set_base_version(1);
        mad.0[1] = class.0;
        mad.set_class_version(version);
        mad.set_method(method);
        mad.set_tid(tid);
        mad.set_attribute_id(id);
        mad.set_attribute_modifier(modifier);
        mad
    }

    /// A subnet management MAD over a directed route, from end to end.
    #[inline]
    pub fn directed(
        method: Method,
        id: AttributeId,
        modifier: u32,
        route: &DirectedRoute,
        tid: u64,
        m_key: u64,
    ) -> Self {
        let mut mad = Self::begin(ManagementClass::SUBN_DIRECTED, 1, method, id, modifier, tid);
        mad.set_hop_count(route.hops().len() as u8);
        mad.set_m_key(m_key);
        mad.set_dr_slid(0xffff);
        mad.set_dr_dlid(0xffff);
        mad.0[129..129 + route.hops().len()].copy_from_slice(route.hops());
        mad
    }

    /// A subnet management MAD to a LID.
    pub fn lid_routed(method: Method, id: AttributeId, modifier: u32, tid: u64, m_key: u64) -> Self {
        let mut mad = Self::begin(ManagementClass::SUBN_LID, 1, method, id, modifier, tid);
        mad.set_m_key(m_key);
        mad
    }

    /// A subnet administration MAD.
    pub fn administration(method: Method, id: AttributeId, tid: u64) -> Self {
        Self::begin(ManagementClass::SUBN_ADM, 2, method, id, 0, tid)
    }

    /// A performance management MAD.
    pub fn performance(method: Method, id: AttributeId, tid: u64) -> Self {
        Self::begin(ManagementClass::PERF, 1, method, id, 0, tid)
    }

    /// Turns a request into its answer in place: method, and the direction of a directed route. Data and status are
    /// the caller's.
    #[inline]
    pub fn make_response(&mut self) {
        self.set_method(self.method().response());
        let direction = if self.is_directed() { 0x8000 } else { 0 };
        self.set_raw_status(direction);
    }
}

impl fmt::Debug for Mad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.attribute_id();
        write!(f, "{} {} ", self.class(), self.method())?;
        match id.name_in(self.class()) {
            Some(name) => f.write_str(name)?,
            None => write!(f, "{:#06x}", id.0)?,
        }
        write!(
            f,
            " modifier {:#x} tid {:#x} status {:?}",
            self.attribute_modifier(),
            self.tid(),
            self.status()
        )?;
        if self.is_directed() {
            let way = if self.is_returning() { "back" } else { "out" };
            write!(f, " route {} {way} at hop {}", self.route(), self.hop_pointer())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeInfo;
    use proptest::prelude::*;

    #[test]
    fn a_directed_request_has_its_bytes_in_place() {
        let route = DirectedRoute::new(&[1, 19, 4]).unwrap();
        let mad =
            Mad::directed(Method::GET, AttributeId::NODE_INFO, 0, &route, 0x1122_3344_5566_7788, 0xabcd);
        assert_eq!(mad.0[..8], [1, 0x81, 1, 1, 0, 0, 0, 3]);
        assert_eq!(mad.0[8..16], [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
        assert_eq!(mad.0[16..18], [0, 0x11]);
        assert_eq!(mad.0[24..36], [0, 0, 0, 0, 0, 0, 0xab, 0xcd, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(mad.0[128..133], [0, 1, 19, 4, 0]);
        assert_eq!(mad.route(), route);
        assert_eq!(mad.route().to_string(), "0,1,19,4");
    }

    #[test]
    fn a_response_keeps_the_request_and_turns_it_round() {
        let mut mad = Mad::directed(Method::SET, AttributeId::PORT_INFO, 7, &DirectedRoute::LOCAL, 9, 0);
        mad.make_response();
        mad.set_status(Status::INVALID_FIELD);
        assert!(mad.is_returning());
        assert_eq!((mad.method(), mad.status()), (Method::GET_RESP, Status::INVALID_FIELD));
        assert_eq!((mad.tid(), mad.attribute_modifier(), mad.raw_status()), (9, 7, 0x801c));
    }

    #[test]
    fn attributes_go_in_and_come_out() {
        let mut mad = Mad([0xa5; 256]);
        let info = NodeInfo { port_count: 36, ..NodeInfo::default() };
        mad.put(&info);
        assert_eq!(mad.attribute_id(), AttributeId::NODE_INFO);
        assert_eq!(mad.get::<NodeInfo>(), info);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 256)) {
            let mad = Mad(bytes.try_into().unwrap());
            let printed = format!("{mad:?}");
            prop_assert!(!printed.is_empty());
            let mut answer = mad;
            answer.make_response();
            prop_assert_eq!(answer.tid(), mad.tid());
        }
    }
}
