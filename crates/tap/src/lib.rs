//! A proxy between Kafka clients and a cluster that shows what passes, and can break it on purpose.
