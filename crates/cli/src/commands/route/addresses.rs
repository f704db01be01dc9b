//! LIDs for ports of a file that has none.

use fabric::{Fabric, PortId};
use ib::Lid;

use crate::failure::Failure;

/// Gives every end port without a LID the smallest free one. With `lmc`, gives every port its LIDs anew: 2^`lmc` of
/// them to each port of an adapter, as their base LIDs ask for, one to each switch.
pub fn assign(fabric: &mut Fabric, lmc: Option<u8>, file: &str) -> Result<(), Failure> {
    let ports: Vec<PortId> = fabric.end_ports().collect();
    let mut used = vec![false; Lid::WIDE_UNICAST_MAX.0 as usize + 1];
    for &port in &ports {
        if lmc.is_some() {
            fabric.set_lid(port, Lid::NONE, 0);
        }
        for lid in routing::tables::lids_of(fabric, port) {
            used[lid as usize] = true;
        }
    }
    let mut next = 1;
    for &port in ports.iter().filter(|&&port| fabric.lid(port) == Lid::NONE).collect::<Vec<_>>() {
        let switch = fabric.is_switch(fabric.node_of(port));
        let lmc = if switch { 0 } else { lmc.unwrap_or(0) };
        let step = 1 << lmc;
        next = usize::next_multiple_of(next, step);
        while used.get(next..next + step).is_some_and(|lids| lids.contains(&true)) {
            next += step;
        }
        let Some(lids) = used.get_mut(next..next + step) else {
            let most = Lid::WIDE_UNICAST_MAX.0;
            let what = format!(
                "{} end ports need LIDs, {step} each, and even wide addressing has {most}",
                ports.len()
            );
            return Err(Failure::new(what, file, "split the fabric into subnets, or give a smaller --lmc"));
        };
        lids.fill(true);
        fabric.set_lid(port, Lid(next as u32), lmc);
        next += step;
    }
    Ok(())
}
