// As many APIs as Sarama has: topics, records, groups, transactions, administration.
//
//	go run ./sarama BOOTSTRAP [RELEASE]
//
// With RELEASE, such as 1.0.0, it speaks as to a broker of that release; else as to the newest that it knows. Exits with 0 if
// all round trips were right. Steps for which the broker is too old are skipped, and told as such.
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

	"github.com/IBM/sarama"
)

const patience = 30 * time.Second

var failed int

func tooOld(err error) bool {
	return errors.Is(err, sarama.ErrUnsupportedVersion) || errors.Is(err, sarama.ErrSecurityDisabled) ||
		strings.Contains(err.Error(), "equires") || strings.Contains(err.Error(), "Security features are disabled")
}

func step(what string, run func() (any, error)) {
	told, err := run()
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

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: go run ./sarama BOOTSTRAP [RELEASE]")
		os.Exit(2)
	}
	version := sarama.MaxVersion
	if len(os.Args) == 3 {
		var err error
		if version, err = sarama.ParseKafkaVersion(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	random := make([]byte, 4)
	if _, err := rand.Read(random); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	tour(strings.Split(os.Args[1], ","), version, "tour-sarama-"+hex.EncodeToString(random))
	if failed > 0 {
		fmt.Printf("%d steps went wrong\n", failed)
		os.Exit(1)
	}
	fmt.Println("all went right")
}

func config(version sarama.KafkaVersion) *sarama.Config {
	config := sarama.NewConfig()
	config.ClientID = "tour-sarama"
	config.Version = version
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Group.Heartbeat.Interval = 300 * time.Millisecond
	config.Consumer.Offsets.AutoCommit.Interval = 200 * time.Millisecond
	return config
}

// handler takes the records of a group until there are enough.
type handler struct {
	wanted int
	found  []string
	done   context.CancelFunc
}

func (*handler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		h.found = append(h.found, string(message.Value))
		session.MarkMessage(message, "")
		if len(h.found) == h.wanted {
			session.Commit()
			// A few heartbeats more.
			time.AfterFunc(time.Second, h.done)
		}
	}
	return nil
}

