//! Connections to Kafka brokers over tokio: TCP, and TLS by rustls.
