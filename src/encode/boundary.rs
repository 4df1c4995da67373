//! A boundary that occurs in no content (ACP-ENC-2).

use super::{EncodeError, builder::Prepared, naming::random, part::Content};
use crate::{
    error::{Location, PartId},
    parser::ParseErrorKind,
    syntax::{Boundary, ContentScan, Delimiter},
};

/// How often a boundary is drawn before it is clear that the generator is broken.
const DRAWS: usize = 4;

/// 128 random bits from the operating system's generator, as 32 hexadecimal digits.
pub(super) fn draw() -> Result<Boundary, EncodeError> {
    let digits = format!("{:032x}", u128::from_be_bytes(random()?));
    Boundary::new(digits.as_bytes()).map_err(|invalid| {
        let at = Location::Value(invalid.position() as u64);
        EncodeError::new(ParseErrorKind::DelimiterMalformed, Some(at), None)
    })
}

/// The boundary that is given, or else one of those drawn, once no part's head and no content in
/// memory has its delimiter. `heads` are the header blocks of all parts.
pub(super) fn choose(
    given: Option<Boundary>,
    mut draw: impl FnMut() -> Result<Boundary, EncodeError>,
    heads: &[u8],
    parts: &[Prepared],
) -> Result<(Boundary, Delimiter), EncodeError> {
    let mut draws = 0;
    loop {
        let boundary = given.clone().map_or_else(&mut draw, Ok)?;
        let delimiter = Delimiter::new(&boundary);
        draws += 1;
        match collision(&delimiter, heads, parts) {
            None => return Ok((boundary, delimiter)),
            Some(error) if given.is_some() || draws == DRAWS => return Err(error),
            Some(_) => {}
        }
    }
}

/// Where a receiver would see a delimiter too many.
fn collision(delimiter: &Delimiter, heads: &[u8], parts: &[Prepared]) -> Option<EncodeError> {
    if let Some(at) = ContentScan::new().find(delimiter, heads) {
        let index = parts.iter().position(|part| part.head.contains(&at))?;
        let part = parts.get(index)?;
        let at = (at - part.head.start) as u64;
        return Some(delimiter_inside(at, PartId::new(index, Some(part.name.clone()))));
    }
    parts.iter().enumerate().find_map(|(index, part)| {
        let Content::InMemory(content) = &part.content else { return None };
        let at = ContentScan::new().find(delimiter, content)?;
        Some(delimiter_inside(at as u64, PartId::new(index, Some(part.name.clone()))))
    })
}

/// A delimiter is complete at this byte of a part's content or head.
pub(super) fn delimiter_inside(at: u64, part: PartId) -> EncodeError {
    let at = Some(Location::Value(at));
    EncodeError::new(ParseErrorKind::DelimiterMalformed, at, Some(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boundary(text: &str) -> Boundary {
        Boundary::new(text.as_bytes()).unwrap()
    }

    /// Chooses one of `drawn` for a part with that content; gives the draws that were left, too.
    fn choose_of(drawn: &[&str], content: &'static str) -> (Result<Boundary, EncodeError>, usize) {
        let mut left = drawn.iter();
        let name = "p".parse().unwrap();
        let content = Content::InMemory(content.into());
        let parts = [Prepared { name, head: 0..5, content }];
        let draw = || Ok(boundary(left.next().unwrap()));
        let chosen = choose(None, draw, b"X: y\r\n", &parts);
        (chosen.map(|(boundary, _)| boundary), left.len())
    }

    #[test]
    fn a_boundary_that_occurs_is_drawn_again_acp_enc_2() {
        let drawn = ["a", "b", "c", "a", "d"];
        assert_eq!(choose_of(&drawn, "x\r\n--c"), (Ok(boundary("a")), 4));
        assert_eq!(choose_of(&drawn, "--a\r\n--b"), (Ok(boundary("c")), 2));
        let (error, left) = choose_of(&drawn, "--a\r\n--b\r\n--c");
        assert_eq!((error.unwrap_err().code(), left), ("delimiter_malformed", 1));
    }
}
