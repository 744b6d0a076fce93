// As many APIs as franz-go has: topics, records, groups, transactions, administration.
//
//	go run ./franz BOOTSTRAP [RELEASE]
//
// With RELEASE, such as v1.0, it speaks the versions that a client of that release of Kafka would. Exits with 0 if all round trips were right. Steps for which the broker is too old are skipped, and told as such.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

const patience = 30 * time.Second

type tour struct {
	seeds               []string
	topic, other, group string
	versions            *kversion.Versions
	client              *kgo.Client
	admin               *kadm.Client
	sent                []string
	failed              int
}

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: go run ./franz BOOTSTRAP [RELEASE]")
		os.Exit(2)
	}
	versions := kversion.Stable()
	if len(os.Args) == 3 {
		if versions = kversion.FromString(os.Args[2]); versions == nil {
			fmt.Fprintln(os.Stderr, os.Args[2], "is no release of Kafka that franz-go knows")
			os.Exit(2)
		}
	}
	random := make([]byte, 4)
	if _, err := rand.Read(random); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	name := "tour-go-" + hex.EncodeToString(random)
	t := &tour{seeds: strings.Split(os.Args[1], ","), topic: name, other: name + "-other", group: name + "-group",
		versions: versions}
	client, err := kgo.NewClient(t.options()...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	t.client, t.admin = client, kadm.NewClient(client)
	t.run()
	client.Close()
	if t.failed > 0 {
		fmt.Printf("%d steps went wrong\n", t.failed)
		os.Exit(1)
	}
	fmt.Println("all went right")
}

func (t *tour) options(more ...kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{kgo.SeedBrokers(t.seeds...), kgo.ClientID("tour-go"),
		kgo.MaxVersions(t.versions)}, more...)
}

// tooOld says whether an error only means that the broker lacks the step.
func tooOld(err error) bool {
	text := err.Error()
	return errors.Is(err, kerr.UnsupportedVersion) || errors.Is(err, kerr.SecurityDisabled) ||
		strings.Contains(text, "broker is too old") || strings.Contains(text, "request key is unknown") || strings.Contains(text, "UNSUPPORTED_VERSION") ||
		strings.Contains(text, "unable to handle this request") || strings.Contains(text, "SECURITY_DISABLED")
}

