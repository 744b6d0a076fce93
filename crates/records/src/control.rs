use crate::error::{Error, Result};
use crate::layout::i16_at;
use crate::layout::i32_at;
use crate::view::RecordRef;

/// What a record of a control batch says.
///
/// Kafka takes a newer version for the one it knows and looks past further bytes, and so does this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Control<'a> {
    /// The transaction of the batch's producer was aborted (KIP-98).
    Abort {
        /// Epoch of the transaction coordinator.
        coordinator_epoch: i32,
    },
    /// The transaction of the batch's producer was committed (KIP-98).
    Commit {
        /// Epoch of the transaction coordinator.
        coordinator_epoch: i32,
    },
    /// A new leader of a KRaft quorum (KIP-595): a `LeaderChangeMessage`, its version first.
    LeaderChange(&'a [u8]),
    /// Begin of a KRaft snapshot (KIP-630): a `SnapshotHeaderRecord`, its version first.
    SnapshotHeader(&'a [u8]),
    /// End of a KRaft snapshot (KIP-630): a `SnapshotFooterRecord`, its version first.
    SnapshotFooter(&'a [u8]),
    /// The version that a KRaft quorum speaks (KIP-853): a `KRaftVersionRecord`, its version first.
    KRaftVersion(&'a [u8]),
    /// The voters of a KRaft quorum (KIP-853): a `VotersRecord`, its version first.
    KRaftVoters(&'a [u8]),
    /// A type that is not known here. Readers skip these.
    Unknown {
        /// The number of the type.
        type_id: i16,
        /// The value as it is.
        value: Option<&'a [u8]>,
    },
}

impl<'a> Control<'a> {
    /// Reads a record of a batch that says of itself that it [is one of control](crate::Batch::is_control).
    ///
    /// # Errors
    /// A key below 4 bytes or with a negative version; a transaction marker whose value is cut off or has a negative
    /// version; a null value where there has to be one.
    pub fn parse(record: &RecordRef<'a>) -> Result<Self> {
        Self::from_parts(record.key, record.value)
    }

    /// Reads the key and the value of a control record.
    ///
    /// # Errors
    /// As [`Control::parse`].
    pub fn from_parts(key: Option<&'a [u8]>, value: Option<&'a [u8]>) -> Result<Self> {
        let invalid = |field, message: String| Error::malformed(0, message).in_field(field);
        let key = match key {
            Some(key) if key.len() >= 4 => key,
            key => {
                return Err(invalid(
                    "key",
                    format!("control record with a key of {} bytes", key.map_or(0, <[u8]>::len)),
                ));
            }
        };
        let version = i16_at(key, 0);
        if version < 0 {
            return Err(invalid("key", format!("control record of version {version}")));
        }
        let type_id = i16_at(key, 2);
        let message =
            || value.ok_or_else(|| invalid("value", format!("control record of type {type_id} without value")));
        let marker = || {
            let value = message()?;
            if value.len() < 6 {
                return Err(invalid("value", format!("transaction marker of {} bytes", value.len())));
            }
            match i16_at(value, 0) {
                version if version < 0 => Err(invalid("value", format!("transaction marker of version {version}"))),
                _ => Ok(i32_at(value, 2)),
            }
        };
        Ok(match type_id {
            0 => Self::Abort { coordinator_epoch: marker()? },
            1 => Self::Commit { coordinator_epoch: marker()? },
            2 => Self::LeaderChange(message()?),
            3 => Self::SnapshotHeader(message()?),
            4 => Self::SnapshotFooter(message()?),
            5 => Self::KRaftVersion(message()?),
            6 => Self::KRaftVoters(message()?),
            _ => Self::Unknown { type_id, value },
        })
    }

    /// The number of the type in the key.
    pub fn type_id(&self) -> i16 {
        match *self {
            Self::Abort { .. } => 0,
            Self::Commit { .. } => 1,
            Self::LeaderChange(_) => 2,
            Self::SnapshotHeader(_) => 3,
            Self::SnapshotFooter(_) => 4,
            Self::KRaftVersion(_) => 5,
            Self::KRaftVoters(_) => 6,
            Self::Unknown { type_id, .. } => type_id,
        }
    }

    /// The name as Kafka's tools print it; `UNKNOWN` for types that are not known here.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Abort { .. } => "ABORT",
            Self::Commit { .. } => "COMMIT",
            Self::LeaderChange(_) => "LEADER_CHANGE",
            Self::SnapshotHeader(_) => "SNAPSHOT_HEADER",
            Self::SnapshotFooter(_) => "SNAPSHOT_FOOTER",
            Self::KRaftVersion(_) => "KRAFT_VERSION",
            Self::KRaftVoters(_) => "KRAFT_VOTERS",
            Self::Unknown { .. } => "UNKNOWN",
        }
    }

    /// The record that says this, with version 0 of key and marker.
    pub fn to_record(&self) -> crate::Record {
        let mut key = vec![0; 2];
        key.extend_from_slice(&self.type_id().to_be_bytes());
        let value = match *self {
            Self::Abort { coordinator_epoch } | Self::Commit { coordinator_epoch } => {
                let mut value = vec![0; 2];
                value.extend_from_slice(&coordinator_epoch.to_be_bytes());
                Some(value.into())
            }
            Self::LeaderChange(value)
            | Self::SnapshotHeader(value)
            | Self::SnapshotFooter(value)
            | Self::KRaftVersion(value)
            | Self::KRaftVoters(value) => Some(bytes::Bytes::copy_from_slice(value)),
            Self::Unknown { value, .. } => value.map(bytes::Bytes::copy_from_slice),
        };
        crate::Record { key: Some(key.into()), value, ..crate::Record::default() }
    }
}
