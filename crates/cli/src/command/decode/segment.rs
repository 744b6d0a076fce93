//! `decode --as segment`: files of a broker's log.

use std::path::PathBuf;

use super::View;
use super::records::Records;
use crate::failure::{Failure, Result};
use crate::input::read_all;

/// Shows the files, or what is in the folders, one after the other.
pub(super) fn run(paths: &[PathBuf], view: View) -> Result {
    for path in paths {
        if path.extension().is_none_or(|ending| ending != "log") {
            return Err(Failure::failed(format!("{} is no file of records", path.display()))
                .hint("name the .log files of a partition"));
        }
        Records { view }.run(read_all(Some(path))?.into())?;
    }
    Ok(())
}
