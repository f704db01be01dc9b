//! ServiceRecord: a service by its name, and the port that offers it.

use super::OFFSET;
use super::components::components;
use crate::bits;
use crate::{Attribute, AttributeId, Gid};

/// A service by its name, and the port that offers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServiceRecord {
    /// The service's number.
    pub id: u64,
    /// The port that offers it.
    pub gid: Gid,
    /// Partition key to reach it with.
    pub p_key: u16,
    /// How long the record stands, in seconds; 0xffffffff: for ever.
    pub lease: u32,
    /// The key that guards the record.
    pub key: u128,
    /// The service's name, ended by the first zero.
    pub name: [u8; 64],
    /// What the service wants to be known: 16 bytes, then 8 numbers of 2 bytes, 4 of 4, 2 of 8.
    pub data: [u8; 64],
}

impl Default for ServiceRecord {
    fn default() -> Self {
        Self { id: 0, gid: Gid::default(), p_key: 0, lease: 0, key: 0, name: [0; 64], data: [0; 64] }
    }
}

impl Attribute for ServiceRecord {
    const ID: AttributeId = AttributeId::SERVICE_RECORD;
    const NAME: &'static str = "ServiceRecord";
    const LENGTH: usize = 176;
    const OFFSET: usize = OFFSET;

    fn parse(data: &[u8]) -> Self {
        let bytes = |at: usize| *data[at..].first_chunk().expect("a record is long enough");
        Self {
            id: bits::get(data, 0, 64),
            gid: Gid(u128::from_be_bytes(bytes(8))),
            p_key: bits::get(data, 192, 16) as u16,
            lease: bits::get(data, 224, 32) as u32,
            key: u128::from_be_bytes(bytes(32)),
            name: *data[48..].first_chunk().expect("a record is long enough"),
            data: *data[112..].first_chunk().expect("a record is long enough"),
        }
    }

    fn emit(&self, data: &mut [u8]) {
        bits::set(data, 0, 64, self.id);
        data[8..24].copy_from_slice(&self.gid.0.to_be_bytes());
        bits::set(data, 192, 16, u64::from(self.p_key));
        bits::set(data, 208, 16, 0);
        bits::set(data, 224, 32, u64::from(self.lease));
        data[32..48].copy_from_slice(&self.key.to_be_bytes());
        data[48..112].copy_from_slice(&self.name);
        data[112..176].copy_from_slice(&self.data);
    }
}

components! {
    ServiceRecord {
        ID = [0, 64];
        GID = [64, 128];
        P_KEY = [192, 16];
        RESERVED = [208, 16];
        LEASE = [224, 32];
        KEY = [256, 128];
        NAME = [384, 512];
        DATA8_1 = [896, 8];
        DATA8_2 = [904, 8];
        DATA8_3 = [912, 8];
        DATA8_4 = [920, 8];
        DATA8_5 = [928, 8];
        DATA8_6 = [936, 8];
        DATA8_7 = [944, 8];
        DATA8_8 = [952, 8];
        DATA8_9 = [960, 8];
        DATA8_10 = [968, 8];
        DATA8_11 = [976, 8];
        DATA8_12 = [984, 8];
        DATA8_13 = [992, 8];
        DATA8_14 = [1000, 8];
        DATA8_15 = [1008, 8];
        DATA8_16 = [1016, 8];
        DATA16_1 = [1024, 16];
        DATA16_2 = [1040, 16];
        DATA16_3 = [1056, 16];
        DATA16_4 = [1072, 16];
        DATA16_5 = [1088, 16];
        DATA16_6 = [1104, 16];
        DATA16_7 = [1120, 16];
        DATA16_8 = [1136, 16];
        DATA32_1 = [1152, 32];
        DATA32_2 = [1184, 32];
        DATA32_3 = [1216, 32];
        DATA32_4 = [1248, 32];
        DATA64_1 = [1280, 64];
        DATA64_2 = [1344, 64];
    }
}