func tour(seeds []string, version sarama.KafkaVersion, topic string) {
	group := topic + "-group"
	var sent []string
	admin, err := sarama.NewClusterAdmin(seeds, config(version))
	if err != nil {
		failed++
		fmt.Printf("WRONG connect: %v\n", err)
		return
	}
	defer admin.Close()
	minusOne := "-1"

	step("describe cluster", func() (any, error) {
		brokers, _, err := admin.DescribeCluster()
		return len(brokers), err
	})
	step("create topic", func() (any, error) {
		return nil, admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1,
			ConfigEntries: map[string]*string{"retention.ms": &minusOne}}, false)
	})
	step("describe topic", func() (any, error) {
		for attempt := 0; ; attempt++ {
			found, err := admin.DescribeTopics([]string{topic})
			if err != nil || (found[0].Err == sarama.ErrNoError && len(found[0].Partitions) == 1) || attempt == 50 {
				return len(found), err
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	produce := func(name string, change func(*sarama.Config)) {
		step("produce with "+name, func() (any, error) {
			settings := config(version)
			change(settings)
			producer, err := sarama.NewSyncProducer(seeds, settings)
			if err != nil {
				return nil, err
			}
			defer producer.Close()
			var messages []*sarama.ProducerMessage
			var values []string
			for n := range 8 {
				value := strings.Repeat(fmt.Sprint(name, " ", n, " "), 20)
				message := &sarama.ProducerMessage{Topic: topic, Partition: 0, Value: sarama.StringEncoder(value)}
				if n%2 == 0 {
					message.Key = sarama.StringEncoder(fmt.Sprint("k", n))
					if version.IsAtLeast(sarama.V0_11_0_0) {
						message.Headers = []sarama.RecordHeader{{Key: []byte("n"), Value: []byte{byte(n)}}}
					}
				}
				messages, values = append(messages, message), append(values, value)
			}
			if err := producer.SendMessages(messages); err != nil {
				return nil, err
			}
			sent = append(sent, values...)
			return nil, nil
		})
	}
	for _, codec := range []sarama.CompressionCodec{sarama.CompressionNone, sarama.CompressionGZIP, sarama.CompressionSnappy,
		sarama.CompressionLZ4, sarama.CompressionZSTD} {
		produce(codec.String(), func(settings *sarama.Config) { settings.Producer.Compression = codec })
	}
	produce("idempotence", func(settings *sarama.Config) {
		settings.Producer.Idempotent, settings.Producer.RequiredAcks, settings.Net.MaxOpenRequests = true, sarama.WaitForAll, 1
	})
	step("read all", func() (any, error) {
		consumer, err := sarama.NewConsumer(seeds, config(version))
		if err != nil {
			return nil, err
		}
		defer consumer.Close()
		partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
		if err != nil {
			return nil, err
		}
		defer partition.Close()
		var found []string
		for len(found) < len(sent) {
			select {
			case message := <-partition.Messages():
				found = append(found, string(message.Value))
			case <-time.After(patience):
				return nil, fmt.Errorf("%d of %d records", len(found), len(sent))
			}
		}
		sort.Strings(found)
		wanted := append([]string(nil), sent...)
		sort.Strings(wanted)
		return fmt.Sprint(len(found), " records"), same(found, wanted)
	})
	step("read in a group", func() (any, error) {
		consumer, err := sarama.NewConsumerGroup(seeds, group, config(version))
		if err != nil {
			return nil, err
		}
		defer consumer.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		handler := &handler{wanted: len(sent), done: cancel}
		if err := consumer.Consume(ctx, []string{topic}, handler); err != nil {
			return nil, err
		}
		return fmt.Sprint(len(handler.found), " records"), same(len(handler.found), len(sent))
	})
	step("offsets of a group", func() (any, error) {
		found, err := admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0}})
		if err != nil {
			return nil, err
		}
		return nil, same(found.GetBlock(topic, 0).Offset, len(sent))
	})
	step("list groups", func() (any, error) {
		found, err := admin.ListConsumerGroups()
		return len(found), err
	})
	step("describe groups", func() (any, error) {
		found, err := admin.DescribeConsumerGroups([]string{group})
		if err != nil {
			return nil, err
		}
		return found[0].State, nil
	})
	step("transactions", func() (any, error) {
		settings := config(version)
		settings.Producer.Idempotent, settings.Producer.RequiredAcks, settings.Net.MaxOpenRequests = true, sarama.WaitForAll, 1
		settings.Producer.Transaction.ID = topic
		producer, err := sarama.NewSyncProducer(seeds, settings)
		if err != nil {
			return nil, err
		}
		defer producer.Close()
		for _, keep := range []bool{true, false} {
			if err := producer.BeginTxn(); err != nil {
				return nil, err
			}
			message := &sarama.ProducerMessage{Topic: topic, Partition: 0, Value: sarama.StringEncoder("in a transaction")}
			if _, _, err := producer.SendMessage(message); err != nil {
				return nil, err
			}
			if err := producer.AddOffsetsToTxn(map[string][]*sarama.PartitionOffsetMetadata{
				topic: {{Partition: 0, Offset: 1}}}, group); err != nil {
				return nil, err
			}
			end := producer.CommitTxn
			if !keep {
				end = producer.AbortTxn
			}
			if err := end(); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	step("describe configs", func() (any, error) {
		found, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic,
			ConfigNames: []string{"retention.ms"}})
		if err != nil {
			return nil, err
		}
		return nil, same(found[0].Value, "-1")
	})
	step("alter configs", func() (any, error) {
		return nil, admin.AlterConfig(sarama.TopicResource, topic, map[string]*string{"retention.ms": &minusOne}, false)
	})
	step("alter configs step by step", func() (any, error) {
		return nil, admin.IncrementalAlterConfig(sarama.TopicResource, topic, map[string]sarama.IncrementalAlterConfigsEntry{
			"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &minusOne}}, false)
	})
	step("create partitions", func() (any, error) { return nil, admin.CreatePartitions(topic, 2, nil, false) })
	step("elect leaders", func() (any, error) {
		found, err := admin.ElectLeaders(sarama.PreferredElection, map[string][]int32{topic: {0}})
		return len(found), err
	})
	step("list reassignments", func() (any, error) {
		found, err := admin.ListPartitionReassignments(topic, []int32{0})
		return len(found), err
	})
	step("log directories", func() (any, error) {
		brokers, _, err := admin.DescribeCluster()
		if err != nil {
			return nil, err
		}
		found, err := admin.DescribeLogDirs([]int32{brokers[0].ID()})
		return len(found), err
	})
	step("SCRAM users", func() (any, error) {
		found, err := admin.DescribeUserScramCredentials(nil)
		return len(found), err
	})
	step("quotas", func() (any, error) {
		found, err := admin.DescribeClientQuotas(nil, false)
		return len(found), err
	})
	step("access rules", func() (any, error) {
		rule := sarama.Resource{ResourceType: sarama.AclResourceTopic, ResourceName: topic,
			ResourcePatternType: sarama.AclPatternLiteral}
		if err := admin.CreateACL(rule, sarama.Acl{Principal: "User:nobody", Host: "*", Operation: sarama.AclOperationRead,
			PermissionType: sarama.AclPermissionAllow}); err != nil {
			return nil, err
		}
		filter := sarama.AclFilter{ResourceType: sarama.AclResourceTopic, ResourceName: &topic, Version: 1,
			ResourcePatternTypeFilter: sarama.AclPatternLiteral, Operation: sarama.AclOperationAny,
			PermissionType: sarama.AclPermissionAny}
		found, err := admin.ListAcls(filter)
		if err != nil {
			return nil, err
		}
		_, err = admin.DeleteACL(filter, false)
		return len(found), err
	})
	step("delete records", func() (any, error) { return nil, admin.DeleteRecords(topic, map[int32]int64{0: 4}) })
	step("delete offsets of a group", func() (any, error) { return nil, admin.DeleteConsumerGroupOffset(group, topic, 0) })
	step("delete group", func() (any, error) {
		err := admin.DeleteConsumerGroup(group)
		if errors.Is(err, sarama.ErrGroupIDNotFound) {
			return "it was gone", nil
		}
		return nil, err
	})
	step("delete topic", func() (any, error) { return nil, admin.DeleteTopic(topic) })
}
