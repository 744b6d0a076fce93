use crate::fault::Fault;
use crate::walk::{Step, Walk};

/// Faults that are kept; the rest are counted.
const MOST: usize = 1000;

/// Faults of a file that are found while another one is read.
#[derive(Default)]
pub(super) struct Pending {
    faults: Vec<Fault>,
    more: u64,
}

impl Pending {
    pub(super) fn push(&mut self, fault: Fault) {
        if self.faults.len() < MOST {
            self.faults.push(fault);
        } else {
            self.more += 1;
        }
    }

    /// Reports them.
    pub(super) fn give(&mut self, walk: &mut Walk) -> Step {
        for fault in self.faults.drain(..) {
            walk.fault(&fault)?;
        }
        match std::mem::take(&mut self.more) {
            0 => Ok(()),
            more => walk.fault(&Fault::mismatch(0..0, format!("{more} more faults of the same kind"))),
        }
    }
}
