#!/usr/bin/env node
// As many APIs as kafkajs has: topics, records, groups, transactions, administration.
//
//     node tour.js BOOTSTRAP
//
// Exits with 0 if all round trips were right. Steps for which the broker is too old are skipped, and told as such.
"use strict";

const { randomBytes } = require("node:crypto");
const kafkajs = require("kafkajs");
const {
  AclOperationTypes, AclPermissionTypes, AclResourceTypes, CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka,
  PartitionAssigners, ResourcePatternTypes, logLevel,
} = kafkajs;
CompressionCodecs[CompressionTypes.Snappy] = require("kafkajs-snappy");

const RUN = randomBytes(4).toString("hex");
const TOPIC = `tour-js-${RUN}`;
const OTHER = `${TOPIC}-other`;
const GROUP = `${TOPIC}-group`;
const PATIENCE = 30_000;

let failed = 0;

// kafkajs tells its own lack of a common version and the broker's by name.
function isTooOld(error) {
  const causes = [error, ...(error.errors ?? [])];
  return causes.some((one) =>
    one.name === "KafkaJSServerDoesNotSupportApiKey" || /UNSUPPORTED_VERSION|SECURITY_DISABLED/.test(one.type ?? "") ||
    /does not support the requested API version/.test(one.message ?? ""));
}

async function step(what, run) {
  try {
    const told = await run();
    console.log(`ok    ${what}${told === undefined ? "" : `: ${JSON.stringify(told)}`}`);
  } catch (error) {
    if (isTooOld(error)) {
      console.log(`skip  ${what}: ${error.message}`);
    } else {
      failed += 1;
      console.log(`WRONG ${what}: ${error.stack}`);
    }
  }
}

function same(found, wanted) {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    throw new Error(`found ${JSON.stringify(found)?.slice(0, 500)}, wanted ${JSON.stringify(wanted).slice(0, 500)}`);
  }
  return Array.isArray(found) ? `${found.length} records` : found;
}

const shown = (bytes) => (bytes === null || bytes === undefined ? null : bytes.toString());

