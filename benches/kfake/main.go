// Rival runs kfake, and drives any broker with the same client: see benches/README.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const usage = "usage: rival serve [NODES] | startup | records PID BOOTSTRAP | groups PID BOOTSTRAP GROUPS"

func main() {
	args := append(os.Args[1:], "", "", "")
	switch args[0] {
	case "serve":
		serve(nodes(args[1]))
	case "startup":
		for _, n := range []int{1, 3, 100} {
			begun := time.Now()
			cluster, err := kfake.NewCluster(kfake.NumBrokers(n))
			check(err)
			fmt.Printf("start of %d nodes: %.2f ms\n", n, time.Since(begun).Seconds()*1000)
			cluster.Close()
		}
	case "records":
		records(args[1], args[2])
	case "groups":
		count, err := strconv.Atoi(args[3])
		check(err)
		groups(args[1], args[2], count)
	default:
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func nodes(text string) int {
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	check(err)
	return n
}

// serve runs kfake until Ctrl-C; the first line says its process and where it is.
func serve(n int) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(n))
	check(err)
	defer cluster.Close()
	fmt.Println(os.Getpid(), strings.Join(cluster.ListenAddrs(), ","))
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	<-stop
}

// cpu is the user and system time that a process has taken.
func cpu(pid string) time.Duration {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	check(err)
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	check(err)
	system, err := strconv.Atoi(fields[12])
	check(err)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// records produces and fetches records of 100 bytes in batches of 1,000, and prints the broker's CPU time for each.
func records(pid, bootstrap string) {
	const count, perBatch = 3_000_000, 1000
	ctx := context.Background()
	topic := fmt.Sprintf("bench-%d", time.Now().UnixNano())
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.DefaultProduceTopic(topic),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerBatchMaxBytes(120_000),
		kgo.ProducerLinger(5*time.Millisecond),
		kgo.MaxBufferedRecords(100*perBatch),
	)
	check(err)
	defer client.Close()
	wanted := kmsg.NewCreateTopicsRequestTopic()
	wanted.Topic, wanted.NumPartitions, wanted.ReplicationFactor = topic, 1, 1
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Topics = append(create.Topics, wanted)
	_, err = create.RequestWith(ctx, client)
	check(err)
	value := []byte(strings.Repeat("x", 100))
	check(client.ProduceSync(ctx, &kgo.Record{Value: value}).FirstErr())
	before := cpu(pid)
	for i := 0; i < count; i++ {
		client.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) { check(err) })
	}
	check(client.Flush(ctx))
	fmt.Printf("produce: %d ns of CPU per record\n", (cpu(pid)-before).Nanoseconds()/count)

	consumer, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	check(err)
	defer consumer.Close()
	before = cpu(pid)
	for got := 0; got <= count-1; {
		fetches := consumer.PollFetches(ctx)
		if errs := fetches.Errors(); len(errs) > 0 {
			check(errs[0].Err)
		}
		got += fetches.NumRecords()
	}
	fmt.Printf("fetch: %d ns of CPU per record\n", (cpu(pid)-before).Nanoseconds()/count)
}

// groups has members of the consumer protocol join, three to a group, and prints the broker's CPU time for a heartbeat.
func groups(pid, bootstrap string, count int) {
	ctx := context.Background()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...))
	check(err)
	defer client.Close()
	type member struct {
		group, id string
		epoch     int32
	}
	var members []*member
	beat := func(m *member) {
		request := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		request.Group, request.MemberID, request.MemberEpoch = m.group, m.id, m.epoch
		if m.epoch == 0 {
			request.SubscribedTopicNames = []string{"bench"}
			request.RebalanceTimeoutMillis = 60_000
			request.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		}
		response, err := request.RequestWith(ctx, client)
		check(err)
		if response.ErrorCode != 0 {
			check(fmt.Errorf("group %s: code %d", m.group, response.ErrorCode))
		}
		m.epoch = response.MemberEpoch
	}
	for group := 0; group < count; group++ {
		for number := 0; number < 3; number++ {
			id := fmt.Sprintf("%08d-0000-4000-8000-%012d", group, number)
			m := &member{group: fmt.Sprintf("bench-%d", group), id: id}
			beat(m)
			members = append(members, m)
		}
	}
	for _, m := range members {
		beat(m)
	}
	const beats = 20_000
	before := cpu(pid)
	for i := 0; i < beats; i++ {
		beat(members[i*7919%len(members)])
	}
	fmt.Printf("heartbeat with %d groups of 3: %d us of CPU\n", count, (cpu(pid)-before).Microseconds()/beats)
}
