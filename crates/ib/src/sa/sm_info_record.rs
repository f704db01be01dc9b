//! SMInfoRecord: the subnet managers by their LIDs.

use super::components::components;
use super::record;
use crate::attribute::Fields;
use crate::{AttributeId, Lid, SmInfo};

record! {
    /// A subnet manager by its LID.
    SmInfoRecord, AttributeId::SM_INFO_RECORD, "SMInfoRecord", 28 bytes {
        /// The LID of its port.
        lid: Lid = [0, 16];
    } {
        /// Who it is, how strong, in which state.
        info: SmInfo = at 4;
    }
}

components! {
    SmInfoRecord {
        LID = [0, 16];
        RESERVED = [16, 16];
        GUID = [32, 64];
        SM_KEY = [96, 64];
        ACTIVITY_COUNT = [160, 32];
        PRIORITY = [192, 4];
        STATE = [196, 4];
    }
}

impl Fields for SmInfoRecord {
    /// As `saquery SMIR` prints it.
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("LID", self.lid.to_string()),
            ("GUID", self.info.guid.to_string()),
            ("SM_Key", format!("{:#018x}", self.info.sm_key)),
            ("ActCount", self.info.activity_count.to_string()),
            ("Priority", self.info.priority.to_string()),
            ("SMState", self.info.state.0.to_string()),
        ]
    }
}
