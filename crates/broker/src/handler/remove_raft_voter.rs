use milena_messages::{RemoveRaftVoterRequest, RemoveRaftVoterResponse};

use super::Context;
use super::add_raft_voter::{check_cluster, fixed_voters};
use crate::cost::Cost;

pub(super) fn handle(context: &Context, request: RemoveRaftVoterRequest, _cost: &mut Cost) -> RemoveRaftVoterResponse {
    let checked = check_cluster(context, request.cluster_id.as_ref());
    let refusal = checked.err().unwrap_or_else(|| fixed_voters("removing"));
    RemoveRaftVoterResponse { error_code: refusal.code, error_message: refusal.text(), ..Default::default() }
}
