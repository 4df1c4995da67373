//! What is found out about one input, as JSON and as text. The JSON is stable, as that of
//! [`Summary`].

use acp_envelope::{DecodeError, Location, PartId, Warning};
use serde::Serialize;

use crate::summary::Summary;

/// One line of `--json`.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) file: String,
    pub(crate) verdict: Verdict,
    pub(crate) error: Option<Fault>,
    /// For people: the bytes around the fault.
    #[serde(skip)]
    pub(crate) excerpt: Option<[String; 2]>,
    #[serde(flatten)]
    pub(crate) message: Summary,
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
#[serde(untagged)]
pub(crate) enum Fault {
    /// The message breaks a rule.
    Message(DecodeError),
    /// The input around the message is at fault.
    Input(InputFault),
}

/// Like that of a [`DecodeError`].
#[derive(Debug, Serialize)]
pub(crate) struct InputFault {
    pub(crate) code: &'static str,
    pub(crate) category: &'static str,
    pub(crate) message: String,
    pub(crate) location: Option<Location>,
    pub(crate) part: Option<PartId>,
    pub(crate) hint: &'static str,
}

impl Report {
    pub(crate) fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            verdict: Verdict::Ok,
            error: None,
            excerpt: None,
            message: Summary::default(),
        }
    }

    pub(crate) fn refuse(&mut self, fault: Fault, excerpt: Option<[String; 2]>) {
        self.verdict = Verdict::Refused;
        self.error = Some(fault);
        self.excerpt = excerpt;
    }

    /// The input could not be read: `code` is `io` or `http_malformed`.
    pub(crate) fn unreadable(&mut self, code: &'static str, message: String) {
        self.verdict = Verdict::Error;
        self.error = Some(Fault::Input(InputFault {
            code,
            category: "input",
            message,
            location: None,
            part: None,
            hint: "give a file that holds one whole message",
        }));
    }

    /// The fault as text, indented, one line a statement.
    pub(crate) fn fault_text(&self) -> String {
        let Some(fault) = &self.error else { return String::new() };
        let mut text = format!("  {}: {}\n", fault.code(), fault.message());
        for line in self.excerpt.iter().flatten() {
            text.push_str(&format!("    {line}\n"));
        }
        text.push_str(&format!("  hint: {}\n", fault.hint()));
        text
    }

    /// The warnings as text.
    pub(crate) fn warning_text(&self) -> String {
        warning_text(&self.message.warnings)
    }
}

impl Fault {
    fn code(&self) -> &'static str {
        match self {
            Self::Message(error) => error.code(),
            Self::Input(fault) => fault.code,
        }
    }

    pub(crate) fn message(&self) -> String {
        match self {
            Self::Message(error) => error.to_string(),
            Self::Input(fault) => fault.message.clone(),
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Message(error) => error.hint(),
            Self::Input(fault) => fault.hint,
        }
    }
}

/// Warnings as text, indented.
pub(crate) fn warning_text(warnings: &[Warning]) -> String {
    let text = |warning: &Warning| {
        let code = warning.code();
        format!("  warning: {}: {warning}\n    hint: {}\n", code.as_str(), code.hint())
    };
    warnings.iter().map(text).collect()
}
