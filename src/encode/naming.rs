//! Names for parts that were given none (ACP-ENC-3).

use std::{
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

use super::{EncodeError, EncodeErrorKind};
use crate::{
    envelope::EnvelopeErrorKind,
    error::Location,
    name::{InvalidName, PartName},
};

/// How a part that was given no name gets one (ACP-ENC-3, ACP §4.4).
///
/// The time is the system's, the random bits are from the operating system's generator.
///
/// ```
/// use acp_envelope::{EnvelopeBuilder, Naming, NewPart};
///
/// let mut message = EnvelopeBuilder::new().naming(Naming::Agent("painter".parse()?));
/// let image = message.add(NewPart::new("image/png", "PNG"))?;
/// assert!(image.name().as_str().starts_with("painter-"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Naming {
    /// A UUID of version 7 (RFC 9562): sorts by time, 74 random bits.
    #[default]
    UuidV7,
    /// `{agent-id}-{timestamp-ms}-{random}`, with 64 random bits as 16 hexadecimal digits. The id
    /// is at most 225 characters long, so that the name fits until the year 2286.
    Agent(PartName),
}

impl Naming {
    /// A new name.
    pub(super) fn name(&self, random: &mut RandomBits) -> Result<PartName, EncodeError> {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX);
        let name = match self {
            Self::UuidV7 => {
                let bits = random.take()?;
                let uuid = uuid::Builder::from_unix_timestamp_millis(millis, &bits).into_uuid();
                uuid.to_string()
            }
            Self::Agent(id) => format!("{id}-{millis}-{:016x}", u64::from_be_bytes(random.take()?)),
        };
        name.parse().map_err(|invalid: InvalidName| {
            let at = Location::Value(invalid.position() as u64);
            EncodeError::new(EnvelopeErrorKind::NameInvalid, Some(at), None)
        })
    }
}

/// Random bits for the names of one message. They are drawn for several names at once, since asking
/// the system for them costs more than all the rest of a name.
pub(super) struct RandomBits {
    bytes: [u8; 256],
    /// How many of them, from the end, were not taken yet.
    left: usize,
}

impl RandomBits {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; 256], left: 0 }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], EncodeError> {
        if self.left < N {
            self.bytes = random()?;
            self.left = self.bytes.len();
        }
        let fresh = self.bytes.get(..self.left).unwrap_or_default();
        let Some((rest, bits)) = fresh.split_last_chunk() else { return random() };
        self.left = rest.len();
        Ok(*bits)
    }
}

/// None of them: a copy of a message must not give the names that the message gives.
impl Clone for RandomBits {
    fn clone(&self) -> Self {
        Self::new()
    }
}

/// The bits are nobody's business.
impl fmt::Debug for RandomBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RandomBits").finish_non_exhaustive()
    }
}

/// Bytes from the operating system's generator.
pub(super) fn random<const N: usize>() -> Result<[u8; N], EncodeError> {
    let mut bytes = [0; N];
    match getrandom::fill(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(_) => Err(EncodeError::new(EncodeErrorKind::RandomUnavailable, None, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis() -> u128 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()
    }

    #[test]
    fn without_a_name_it_is_a_uuid_of_version_7_acp_enc_3() {
        let before = millis();
        let mut random = RandomBits::new();
        let [a, b] = [0; 2].map(|_| Naming::UuidV7.name(&mut random).unwrap());
        assert_ne!(a, b);
        let uuid = uuid::Uuid::parse_str(a.as_str()).unwrap();
        assert_eq!((uuid.get_version_num(), a.as_str().len()), (7, 36));
        let stamp = u128::from_str_radix(&a.as_str().replace('-', "")[..12], 16).unwrap();
        assert!((before..=millis()).contains(&stamp), "{stamp}");
    }

    #[test]
    fn random_bits_are_taken_once_acp_enc_3() {
        let mut random = RandomBits::new();
        let mut taken = std::collections::HashSet::new();
        for _ in 0..100 {
            assert!(taken.insert(random.take::<16>().unwrap()));
            assert!(taken.insert(random.clone().take::<16>().unwrap()));
            random.take::<7>().unwrap();
        }
    }

    #[test]
    fn an_agent_can_name_its_parts_after_itself_acp_enc_3() {
        let before = millis();
        let naming = Naming::Agent("agent-7.b_c".parse().unwrap());
        let mut random = RandomBits::new();
        let [a, b] = [0; 2].map(|_| naming.name(&mut random).unwrap());
        assert_ne!(a, b);
        let rest = a.as_str().strip_prefix("agent-7.b_c-").unwrap();
        let (stamp, random) = rest.split_once('-').unwrap();
        assert!((before..=millis()).contains(&stamp.parse().unwrap()), "{stamp}");
        assert!(random.len() == 16 && random.bytes().all(|b| b.is_ascii_hexdigit()), "{random}");
    }

    #[test]
    fn an_agent_id_that_leaves_no_room_is_refused_acp_enc_3_acp_name_1() {
        let naming = |len| Naming::Agent("a".repeat(len).parse().unwrap());
        assert_eq!(naming(225).name(&mut RandomBits::new()).unwrap().as_str().len(), 256);
        let error = naming(226).name(&mut RandomBits::new()).unwrap_err();
        assert_eq!((error.code(), error.location()), ("name_invalid", Some(&Location::Value(256))));
    }
}
