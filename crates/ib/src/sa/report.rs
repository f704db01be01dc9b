//! Report: a notice, as the administrator passes it on to those who wished to hear of it.

use super::OFFSET;
use crate::{Attribute, AttributeId, Gid, Notice};

/// A notice, as the administrator passes it on to those who wished to hear of it ([`super::InformInfo`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// What there is to tell.
    pub notice: Notice,
    /// The GID of who told the administrator.
    pub issuer_gid: Gid,
}

impl Attribute for Report {
    const ID: AttributeId = AttributeId::NOTICE;
    const NAME: &'static str = "Notice";
    const LENGTH: usize = 80;
    const OFFSET: usize = OFFSET;

    fn parse(data: &[u8]) -> Self {
        let mut issuer = [0; 16];
        issuer.copy_from_slice(&data[64..80]);
        Self { notice: Notice::parse(data), issuer_gid: Gid(u128::from_be_bytes(issuer)) }
    }

    fn emit(&self, data: &mut [u8]) {
        self.notice.emit(data);
        data[64..80].copy_from_slice(&self.issuer_gid.0.to_be_bytes());
    }
}
