//! Who may commit and fetch offsets of a consumer group.

use milena_messages::{ErrorCode, Uuid};

use crate::group::consumer::{ConsumerGroup, ConsumerMember};
use crate::group::offset::Committer;

impl ConsumerGroup {
    /// Checks whether a member may commit at all.
    ///
    /// # Errors
    /// It is no member, its epoch is from the future, or its request is too old to know of epochs.
    pub(crate) fn check_commit(&self, who: Committer<'_>) -> Result<(), ErrorCode> {
        if self.may_commit_anything(who) {
            return Ok(());
        }
        let member = self.members.get(who.member_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        if !who.is_transactional && member.classic.is_none() && !who.knows_epochs {
            return Err(ErrorCode::UNSUPPORTED_VERSION);
        }
        if who.generation > member.epoch { Err(member.stale()) } else { Ok(()) }
    }

    /// Checks whether a member that passed [`check_commit`](Self::check_commit) may commit for this partition. One of an
    /// older epoch may, as long as it has had the partition since then (KIP-1251).
    ///
    /// # Errors
    /// It got the partition later, or does not have it.
    pub(crate) fn check_partition(&self, who: Committer<'_>, topic: Uuid, partition: i32) -> Result<(), ErrorCode> {
        if self.may_commit_anything(who) {
            return Ok(());
        }
        let member = self.members.get(who.member_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        if who.generation == member.epoch {
            return Ok(());
        }
        let place = (topic, partition);
        match member.assigned.get(&place).or_else(|| member.pending_revocation.get(&place)) {
            Some(since) if *since <= who.generation => Ok(()),
            _ => Err(member.stale()),
        }
    }

    /// An operator of a group without members, or a producer that names no member.
    fn may_commit_anything(&self, who: Committer<'_>) -> bool {
        let names_nobody = who.generation == -1 && who.member_id.is_empty() && who.instance_id.is_none();
        who.generation < 0 && self.is_empty() || who.is_transactional && names_nobody
    }

    /// Checks whether a member may fetch offsets; without a member id and an epoch everybody may.
    ///
    /// # Errors
    /// It is no member, or of another epoch.
    pub(crate) fn check_fetch(&self, member_id: Option<&str>, epoch: i32) -> Result<(), ErrorCode> {
        let Some(member_id) = member_id else {
            // Kafka looks the null id up, which fails.
            return if epoch < 0 { Ok(()) } else { Err(ErrorCode::UNKNOWN_SERVER_ERROR) };
        };
        let member = self.members.get(member_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
        if epoch == member.epoch { Ok(()) } else { Err(member.stale()) }
    }
}

impl ConsumerMember {
    /// The code for a wrong epoch, which members of the classic protocol know as a generation.
    fn stale(&self) -> ErrorCode {
        if self.classic.is_some() { ErrorCode::ILLEGAL_GENERATION } else { ErrorCode::STALE_MEMBER_EPOCH }
    }
}
