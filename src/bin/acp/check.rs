//! `acp check`: the verdict.

use std::io;

use crate::{
    args::Messages,
    report::{Report, Verdict},
    run::{self, Outcome, printable},
};

pub(crate) fn run(messages: &Messages) -> io::Result<Outcome> {
    run::each(messages, false, text)
}

pub(crate) fn text(report: &Report) -> String {
    let file = printable(&report.file);
    match report.verdict {
        Verdict::Ok => {
            let (form, size) = (report.message.form.unwrap_or_default(), report.message.size);
            let parts = match report.message.parts.len() {
                0 => "control document without parts".to_owned(),
                1 => "control document and 1 part".to_owned(),
                n => format!("control document and {n} parts"),
            };
            format!("{file}: ok: {form} form, {parts}, {size} bytes\n{}", report.warning_text())
        }
        _ => format!("{file}: refused\n{}{}", report.fault_text(), report.warning_text()),
    }
}
