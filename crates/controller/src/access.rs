//! Who may do what: tokens with roles. A token is 32 random bytes; the controller knows its SHA-256 alone.

use std::fmt;

use sha2::{Digest, Sha256};

/// What a caller may do; each may what those before it may.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Read.
    Viewer,
    /// Submit and cancel jobs of one tenant.
    Submitter,
    /// Work on the fabric, and on everybody's jobs.
    Operator,
    /// Everything.
    Admin,
}

impl Role {
    /// All, the least first.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Submitter, Self::Operator, Self::Admin];

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Submitter => "submitter",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The SHA-256 of a token: enough to know it again, and of no use to who reads it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of a token.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// From 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hexadecimal(&self.0))
    }
}

/// A new token, from the system's randomness.
///
/// # Errors
/// Where the system has none.
pub fn new_token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(format!("heddle_{}", hexadecimal(&bytes)))
}

/// A token that the controller knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// Whose it is, for people and events.
    pub name: String,
    /// What it allows.
    pub role: Role,
    /// The tenant that its jobs belong to; each submitter has one.
    pub tenant: Option<String>,
    /// What it is known by.
    pub fingerprint: Fingerprint,
}

/// Who calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caller {
    /// The token's name, `local` where none is asked for, `socket` over the Unix socket.
    pub name: String,
    /// What the caller may do.
    pub role: Role,
    /// The tenant that the caller is bound to.
    pub tenant: Option<String>,
}

impl Caller {
    /// Who calls from this machine, where no token is asked for.
    pub fn local() -> Self {
        Self { name: "local".to_owned(), role: Role::Admin, tenant: None }
    }

    /// Who calls over the Unix socket: its file's mode says who may.
    pub fn socket() -> Self {
        Self { name: "socket".to_owned(), role: Role::Admin, tenant: None }
    }
}

/// All tokens.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// By fingerprint.
    tokens: Vec<Token>,
}

/// Why tokens are refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AccessError {
    /// Two have one fingerprint or name.
    #[error("the tokens \"{0}\" and \"{1}\" are the same, or have one name")]
    Twice(String, String),
    /// A submitter without a tenant.
    #[error("the token \"{0}\" is a submitter's and names no tenant")]
    NoTenant(String),
}

impl Access {
    /// From all tokens; without any, whoever reaches the API from this machine may do everything.
    ///
    /// # Errors
    /// Where two are one, or a submitter has no tenant.
    pub fn new(mut tokens: Vec<Token>) -> Result<Self, AccessError> {
        for (at, token) in tokens.iter().enumerate() {
            if token.role == Role::Submitter && token.tenant.is_none() {
                return Err(AccessError::NoTenant(token.name.clone()));
            }
            let is_same = |other: &&Token| other.name == token.name || other.fingerprint == token.fingerprint;
            if let Some(other) = tokens[..at].iter().find(is_same) {
                return Err(AccessError::Twice(other.name.clone(), token.name.clone()));
            }
        }
        tokens.sort_by_key(|token| token.fingerprint);
        Ok(Self { tokens })
    }

    /// Whether tokens are asked for.
    pub fn is_asked(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// Whose token this is. What is compared is hashes, so that the time it takes tells nothing of a token.
    pub fn who(&self, token: &str) -> Option<Caller> {
        let fingerprint = Fingerprint::of(token);
        let at = self.tokens.binary_search_by_key(&fingerprint, |token| token.fingerprint).ok()?;
        let Token { name, role, tenant, .. } = &self.tokens[at];
        Some(Caller { name: name.clone(), role: *role, tenant: tenant.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(name: &str, role: Role, tenant: Option<&str>, text: &str) -> Token {
        let fingerprint = Fingerprint::of(text);
        Token { name: name.to_owned(), role, tenant: tenant.map(str::to_owned), fingerprint }
    }

    #[test]
    fn a_token_is_known_by_its_fingerprint_alone() {
        let (ours, other) = (new_token().unwrap(), new_token().unwrap());
        assert_ne!(ours, other);
        let access = Access::new(vec![
            token("ann", Role::Operator, None, &ours),
            token("ben", Role::Submitter, Some("vision"), &other),
        ])
        .unwrap();
        assert!(access.is_asked());
        assert_eq!(access.who(&ours).map(|who| (who.name, who.role)), Some(("ann".into(), Role::Operator)));
        assert_eq!(access.who(&other).and_then(|who| who.tenant), Some("vision".into()));
        for wrong in ["", "heddle_", &ours[1..], &Fingerprint::of(&ours).to_string()] {
            assert_eq!(access.who(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn fingerprints_are_read_as_they_are_written() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Fingerprint::of("abc").to_string(), abc);
        assert_eq!(Fingerprint::parse(abc), Some(Fingerprint::of("abc")));
        assert_eq!(Fingerprint::parse(&abc.to_uppercase()), Some(Fingerprint::of("abc")));
        for wrong in
            ["", &abc[1..], &abc.replace('b', "g"), &abc.replace("ba", "é"), &format!("+{}", &abc[1..])]
        {
            assert_eq!(Fingerprint::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_could_be_mistaken_is_refused() {
        let two = vec![token("a", Role::Viewer, None, "x"), token("b", Role::Admin, None, "x")];
        assert_eq!(Access::new(two), Err(AccessError::Twice("a".into(), "b".into())));
        let two = vec![token("a", Role::Viewer, None, "x"), token("a", Role::Admin, None, "y")];
        assert!(Access::new(two).is_err());
        let alone = vec![token("a", Role::Submitter, None, "x")];
        assert_eq!(Access::new(alone), Err(AccessError::NoTenant("a".into())));
        assert!(!Access::default().is_asked());
    }

    #[test]
    fn each_role_may_what_those_before_it_may() {
        assert!(Role::ALL.is_sorted());
        for role in Role::ALL {
            assert_eq!(serde_json::to_value(role).unwrap(), role.word());
        }
    }
}
