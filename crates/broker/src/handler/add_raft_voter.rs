use milena_messages::{AddRaftVoterRequest, AddRaftVoterResponse, ByteString, ErrorCode};

use super::Context;
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::security::acl::Operation;

/// The voters are the nodes, as in a Kafka cluster whose voters are in the configuration.
pub(super) fn handle(context: &Context, request: AddRaftVoterRequest, _cost: &mut Cost) -> AddRaftVoterResponse {
    let refusal = check_cluster(context, request.cluster_id.as_ref()).err().unwrap_or_else(|| {
        if request.listeners.iter().any(|listener| listener.name == CONTROLLER) {
            fixed_voters("adding")
        } else {
            let message = format!(
                "Add voter request didn't include the endpoint (Endpoints(endpoints={{}})) for the default listener \
                 ListenerName({CONTROLLER})"
            );
            Refusal::new(ErrorCode::INVALID_REQUEST, message)
        }
    });
    AddRaftVoterResponse { error_code: refusal.code, error_message: refusal.text(), ..Default::default() }
}

/// The listener of controllers.
const CONTROLLER: &str = "CONTROLLER";

/// Checks that the client may change voters, and means this cluster.
pub(super) fn check_cluster(context: &Context, cluster_id: Option<&ByteString>) -> Result<(), Refusal> {
    context.authorize_cluster(Operation::Alter)?;
    let own = &context.state.cluster_id;
    match cluster_id {
        Some(other) if other != own => {
            let message = format!("The given id \"{other}\" doesn't match the cluster id \"{own}\"");
            Err(Refusal::new(ErrorCode::INCONSISTENT_CLUSTER_ID, message))
        }
        _ => Ok(()),
    }
}

/// What Kafka responds when the voters are in its configuration.
pub(super) fn fixed_voters(doing: &str) -> Refusal {
    let message = format!("Cluster doesn't support {doing} voter because the kraft.version feature is 0");
    Refusal::new(ErrorCode::UNSUPPORTED_VERSION, message)
}
