use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::name::{FileKind, FileName, FileState, PartitionName};

/// A file of a log folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// What its name says.
    pub name: FileName,
    /// The partition that it belongs to, according to its folder.
    pub partition: Option<PartitionName>,
    /// Its bytes.
    pub size: u64,
}

/// A folder and the files in it that a broker wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Where it is; for a single file, the file.
    pub path: PathBuf,
    /// Files that concern all of it, then segment by segment.
    pub files: Vec<File>,
}

impl Folder {
    /// The files of one folder. Files that belong to no log are left out, so there may be none.
    ///
    /// # Errors
    /// A path that is not a folder or cannot be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), files: files(path)? })
    }

    /// Whether the broker is deleting the partition, as the name of the folder says.
    pub fn is_deleted(&self) -> bool {
        self.path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with("-delete"))
    }
}

/// The files of a log folder: a [`Folder`] for each partition and one for the files that belong to no partition. A path
/// of a file gives one folder with this file alone; if its name says nothing, it counts as a log.
///
/// # Errors
/// A path that does not exist or cannot be read, and a folder without files of a log.
pub fn list(path: &Path) -> io::Result<Vec<Folder>> {
    let found = |error: io::Error| io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display()));
    let metadata = fs::metadata(path).map_err(found)?;
    if !metadata.is_dir() {
        let log = FileName { kind: FileKind::Log, offset: 0, state: FileState::Renamed };
        let partition = PartitionName::of_file(path);
        let file = file(path.to_owned(), metadata.len());
        let file = file.unwrap_or(File { path: path.to_owned(), name: log, partition, size: metadata.len() });
        return Ok(vec![Folder { path: path.to_owned(), files: vec![file] }]);
    }
    let mut folders = Vec::new();
    let here = Folder::read(path).map_err(found)?;
    folders.extend((!here.files.is_empty()).then_some(here));
    let mut partitions = Vec::new();
    for entry in fs::read_dir(path).map_err(found)? {
        let entry = entry?;
        let partition = entry.file_name().to_str().and_then(PartitionName::parse);
        if let (Some(partition), true) = (partition, entry.path().is_dir()) {
            partitions.push((partition, entry.path()));
        }
    }
    partitions.sort();
    for (_, path) in partitions {
        folders.push(Folder::read(&path)?);
    }
    if folders.is_empty() {
        let message = format!("there are no log files in {}", path.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    Ok(folders)
}

/// The files of one folder: those that concern all of it, then segment by segment.
fn files(folder: &Path) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // A broker may have deleted it in the meantime.
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if metadata.is_file() {
            files.extend(file(path, metadata.len()));
        }
    }
    files.sort_by(|a, b| {
        let order = |file: &File| (file.name.kind >= FileKind::Log, file.name.offset, file.name.kind);
        order(a).cmp(&order(b)).then_with(|| a.path.cmp(&b.path))
    });
    Ok(files)
}

fn file(path: PathBuf, size: u64) -> Option<File> {
    let name = FileName::parse(path.file_name()?.to_str()?)?;
    let partition = PartitionName::of_file(&path);
    Some(File { path, name, partition, size })
}
