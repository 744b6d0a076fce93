// Package letters has tests with franz-go against `milena broker`: go test ./...
//
// MILENA is the path of the binary, when it is not on the PATH.
package letters

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type broker struct {
	Bootstrap string
	Control   string
}

func start(t *testing.T, options ...string) *broker {
	t.Helper()
	binary := os.Getenv("MILENA")
	if binary == "" {
		binary = "milena"
	}
	args := append([]string{"broker", "--port", "0", "--control", "127.0.0.1:0", "--json"}, options...)
	command := exec.Command(binary, args...)
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
	})
	// The line comes when everything is in place.
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready broker
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatal(err)
	}
	return &ready
}

func (b *broker) call(t *testing.T, method, path string, body, into any) {
	t.Helper()
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			t.Fatal(err)
		}
	}
	request, err := http.NewRequest(method, b.Control+path, &sent)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		t.Fatalf("%s %s: %s", method, path, response.Status)
	}
	if into != nil {
		if err := json.NewDecoder(response.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAProducerFollowsTheLeader(t *testing.T) {
	broker := start(t, "--nodes", "3", "--topic", "letters:1")
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(broker.Bootstrap, ",")...), kgo.DefaultProduceTopic("letters"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for node := 1; node <= 3; node++ {
		broker.call(t, "POST", "/topics/letters/partitions/0/leader", map[string]int{"node": node}, nil)
		record := kgo.StringRecord(fmt.Sprintf("letter %d", node))
		if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if record.Offset != int64(node-1) {
			t.Fatalf("offset %d at node %d", record.Offset, node)
		}
	}
}

func TestAReaderComesBackAfterAnIsolatedNode(t *testing.T) {
	broker := start(t, "--nodes", "2", "--topic", "letters:1")
	var topic struct{ Partitions []struct{ Leader int } }
	broker.call(t, "GET", "/topics/letters", nil, &topic)
	broker.call(t, "POST", fmt.Sprintf("/nodes/%d/isolate", topic.Partitions[0].Leader), nil, nil)
	records := map[string]any{"records": []map[string]string{{"value": "Dear Max"}}}
	broker.call(t, "POST", "/topics/letters/records", records, nil)
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(broker.Bootstrap, ",")...), kgo.ConsumeTopics("letters"),
		kgo.DialTimeout(time.Second), kgo.RequestTimeoutOverhead(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		for _, record := range client.PollFetches(ctx).Records() {
			if string(record.Value) != "Dear Max" {
				t.Fatalf("%s", record.Value)
			}
			return
		}
	}
	t.Fatal("no record")
}

func TestASessionEndsWhenTheClockIsAdvanced(t *testing.T) {
	broker := start(t, "--topic", "letters:1", "--virtual-clock", "1700000000000")
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(broker.Bootstrap, ",")...), kgo.ConsumeTopics("letters"),
		kgo.ConsumerGroup("readers"), kgo.SessionTimeout(45*time.Second), kgo.HeartbeatInterval(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseAllowingRebalance()
	go client.PollFetches(context.Background())
	broker.call(t, "GET", "/requests?api=SyncGroup&wait=30s", nil, nil)
	members := func() int {
		var group struct{ Members []any }
		broker.call(t, "GET", "/groups/readers", nil, &group)
		return len(group.Members)
	}
	if members() != 1 {
		t.Fatal("the reader did not join")
	}
	// The client does not see this time pass, and sends no heartbeat.
	broker.call(t, "POST", "/clock", map[string]int{"advanceMs": 45_000}, nil)
	if members() != 0 {
		t.Fatal("the session did not end")
	}
}
