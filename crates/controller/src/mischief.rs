//! Faults on purpose on an emulated fabric: now and then a cable between two switches is pulled, and put back some time
//! later, so that a newcomer sees heals.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use emulator::Fault;
use fabric::NodeKind;
use ib::Guid;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::session::Call;
use crate::site::Site;
use crate::view::{End, Inventory, LinkState};

/// No two pulls are closer than this.
const SHORTEST: Duration = Duration::from_millis(300);

/// An end of a link between switches that is in service, by chance.
fn draw(inventory: &Inventory, chance: &mut Xoshiro256PlusPlus) -> Option<(Guid, u8)> {
    let is_switch = |end: &End| inventory.node(end.node).kind == NodeKind::Switch;
    let links: Vec<_> = inventory
        .links()
        .iter()
        .filter(|link| link.state == LinkState::Active && link.ends.iter().all(is_switch))
        .collect();
    let count = u64::try_from(links.len()).ok().filter(|&count| count > 0)?;
    let end = links[(chance.next_u64() % count) as usize].ends[0];
    Some((inventory.node(end.node).guid, end.port))
}

fn apply(site: &Site, guid: Guid, fault: impl FnOnce(fabric::NodeId) -> Fault + Send + 'static) -> bool {
    let call: Call = Box::new(move |_, wire| {
        let Some(emulator) = wire.emulated() else { return };
        let cabling = emulator.fabric();
        if let Some(node) = cabling.nodes().find(|&node| cabling.guid(node) == guid) {
            emulator.apply(fault(node));
        }
    });
    site.calls.send(call).is_ok()
}

fn run(site: &Site, every: Duration, seed: u64, ended: &Receiver<()>) {
    let every = every.max(SHORTEST);
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    // Says whether the controller ends.
    let wait = |time: Duration| ended.recv_timeout(time) != Err(RecvTimeoutError::Timeout);
    loop {
        if wait(every - every / 3) {
            return;
        }
        let pulled = draw(&site.newest.get().inventory, &mut chance);
        let goes_on =
            pulled.is_none_or(|(guid, port)| apply(site, guid, move |node| Fault::Unlink { node, port }));
        if !goes_on || wait(every / 3) {
            return;
        }
        if let Some((guid, port)) = pulled
            && !apply(site, guid, move |node| Fault::Relink { node, port })
        {
            return;
        }
    }
}

/// Begins, on a thread of its own, and goes on as long as what this returns is kept.
///
/// # Errors
/// Where no thread can be had.
pub fn start(site: Site, every: Duration, seed: u64) -> io::Result<Mischief> {
    let (end, ended) = channel();
    thread::Builder::new()
        .name("mischief".to_owned())
        .spawn(move || run(&site, every, seed, &ended))
        .map(|_| Mischief { _end: end })
}

/// Goes on as long as this is kept.
#[derive(Debug)]
pub struct Mischief {
    _end: std::sync::mpsc::Sender<()>,
}
