//! Log lines on standard error.

use std::io::IsTerminal as _;

use clap::ValueEnum;
use tracing_subscriber::fmt;

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum LogFormat {
    Text,
    Json,
    Off,
}

pub(super) fn start(format: LogFormat) {
    let terminal = std::io::stderr().is_terminal();
    let lines = fmt().with_writer(std::io::stderr).with_ansi(terminal).with_target(false);
    match format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
        LogFormat::Off => {}
    }
}
