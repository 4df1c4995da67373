//! `acp inspect`: what is inside.

use std::io;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::{
    args::Messages,
    report::{Report, Verdict},
    run::{self, Outcome, printable},
};

/// The most JSON Pointers that are shown for one part; `--json` has more.
const SHOWN_POINTERS: usize = 5;

/// The most characters of one JSON Pointer that are shown.
const SHOWN_CHARS: usize = 80;

pub(crate) fn run(messages: &Messages) -> io::Result<Outcome> {
    run::each(messages, true, text)
}

fn text(report: &Report) -> String {
    let verdict = match report.verdict {
        Verdict::Ok => "ok",
        _ => "refused",
    };
    let mut text = format!("{}: {verdict}\n", printable(&report.file));
    text.push_str(&report.fault_text());
    if report.message.control.is_some() {
        text.push_str(&format!("{}\n", table(report)));
    }
    text.push_str(&report.warning_text());
    text
}

fn table(report: &Report) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_FULL_CONDENSED)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["#", "name", "media type", "file name", "size", "sha256", "referenced by"]);
    for column in [0, 4] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    if let Some(control) = &report.message.control {
        let name = control.name.clone().unwrap_or_else(|| "(no name)".to_owned());
        let size = control.size.to_string();
        let references = match control.references {
            1 => "control document, 1 reference".to_owned(),
            n => format!("control document, {n} references"),
        };
        table.add_row(["0", &name, "application/json", "", &size, &control.sha256, &references]);
    }
    for part in &report.message.parts {
        let mut pointers: Vec<String> =
            part.referenced_by.iter().take(SHOWN_POINTERS).map(|pointer| shown(pointer)).collect();
        match part.references.saturating_sub(pointers.len()) {
            0 if pointers.is_empty() => pointers.push("(nothing)".to_owned()),
            0 => {}
            more => pointers.push(format!("and {more} more")),
        }
        let filename = part.filename.as_deref().map_or_else(String::new, printable);
        table.add_row([
            part.index.to_string(),
            part.name.clone(),
            part.content_type.clone(),
            filename,
            part.size.to_string(),
            part.sha256.clone().unwrap_or_else(|| "(incomplete)".to_owned()),
            pointers.join("\n"),
        ]);
    }
    table
}

/// A pointer that fits in a table.
fn shown(pointer: &str) -> String {
    if pointer.is_empty() {
        return "(root)".to_owned();
    }
    let mut text = printable(pointer);
    if let Some((cut, _)) = text.char_indices().nth(SHOWN_CHARS) {
        text.truncate(cut);
        text.push('…');
    }
    text
}
