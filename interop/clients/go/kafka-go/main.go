// As many APIs as kafka-go has: topics, records, groups, administration.
//
//	go run ./kafka-go BOOTSTRAP
//
// Exits with 0 if all round trips were right. Steps for which the broker is too old are skipped, and told as such.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

const patience = 30 * time.Second

var failed int

func tooOld(err error) bool {
	text := err.Error()
	return errors.Is(err, kafka.UnsupportedVersion) || errors.Is(err, kafka.SecurityDisabled) ||
		strings.Contains(text, "unsupported") || strings.Contains(text, "Unsupported") || strings.Contains(text, "no version")
}

func step(what string, run func(context.Context) (any, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	told, err := run(ctx)
	switch {
	case err != nil && tooOld(err):
		fmt.Printf("skip  %s: %v\n", what, err)
	case err != nil:
		failed++
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

// first gives the first error of those by topic, if there is one.
func first(errs map[string]error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./kafka-go BOOTSTRAP")
		os.Exit(2)
	}
	random := make([]byte, 4)
	if _, err := rand.Read(random); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	tour(strings.Split(os.Args[1], ","), "tour-kafkago-"+hex.EncodeToString(random))
	if failed > 0 {
		fmt.Printf("%d steps went wrong\n", failed)
		os.Exit(1)
	}
	fmt.Println("all went right")
}

func tour(seeds []string, topic string) {
	client := &kafka.Client{Addr: kafka.TCP(seeds...), Timeout: patience}
	group := topic + "-group"
	var sent []string

	step("versions", func(ctx context.Context) (any, error) {
		answer, err := client.ApiVersions(ctx, &kafka.ApiVersionsRequest{})
		if err != nil {
			return nil, err
		}
		return len(answer.ApiKeys), answer.Error
	})
	step("create topic", func(ctx context.Context) (any, error) {
		answer, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
			Topic: topic, NumPartitions: 1, ReplicationFactor: 1,
			ConfigEntries: []kafka.ConfigEntry{{ConfigName: "retention.ms", ConfigValue: "-1"}},
		}}})
		if err != nil {
			return nil, err
		}
		return nil, first(answer.Errors)
	})
	step("metadata", func(ctx context.Context) (any, error) {
		for {
			answer, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
			if err != nil {
				return nil, err
			}
			if len(answer.Topics) == 1 && answer.Topics[0].Error == nil && answer.Topics[0].Partitions[0].Error == nil {
				return len(answer.Brokers), nil
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	for name, codec := range map[string]kafka.Compression{
		"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
	} {
		step("produce with "+name, func(ctx context.Context) (any, error) {
			acks := kafka.RequireAll
			if codec == 0 {
				acks = kafka.RequireOne
			}
			writer := &kafka.Writer{Addr: kafka.TCP(seeds...), Topic: topic, Compression: codec, RequiredAcks: acks,
				BatchTimeout: 50 * time.Millisecond, MaxAttempts: 2}
			var messages []kafka.Message
			for n := range 8 {
				messages = append(messages, kafka.Message{Key: []byte(fmt.Sprint("k", n)),
					Value: []byte(strings.Repeat(fmt.Sprint(name, " ", n, " "), 20))})
			}
			if err := writer.WriteMessages(ctx, messages...); err != nil {
				return nil, errors.Join(err, writer.Close())
			}
			for _, message := range messages {
				sent = append(sent, string(message.Value))
			}
			return nil, writer.Close()
		})
	}
	read := func(ctx context.Context, reader *kafka.Reader, commit bool) error {
		var found []string
		for len(found) < len(sent) {
			message, err := reader.FetchMessage(ctx)
			if err != nil {
				return fmt.Errorf("%d of %d records: %w", len(found), len(sent), err)
			}
			found = append(found, string(message.Value))
			if commit && len(found) == len(sent) {
				if err := reader.CommitMessages(ctx, message); err != nil {
					return err
				}
			}
		}
		return same(found, sent)
	}
	step("read all", func(ctx context.Context) (any, error) {
		reader := kafka.NewReader(kafka.ReaderConfig{Brokers: seeds, Topic: topic, MaxWait: 200 * time.Millisecond})
		return fmt.Sprint(len(sent), " records"), errors.Join(read(ctx, reader, false), reader.Close())
	})
	step("read in a group", func(ctx context.Context) (any, error) {
		reader := kafka.NewReader(kafka.ReaderConfig{Brokers: seeds, Topic: topic, GroupID: group, StartOffset: kafka.FirstOffset,
			MaxWait: 200 * time.Millisecond, HeartbeatInterval: 300 * time.Millisecond})
		err := read(ctx, reader, true)
		time.Sleep(time.Second)
		return fmt.Sprint(len(sent), " records"), errors.Join(err, reader.Close())
	})
	step("offsets of a group", func(ctx context.Context) (any, error) {
		answer, err := client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: {0}}})
		if err != nil {
			return nil, err
		}
		return nil, same(answer.Topics[topic][0].CommittedOffset, len(sent))
	})
	step("list groups", func(ctx context.Context) (any, error) {
		answer, err := client.ListGroups(ctx, &kafka.ListGroupsRequest{})
		if err != nil {
			return nil, err
		}
		return len(answer.Groups), answer.Error
	})
	step("describe groups", func(ctx context.Context) (any, error) {
		answer, err := client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
		if err != nil {
			return nil, err
		}
		return answer.Groups[0].GroupState, answer.Groups[0].Error
	})
	step("list offsets", func(ctx context.Context) (any, error) {
		answer, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{
			topic: {kafka.FirstOffsetOf(0), kafka.LastOffsetOf(0)}}})
		if err != nil {
			return nil, err
		}
		partition := answer.Topics[topic][0]
		return nil, same([]int64{partition.FirstOffset, partition.LastOffset}, []int{0, len(sent)})
	})
	step("describe configs", func(ctx context.Context) (any, error) {
		answer, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{
			{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ConfigNames: []string{"retention.ms"}}}})
		if err != nil {
			return nil, err
		}
		return nil, same(answer.Resources[0].ConfigEntries[0].ConfigValue, "-1")
	})
	step("alter configs step by step", func(ctx context.Context) (any, error) {
		answer, err := client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
			Resources: []kafka.IncrementalAlterConfigsRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
				Configs: []kafka.IncrementalAlterConfigsRequestConfig{
					{Name: "max.message.bytes", Value: "123456", ConfigOperation: kafka.ConfigOperationSet}}}}})
		if err != nil {
			return nil, err
		}
		return nil, answer.Resources[0].Error
	})
	step("alter configs", func(ctx context.Context) (any, error) {
		answer, err := client.AlterConfigs(ctx, &kafka.AlterConfigsRequest{Resources: []kafka.AlterConfigRequestResource{
			{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
				Configs: []kafka.AlterConfigRequestConfig{{Name: "retention.ms", Value: "-1"}}}}})
		if err != nil {
			return nil, err
		}
		for _, err := range answer.Errors {
			return nil, err
		}
		return nil, nil
	})
	step("create partitions", func(ctx context.Context) (any, error) {
		answer, err := client.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{
			Topics: []kafka.TopicPartitionsConfig{{Name: topic, Count: 2}}})
		if err != nil {
			return nil, err
		}
		return nil, first(answer.Errors)
	})
	step("elect leaders", func(ctx context.Context) (any, error) {
		answer, err := client.ElectLeaders(ctx, &kafka.ElectLeadersRequest{Topic: topic, Partitions: []int{0}, Timeout: patience})
		if err != nil {
			return nil, err
		}
		return nil, answer.Error
	})
	step("producer id", func(ctx context.Context) (any, error) {
		for {
			answer, err := client.InitProducerID(ctx, &kafka.InitProducerIDRequest{TransactionalID: topic, TransactionTimeoutMs: 10_000})
			if err == nil && answer.Error == nil {
				return answer.Producer.ProducerID >= 0, nil
			}
			// The first one may come while the topic of transactions is still being made.
			if err := errors.Join(err, ctx.Err()); err != nil {
				return nil, err
			}
			time.Sleep(200 * time.Millisecond)
		}
	})
	step("SCRAM users", func(ctx context.Context) (any, error) {
		answer, err := client.DescribeUserScramCredentials(ctx, &kafka.DescribeUserScramCredentialsRequest{})
		if err != nil {
			return nil, err
		}
		return len(answer.Results), answer.Error
	})
	step("access rules", func(ctx context.Context) (any, error) {
		created, err := client.CreateACLs(ctx, &kafka.CreateACLsRequest{ACLs: []kafka.ACLEntry{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ResourcePatternType: kafka.PatternTypeLiteral,
			Principal: "User:nobody", Host: "*", Operation: kafka.ACLOperationTypeRead, PermissionType: kafka.ACLPermissionTypeAllow}}})
		if err != nil {
			return nil, err
		}
		for _, err := range created.Errors {
			if err != nil {
				return nil, err
			}
		}
		answer, err := client.DescribeACLs(ctx, &kafka.DescribeACLsRequest{Filter: kafka.ACLFilter{
			ResourceTypeFilter: kafka.ResourceTypeTopic, ResourceNameFilter: topic,
			ResourcePatternTypeFilter: kafka.PatternTypeLiteral, Operation: kafka.ACLOperationTypeAny,
			PermissionType: kafka.ACLPermissionTypeAny}})
		if err != nil {
			return nil, err
		}
		return len(answer.Resources), answer.Error
	})
	step("delete groups", func(ctx context.Context) (any, error) {
		answer, err := client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{group}})
		if err != nil {
			return nil, err
		}
		return nil, first(answer.Errors)
	})
	step("delete topic", func(ctx context.Context) (any, error) {
		answer, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
		if err != nil {
			return nil, err
		}
		return nil, first(answer.Errors)
	})
}
