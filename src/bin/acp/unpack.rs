//! `acp unpack`: the control document and the parts as files.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use acp_envelope::Item;
use clap::Args;
use tempfile::TempDir;

use crate::{
    args::Reading,
    check,
    report::{Report, Verdict},
    run::{self, Outcome, Sink},
};

const CONTROL: &str = "control.json";
const MANIFEST: &str = "manifest.json";

/// The longest file name that common file systems allow, in bytes.
const MAX_FILE_NAME: usize = 255;

#[derive(Debug, Args)]
#[command(
    after_help = "control.json is the control document in UTF-8, byte for byte where it was sent so; manifest.json the report of \
    `acp inspect --json` with the file of each part. A part is written under its name, never under \
    the sender's file name. Names that would be hidden, are no file names, or stand for something \
    else on some system (`..`, `.profile`, `-rf`, `nul`, `control.json`, `A` beside `a`) become \
    part-N, N being the part's position. A message that is refused leaves nothing behind."
)]
pub(crate) struct Unpack {
    /// File to read; `-` is standard input
    file: String,

    /// Directory to write to; made if it is not there
    #[arg(short, long, value_name = "DIR")]
    directory: PathBuf,

    /// Overwrite files that are there
    #[arg(long)]
    force: bool,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(unpack: &Unpack) -> io::Result<Outcome> {
    let mut staging = Staging::beside(&unpack.directory)?;
    let report = run::report(&unpack.file, &unpack.reading, true, &mut staging);
    if report.verdict == Verdict::Ok {
        staging.commit(&report, &unpack.directory, unpack.force)?;
    }
    run::show(&report, unpack.json, |report| text(report, &unpack.directory))?;
    Ok(report.verdict.into())
}

fn text(report: &Report, directory: &Path) -> String {
    let mut text = check::text(report);
    if report.verdict != Verdict::Ok {
        return text;
    }
    let directory = run::printable(&directory.to_string_lossy());
    let files = report.message.parts.len() + 2;
    for part in &report.message.parts {
        let path = part.path.as_deref().unwrap_or_default();
        if path != part.name {
            text.push_str(&format!(
                "  part {} \"{}\" is written as {path}\n",
                part.index, part.name
            ));
        }
    }
    text.push_str(&format!("  {files} files written to {directory}\n"));
    text
}

/// Files that are not yet where they belong. They go when this goes.
#[derive(Debug)]
struct Staging {
    _removed_at_last: TempDir,
    /// Made as any other directory is, unlike the one around it, which only its owner may enter.
    files: PathBuf,
    /// The files' names, as a file system that ignores case sees them.
    taken: BTreeSet<String>,
    /// The file of the part that is being written.
    current: Option<File>,
}

impl Staging {
    /// On the file system where `directory` is or will be.
    fn beside(directory: &Path) -> io::Result<Self> {
        let here = || Path::new(".");
        let existing = directory.ancestors().find(|path| path.is_dir()).unwrap_or_else(here);
        let around = tempfile::Builder::new().prefix(".acp-unpack-").tempdir_in(existing)?;
        let files = around.path().join("files");
        fs::create_dir(&files)?;
        let taken = [CONTROL, MANIFEST].map(str::to_owned).into();
        Ok(Self { _removed_at_last: around, files, taken, current: None })
    }

    /// A file name for the part that no other has.
    fn file_name(&mut self, name: &str, index: usize) -> String {
        let replaced = (1..).map(|n| match n {
            1 => format!("part-{index}"),
            n => format!("part-{index}-{n}"),
        });
        let own = is_harmless(name).then(|| name.to_owned());
        let mut candidates = own.into_iter().chain(replaced);
        candidates.find(|name| self.taken.insert(name.to_ascii_lowercase())).unwrap_or_default()
    }

    /// Puts the files into `directory`.
    fn commit(mut self, report: &Report, directory: &Path, force: bool) -> io::Result<()> {
        self.current = None;
        let manifest = serde_json::to_vec_pretty(report)?;
        fs::write(self.files.join(MANIFEST), manifest)?;
        if fs::symlink_metadata(directory).is_err() {
            if let Some(parent) = directory.parent() {
                fs::create_dir_all(parent)?;
            }
            return fs::rename(&self.files, directory);
        }
        let mut moves = Vec::new();
        for entry in fs::read_dir(&self.files)? {
            let entry = entry?;
            let target = directory.join(entry.file_name());
            match fs::symlink_metadata(&target) {
                Ok(metadata) if metadata.is_dir() || !force => {
                    let how =
                        if metadata.is_dir() { "as a directory" } else { "(--force overwrites)" };
                    let fault = format!("{} is there already {how}", target.display());
                    return Err(io::Error::new(io::ErrorKind::AlreadyExists, fault));
                }
                _ => moves.push((entry.path(), target)),
            }
        }
        for (from, to) in moves {
            fs::rename(from, to)?;
        }
        Ok(())
    }
}

impl Sink for Staging {
    fn take(&mut self, item: &Item, report: &mut Report) -> io::Result<()> {
        match item {
            Item::Control(control) => {
                fs::write(self.files.join(CONTROL), control.text())?;
                if let Some(control) = &mut report.message.control {
                    control.path = Some(CONTROL.to_owned());
                }
            }
            Item::PartStart(head) => {
                let file_name = self.file_name(head.name().as_str(), head.index());
                self.current = Some(File::create_new(self.files.join(&file_name))?);
                if let Some(part) = report.message.parts.last_mut() {
                    part.path = Some(file_name);
                }
            }
            Item::Data(data) => {
                if let Some(file) = &mut self.current {
                    file.write_all(data)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether a part's name can be a file name on every common system, and is no trap for who works
/// with the files later.
fn is_harmless(name: &str) -> bool {
    const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let device = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_device = DEVICES.contains(&device) && stem.len() <= device.len() + 1;
    !name.starts_with(['.', '-'])
        && !name.ends_with('.')
        && name.len() <= MAX_FILE_NAME
        && !is_device
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_traps_are_replaced_acp_hdr_6_acp_name_1() {
        for name in
            [".", "..", ".ssh", "-rf", "a.", "nul", "NUL.txt", "Com1", "lpt9.x", &"n".repeat(256)]
        {
            assert!(!is_harmless(name), "{name}");
        }
        for name in
            ["a", "img.png", "null", "com", "com10", "console", "a..b", "_", &"n".repeat(255)]
        {
            assert_eq!(is_harmless(name), name != "com", "{name}");
        }
    }

    #[test]
    fn every_part_has_a_file_of_its_own_acp_name_2() {
        let mut staging = Staging::beside(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        for (name, index, file) in [
            ("a", 1, "a"),
            ("A", 2, "part-2"),
            ("part-4", 3, "part-4"),
            ("..", 4, "part-4-2"),
            ("Manifest.json", 5, "part-5"),
            ("control.json", 6, "part-6"),
        ] {
            assert_eq!(staging.file_name(name, index), file);
        }
    }
}