async function main(bootstrap) {
  const kafka = new Kafka({ clientId: "tour-js", brokers: bootstrap.split(","), logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  const sent = [];

  const messages = (tag, count) =>
    Array.from({ length: count }, (_, n) => ({
      key: n % 2 ? null : `k${n}`,
      value: n === 3 ? null : `${tag} ${n} `.repeat(20),
      partition: 0,
      timestamp: String(1_600_000_000_000 + n),
      headers: { n: String(n), empty: "" },
    }));

  const produce = async (tag, options, settings = {}) => {
    const producer = kafka.producer({ allowAutoTopicCreation: false, ...settings });
    await producer.connect();
    const batch = messages(tag, 8);
    const answer = await producer.send({ topic: OTHER, messages: batch, ...options });
    await producer.disconnect();
    sent.push(...batch.map((message) => message.value));
    return answer[0]?.baseOffset;
  };

  const consume = async (settings, topic, isWhole, inspect = async () => {}) => {
    const consumer = kafka.consumer({ groupId: GROUP, heartbeatInterval: 500, ...settings });
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    const found = [];
    let whole;
    const done = new Promise((resolve) => (whole = resolve));
    await consumer.run({
      autoCommit: true,
      autoCommitInterval: 200,
      eachMessage: async ({ message }) => {
        found.push(shown(message.value));
        if (isWhole(found)) whole();
      },
    });
    let timer;
    await Promise.race([done, new Promise((resolve) => (timer = setTimeout(resolve, PATIENCE)))]);
    clearTimeout(timer);
    await new Promise((resolve) => setTimeout(resolve, 800));
    const told = await inspect();
    await consumer.disconnect();
    return [found, told];
  };

  await step("create topics", () =>
    admin.createTopics({
      waitForLeaders: true,
      topics: [
        { topic: TOPIC, numPartitions: 2, replicationFactor: 1 },
        {
          topic: OTHER, numPartitions: 1, replicationFactor: 1,
          configEntries: [{ name: "retention.ms", value: "-1" }],
        },
      ],
    }));
  await step("list topics", async () => same((await admin.listTopics()).includes(TOPIC), true));
  await step("metadata", async () => (await admin.fetchTopicMetadata({ topics: [TOPIC] })).topics[0].partitions.length);
  await step("describe cluster", async () => (await admin.describeCluster()).brokers.length);
  await step("produce", () => produce("none", { acks: -1 }));
  await step("produce with gzip", () => produce("gzip", { acks: -1, compression: CompressionTypes.GZIP }));
  await step("produce with snappy", () => produce("snappy", { acks: 1, compression: CompressionTypes.Snappy }));
  await step("produce without an answer", () => produce("no acks", { acks: 0 }));
  await step("produce idempotently", () => produce("idempotent", { acks: -1 }, { idempotent: true, maxInFlightRequests: 1 }));
  await step("read in a group", async () => {
    const [found, groups] = await consume({}, OTHER, (found) => found.length >= sent.length, async () => {
      const { groups } = await admin.listGroups();
      const described = await admin.describeGroups([GROUP]);
      return [groups.some((group) => group.groupId === GROUP), described.groups[0].state];
    });
    same(groups, [true, "Stable"]);
    return same(found.sort(), [...sent].sort());
  });
  await step("offsets of a group", async () =>
    same((await admin.fetchOffsets({ groupId: GROUP, topics: [OTHER] }))[0].partitions[0].offset, String(sent.length)));
  await step("offsets of a topic", async () => {
    const ends = await admin.fetchTopicOffsets(OTHER);
    const early = await admin.fetchTopicOffsetsByTimestamp(OTHER, 1);
    same(early[0].offset, "0");
    return same(ends[0].offset, String(sent.length));
  });
  await step("transactions", async () => {
    const producer = kafka.producer({ transactionalId: `${TOPIC}-tx`, idempotent: true, maxInFlightRequests: 1 });
    await producer.connect();
    const kept = await producer.transaction();
    await kept.send({ topic: TOPIC, messages: [{ key: "a", value: "kept", partition: 0 }] });
    await kept.sendOffsets({
      consumerGroupId: GROUP,
      topics: [{ topic: OTHER, partitions: [{ partition: 0, offset: "3" }] }],
    });
    await kept.commit();
    const thrown = await producer.transaction();
    await thrown.send({ topic: TOPIC, messages: [{ key: "b", value: "thrown away", partition: 0 }] });
    await thrown.abort();
    const last = await producer.transaction();
    await last.send({ topic: TOPIC, messages: [{ key: "c", value: "last", partition: 0 }] });
    await last.commit();
    await producer.disconnect();
    const settings = {
      groupId: `${GROUP}-tx`, readUncommitted: false, partitionAssigners: [PartitionAssigners.roundRobin],
    };
    const [found] = await consume(settings, TOPIC, (found) => found.length >= 2);
    same((await admin.fetchOffsets({ groupId: GROUP, topics: [OTHER] }))[0].partitions[0].offset, "3");
    return same(found, ["kept", "last"]);
  });
  await step("set offsets of a group", async () => {
    await admin.setOffsets({ groupId: GROUP, topic: OTHER, partitions: [{ partition: 0, offset: "5" }] });
    await admin.resetOffsets({ groupId: GROUP, topic: OTHER, earliest: true });
  });
  await step("describe configs", async () => {
    const answer = await admin.describeConfigs({
      includeSynonyms: true,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: OTHER }],
    });
    return same(answer.resources[0].configEntries.find((entry) => entry.configName === "retention.ms").configValue, "-1");
  });
  await step("alter configs", () =>
    admin.alterConfigs({
      resources: [{ type: ConfigResourceTypes.TOPIC, name: OTHER, configEntries: [{ name: "retention.ms", value: "-1" }] }],
    }).then(() => undefined));
  await step("create partitions", () =>
    admin.createPartitions({ topicPartitions: [{ topic: TOPIC, count: 3 }] }).then(() => undefined));
  await step("list reassignments", async () => (await admin.listPartitionReassignments({})).topics.length);
  await step("access rules", async () => {
    const acl = {
      resourceType: AclResourceTypes.TOPIC, resourceName: TOPIC, resourcePatternType: ResourcePatternTypes.LITERAL,
      principal: "User:nobody", host: "*", operation: AclOperationTypes.READ, permissionType: AclPermissionTypes.ALLOW,
    };
    await admin.createAcls({ acl: [acl] });
    const found = await admin.describeAcls(acl);
    await admin.deleteAcls({ filters: [acl] });
    return found.resources.length;
  });
  await step("delete records", async () => {
    await admin.deleteTopicRecords({ topic: OTHER, partitions: [{ partition: 0, offset: "4" }] });
    return same((await admin.fetchTopicOffsets(OTHER))[0].low, "4");
  });
  await step("delete groups", async () => (await admin.deleteGroups([GROUP])).length);
  await step("delete topics", () => admin.deleteTopics({ topics: [TOPIC, OTHER] }));
  await admin.disconnect();
  console.log(failed ? `${failed} steps went wrong` : "all went right");
  return failed ? 1 : 0;
}

if (process.argv.length !== 3) {
  console.error("usage: node tour.js BOOTSTRAP");
  process.exit(2);
}
main(process.argv[2]).then((code) => process.exit(code), (error) => {
  console.error(error);
  process.exit(1);
});
