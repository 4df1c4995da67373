//! What was measured, as JSON and as text. The JSON is stable: members are added, never renamed or
//! removed.

use std::{env::consts, thread};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::{
    message::Message,
    rows::Row,
    statistics::{median, noise_percent},
};

/// Up to this much noise, in percent, a run is steady.
const STEADY: f64 = 3.0;

/// With more noise than this, in percent, a run says little.
const NOISY: f64 = 10.0;

#[derive(Debug, Serialize)]
pub(super) struct Results {
    version: &'static str,
    /// Then the numbers mean nothing.
    debug_build: bool,
    machine: Machine,
    message: MessageShape,
    rounds: usize,
    rows: Vec<RowResult>,
    /// `null` for one thread.
    scaling: Option<Scaling>,
    /// That of the noisiest row; `null` for fewer than four rounds.
    noise_percent: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Machine {
    arch: &'static str,
    os: &'static str,
    available_parallelism: Option<usize>,
}

#[derive(Debug, Serialize)]
struct MessageShape {
    /// `multipart` or `json`.
    form: &'static str,
    bytes: usize,
    parts: usize,
    control_bytes: usize,
    references: usize,
    chunk_bytes: usize,
}

#[derive(Debug, Serialize)]
struct RowResult {
    row: &'static str,
    gb_per_s: f64,
    ns_per_message: f64,
    ratio_to_read_limit: f64,
    noise_percent: Option<f64>,
}

/// What several threads reach together.
#[derive(Debug, Serialize)]
struct Scaling {
    threads: u16,
    gb_per_s: f64,
    /// How many times as much as the row `decoder` in the same round.
    factor: f64,
    noise_percent: Option<f64>,
}

impl Results {
    /// `nanos` are those of `rows` and then, above one thread, those of the threads.
    pub(super) fn new(message: &Message, rows: &[Row], threads: u16, nanos: &[Vec<f64>]) -> Self {
        let bytes = message.len();
        let of = |row: Row| {
            let at = rows.iter().position(|&other| other == row);
            at.and_then(|at| nanos.get(at)).map_or(&[][..], Vec::as_slice)
        };
        let limit = of(Row::ReadLimit);
        let result = |&row: &Row| RowResult {
            row: row.name(),
            gb_per_s: bytes as f64 / median(of(row)),
            ns_per_message: median(of(row)),
            ratio_to_read_limit: median_ratio(of(row), limit),
            noise_percent: noise_percent(of(row)),
        };
        let scaling = |together: &Vec<f64>| Scaling {
            threads,
            gb_per_s: f64::from(threads) * bytes as f64 / median(together),
            factor: f64::from(threads) * median_ratio(of(Row::Decoder), together),
            noise_percent: noise_percent(together),
        };
        Self {
            version: env!("CARGO_PKG_VERSION"),
            debug_build: cfg!(debug_assertions),
            machine: Machine::this(),
            message: MessageShape::of(message),
            rounds: limit.len(),
            rows: rows.iter().map(result).collect(),
            scaling: nanos.get(rows.len()).map(scaling),
            noise_percent: nanos.iter().filter_map(|nanos| noise_percent(nanos)).reduce(f64::max),
        }
    }

    pub(super) fn text(&self) -> String {
        let Machine { arch, os, available_parallelism } = &self.machine;
        let cores = available_parallelism.map_or_else(String::new, |n| match n {
            1 => ", 1 core".to_owned(),
            n => format!(", {n} cores"),
        });
        let version = self.version;
        let mut text = format!("acp-envelope {version} on {os}, {arch}{cores}\n");
        text.push_str(&self.message.text());
        text.push_str(&format!("{}\n", self.table()));
        if let Some(Scaling { threads, factor, .. }) = &self.scaling {
            text.push_str(&format!("{threads} threads decode {factor:.2} times as much as one\n"));
        }
        text.push_str(&self.noise());
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED);
        table.set_header(["row", "GB/s", "per message", "of limit", "noise"]);
        for column in 1..5 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for row in &self.rows {
            table.add_row([
                row.row.to_owned(),
                digits(row.gb_per_s),
                time(row.ns_per_message),
                format!("{:.2}", row.ratio_to_read_limit),
                noise(row.noise_percent),
            ]);
        }
        if let Some(scaling) = &self.scaling {
            table.add_row([
                format!("decoder, {} threads", scaling.threads),
                digits(scaling.gb_per_s),
                time(self.message.bytes as f64 / scaling.gb_per_s),
                String::new(),
                noise(scaling.noise_percent),
            ]);
        }
        table
    }

