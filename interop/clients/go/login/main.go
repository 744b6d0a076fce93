// Logs in to brokers as alice, writes a record to a new topic, and reads it back.
//
//	go run ./login FOLDER 'EXPECTED ADDRESS PROTOCOL MECHANISM PASSWORD SECONDS'...
//
// The arguments are those of ../python/login.py. Exits with 0 if everything was as expected.
package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func main() {
	failed := 0
	for _, line := range os.Args[2:] {
		words := strings.Fields(line)
		seconds, _ := strconv.Atoi(words[5])
		found := roundTrip(os.Args[1], words[1], words[2], words[3], words[4], time.Duration(seconds)*time.Second)
		fmt.Printf("%s: %s\n", line, found)
		if found != words[0] {
			failed++
		}
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func roundTrip(folder, address, protocol, mechanism, password string, long time.Duration) string {
	context, cancel := context.WithTimeout(context.Background(), 20*time.Second+long)
	defer cancel()
	random := make([]byte, 8)
	rand.Read(random)
	topic := "login-" + hex.EncodeToString(random)
	options := []kgo.Opt{
		kgo.SeedBrokers(address), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic(topic),
		kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.UnknownTopicRetries(-1),
	}
	if login := method(mechanism, password); login != nil {
		options = append(options, kgo.SASL(login))
	}
	if strings.HasSuffix(protocol, "SSL") {
		config, err := trust(folder, protocol == "SSL")
		if err != nil {
			return err.Error()
		}
		options = append(options, kgo.DialTLSConfig(config))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err.Error()
	}
	defer client.Close()
	if err := client.Ping(context); err != nil {
		if errors.Is(err, kerr.SaslAuthenticationFailed) {
			return "refused"
		}
		return err.Error()
	}
	end := time.Now().Add(long)
	for first := true; first || time.Now().Before(end); first = false {
		if err := client.ProduceSync(context, kgo.StringRecord("hello")).FirstErr(); err != nil {
			return err.Error()
		}
		if long > 0 {
			time.Sleep(200 * time.Millisecond)
		}
	}
	for context.Err() == nil {
		for _, record := range client.PollFetches(context).Records() {
			if string(record.Value) == "hello" {
				return "ok"
			}
			return "read " + string(record.Value)
		}
	}
	return "read nothing"
}

func method(mechanism, password string) sasl.Mechanism {
	switch mechanism {
	case "PLAIN":
		return plain.Auth{User: "alice", Pass: password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: "alice", Pass: password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: "alice", Pass: password}.AsSha512Mechanism()
	case "OAUTHBEARER":
		claims := fmt.Sprintf(`{"sub":"alice","exp":%d}`, time.Now().Unix()+3600)
		encode := base64.RawURLEncoding.EncodeToString
		return oauth.Auth{Token: encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(claims)) + "."}.AsMechanism()
	}
	return nil
}

func trust(folder string, identify bool) (*tls.Config, error) {
	pem, err := os.ReadFile(folder + "/ca.pem")
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	config := &tls.Config{RootCAs: pool}
	if identify {
		pair, err := tls.LoadX509KeyPair(folder+"/client.pem", folder+"/client.key")
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
