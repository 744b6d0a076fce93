use bytes::Bytes;

use super::*;

const T: Uuid = Uuid::from_bytes([1; 16]);
const MINUTE: i64 = 60_000;

fn wanted(id: Uuid, partition: i32, offset: i64) -> Wanted {
    let topic = Some("t".into());
    Wanted { topic, id, partition, offset, max_bytes: 1, leader_epoch: -1, last_fetched_epoch: -1 }
}

fn request(id: i32, epoch: i32, wanted: Vec<Wanted>) -> SessionRequest {
    SessionRequest { id, epoch, by_id: true, privileged: false, wanted, forgotten: Vec::new() }
}

fn data(high_watermark: i64, records: &'static [u8]) -> PartitionData {
    PartitionData { high_watermark, records: Some(Bytes::from_static(records)), ..Default::default() }
}

/// What the cache does with a request for partitions that are all as `data`: the session, and the partitions in the response.
fn run(
    sessions: &FetchSessions,
    request: SessionRequest,
    data: &PartitionData,
    now_ms: i64,
) -> Result<(i32, Vec<i32>), ErrorCode> {
    let (context, all) = sessions.begin(request, |_| None, now_ms)?;
    let mut response = all.into_iter().map(|one| (one, data.clone())).collect();
    let id = sessions.finish(&context, &mut response, now_ms).map_err(|_| ErrorCode::INVALID_FETCH_SESSION_EPOCH)?;
    Ok((id, response.iter().map(|(one, _)| one.partition).collect()))
}

fn open(sessions: &FetchSessions, partitions: i32, privileged: bool, now_ms: i64) -> i32 {
    let all = (0..partitions).map(|partition| wanted(T, partition, 0)).collect();
    let request = SessionRequest { privileged, ..request(0, 0, all) };
    run(sessions, request, &data(0, b""), now_ms).unwrap().0
}

/// Whether the session is there; it is not used by that.
fn is_there(sessions: &FetchSessions, id: i32) -> bool {
    !sessions.members(id).is_empty()
}

#[test]
fn the_epoch_goes_from_the_greatest_number_to_1() {
    let sessions = FetchSessions::new(8);
    let id = open(&sessions, 1, false, 0);
    lock(&lock(sessions.shard_of(id).unwrap()).get(id).unwrap()).epoch = i32::MAX;
    run(&sessions, request(id, i32::MAX, vec![]), &data(0, b""), 0).unwrap();
    run(&sessions, request(id, 1, vec![]), &data(0, b""), 0).unwrap();
    assert_eq!(run(&sessions, request(id, 1, vec![]), &data(0, b""), 0), Err(ErrorCode::INVALID_FETCH_SESSION_EPOCH));
}

#[test]
fn a_request_that_was_overtaken_gets_nothing() {
    let sessions = FetchSessions::new(8);
    let id = open(&sessions, 1, false, 0);
    let (context, all) = sessions.begin(request(id, 1, vec![]), |_| None, 0).unwrap();
    run(&sessions, request(id, 2, vec![]), &data(0, b""), 0).unwrap();
    let mut response = all.into_iter().map(|one| (one, data(5, b"x"))).collect();
    assert_eq!(sessions.finish(&context, &mut response, 0), Err(id));
    assert_eq!(FetchSessions::throttled(&context), Err(id));
}

#[test]
fn only_what_changed_is_in_the_response_and_partitions_with_records_go_last() {
    let sessions = FetchSessions::new(8);
    let id = open(&sessions, 3, false, 0);
    let mut epoch = 0;
    let mut next = |with: &[(i32, PartitionData)]| {
        epoch += 1;
        let (context, all) = sessions.begin(request(id, epoch, vec![]), |_| None, 0).unwrap();
        let of = |one: &Wanted| with.iter().find(|(partition, _)| *partition == one.partition);
        let mut response = all.into_iter().map(|one| (one.clone(), of(&one).map_or(data(0, b""), |one| one.1.clone())));
        let mut response = response.by_ref().collect();
        sessions.finish(&context, &mut response, 0).unwrap();
        response.iter().map(|(one, _)| one.partition).collect::<Vec<_>>()
    };
    assert_eq!(next(&[]), [0i32; 0]);
    assert_eq!(next(&[(1, data(0, b"x"))]), [1]);
    let failed = PartitionData { error_code: ErrorCode::OFFSET_OUT_OF_RANGE, ..data(0, b"") };
    assert_eq!(next(&[(0, failed), (1, data(1, b"")), (2, data(0, b"x"))]), [0, 2, 1]);
    assert_eq!(next(&[(1, data(1, b""))]), [0], "after an error it comes again");
    let start = PartitionData { log_start_offset: 7, ..data(0, b"") };
    let nearer = PartitionData { preferred_read_replica: 2, ..data(1, b"") };
    assert_eq!(next(&[(0, start.clone()), (1, nearer)]), [0, 1]);
    assert_eq!(next(&[(0, start), (1, data(1, b""))]), [0i32; 0]);
}

