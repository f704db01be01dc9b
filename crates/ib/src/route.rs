//! Directed routes: the ports to leave by, hop after hop, before any address is given out.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest directed route: 63 hops, since entry 0 of a MAD's path stands for the sender.
pub const MAX_HOPS: usize = 63;

/// The ports that a directed-route MAD leaves by, first the sender's own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DirectedRoute {
    length: u8,
    ports: [u8; MAX_HOPS],
}

impl DirectedRoute {
    /// The route to the node that one sits at: no hop.
    pub const LOCAL: Self = Self { length: 0, ports: [0; MAX_HOPS] };

    /// The route over these ports; `None` where there are more than 63.
    pub fn new(hops: &[u8]) -> Option<Self> {
        let mut route = Self::LOCAL;
        route.ports.get_mut(..hops.len())?.copy_from_slice(hops);
        route.length = hops.len() as u8;
        Some(route)
    }

    /// The ports to leave by.
    #[inline]
    pub fn hops(&self) -> &[u8] {
        &self.ports[..usize::from(self.length)]
    }

    /// One hop further, leaving by `port`; `None` where the route is full.
    #[inline]
    pub fn then(mut self, port: u8) -> Option<Self> {
        *self.ports.get_mut(usize::from(self.length))? = port;
        self.length += 1;
        Some(self)
    }
}

impl fmt::Display for DirectedRoute {
    /// As `smpquery -D` takes it: `0,1,4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0")?;
        self.hops().iter().try_for_each(|port| write!(f, ",{port}"))
    }
}

impl fmt::Debug for DirectedRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Default for DirectedRoute {
    fn default() -> Self {
        Self::LOCAL
    }
}

impl Serialize for DirectedRoute {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DirectedRoute {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let wrong = || serde::de::Error::custom(format!("\"{text}\" is no directed route: write 0,1,4"));
        let mut hops = text.split(',').map(str::parse);
        if hops.next() != Some(Ok(0u8)) {
            return Err(wrong());
        }
        let hops: Vec<u8> = hops.collect::<Result<_, _>>().map_err(|_| wrong())?;
        Self::new(&hops).ok_or_else(wrong)
    }
}
