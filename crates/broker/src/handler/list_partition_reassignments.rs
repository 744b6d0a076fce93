use milena_messages::{ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse};

use super::Context;
use crate::cost::Cost;

/// None is ever in progress: each is complete at once.
pub(super) fn handle(
    _context: &Context,
    _request: ListPartitionReassignmentsRequest,
    _cost: &mut Cost,
) -> ListPartitionReassignmentsResponse {
    ListPartitionReassignmentsResponse { error_message: None, ..Default::default() }
}
