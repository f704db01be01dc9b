//! What an engine gives: tables, the lanes that their paths need, and the order that the paths climb by.

use crate::lanes::Lanes;
use crate::tables::Tables;

/// Forwarding tables with what belongs to them.
#[derive(Clone, PartialEq, Debug)]
pub struct Routes {
    /// Which port each switch sends each LID by.
    pub tables: Tables,
    /// A different height for every switch, by row of the tables, where all paths between adapters climb to higher
    /// switches first and then descend to lower ones. Any other paths that keep to it cannot close a credit loop with
    /// these: that makes a quick repair safe. None where the paths keep to no such order.
    pub heights: Option<Vec<u32>>,
    /// Which virtual lane each path takes.
    pub lanes: Lanes,
}

impl Routes {
    /// Tables whose paths all take one lane.
    pub fn on_one_lane(tables: Tables, heights: Option<Vec<u32>>) -> Self {
        Self { tables, heights, lanes: Lanes::one() }
    }
}
