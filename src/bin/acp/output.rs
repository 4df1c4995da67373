//! Where `acp pack` writes to.

use std::{
    fs::{self, File},
    io::{self, BufWriter, IsTerminal as _, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::{body::is_standard, run::printable};

/// Where a message has gone.
pub(crate) enum Where {
    File,
    Stdout,
}

/// Where a message goes.
pub(crate) enum Output {
    Stdout(io::StdoutLock<'static>),
    /// A file under another name until it is complete.
    New(BufWriter<NamedTempFile>, PathBuf),
    /// Something that is there and no regular file, such as a pipe.
    Device(File),
}

impl Output {
    /// Opens `path`; `-` is standard output.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if is_standard(path) {
            let stdout = io::stdout();
            if stdout.is_terminal() {
                return Err(usage("a message is not for the terminal: give a file with --output"));
            }
            return Ok(Self::Stdout(stdout.lock()));
        }
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            return Ok(Self::Device(File::options().write(true).open(path)?));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut file = tempfile::Builder::new();
        file.prefix(".acp-pack-");
        #[cfg(unix)]
        file.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = file.tempfile_in(folder.unwrap_or_else(|| Path::new(".")));
        let file = file.map_err(|error| about(path, &error))?;
        Ok(Self::New(BufWriter::new(file), path.to_owned()))
    }

    /// Everything is written.
    pub(crate) fn finish(mut self) -> io::Result<Where> {
        self.flush()?;
        match self {
            Self::Stdout(_) => Ok(Where::Stdout),
            Self::Device(_) => Ok(Where::File),
            Self::New(file, path) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.persist(&path).map_err(|e| about(&path, &e.error))?;
                Ok(Where::File)
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::New(out, _) => out.write(bytes),
            Self::Device(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::New(out, _) => out.flush(),
            Self::Device(out) => out.flush(),
        }
    }
}

/// The same error, with the file it is about.
pub(crate) fn about(path: &Path, error: &io::Error) -> io::Error {
    let path = printable(&path.to_string_lossy());
    io::Error::new(error.kind(), format!("{path}: {error}"))
}

/// What was asked for cannot be.
pub(crate) fn usage(fault: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, fault)
}
