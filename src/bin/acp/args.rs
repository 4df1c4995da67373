//! What can be said on the command line about reading messages.

use acp_envelope::{Config, Limits, WarningCode};
use bytesize::ByteSize;
use clap::{
    Args,
    builder::{BoolishValueParser, PossibleValue},
};

/// Files to read and how to read them.
#[derive(Debug, Args)]
pub(crate) struct Messages {
    /// Files to read; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,

    /// Print one JSON object a line for each file
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// How a file is read.
#[derive(Debug, Args)]
pub(crate) struct Reading {
    /// The input is a raw HTTP/1.1 message (guessed when it starts with a request or status line)
    #[arg(long, conflicts_with = "content_type")]
    pub(crate) http: bool,

    /// The input is a bare body of this Content-Type
    #[arg(long, value_name = "VALUE")]
    pub(crate) content_type: Option<String>,

    #[command(flatten)]
    pub(crate) rules: Rules,
}

/// Limits and policy.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rules")]
pub(crate) struct Rules {
    /// Refuse every message that would draw a warning
    #[arg(long, env = "ACP_STRICT", value_parser = BoolishValueParser::new())]
    strict: bool,

    /// Refuse messages that would draw this warning
    #[arg(long, value_name = "WARNING", env = "ACP_REFUSE", value_delimiter = ',')]
    refuse: Vec<Refused>,

    /// Let a member name be given twice in one object; the last value counts
    #[arg(long, env = "ACP_ALLOW_DUPLICATE_MEMBERS", value_parser = BoolishValueParser::new())]
    allow_duplicate_members: bool,

    /// Let content parts be application/json
    #[arg(long, env = "ACP_ALLOW_JSON_CONTENT", value_parser = BoolishValueParser::new())]
    allow_json_content: bool,

    /// Content parts in a message [default: 64]
    #[arg(long, value_name = "N", env = "ACP_MAX_PARTS")]
    max_parts: Option<usize>,

    /// Body of one content part, such as 6GiB [default: 100MiB]
    #[arg(long, value_name = "SIZE", env = "ACP_MAX_PART_SIZE")]
    max_part_size: Option<ByteSize>,

    /// Whole message, framing included [default: 500MiB]
    #[arg(long, value_name = "SIZE", env = "ACP_MAX_MESSAGE_SIZE")]
    max_message_size: Option<ByteSize>,

    /// Characters of the boundary [default: 70]
    #[arg(long, value_name = "N", env = "ACP_MAX_BOUNDARY")]
    max_boundary: Option<usize>,

    /// Control document in the multipart form [default: 1MiB]
    #[arg(long, value_name = "SIZE", env = "ACP_MAX_CONTROL_SIZE")]
    max_control_size: Option<ByteSize>,

    /// Body in the JSON form [default: 1MiB]
    #[arg(long, value_name = "SIZE", env = "ACP_MAX_JSON_SIZE")]
    max_json_size: Option<ByteSize>,

    /// Header block of one part [default: 8KiB]
    #[arg(long, value_name = "SIZE", env = "ACP_MAX_HEADER_SIZE")]
    max_header_size: Option<ByteSize>,

    /// Header fields of one part [default: 16]
    #[arg(long, value_name = "N", env = "ACP_MAX_HEADERS")]
    max_headers: Option<usize>,

    /// Arrays and objects open at once in the control document, 512 at most [default: 128]
    #[arg(long, value_name = "N", env = "ACP_MAX_JSON_DEPTH")]
    max_json_depth: Option<usize>,
}

/// A warning's code as an argument.
#[derive(Debug, Clone, Copy)]
struct Refused(WarningCode);

impl clap::ValueEnum for Refused {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [Refused; WarningCode::ALL.len()] = {
            let mut all = [Refused(WarningCode::Preamble); WarningCode::ALL.len()];
            let mut i = 0;
            while i < all.len() {
                all[i] = Refused(WarningCode::ALL[i]);
                i += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.as_str()))
    }
}

impl Rules {
    pub(crate) fn config(&self) -> Config {
        let base = if self.strict { Config::strict() } else { Config::new() };
        let config = base
            .limits(self.limits())
            .allow_duplicate_members(self.allow_duplicate_members)
            .allow_json_content(self.allow_json_content);
        self.refuse.iter().fold(config, |config, refused| config.refuse(refused.0))
    }

    fn limits(&self) -> Limits {
        let set = Limits::new();
        let bytes = |size: Option<ByteSize>, default| size.map_or(default, |size| size.as_u64());
        let memory = |size: Option<ByteSize>, default| {
            size.map_or(default, |size| usize::try_from(size.as_u64()).unwrap_or(usize::MAX))
        };
        set.max_parts(self.max_parts.unwrap_or(set.max_parts))
            .max_part_bytes(bytes(self.max_part_size, set.max_part_bytes))
            .max_message_bytes(bytes(self.max_message_size, set.max_message_bytes))
            .max_boundary_chars(self.max_boundary.unwrap_or(set.max_boundary_chars))
            .max_control_bytes(memory(self.max_control_size, set.max_control_bytes))
            .max_json_bytes(memory(self.max_json_size, set.max_json_bytes))
            .max_header_bytes(memory(self.max_header_size, set.max_header_bytes))
            .max_headers(self.max_headers.unwrap_or(set.max_headers))
            .max_json_depth(self.max_json_depth.unwrap_or(set.max_json_depth))
    }
}
