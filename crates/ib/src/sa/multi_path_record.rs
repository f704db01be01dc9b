//! MultiPathRecord: a question for paths between several ends at once.

use super::components::components;
use crate::attribute::attribute;
use crate::{Attribute, AttributeId, Gid, Mtu};

/// How many GIDs the first MAD of a question has room for.
pub const MULTI_PATH_GIDS: usize = 11;

attribute! {
    /// What a question for paths between several ends asks of them; the GIDs of the ends follow ([`MultiPathRecord::gids`]).
    MultiPathRecord, AttributeId::MULTI_PATH_RECORD, "MultiPathRecord", 24 bytes at 56 {
        /// Whether raw packets are meant.
        raw_traffic: bool = [0, 1] "raw_traffic" short_hex;
        /// Flow label of the global route.
        flow_label: u32 = [4, 20] "flow_label" short_hex;
        /// Hop limit of the global route.
        hop_limit: u8 = [24, 8] "hop_limit" short_hex;
        /// Traffic class of the global route.
        traffic_class: u8 = [32, 8] "tclass" short_hex;
        /// Whether the way back takes the same values.
        reversible: bool = [40, 1] "reversible" short_hex;
        /// How many paths are wanted at the most.
        path_count: u8 = [41, 7] "num_path" short_hex;
        /// Partition key.
        p_key: u16 = [48, 16] "pkey" short_hex;
        /// Class of quality of service.
        qos_class: u16 = [64, 12] "qos_class" short_hex;
        /// Service level.
        sl: u8 = [76, 4] "sl" short_hex;
        /// How the MTU is meant.
        mtu_selector: u8 = [80, 2] "mtu_selector" short_hex;
        /// The largest payload.
        mtu: Mtu = [82, 6] "mtu" short_hex;
        /// How the rate is meant.
        rate_selector: u8 = [88, 2] "rate_selector" short_hex;
        /// The slowest link's rate, as a code.
        rate: u8 = [90, 6] "rate" short_hex;
        /// How the lifetime is meant.
        packet_life_selector: u8 = [96, 2] "pkt_life_selector" short_hex;
        /// How long a packet may be under way: 4.096 us times two to this.
        packet_life: u8 = [98, 6] "pkt_life" short_hex;
        /// The service that the paths are for.
        service_id: u64 = [104, 8][136, 56] "service_id" hex;
        /// Whether paths are wanted that share no fault: 0 no matter, 1 yes.
        independence: u8 = [112, 2] "independence" short_hex;
        /// How many of the GIDs are near ends.
        source_count: u8 = [120, 8] "sgid_count" uint;
        /// How many of the GIDs are far ends.
        dest_count: u8 = [128, 8] "dgid_count" uint;
    }
}

impl MultiPathRecord {
    /// The GIDs of near ends, then of far ends, that the MAD's data holds; counts beyond its room are cut.
    pub fn gids(&self, data: &[u8]) -> impl Iterator<Item = Gid> {
        let count = usize::from(self.source_count) + usize::from(self.dest_count);
        let (gids, _) = data.get(Self::LENGTH..).unwrap_or_default().as_chunks::<16>();
        gids.iter().take(count.min(MULTI_PATH_GIDS)).map(|&bytes| Gid(u128::from_be_bytes(bytes)))
    }
}

components! {
    MultiPathRecord {
        RAW_TRAFFIC = [0, 1];
        RESERVED = [1, 3];
        FLOW_LABEL = [4, 20];
        HOP_LIMIT = [24, 8];
        TRAFFIC_CLASS = [32, 8];
        REVERSIBLE = [40, 1];
        PATH_COUNT = [41, 7];
        P_KEY = [48, 16];
        QOS_CLASS = [64, 12];
        SL = [76, 4];
        MTU_SELECTOR = [80, 2];
        MTU = [82, 6];
        RATE_SELECTOR = [88, 2];
        RATE = [90, 6];
        PACKET_LIFE_SELECTOR = [96, 2];
        PACKET_LIFE = [98, 6];
        SERVICE_ID_MSB = [104, 8];
        INDEPENDENCE = [112, 2];
        RESERVED2 = [114, 6];
        SOURCE_COUNT = [120, 8];
        DEST_COUNT = [128, 8];
        SERVICE_ID_LSB = [136, 56];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gids_are_those_that_are_counted_and_there() {
        let mut data = [0; 200];
        data[24 + 15] = 1;
        data[40 + 15] = 2;
        let gids = |source_count, dest_count| -> Vec<Gid> {
            MultiPathRecord { source_count, dest_count, ..Default::default() }.gids(&data).collect()
        };
        assert_eq!(gids(1, 1), [Gid(1), Gid(2)]);
        assert_eq!(gids(255, 255).len(), MULTI_PATH_GIDS);
        assert_eq!(MultiPathRecord { source_count: 9, ..Default::default() }.gids(&data[..24]).count(), 0);
    }
}