    fn noise(&self) -> String {
        let rounds = self.rounds;
        match self.noise_percent {
            None => format!("noise: not known from so few rounds ({rounds})\n"),
            Some(noise) => {
                let judgement = judgement(noise);
                format!("noise: up to ±{noise:.1} % in {rounds} rounds ({judgement})\n")
            }
        }
    }
}

/// What so much noise, in percent, means for who reads the numbers.
fn judgement(noise: f64) -> &'static str {
    match noise {
        n if n <= STEADY => "steady",
        n if n <= NOISY => "differences of this size mean nothing",
        _ => "noisy: other work on this machine? repeat before believing",
    }
}

impl Machine {
    fn this() -> Self {
        let available_parallelism = thread::available_parallelism().ok().map(usize::from);
        Self { arch: consts::ARCH, os: consts::OS, available_parallelism }
    }
}

impl MessageShape {
    fn of(message: &Message) -> Self {
        let control = message.envelope.control();
        Self {
            form: if message.boundary.is_some() { "multipart" } else { "json" },
            bytes: message.len(),
            parts: message.contents.parts,
            control_bytes: control.raw().len(),
            references: control.reference_count(),
            chunk_bytes: message.chunk_bytes(),
        }
    }

    fn text(&self) -> String {
        let Self { form, bytes, parts, control_bytes, references, chunk_bytes } = self;
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        format!(
            "{form} form, {bytes} bytes: {parts} part{}, control document of {control_bytes} bytes with \
             {references} reference{}; in chunks of {chunk_bytes} bytes\n",
            plural(*parts),
            plural(*references),
        )
    }
}

/// The median of what each of `values` is in units of the other of the same round.
fn median_ratio(values: &[f64], others: &[f64]) -> f64 {
    let ratios: Vec<f64> = values.iter().zip(others).map(|(value, other)| value / other).collect();
    median(&ratios)
}

/// Three digits that mean something.
fn digits(value: f64) -> String {
    let decimals = match value {
        v if v < 0.099_95 => 4,
        v if v < 0.999_5 => 3,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

fn time(nanos: f64) -> String {
    let (value, unit) = match nanos {
        n if n < 999.5 => (n, "ns"),
        n if n < 999.5e3 => (n / 1e3, "µs"),
        n if n < 999.5e6 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

fn noise(percent: Option<f64>) -> String {
    percent.map_or_else(String::new, |percent| format!("±{percent:.1} %"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        for (nanos, text) in [
            (0.0123, "0.0123 ns"),
            (0.5, "0.500 ns"),
            (9.999, "10.0 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (1234.0, "1.23 µs"),
            (12_345_678.0, "12.3 ms"),
            (999.6e6, "1.00 s"),
            (12e9, "12.0 s"),
        ] {
            assert_eq!(time(nanos), text);
        }
    }

    #[test]
    fn a_run_is_steady_or_to_be_repeated() {
        assert_eq!(judgement(2.0), "steady");
        assert!(judgement(5.0).starts_with("differences"));
        assert!(judgement(10.1).starts_with("noisy"));
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        assert_eq!(median_ratio(&[2.0, 40.0, 6.0], &[1.0, 20.0, 2.0]), 2.0);
    }
}
