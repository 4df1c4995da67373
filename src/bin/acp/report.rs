//! What is found out about one message, as JSON and as text. The JSON is stable: members are added,
//! never renamed or removed.

use acp_envelope::{Category, DecodeError, Location, PartId, Warning};
use serde::Serialize;

/// One line of `--json`.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) file: String,
    pub(crate) verdict: Verdict,
    pub(crate) error: Option<Fault>,
    /// `multipart` or `json`; `null` where the Content-Type says neither.
    pub(crate) form: Option<&'static str>,
    /// Bytes of the body that were read.
    pub(crate) size: u64,
    pub(crate) control: Option<ControlReport>,
    pub(crate) parts: Vec<PartReport>,
    pub(crate) warnings: Vec<WarningReport>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Ok,
    Refused,
    /// The input could not be read as a message at all.
    Error,
}

#[derive(Debug, Serialize)]
pub(crate) struct Fault {
    pub(crate) code: &'static str,
    pub(crate) category: &'static str,
    pub(crate) message: String,
    pub(crate) location: Option<Place>,
    pub(crate) part: Option<PartPlace>,
    pub(crate) hint: &'static str,
    /// For people: the bytes around the fault.
    #[serde(skip)]
    pub(crate) excerpt: Option<[String; 2]>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    Byte(u64),
    /// Byte of the Content-Type value.
    ContentType(usize),
    ContentLength(u64),
    Pointer(String),
    #[serde(untagged)]
    LineColumn {
        line: usize,
        column: usize,
    },
}

#[derive(Debug, Serialize)]
pub(crate) struct PartPlace {
    pub(crate) index: usize,
    pub(crate) name: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ControlReport {
    pub(crate) name: Option<String>,
    pub(crate) size: usize,
    pub(crate) sha256: String,
    pub(crate) references: usize,
    /// The file it was written to, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct PartReport {
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) content_type: String,
    pub(crate) filename: Option<String>,
    pub(crate) size: u64,
    /// `null` where the part is not complete.
    pub(crate) sha256: Option<String>,
    /// JSON Pointers of references to the part: all, or the first 100; 1 MiB in one report.
    pub(crate) referenced_by: Vec<String>,
    /// How many references there are.
    pub(crate) references: usize,
    /// The file it was written to, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct WarningReport {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) location: Option<Place>,
    pub(crate) part: Option<PartPlace>,
    pub(crate) hint: &'static str,
}

impl Report {
    pub(crate) fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            verdict: Verdict::Ok,
            error: None,
            form: None,
            size: 0,
            control: None,
            parts: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(crate) fn refuse(&mut self, fault: Fault) {
        self.verdict = Verdict::Refused;
        self.error = Some(fault);
    }

    /// The input could not be read: `code` is `io` or `http_malformed`.
    pub(crate) fn unreadable(&mut self, code: &'static str, message: String) {
        self.verdict = Verdict::Error;
        let hint = "give a file that holds one whole message";
        self.error = Some(Fault::new(code, "input", message, hint));
    }

    /// The fault as text, indented, one line a statement.
    pub(crate) fn fault_text(&self) -> String {
        let Some(fault) = &self.error else { return String::new() };
        let mut text = format!("  {}: {}\n", fault.code, fault.message);
        for line in fault.excerpt.iter().flatten() {
            text.push_str(&format!("    {line}\n"));
        }
        text.push_str(&format!("  hint: {}\n", fault.hint));
        text
    }

    /// The warnings as text, one line each.
    pub(crate) fn warning_text(&self) -> String {
        self.warnings.iter().map(WarningReport::text).collect()
    }
}

impl Fault {
    /// A fault of the input around the message, which has no place in it.
    pub(crate) fn new(
        code: &'static str,
        category: &'static str,
        message: String,
        hint: &'static str,
    ) -> Self {
        Self { code, category, message, location: None, part: None, hint, excerpt: None }
    }

    pub(crate) fn of(error: &DecodeError, declared: Option<u64>) -> Self {
        Self {
            location: place(error.location(), declared),
            part: error.part().map(part_place),
            ..Self::new(error.code(), category(error.category()), error.to_string(), error.hint())
        }
    }
}

impl WarningReport {
    pub(crate) fn of(warning: &Warning) -> Self {
        Self {
            code: warning.code().as_str(),
            message: warning.to_string(),
            location: place(warning.location(), None),
            part: warning.part().map(part_place),
            hint: warning.code().hint(),
        }
    }

    /// The warning as text, indented.
    pub(crate) fn text(&self) -> String {
        format!("  warning: {}: {}\n    hint: {}\n", self.code, self.message, self.hint)
    }
}

fn category(category: Category) -> &'static str {
    match category {
        Category::Syntax => "syntax",
        Category::Limit => "limit",
        Category::Truncated => "truncated",
        _ => "rule",
    }
}

fn place(location: &Location, declared: Option<u64>) -> Option<Place> {
    match location {
        Location::Byte(at) => Some(Place::Byte(*at)),
        Location::ContentType(at) => Some(Place::ContentType(*at)),
        Location::ContentLength => declared.map(Place::ContentLength),
        Location::Pointer(pointer) => Some(Place::Pointer(pointer.clone())),
        Location::LineColumn { line, column } => {
            Some(Place::LineColumn { line: *line, column: *column })
        }
        _ => None,
    }
}

fn part_place(part: &PartId) -> PartPlace {
    PartPlace { index: part.index, name: part.name.as_ref().map(ToString::to_string) }
}
