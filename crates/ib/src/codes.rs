//! Code numbers of the wire with names. Unknown codes are kept as they came.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bits::Field;

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident($int:ty) { $($(#[$item_doc:meta])* $item:ident = $code:expr, $text:expr;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $int);

        #[allow(missing_docs)]
        impl $name {
            $($(#[$item_doc])* pub const $item: Self = Self($code);)*

            /// The name of a known code.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some($text),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => f.pad(name),
                    None => write!(f, "{:#x}", self.0),
                }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Field for $name {
            type Bits = u64;
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                Self(bits as $int)
            }
            #[inline(always)]
            fn to_bits(self) -> u64 {
                u64::from(self.0)
            }
        }
    };
}

codes! {
    /// What a node is.
    NodeType(u8) {
        CHANNEL_ADAPTER = 1, "Channel Adapter";
        SWITCH = 2, "Switch";
        ROUTER = 3, "Router";
    }
}

codes! {
    /// Logical state of a port.
    PortState(u8) {
        /// In a Set: leave as it is.
        NO_CHANGE = 0, "NoChange";
        /// No link.
        DOWN = 1, "Down";
        /// The link has trained; only management packets pass.
        INITIALIZE = 2, "Initialize";
        /// Configured; packets of data pass inwards only.
        ARMED = 3, "Armed";
        /// In service.
        ACTIVE = 4, "Active";
    }
}

codes! {
    /// Physical state of a port.
    PhysicalState(u8) {
        NO_CHANGE = 0, "NoChange";
        SLEEP = 1, "Sleep";
        POLLING = 2, "Polling";
        DISABLED = 3, "Disabled";
        TRAINING = 4, "PortConfigurationTraining";
        LINK_UP = 5, "LinkUp";
        RECOVERY = 6, "LinkErrorRecovery";
        PHY_TEST = 7, "PhyTest";
    }
}

codes! {
    /// Which kind of management a MAD belongs to.
    ManagementClass(u8) {
        SUBN_LID = 0x01, "SubnLid";
        SUBN_DIRECTED = 0x81, "SubnDirected";
        SUBN_ADM = 0x03, "SubnAdm";
        PERF = 0x04, "Perf";
        BASEBOARD = 0x05, "Baseboard";
        DEVICE_MGT = 0x06, "DevMgt";
        COMM_MGT = 0x07, "ComMgt";
        SNMP = 0x08, "SNMP";
        VENDOR_MELLANOX = 0x0a, "MlnxVendor";
        CONGESTION = 0x21, "CongestionControl";
    }
}

codes! {
    /// What a MAD asks for or answers.
    Method(u8) {
        GET = 0x01, "Get";
        SET = 0x02, "Set";
        SEND = 0x03, "Send";
        TRAP = 0x05, "Trap";
        REPORT = 0x06, "Report";
        TRAP_REPRESS = 0x07, "TrapRepress";
        GET_TABLE = 0x12, "GetTable";
        GET_TRACE_TABLE = 0x13, "GetTraceTable";
        GET_MULTI = 0x14, "GetMulti";
        DELETE = 0x15, "Delete";
        GET_RESP = 0x81, "GetResp";
        REPORT_RESP = 0x86, "ReportResp";
        GET_TABLE_RESP = 0x92, "GetTableResp";
        GET_MULTI_RESP = 0x94, "GetMultiResp";
        DELETE_RESP = 0x95, "DeleteResp";
    }
}

impl Method {
    /// Whether the MAD answers another.
    #[inline]
    pub const fn is_response(self) -> bool {
        self.0 & 0x80 != 0 || self.0 == Self::TRAP_REPRESS.0
    }

    /// Whether the MAD wants an answer.
    #[inline]
    pub const fn is_request(self) -> bool {
        matches!(self.0, 0x01 | 0x02 | 0x06 | 0x12 | 0x13 | 0x14 | 0x15)
    }

    /// The method that answers this one.
    pub const fn response(self) -> Self {
        match self {
            Self::SET => Self::GET_RESP,
            Self::TRAP => Self::TRAP_REPRESS,
            Self(code) => Self(code | 0x80),
        }
    }
}

codes! {
    /// Which attribute a MAD carries. One number may mean another attribute in another class.
    AttributeId(u16) {
        CLASS_PORT_INFO = 0x0001, "ClassPortInfo";
        NOTICE = 0x0002, "Notice";
        INFORM_INFO = 0x0003, "InformInfo";
        NODE_DESCRIPTION = 0x0010, "NodeDescription";
        NODE_INFO = 0x0011, "NodeInfo";
        SWITCH_INFO = 0x0012, "SwitchInfo";
        GUID_INFO = 0x0014, "GUIDInfo";
        PORT_INFO = 0x0015, "PortInfo";
        P_KEY_TABLE = 0x0016, "P_KeyTable";
        SL_TO_VL_MAPPING = 0x0017, "SLtoVLMappingTable";
        VL_ARBITRATION = 0x0018, "VLArbitrationTable";
        LINEAR_FORWARDING_TABLE = 0x0019, "LinearForwardingTable";
        RANDOM_FORWARDING_TABLE = 0x001a, "RandomForwardingTable";
        MULTICAST_FORWARDING_TABLE = 0x001b, "MulticastForwardingTable";
        LINK_RECORD = 0x0020, "LinkRecord or SMInfo";
        SERVICE_RECORD = 0x0031, "ServiceRecord or LedInfo";
        PATH_RECORD = 0x0035, "PathRecord";
        MC_MEMBER_RECORD = 0x0038, "MCMemberRecord";
        MULTI_PATH_RECORD = 0x003a, "MultiPathRecord";
        EXTENDED_PORT_INFO = 0xff90, "ExtendedPortInfo";
    }
}

impl AttributeId {
    /// SMInfo in the subnet management classes. Subnet administration has LinkRecord under the same number.
    pub const SM_INFO: Self = Self(0x0020);
    /// PortCounters in the performance class. Subnet management has SwitchInfo under the same number.
    pub const PORT_COUNTERS: Self = Self(0x0012);
    /// PortCountersExtended in the performance class.
    pub const PORT_COUNTERS_EXTENDED: Self = Self(0x001d);
    /// NodeRecord in subnet administration.
    pub const NODE_RECORD: Self = Self(0x0011);
    /// PortInfoRecord in subnet administration.
    pub const PORT_INFO_RECORD: Self = Self(0x0012);
    /// SLtoVLMappingTableRecord in subnet administration.
    pub const SL_TO_VL_RECORD: Self = Self(0x0013);
    /// SwitchInfoRecord in subnet administration.
    pub const SWITCH_INFO_RECORD: Self = Self(0x0014);
    /// LinearForwardingTableRecord in subnet administration.
    pub const LINEAR_FORWARDING_TABLE_RECORD: Self = Self(0x0015);
    /// SMInfoRecord in subnet administration.
    pub const SM_INFO_RECORD: Self = Self(0x0018);
    /// P_KeyTableRecord in subnet administration.
    pub const P_KEY_TABLE_RECORD: Self = Self(0x0033);
    /// MulticastForwardingTableRecord in subnet administration.
    pub const MULTICAST_FORWARDING_TABLE_RECORD: Self = Self(0x0017);
    /// GUIDInfoRecord in subnet administration. Subnet management has VendorDiag under the same number.
    pub const GUID_INFO_RECORD: Self = Self(0x0030);
    /// VLArbitrationTableRecord in subnet administration.
    pub const VL_ARBITRATION_RECORD: Self = Self(0x0036);
    /// InformInfoRecord in subnet administration.
    pub const INFORM_INFO_RECORD: Self = Self(0x00f3);

    /// The attribute's name in a class, where both are known.
    pub const fn name_in(self, class: ManagementClass) -> Option<&'static str> {
        match class {
            ManagementClass::PERF => match self.0 {
                0x0001 => Some("ClassPortInfo"),
                0x0012 => Some("PortCounters"),
                0x001d => Some("PortCountersExtended"),
                _ => None,
            },
            ManagementClass::SUBN_ADM => match self.0 {
                0x0011 => Some("NodeRecord"),
                0x0012 => Some("PortInfoRecord"),
                0x0013 => Some("SLtoVLMappingTableRecord"),
                0x0014 => Some("SwitchInfoRecord"),
                0x0015 => Some("LinearForwardingTableRecord"),
                0x0017 => Some("MulticastForwardingTableRecord"),
                0x0018 => Some("SMInfoRecord"),
                0x0030 => Some("GUIDInfoRecord"),
                0x0036 => Some("VLArbitrationTableRecord"),
                0x00f3 => Some("InformInfoRecord"),
                0x0020 => Some("LinkRecord"),
                0x0031 => Some("ServiceRecord"),
                0x0033 => Some("P_KeyTableRecord"),
                _ => self.name(),
            },
            _ => match self.0 {
                0x0020 => Some("SMInfo"),
                0x0030 => Some("VendorDiag"),
                0x0031 => Some("LedInfo"),
                _ => self.name(),
            },
        }
    }
}

/// What an agent says of a request: bits 0 and 1 busy and redirect, bits 2 to 4 what was invalid, the rest by class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Status(pub u16);

impl Status {
    /// Done.
    pub const OK: Self = Self(0);
    /// Ask again later.
    pub const BUSY: Self = Self(1);
    /// Ask elsewhere.
    pub const REDIRECT: Self = Self(2);
    /// The agent does not know this class version.
    pub const BAD_VERSION: Self = Self(1 << 2);
    /// The agent does not know the method.
    pub const UNSUPPORTED_METHOD: Self = Self(2 << 2);
    /// The agent does not know the attribute, or not with this method.
    pub const UNSUPPORTED_ATTRIBUTE: Self = Self(3 << 2);
    /// A field of the attribute or the modifier is not valid.
    pub const INVALID_FIELD: Self = Self(7 << 2);

    /// Whether the request was carried out.
    #[inline]
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.0 >> 2 & 7 {
            0 => match self.0 & 3 {
                0 => "ok",
                1 => "busy",
                2 => "redirect",
                _ => "busy, redirect",
            },
            1 => "bad version",
            2 => "unsupported method",
            3 => "unsupported method and attribute",
            7 => "invalid field",
            _ => "reserved",
        };
        if self.0 >> 8 == 0 { f.pad(what) } else { write!(f, "{what}, class status {:#x}", self.0 >> 8) }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x} ({self})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_know_their_answers() {
        assert_eq!(Method::GET.response(), Method::GET_RESP);
        assert_eq!(Method::SET.response(), Method::GET_RESP);
        assert_eq!(Method::GET_TABLE.response(), Method::GET_TABLE_RESP);
        assert_eq!(Method::TRAP.response(), Method::TRAP_REPRESS);
        assert!(Method::TRAP_REPRESS.is_response() && !Method::TRAP.is_response());
        assert!(Method::SET.is_request() && !Method::GET_RESP.is_request() && !Method::TRAP.is_request());
    }

    #[test]
    fn names_depend_on_the_class() {
        let id = AttributeId(0x12);
        assert_eq!(id.name_in(ManagementClass::SUBN_DIRECTED), Some("SwitchInfo"));
        assert_eq!(id.name_in(ManagementClass::PERF), Some("PortCounters"));
        assert_eq!(id.name_in(ManagementClass::SUBN_ADM), Some("PortInfoRecord"));
        assert_eq!(Status(0x1c).to_string(), "invalid field");
        assert_eq!(format!("{:?}", PortState(9)), "0x9");
    }
}
