/// What a broker has to do before it confirms a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Acks {
    /// Nothing: it sends no response at all.
    None,
    /// Append it to the leader's log.
    Leader,
    /// Have it on all replicas that are in sync.
    #[default]
    All,
}

impl Acks {
    /// The number in the request.
    pub(super) fn number(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Leader => 1,
            Self::All => -1,
        }
    }
}
