// Writes while brokers fail, with franz-go; prints what it knows of each write, as ../../python/chaos.py does.
//
//	go run ./chaos BOOTSTRAP SECONDS CLIENTS PARTITIONS
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const patience = 60 * time.Second

var (
	output     sync.Mutex
	seeds      []string
	partitions int
	end        time.Time
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: go run ./chaos BOOTSTRAP SECONDS CLIENTS PARTITIONS")
		os.Exit(2)
	}
	seeds = strings.Split(os.Args[1], ",")
	seconds, _ := strconv.ParseFloat(os.Args[2], 64)
	clients, _ := strconv.Atoi(os.Args[3])
	partitions, _ = strconv.Atoi(os.Args[4])
	end = time.Now().Add(time.Duration(seconds * float64(time.Second)))
	var all sync.WaitGroup
	for number := range clients {
		all.Add(1)
		go func() {
			defer all.Done()
			if number%2 == 0 {
				plain(number)
			} else {
				transactional(number)
			}
		}()
	}
	all.Wait()
}

func say(words ...any) {
	output.Lock()
	defer output.Unlock()
	fmt.Println(words...)
}

func client(name string, more ...kgo.Opt) *kgo.Client {
	options := append([]kgo.Opt{kgo.SeedBrokers(seeds...), kgo.ClientID(name),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(2 * time.Millisecond),
		kgo.DialTimeout(2 * time.Second), kgo.RequestTimeoutOverhead(3 * time.Second),
		kgo.RetryTimeout(20 * time.Second), kgo.MetadataMinAge(200 * time.Millisecond)}, more...)
	client, err := kgo.NewClient(options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return client
}

func plain(number int) {
	name := fmt.Sprintf("go-%d", number)
	client := client(name)
	defer client.Close()
	ctx, cancel := context.WithDeadline(context.Background(), end.Add(patience))
	defer cancel()
	for sent := 0; time.Now().Before(end); sent++ {
		value := fmt.Sprintf("%s-%d", name, sent)
		record := &kgo.Record{Topic: "plain", Partition: int32(sent % partitions), Value: []byte(value)}
		client.Produce(ctx, record, func(record *kgo.Record, err error) {
			if err == nil {
				say("A", record.Topic, record.Partition, record.Offset, string(record.Value))
			}
		})
		time.Sleep(20 * time.Millisecond)
	}
	client.Flush(ctx)
}

func transactional(number int) {
	name, transaction := fmt.Sprintf("gotx-%d", number), 0
	for time.Now().Before(end) {
		client := client(name, kgo.TransactionalID(name), kgo.TransactionTimeout(30*time.Second))
		for time.Now().Before(end) {
			transaction++
			if !oneTransaction(client, name, transaction) {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		client.Close()
	}
}

// oneTransaction writes and ends a transaction; false when the client cannot go on.
func oneTransaction(client *kgo.Client, name string, transaction int) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var values []any
	var records []*kgo.Record
	for part := range 3 {
		value := fmt.Sprintf("%s-%d-%d", name, transaction, part)
		values = append(values, value)
		records = append(records, &kgo.Record{Topic: "tx", Partition: int32((transaction + part) % partitions), Value: []byte(value)})
	}
	if client.BeginTransaction() != nil {
		return false
	}
	commit := transaction%4 != 0
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		commit = false
		client.AbortBufferedRecords(ctx)
	}
	outcome, try := "X", kgo.TryAbort
	if commit {
		outcome, try = "C", kgo.TryCommit
	}
	if err := client.EndTransaction(ctx, try); err != nil {
		say(append([]any{"U"}, values...)...)
		return false
	}
	say(append([]any{outcome}, values...)...)
	return true
}
