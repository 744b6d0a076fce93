use milena_messages::{ByteString, ErrorCode};

use crate::group::Partitioned;
use crate::message::Message;
use crate::message_set::OffsetAndMessage;

/// Numbers that stand in place of a timestamp in [`OffsetRequestPayload`] and [`ListOffsetRequestPayload`].
#[derive(Clone, Copy, Debug)]
pub struct OffsetResetStrategy;

impl OffsetResetStrategy {
    /// The offset of the message that is written next.
    pub const LATEST: i64 = -1;
    /// The first offset that is still there.
    pub const EARLIEST: i64 = -2;
    /// To consumers: no reset. To a broker: the timestamp 0.
    pub const NONE: i64 = 0;
}

macro_rules! payloads {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            /// Name of the topic.
            pub topic: ByteString,
            /// Partition number.
            pub partition: i32,
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl Partitioned for $name {
            fn topic(&self) -> &ByteString {
                &self.topic
            }

            fn partition(&self) -> i32 {
                self.partition
            }
        }
    )*};
}

payloads! {
    /// Messages to append to a partition.
    ProduceRequestPayload {
        /// In this order. What is compressed is a message of its own.
        messages: Vec<Message>,
    }

    /// What came of appending.
    ProduceResponsePayload {
        /// 0 = appended.
        error: ErrorCode,
        /// Offset given to the first message; -1 on error.
        offset: i64,
    }

    /// From where to read a partition.
    FetchRequestPayload {
        /// The first offset wanted.
        offset: i64,
        /// Most bytes of messages to send; the last one may be cut off by that.
        max_bytes: i32,
    }

    /// What was read from a partition.
    FetchResponsePayload {
        /// 0 = read.
        error: ErrorCode,
        /// One above the offset of the last message that is in all replicas; -1 on error. kafka-python's `highwaterMark`.
        highwater_mark: i64,
        /// The messages, out of their compression, with a partial one at the end when the last was cut off.
        messages: Vec<OffsetAndMessage>,
    }

    /// Asks for the first offsets of log segments.
    OffsetRequestPayload {
        /// Segments from before that time in milliseconds since 1970, or a number of [`OffsetResetStrategy`].
        time: i64,
        /// Most offsets to send.
        max_offsets: i32,
    }

    /// First offsets of log segments.
    OffsetResponsePayload {
        /// 0 = found.
        error: ErrorCode,
        /// Highest first.
        offsets: Vec<i64>,
    }

    /// Asks for the first offset at or after a time.
    ListOffsetRequestPayload {
        /// Milliseconds since 1970, or a number of [`OffsetResetStrategy`].
        time: i64,
    }

    /// The first offset at or after a time.
    ListOffsetResponsePayload {
        /// 0 = no error, which does not mean that there was a message.
        error: ErrorCode,
        /// That of the message in milliseconds since 1970; -1 = none.
        timestamp: i64,
        /// That of the message; -1 = none.
        offset: i64,
    }

    /// How far a consumer group has come.
    OffsetCommitRequestPayload {
        /// Offset of the message to read next.
        offset: i64,
        /// Any text that is to be kept with the offset; null is kept as empty.
        metadata: Option<ByteString>,
    }

    /// What came of a commit.
    OffsetCommitResponsePayload {
        /// 0 = committed.
        error: ErrorCode,
    }

    /// Asks how far a consumer group has come.
    OffsetFetchRequestPayload {}

    /// How far a consumer group has come.
    OffsetFetchResponsePayload {
        /// Offset of the message to read next; -1 = none committed.
        offset: i64,
        /// The text that was committed with it.
        metadata: Option<ByteString>,
        /// 0 = no error. From ZooKeeper 3 = none committed.
        error: ErrorCode,
    }
}

/// The broker that looks after a consumer group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerMetadataResponse {
    /// 0 = found, 15 = not yet there.
    pub error: ErrorCode,
    /// Number of the broker; -1 on error. kafka-python's `nodeId`.
    pub node_id: i32,
    /// Where it listens.
    pub host: ByteString,
    /// Where it listens; -1 on error.
    pub port: i32,
}