#[test]
fn what_the_client_did_not_get_comes_again() {
    let sessions = FetchSessions::new(8);
    let id = open(&sessions, 2, false, 0);
    assert_eq!(run(&sessions, request(id, 1, vec![]), &data(0, b""), 0).unwrap().1, [0i32; 0]);
    sessions.unsent(id);
    assert_eq!(run(&sessions, request(id, 2, vec![]), &data(0, b""), 0).unwrap().1, [0, 1]);
}

#[test]
fn slots_are_divided_between_eight_shards() {
    let sessions = FetchSessions::new(7);
    assert_eq!(open(&sessions, 1, false, 0), 0);
    let sessions = FetchSessions::new(23);
    let ids: Vec<i32> = (0..24).map(|_| open(&sessions, 1, false, 0)).collect();
    assert!(ids[..16].iter().all(|id| *id > 0) && ids[16..].iter().all(|id| *id == 0), "{ids:?}");
    let shards: Vec<i32> = ids[..16].iter().map(|id| id / IDS_PER_SHARD).collect();
    assert_eq!(shards, [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]);
}

/// Opens a session in the first shard.
fn open_first(sessions: &FetchSessions, partitions: i32, privileged: bool, now_ms: i64) -> i32 {
    sessions.next_shard.store(0, Ordering::Relaxed);
    open(sessions, partitions, privileged, now_ms)
}

#[test]
fn a_session_unused_for_two_minutes_gives_way() {
    let sessions = FetchSessions::new(8);
    let first = open_first(&sessions, 1, false, 0);
    assert_eq!(open_first(&sessions, 5, false, 2 * MINUTE), 0);
    assert!(open_first(&sessions, 1, false, 2 * MINUTE + 1) > 0);
    assert!(!is_there(&sessions, first));
}

#[test]
fn a_session_in_use_gives_way_to_a_larger_one_when_it_is_old_enough() {
    let sessions = FetchSessions::new(8);
    let first = open_first(&sessions, 2, false, 0);
    let use_it = |epoch, now_ms| run(&sessions, request(first, epoch, vec![]), &data(0, b""), now_ms).unwrap();
    use_it(1, 2 * MINUTE);
    assert_eq!(open_first(&sessions, 9, false, 2 * MINUTE), 0, "it is too young");
    use_it(2, 2 * MINUTE + 1);
    assert_eq!(open_first(&sessions, 1, false, 2 * MINUTE + 1), 0, "the other one is worth less");
    assert!(open_first(&sessions, 3, false, 2 * MINUTE + 1) > 0);
    assert!(!is_there(&sessions, first));
}

#[test]
fn sessions_of_consumers_give_way_to_replicas() {
    let sessions = FetchSessions::new(8);
    let consumer = open_first(&sessions, 9, false, 0);
    let replica = open_first(&sessions, 1, true, 0);
    assert!(replica > 0 && !is_there(&sessions, consumer));
    assert_eq!(open_first(&sessions, 9, false, 0), 0);
    assert_eq!(open_first(&sessions, 9, true, 0), 0, "replicas stay two minutes as well");
}

#[test]
fn the_partitions_of_all_sessions_are_limited() {
    let sessions = FetchSessions::new(1000);
    let most = (MAX_PARTITIONS / SHARDS) as i32;
    let id = open_first(&sessions, most, false, 0);
    assert!(id > 0);
    assert_eq!(open_first(&sessions, 1, false, 0), 0);
    let more = request(id, 1, vec![wanted(T, most, 0)]);
    assert_eq!(run(&sessions, more, &data(0, b""), 0), Err(ErrorCode::FETCH_SESSION_ID_NOT_FOUND));
    assert_eq!(lock(&sessions.shards[0]).partitions(), 0);
    let id = open_first(&sessions, 5, false, 0);
    let less =
        SessionRequest { forgotten: vec![Key::Id(T, 3), Key::Id(T, 9)], ..request(id, 1, vec![wanted(T, 7, 0)]) };
    run(&sessions, less, &data(0, b""), 0).unwrap();
    assert_eq!(lock(&sessions.shards[0]).partitions(), 5);
}
