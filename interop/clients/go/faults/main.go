// What franz-go does when a broker refuses requests, which `milena tap --fault` does in its place.
//
// With --list prints the scenarios, each with its rules, between tabs. Else takes the address of the cluster, then
// NAME=ADDRESS of the tap for each scenario.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	topic = "letters"
	count = 20
	all   = "20 records, each once"
)

type scenario struct {
	name, kind, wanted string
	rules              []string
}

var scenarios = []scenario{
	{"produce-retriable", "produce", "written once", []string{"produce@1-2: error NOT_LEADER_OR_FOLLOWER"}},
	{"produce-fatal", "produce", "TOPIC_AUTHORIZATION_FAILED", []string{"produce: error TOPIC_AUTHORIZATION_FAILED"}},
	{"fetch-retriable", "read", all, []string{"fetch@2-6: error NOT_LEADER_OR_FOLLOWER"}},
	{"fetch-fatal", "read", "TOPIC_AUTHORIZATION_FAILED", []string{"fetch@2+: error TOPIC_AUTHORIZATION_FAILED"}},
	{"fetch-session", "read", all, []string{
		"fetch@2: error FETCH_SESSION_ID_NOT_FOUND", "fetch@3: error INVALID_FETCH_SESSION_EPOCH",
		"fetch@4: error FETCH_SESSION_TOPIC_ID_ERROR"}},
	{"metadata-retriable", "read", all, []string{"metadata@1-3: error LEADER_NOT_AVAILABLE"}},
	{"metadata-fatal", "read", "TOPIC_AUTHORIZATION_FAILED", []string{"metadata: error TOPIC_AUTHORIZATION_FAILED"}},
	{"coordinator-retriable", "group", all, []string{
		"findcoordinator@1-2: error COORDINATOR_NOT_AVAILABLE", "offsetfetch@1: error NOT_COORDINATOR",
		"joingroup@1: error COORDINATOR_LOAD_IN_PROGRESS"}},
	{"coordinator-fatal", "group", "GROUP_AUTHORIZATION_FAILED", []string{
		"findcoordinator: error GROUP_AUTHORIZATION_FAILED"}},
	{"join-unknown-member", "group", all, []string{
		"joingroup@1: error UNKNOWN_MEMBER_ID", "heartbeat@1: error REBALANCE_IN_PROGRESS"}},
	{"offsets-of-a-group", "group", "GROUP_AUTHORIZATION_FAILED", []string{
		"offsetfetch: error GROUP_AUTHORIZATION_FAILED"}},
	{"describe-group", "describe", "GROUP_ID_NOT_FOUND", []string{"describegroups: error GROUP_ID_NOT_FOUND"}},
}

func client(address string, options ...kgo.Opt) *kgo.Client {
	made, err := kgo.NewClient(append(options, kgo.SeedBrokers(address), kgo.MetadataMinAge(100*time.Millisecond))...)
	check(err)
	return made
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// The name of the code inside of an error.
func name(err error) string {
	var code *kerr.Error
	if errors.As(err, &code) {
		return code.Message
	}
	return err.Error()
}

func create(cluster, name string, partitions int32) {
	made := client(cluster)
	defer made.Close()
	_, err := kadm.NewClient(made).CreateTopic(context.Background(), partitions, 1, nil, name)
	if !errors.Is(err, kerr.TopicAlreadyExists) {
		check(err)
	}
}

// Writes one record through the tap, and counts by way of the cluster how often it is there.
func produce(ctx context.Context, address, cluster, topic string) string {
	create(cluster, topic, 1)
	writer := client(address, kgo.RecordDeliveryTimeout(20*time.Second))
	defer writer.Close()
	if err := writer.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("value")}).FirstErr(); err != nil {
		return name(err)
	}
	reader := client(cluster)
	defer reader.Close()
	ends, err := kadm.NewClient(reader).ListEndOffsets(ctx, topic)
	check(err)
	end, _ := ends.Lookup(topic, 0)
	if end.Offset != 1 {
		return fmt.Sprint(end.Offset, " records")
	}
	return "written once"
}

// Reads all records, as a member of a group or alone.
func read(ctx context.Context, address, topic, group string) string {
	options := []kgo.Opt{kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
	if group != "" {
		options = append(options, kgo.ConsumerGroup(group), kgo.HeartbeatInterval(300*time.Millisecond))
	}
	reader := client(address, options...)
	defer reader.Close()
	var found []string
	// Goes on for a while after the last one, so that faults and repeated records have time to show.
	for empty := 0; ctx.Err() == nil && (len(found) < count || empty < 4); {
		turn, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		fetches := reader.PollFetches(turn)
		cancel()
		for _, failed := range fetches.Errors() {
			if !errors.Is(failed.Err, context.DeadlineExceeded) {
				return name(failed.Err)
			}
		}
		empty++
		fetches.EachRecord(func(record *kgo.Record) {
			found = append(found, string(record.Value))
			empty = 0
		})
	}
	sort.Strings(found)
	if len(found) != count {
		return fmt.Sprintf("%d records: %v", len(found), found)
	}
	for i := 1; i < len(found); i++ {
		if found[i] == found[i-1] {
			return "twice: " + found[i]
		}
	}
	return all
}

func describe(ctx context.Context, address string) string {
	made := client(address)
	defer made.Close()
	described, err := kadm.NewClient(made).DescribeGroups(ctx, "readers")
	if err == nil {
		err = described["readers"].Err
	}
	if err == nil {
		return "described"
	}
	return name(err)
}

func main() {
	if os.Args[1] == "--list" {
		for _, one := range scenarios {
			fmt.Println(one.name + "\t" + strings.Join(one.rules, "\t"))
		}
		return
	}
	cluster, wrong := os.Args[1], 0
	create(cluster, "franz-"+topic, 2)
	writer := client(cluster, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for i := 0; i < count; i++ {
		record := &kgo.Record{Topic: "franz-" + topic, Partition: int32(i % 2), Value: []byte(fmt.Sprint("letter ", i))}
		check(writer.ProduceSync(context.Background(), record).FirstErr())
	}
	writer.Close()
	for _, argument := range os.Args[2:] {
		title, address, _ := strings.Cut(argument, "=")
		for _, one := range scenarios {
			if one.name != title {
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			begin := time.Now()
			var found string
			switch one.kind {
			case "produce":
				found = produce(ctx, address, cluster, "franz-"+title)
			case "read":
				found = read(ctx, address, "franz-"+topic, "")
			case "group":
				found = read(ctx, address, "franz-"+topic, "franz-readers-"+title)
			default:
				found = describe(ctx, address)
			}
			cancel()
			if found == one.wanted {
				fmt.Printf("ok    %s: %s, %d ms\n", title, found, time.Since(begin).Milliseconds())
			} else {
				wrong++
				fmt.Printf("WRONG %s: found %s, wanted %s\n", title, found, one.wanted)
			}
		}
	}
	if wrong > 0 {
		fmt.Println(wrong, "steps went wrong")
		os.Exit(1)
	}
	fmt.Println("all went right")
}
