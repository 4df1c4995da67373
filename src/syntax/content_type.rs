//! The Content-Type of a message (ACP-CT-1…4).

use std::fmt;

use super::{
    Boundary, MediaType,
    boundary::MAX_BOUNDARY_CHARS,
    bytes::{is_control, trim},
    parameters::{Parameter, first_repeated},
};
use crate::{Limits, error::Category};

/// What the Content-Type of a message says: one of the two forms (ACP-MSG-1).
///
/// ```
/// use acp_envelope::{Limits, syntax::ContentType};
///
/// let value = b"multipart/form-data; boundary=x7Qk2mRvT";
/// let ContentType::FormData(boundary) = ContentType::parse(value, &Limits::new())? else { panic!() };
/// assert_eq!(boundary.as_str(), "x7Qk2mRvT");
/// assert_eq!(ContentType::parse(b"text/json", &Limits::new()).unwrap_err().code(), "content_type_unsupported");
/// # Ok::<(), acp_envelope::syntax::ContentTypeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContentType<'a> {
    /// `application/json`: the control document alone.
    Json(MediaType<'a>),
    /// `multipart/form-data`: the control part first, then content parts.
    FormData(Boundary),
}

impl<'a> ContentType<'a> {
    /// Reads a Content-Type value; spaces around it are trimmed.
    ///
    /// # Errors
    ///
    /// `content_type_invalid`, `content_type_unsupported`, `boundary_missing`, `boundary_invalid`,
    /// `limit_boundary`: first the grammar of the whole value is judged, then parameters given
    /// twice, then the type, then the boundary.
    pub fn parse(value: &'a [u8], limits: &Limits) -> Result<Self, ContentTypeError> {
        let (start, value) = trim(value, |b| b == b' ');
        let fault = |kind, at: usize| ContentTypeError { kind, at: start + at };

        let control = value.iter().position(|&b| is_control(b));
        let media_type = match (MediaType::parse(value), control) {
            (Ok(media_type), None) => media_type,
            (Ok(_), Some(at)) => return Err(fault(ContentTypeErrorKind::Malformed, at)),
            (Err(at), control) => {
                let at = control.map_or(at, |control| control.min(at));
                return Err(fault(ContentTypeErrorKind::Malformed, at));
            }
        };
        judge_parameters(&media_type).map_err(|(kind, at)| fault(kind, at))?;

        if media_type.is("application/json") {
            return Ok(Self::Json(media_type));
        }
        if !media_type.is("multipart/form-data") {
            return Err(fault(ContentTypeErrorKind::Unsupported, 0));
        }
        match media_type.parameters().find(|parameter| parameter.is("boundary")) {
            None => Err(fault(ContentTypeErrorKind::BoundaryMissing, value.len())),
            Some(parameter) => read_boundary(&parameter, limits.max_boundary_chars)
                .map(Self::FormData)
                .map_err(|(kind, at)| fault(kind, at)),
        }
    }
}

/// ACP-CT-2 and ACP-CT-4: the first parameter that may not stand where it does.
fn judge_parameters(media_type: &MediaType<'_>) -> Result<(), (ContentTypeErrorKind, usize)> {
    let repeated = first_repeated(media_type.raw_parameters());
    let extended = media_type.parameters().find(|parameter| parameter.starts_with("boundary*"));
    let first = repeated.into_iter().chain(extended).min_by_key(|parameter| parameter.at);
    let Some(parameter) = first else { return Ok(()) };
    let kind = if parameter.is("boundary") {
        ContentTypeErrorKind::BoundaryTwice
    } else if parameter.starts_with("boundary*") {
        ContentTypeErrorKind::BoundaryExtended
    } else {
        ContentTypeErrorKind::ParameterTwice
    };
    Err((kind, parameter.at))
}

/// ACP-CT-3 and ACP-LIM-4.
fn read_boundary(
    parameter: &Parameter<'_>,
    limit: usize,
) -> Result<Boundary, (ContentTypeErrorKind, usize)> {
    if parameter.value.len() > limit {
        return Err((ContentTypeErrorKind::BoundaryTooLong { limit }, parameter.value_at + limit));
    }
    Boundary::new(parameter.value)
        .map_err(|e| (ContentTypeErrorKind::BoundaryInvalid, parameter.value_at + e.position()))
}

/// The Content-Type of the message cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentTypeError {
    kind: ContentTypeErrorKind,
    at: usize,
}

/// What is wrong with the Content-Type of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContentTypeErrorKind {
    /// The carrier has no Content-Type field (ACP-CT-1). `content_type_unsupported`
    Missing,
    /// The carrier has two Content-Type fields (ACP-CT-2). `content_type_invalid`
    Repeated,
    /// Not a media type, or one with control characters (ACP-CT-2). `content_type_invalid`
    Malformed,
    /// A parameter is given twice (ACP-CT-2). `content_type_invalid`
    ParameterTwice,
    /// Neither `multipart/form-data` nor `application/json` (ACP-CT-1). `content_type_unsupported`
    Unsupported,
    /// `multipart/form-data` without a boundary (ACP-CT-3). `boundary_missing`
    BoundaryMissing,
    /// The boundary is empty, over 70 characters, or not of RFC 2046 characters (ACP-CT-3).
    /// `boundary_invalid`
    BoundaryInvalid,
    /// Two `boundary` parameters (ACP-CT-4). `boundary_invalid`
    BoundaryTwice,
    /// A parameter `boundary*…` of RFC 2231 (ACP-CT-4). `boundary_invalid`
    BoundaryExtended,
    /// The boundary is longer than [`Limits::max_boundary_chars`] (ACP-LIM-4). `limit_boundary`
    BoundaryTooLong {
        /// The limit in force, in characters.
        limit: usize,
    },
}

