//! The routes in service, as a value for who computes beside the manager: what would be if.

use std::sync::Weak;

use fabric::Fabric;
use routing::{Lanes, RouteError, Routes, Tables};

use crate::paths::Wanted;

/// Routes in service. It does not keep the tables alive: where they change meanwhile there is nothing left to copy, and
/// no heal has to copy them.
pub struct InService {
    tables: Weak<Tables>,
    heights: Option<Vec<u32>>,
    lanes: Lanes,
    wanted: Wanted,
}

impl InService {
    pub(crate) fn new(tables: Weak<Tables>, heights: Option<Vec<u32>>, lanes: Lanes, wanted: Wanted) -> Self {
        Self { tables, heights, lanes, wanted }
    }

    /// A copy of them; none where they have changed meanwhile.
    pub fn copy(&self) -> Option<Routes> {
        let tables = self.tables.upgrade()?;
        let routes =
            Routes { tables: (*tables).clone(), heights: self.heights.clone(), lanes: self.lanes.clone() };
        Some(routes)
    }

    /// What the manager would compute for this cabling, all tables anew.
    ///
    /// # Errors
    /// Where the engine finds none.
    pub fn anew(&self, fabric: &Fabric) -> Result<Routes, RouteError> {
        self.wanted.route(fabric).map(|(routes, _)| routes)
    }
}
