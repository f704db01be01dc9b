//! LinkRecord: a link, seen from one of its ends.

use super::components::components;
use crate::attribute::attribute;
use crate::{AttributeId, Lid};

attribute! {
    /// A link, seen from one of its ends. A switch's ports all have the LID of port 0.
    LinkRecord, AttributeId::LINK_RECORD, "LinkRecord", 6 bytes at 56 {
        /// The LID of this end.
        from_lid: Lid = [0, 16] "FromLID" uint;
        /// The port of this end.
        from_port: u8 = [16, 8] "FromPort" uint;
        /// The port of the other end.
        to_port: u8 = [24, 8] "ToPort" uint;
        /// The LID of the other end.
        to_lid: Lid = [32, 16] "ToLID" uint;
    }
}

components! {
    LinkRecord {
        FROM_LID = [0, 16];
        FROM_PORT = [16, 8];
        TO_PORT = [24, 8];
        TO_LID = [32, 16];
    }
}
