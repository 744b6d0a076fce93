use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::item::File;
use super::name::{FileKind, FileName, PartitionName};

/// The files of a log folder, a list for each partition and one for what belongs to none. A path that is a file is a list of
/// one.
///
/// # Errors
/// A path that is not there or cannot be read, and a folder without files of a log.
pub(super) fn list(path: &Path) -> io::Result<Vec<Vec<File>>> {
    let found = |error: io::Error| io::Error::new(error.kind(), format!("cannot read {}: {error}", path.display()));
    let metadata = fs::metadata(path).map_err(found)?;
    if !metadata.is_dir() {
        // Somebody means it: what the name does not say is a log.
        let named = file(path.to_owned(), metadata.len());
        let log = FileName { kind: FileKind::Log, offset: 0 };
        let partition = PartitionName::of_file(path);
        let file = named.unwrap_or(File { path: path.to_owned(), name: log, partition, size: metadata.len() });
        return Ok(vec![vec![file]]);
    }
    let mut folders = Vec::new();
    let here = files(path).map_err(found)?;
    folders.extend((!here.is_empty()).then_some(here));
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
        folders.push(files(&path)?);
    }
    if folders.is_empty() {
        let message = format!("{} holds no files of a log", path.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    Ok(folders)
}

/// The files of one folder: small ones that are about all of it, then segment by segment.
fn files(folder: &Path) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // A file that a broker has deleted in the meantime is gone.
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