impl ContentTypeError {
    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> ContentTypeErrorKind {
        self.kind
    }

    /// The byte of the Content-Type value that is wrong, counted from 0.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.kind.code()
    }
}

impl fmt::Display for ContentTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {} of the Content-Type)", self.kind, self.at)
    }
}

impl std::error::Error for ContentTypeError {}

impl ContentTypeErrorKind {
    /// The stable code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Malformed | Self::ParameterTwice | Self::Repeated => "content_type_invalid",
            Self::Unsupported | Self::Missing => "content_type_unsupported",
            Self::BoundaryMissing => "boundary_missing",
            Self::BoundaryInvalid | Self::BoundaryTwice | Self::BoundaryExtended => {
                "boundary_invalid"
            }
            Self::BoundaryTooLong { .. } => "limit_boundary",
        }
    }

    /// Who has to act.
    #[must_use]
    pub const fn category(self) -> Category {
        match self {
            Self::Malformed | Self::BoundaryInvalid => Category::Syntax,
            Self::BoundaryTooLong { .. } => Category::Limit,
            _ => Category::Rule,
        }
    }

    /// What the sender should change.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Repeated => {
                "do not set the Content-Type by hand beside the one the HTTP client writes"
            }
            Self::Malformed => {
                "send one valid media type, such as `multipart/form-data; boundary=…`, and quote a boundary that holds other characters than a token's"
            }
            Self::ParameterTwice => "give every parameter of the Content-Type once",
            Self::Unsupported | Self::Missing => {
                "send `multipart/form-data; boundary=…`, or `application/json` for a control document without parts"
            }
            Self::BoundaryMissing => {
                "do not set the Content-Type by hand: let the HTTP client write it, boundary included"
            }
            Self::BoundaryInvalid => {
                "use a boundary of 1 to 70 characters out of letters, digits and '()+_,-./:=? that does not end in a space, without escapes"
            }
            Self::BoundaryTwice => "give exactly one boundary parameter",
            Self::BoundaryExtended => {
                "write the boundary as one plain `boundary` parameter, not as RFC 2231 continuations"
            }
            Self::BoundaryTooLong { .. } => {
                "use a shorter boundary: RFC 2046 allows 70 characters, and a receiver may allow fewer"
            }
        }
    }
}

impl fmt::Display for ContentTypeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no Content-Type"),
            Self::Repeated => f.write_str("there are two Content-Type fields"),
            Self::Malformed => f.write_str("Content-Type is not a valid media type"),
            Self::ParameterTwice => f.write_str("Content-Type has a parameter twice"),
            Self::Unsupported => {
                f.write_str("Content-Type is neither multipart/form-data nor application/json")
            }
            Self::BoundaryMissing => f.write_str("Content-Type has no boundary"),
            Self::BoundaryInvalid => {
                write!(f, "boundary is not 1 to {MAX_BOUNDARY_CHARS} characters of RFC 2046 bchars")
            }
            Self::BoundaryTwice => f.write_str("Content-Type has two boundaries"),
            Self::BoundaryExtended => {
                f.write_str("Content-Type has an extended boundary parameter")
            }
            Self::BoundaryTooLong { limit } => write!(f, "boundary exceeds {limit} characters"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(value: &str) -> (&'static str, usize) {
        let e = ContentType::parse(value.as_bytes(), &Limits::new()).unwrap_err();
        (e.code(), e.position())
    }

    #[test]
    fn faults_are_coded_and_placed_acp_ct_1_acp_ct_2_acp_ct_3_acp_ct_4() {
        let long = format!("multipart/form-data; boundary={}", "b".repeat(71));
        for (value, code, at) in [
            ("", "content_type_invalid", 0),
            ("  text/json ", "content_type_unsupported", 2),
            ("multipart/form-data;\tboundary=a", "content_type_invalid", 20),
            ("multipart/form-data; boundary=a\r\n", "content_type_invalid", 31),
            ("text/plain; a=1; A=2", "content_type_invalid", 17),
            ("multipart/form-data; boundary=a; Boundary=b; x", "content_type_invalid", 46),
            ("multipart/form-data; boundary=a; Boundary=b", "boundary_invalid", 33),
            ("multipart/form-data; boundary*=a; a=1; a=2", "boundary_invalid", 21),
            ("multipart/form-data; a=1; a=2; boundary*0=a", "content_type_invalid", 26),
            ("multipart/form-data; x=y ", "boundary_missing", 24),
            ("multipart/form-data; boundary=\"\"", "boundary_invalid", 31),
            ("multipart/form-data; boundary=\"a \"", "boundary_invalid", 32),
            ("multipart/form-data; boundary=a=b", "content_type_invalid", 31),
            (&long, "limit_boundary", 100),
        ] {
            assert_eq!(fault(value), (code, at), "{value:?}");
        }
    }

    #[test]
    fn the_boundary_limit_can_be_lowered_and_not_raised_acp_lim_4() {
        let parse = |n: usize, limit: usize| {
            let value = format!("multipart/form-data; boundary={}", "b".repeat(n));
            ContentType::parse(value.as_bytes(), &Limits::new().max_boundary_chars(limit))
                .map_or_else(|e| e.code(), |_| "ok")
        };
        assert_eq!([parse(8, 8), parse(9, 8)], ["ok", "limit_boundary"]);
        assert_eq!([parse(70, 100), parse(71, 100)], ["ok", "boundary_invalid"]);
    }
}