func (t *tour) step(what string, run func(context.Context) (any, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	told, err := run(ctx)
	switch {
	case err != nil && tooOld(err):
		fmt.Printf("skip  %s: %v\n", what, err)
	case err != nil:
		t.failed++
		fmt.Printf("WRONG %s: %v\n", what, err)
	case told != nil:
		fmt.Printf("ok    %s: %v\n", what, told)
	default:
		fmt.Printf("ok    %s\n", what)
	}
}

func same(found, wanted any) error {
	if fmt.Sprint(found) != fmt.Sprint(wanted) {
		return fmt.Errorf("found %v, wanted %v", found, wanted)
	}
	return nil
}

func (t *tour) run() {
	minusOne, mille := "-1", "123456"
	// The settings of a client of that name: codec, acks, idempotence.
	none := kgo.ProducerBatchCompression(kgo.NoCompression())
	plain := kgo.DisableIdempotentWrite()

	t.step("versions", func(ctx context.Context) (any, error) {
		versions, err := t.admin.ApiVersions(ctx)
		if err != nil {
			return nil, err
		}
		for _, one := range versions.Sorted() {
			return one.VersionGuess(), one.Err
		}
		return nil, errors.New("no broker")
	})
	t.step("create topics", func(ctx context.Context) (any, error) {
		one, err := t.admin.CreateTopics(ctx, 2, 1, nil, t.topic)
		if err == nil {
			err = one.Error()
		}
		if err != nil {
			return nil, err
		}
		two, err := t.admin.CreateTopics(ctx, 1, 1, map[string]*string{"retention.ms": &minusOne}, t.other)
		if err == nil {
			err = two.Error()
		}
		return nil, err
	})
	t.step("metadata", func(ctx context.Context) (any, error) {
		for {
			found, err := t.admin.Metadata(ctx, t.topic, t.other)
			if err != nil || found.Topics.Error() == nil {
				return len(found.Brokers), err
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	for _, codec := range []struct {
		name  string
		codec kgo.CompressionCodec
	}{
		{"none", kgo.NoCompression()}, {"gzip", kgo.GzipCompression()}, {"snappy", kgo.SnappyCompression()},
		{"lz4", kgo.Lz4Compression()}, {"zstd", kgo.ZstdCompression()},
	} {
		t.step("produce with "+codec.name, func(ctx context.Context) (any, error) {
			return t.produce(ctx, codec.name, kgo.ProducerBatchCompression(codec.codec, kgo.NoCompression()), plain)
		})
	}
	t.step("produce with acks 1", func(ctx context.Context) (any, error) {
		return t.produce(ctx, "acks 1", none, plain, kgo.RequiredAcks(kgo.LeaderAck()))
	})
	t.step("produce without an answer", func(ctx context.Context) (any, error) {
		return t.produce(ctx, "acks 0", none, plain, kgo.RequiredAcks(kgo.NoAck()))
	})
	t.step("produce idempotently", func(ctx context.Context) (any, error) {
		return t.produce(ctx, "idempotent", none)
	})
	t.step("read all", func(ctx context.Context) (any, error) { return t.readAll(ctx, t.other) })
	t.step("group", func(ctx context.Context) (any, error) {
		return t.readGroup(ctx, t.group, kgo.Balancers(kgo.RangeBalancer()))
	})
	t.step("group with cooperative assignment", func(ctx context.Context) (any, error) {
		return t.readGroup(ctx, t.group+"-coop", kgo.InstanceID("one"), kgo.Balancers(kgo.CooperativeStickyBalancer()))
	})
	t.step("list groups", func(ctx context.Context) (any, error) {
		found, err := t.admin.ListGroups(ctx)
		if err != nil {
			return nil, err
		}
		_, has := found[t.group]
		return len(found), same(has, true)
	})
	t.step("describe groups", func(ctx context.Context) (any, error) {
		found, err := t.admin.DescribeGroups(ctx, t.group)
		if err != nil {
			return nil, err
		}
		return found[t.group].State, found.Error()
	})
	t.step("offsets of a group", func(ctx context.Context) (any, error) {
		// kadm asks for all topics, and version 1 has no way to say so.
		if version, _ := t.versions.LookupMaxKeyVersion(int16(kmsg.OffsetFetch)); version < 2 {
			return nil, kerr.UnsupportedVersion
		}
		found, err := t.admin.FetchOffsets(ctx, t.group)
		if err != nil {
			return nil, err
		}
		return nil, same(found[t.other][0].At, len(t.sent))
	})
	t.step("lag of a group", func(ctx context.Context) (any, error) {
		found, err := t.admin.Lag(ctx, t.group)
		if err != nil {
			return nil, err
		}
		return found[t.group].Lag.Total(), found.Error()
	})
	t.step("list offsets", func(ctx context.Context) (any, error) {
		starts, err := t.admin.ListStartOffsets(ctx, t.other)
		if err != nil {
			return nil, err
		}
		ends, err := t.admin.ListEndOffsets(ctx, t.other)
		if err != nil {
			return nil, err
		}
		return nil, same([]int64{starts[t.other][0].Offset, ends[t.other][0].Offset}, []int{0, len(t.sent)})
	})
	t.step("list committed offsets", func(ctx context.Context) (any, error) {
		found, err := t.admin.ListCommittedOffsets(ctx, t.other)
		return found[t.other][0].Offset, err
	})
	t.step("list offsets by time", func(ctx context.Context) (any, error) {
		found, err := t.admin.ListOffsetsAfterMilli(ctx, 1, t.other)
		if err != nil {
			return nil, err
		}
		return nil, same(found[t.other][0].Offset, 0)
	})
	t.step("list offset of the latest time", func(ctx context.Context) (any, error) {
		found, err := t.admin.ListMaxTimestampOffsets(ctx, t.other)
		return found[t.other][0].Offset, err
	})
	t.step("leader epochs", func(ctx context.Context) (any, error) {
		set := kadm.OffsetForLeaderEpochRequest{}
		set.Add(t.other, 0, 0)
		found, err := t.admin.OffsetForLeaderEpoch(ctx, set)
		return found[t.other][0].EndOffset, err
	})
	t.step("transactions", func(ctx context.Context) (any, error) { return t.transactions(ctx) })
	t.step("describe producers", func(ctx context.Context) (any, error) {
		found, err := t.admin.DescribeProducers(ctx, kadm.TopicsSet{t.topic: {0: {}}})
		if err != nil {
			return nil, err
		}
		return len(found.SortedProducers()), nil
	})
	t.step("list transactions", func(ctx context.Context) (any, error) {
		found, err := t.admin.ListTransactions(ctx, nil, nil)
		return len(found), err
	})
	t.step("describe transactions", func(ctx context.Context) (any, error) {
		found, err := t.admin.DescribeTransactions(ctx, t.topic+"-tx")
		return found[t.topic+"-tx"].State, err
	})
	t.step("describe cluster", func(ctx context.Context) (any, error) {
		answer, err := kmsg.NewPtrDescribeClusterRequest().RequestWith(ctx, t.client)
		if err != nil {
			return nil, err
		}
		return len(answer.Brokers), kerr.ErrorForCode(answer.ErrorCode)
	})
	t.step("describe topic configs", func(ctx context.Context) (any, error) {
		found, err := t.admin.DescribeTopicConfigs(ctx, t.other)
		if err != nil {
			return nil, err
		}
		for _, config := range found[0].Configs {
			if config.Key == "retention.ms" {
				return nil, same(config.MaybeValue(), "-1")
			}
		}
		return nil, errors.New("no retention.ms")
	})
	t.step("describe broker configs", func(ctx context.Context) (any, error) {
		found, err := t.admin.DescribeBrokerConfigs(ctx)
		if err != nil {
			return nil, err
		}
		return nil, found[0].Err
	})
	t.step("alter configs step by step", func(ctx context.Context) (any, error) {
		change := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &mille}}
		found, err := t.admin.AlterTopicConfigs(ctx, change, t.other)
		if err != nil {
			return nil, err
		}
		return nil, found[0].Err
	})
	t.step("alter configs", func(ctx context.Context) (any, error) {
		change := []kadm.AlterConfig{{Name: "retention.ms", Value: &minusOne}}
		found, err := t.admin.AlterTopicConfigsState(ctx, change, t.other)
		if err != nil {
			return nil, err
		}
		return nil, found[0].Err
	})
	t.step("log directories", func(ctx context.Context) (any, error) {
		found, err := t.admin.DescribeAllLogDirs(ctx, nil)
		return len(found), err
	})
	t.step("create partitions", func(ctx context.Context) (any, error) {
		found, err := t.admin.CreatePartitions(ctx, 1, t.topic)
		if err != nil {
			return nil, err
		}
		return nil, found.Error()
	})
	t.step("elect leaders", func(ctx context.Context) (any, error) {
		found, err := t.admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, kadm.TopicsSet{t.topic: {0: {}}})
		return len(found), err
	})
	t.step("list reassignments", func(ctx context.Context) (any, error) {
		found, err := t.admin.ListPartitionReassignments(ctx, nil)
		return len(found), err
	})
	t.step("quotas", func(ctx context.Context) (any, error) {
		name := t.topic
		change := kadm.AlterClientQuotaEntry{
			Entity: kadm.ClientQuotaEntity{{Type: "client-id", Name: &name}},
			Ops:    []kadm.AlterClientQuotaOp{{Key: "producer_byte_rate", Value: 1e6}},
		}
		if _, err := t.admin.AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{change}); err != nil {
			return nil, err
		}
		found, err := t.admin.DescribeClientQuotas(ctx, false, []kadm.DescribeClientQuotaComponent{
			{Type: "client-id", MatchType: kmsg.QuotasMatchTypeAny}})
		return len(found), err
	})
	t.step("SCRAM users", func(ctx context.Context) (any, error) {
		found, err := t.admin.DescribeUserSCRAMs(ctx)
		return len(found), err
	})
	t.step("access rules", func(ctx context.Context) (any, error) { return t.accessRules(ctx) })
	t.step("features", func(ctx context.Context) (any, error) {
		answer, err := kmsg.NewPtrUpdateFeaturesRequest().RequestWith(ctx, t.client)
		if err != nil {
			return nil, err
		}
		return fmt.Sprint("code ", answer.ErrorCode), nil
	})
	t.step("quorum", func(ctx context.Context) (any, error) {
		request := kmsg.NewPtrDescribeQuorumRequest()
		topic := kmsg.NewDescribeQuorumRequestTopic()
		topic.Topic = "__cluster_metadata"
		topic.Partitions = append(topic.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
		request.Topics = append(request.Topics, topic)
		answer, err := request.RequestWith(ctx, t.client)
		if err != nil {
			return nil, err
		}
		return nil, kerr.ErrorForCode(answer.ErrorCode)
	})
	t.step("delete records", func(ctx context.Context) (any, error) {
		offsets := kadm.Offsets{}
		offsets.AddOffset(t.other, 0, 4, -1)
		found, err := t.admin.DeleteRecords(ctx, offsets)
		if err != nil {
			return nil, err
		}
		return nil, same(found[t.other][0].LowWatermark, 4)
	})
	t.step("delete offsets of a group", func(ctx context.Context) (any, error) {
		found, err := t.admin.DeleteOffsets(ctx, t.group, kadm.TopicsSet{t.other: {0: {}}})
		return len(found), err
	})
	t.step("delete groups", func(ctx context.Context) (any, error) {
		// The other one keeps its static member for a while.
		found, err := t.admin.DeleteGroups(ctx, t.group)
		if err != nil {
			return nil, err
		}
		// A broker of old forgets a group with its last offset.
		if err := found.Error(); !errors.Is(err, kerr.GroupIDNotFound) {
			return nil, err
		}
		return "it was gone", nil
	})
	t.step("delete topics", func(ctx context.Context) (any, error) {
		found, err := t.admin.DeleteTopics(ctx, t.topic, t.other)
		if err != nil {
			return nil, err
		}
		return nil, found.Error()
	})
}

func (t *tour) produce(ctx context.Context, tag string, options ...kgo.Opt) (any, error) {
	options = append(options, kgo.DefaultProduceTopic(t.other), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(50*time.Millisecond), kgo.RecordRetries(2))
	client, err := kgo.NewClient(t.options(options...)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var records []*kgo.Record
	for n := range 8 {
		record := &kgo.Record{Value: []byte(strings.Repeat(fmt.Sprint(tag, " ", n, " "), 20))}
		if n%2 == 0 {
			record.Key = []byte(fmt.Sprint("k", n))
			record.Headers = []kgo.RecordHeader{{Key: "n", Value: []byte{byte(n)}}, {Key: "empty", Value: []byte{}}}
		}
		records = append(records, record)
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, err
	}
	for _, record := range records {
		t.sent = append(t.sent, string(record.Value))
	}
	return nil, nil
}

// collect polls until there are so many records, and compares them with what was sent.
func (t *tour) collect(ctx context.Context, client *kgo.Client, wanted []string) error {
	var found []string
	for len(found) < len(wanted) {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return fmt.Errorf("%d of %d records: %w", len(found), len(wanted), err)
		}
		for _, failure := range fetches.Errors() {
			return failure.Err
		}
		fetches.EachRecord(func(record *kgo.Record) { found = append(found, string(record.Value)) })
	}
	sort.Strings(found)
	wanted = append([]string(nil), wanted...)
	sort.Strings(wanted)
	return same(found, wanted)
}

func (t *tour) readAll(ctx context.Context, topic string, options ...kgo.Opt) (any, error) {
	client, err := kgo.NewClient(t.options(append(options, kgo.ConsumeTopics(topic))...)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return fmt.Sprint(len(t.sent), " records"), t.collect(ctx, client, t.sent)
}

func (t *tour) readGroup(ctx context.Context, group string, options ...kgo.Opt) (any, error) {
	options = append(options, kgo.ConsumeTopics(t.other), kgo.ConsumerGroup(group), kgo.DisableAutoCommit(),
		kgo.HeartbeatInterval(300*time.Millisecond))
	client, err := kgo.NewClient(t.options(options...)...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := t.collect(ctx, client, t.sent); err != nil {
		return nil, err
	}
	if err := client.CommitUncommittedOffsets(ctx); err != nil {
		return nil, err
	}
	// A few heartbeats, and a description while it lives.
	time.Sleep(time.Second)
	found, err := t.admin.DescribeGroups(ctx, group)
	if err == nil {
		err = same(found[group].State, "Stable")
	}
	return fmt.Sprint(len(t.sent), " records"), err
}

func (t *tour) transactions(ctx context.Context) (any, error) {
	client, err := kgo.NewClient(t.options(kgo.TransactionalID(t.topic+"-tx"), kgo.DefaultProduceTopic(t.topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for n, keep := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit} {
		if err := client.BeginTransaction(); err != nil {
			return nil, err
		}
		record := kgo.StringRecord(fmt.Sprint("transaction ", n))
		if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
			return nil, errors.Join(err, client.EndTransaction(ctx, kgo.TryAbort))
		}
		if err := client.EndTransaction(ctx, keep); err != nil {
			return nil, err
		}
	}
	reader, err := kgo.NewClient(t.options(kgo.ConsumeTopics(t.topic),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))...)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	if err := t.collect(ctx, reader, []string{"transaction 0", "transaction 2"}); err != nil {
		return nil, err
	}
	// Consumed and produced in one transaction.
	session, err := kgo.NewGroupTransactSession(t.options(kgo.TransactionalID(t.topic+"-eos"), kgo.ConsumerGroup(t.group+"-eos"),
		kgo.ConsumeTopics(t.topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DefaultProduceTopic(t.topic),
		kgo.RequireStableFetchOffsets())...)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	if err := t.collect(ctx, session.Client(), []string{"transaction 0", "transaction 2"}); err != nil {
		return nil, err
	}
	if err := session.Begin(); err != nil {
		return nil, err
	}
	if err := session.ProduceSync(ctx, kgo.StringRecord("answer")).FirstErr(); err != nil {
		return nil, err
	}
	committed, err := session.End(ctx, kgo.TryCommit)
	if err != nil {
		return nil, err
	}
	return nil, same(committed, true)
}

func (t *tour) accessRules(ctx context.Context) (any, error) {
	rules := kadm.NewACLs().Allow("User:nobody").AllowHosts("*").Topics(t.topic).
		Operations(kadm.OpRead).ResourcePatternType(kadm.ACLPatternLiteral)
	created, err := t.admin.CreateACLs(ctx, rules)
	if err != nil {
		return nil, err
	}
	for _, one := range created {
		if one.Err != nil {
			return nil, one.Err
		}
	}
	found, err := t.admin.DescribeACLs(ctx, rules)
	if err != nil {
		return nil, err
	}
	_, err = t.admin.DeleteACLs(ctx, rules)
	return len(found), err
}
