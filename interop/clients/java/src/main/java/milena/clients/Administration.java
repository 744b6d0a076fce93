package milena.clients;

import static milena.clients.Steps.same;

import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** What the admin client has, before and after the records of {@link Tour}. */
final class Administration {
    private final Admin admin;
    private final Steps steps;
    private final String topic;
    private final String other;
    private final String group;

    Administration(String bootstrap, Steps steps, String topic, String other, String group) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("client.id", "tour-java-admin");
        admin = Admin.create(settings);
        this.steps = steps;
        this.topic = topic;
        this.other = other;
        this.group = group;
    }

    private static <T> T get(Future<T> future) throws Exception {
        return future.get(30, TimeUnit.SECONDS);
    }

    void before() {
        steps.step("describe cluster", () -> get(admin.describeCluster().nodes()).size());
        steps.step("create topics", () -> get(admin.createTopics(Arrays.asList(
                new NewTopic(topic, 2, (short) 1),
                new NewTopic(other, 1, (short) 1).configs(Collections.singletonMap("retention.ms", "-1")))).all()));
        steps.step("list topics", () -> same(get(admin.listTopics().names()).contains(topic), true));
        steps.step("describe topics", () -> {
            // What is asked too soon may not be known yet.
            for (int attempt = 0; ; attempt++) {
                try {
                    return get(admin.describeTopics(Arrays.asList(topic, other)).allTopicNames()).size();
                } catch (Exception early) {
                    if (attempt == 20) {
                        throw early;
                    }
                    Thread.sleep(200);
                }
            }
        });
        steps.step("describe features", () -> get(admin.describeFeatures().featureMetadata()).finalizedFeatures().size());
    }

    void after() {
        TopicPartition partition = new TopicPartition(other, 0);
        steps.step("list groups", () -> get(admin.listGroups().all()).size());
        steps.step("describe groups", () ->
                get(admin.describeConsumerGroups(Collections.singletonList(group)).all()).get(group).groupState());
        steps.step("describe group of the new protocol", () ->
                get(admin.describeConsumerGroups(Collections.singletonList(group + "-new")).all()).get(group + "-new").groupState());
        steps.step("describe share group", () ->
                get(admin.describeShareGroups(Collections.singletonList(group + "-share")).all()).get(group + "-share").groupState());
        steps.step("offsets of a share group", () -> get(admin.listShareGroupOffsets(Collections.singletonMap(group + "-share",
                new org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec())).all()).size());
        steps.step("offsets of groups", () -> {
            Map<String, ListConsumerGroupOffsetsSpec> wanted = new HashMap<>();
            wanted.put(group, new ListConsumerGroupOffsetsSpec());
            wanted.put(group + "-coop", new ListConsumerGroupOffsetsSpec());
            return get(admin.listConsumerGroupOffsets(wanted).all()).size();
        });
        steps.step("alter offsets of a group", () -> get(admin.alterConsumerGroupOffsets(
                group, Collections.singletonMap(new TopicPartition(topic, 1), new OffsetAndMetadata(0))).all()));
        Map<String, OffsetSpec> specs = new HashMap<>();
        specs.put("earliest", OffsetSpec.earliest());
        specs.put("latest", OffsetSpec.latest());
        specs.put("by time", OffsetSpec.forTimestamp(1));
        specs.put("of the latest time", OffsetSpec.maxTimestamp());
        specs.put("earliest here", OffsetSpec.earliestLocal());
        specs.put("latest elsewhere", OffsetSpec.latestTiered());
        specs.forEach((name, spec) -> steps.step("list offset: " + name, () ->
                get(admin.listOffsets(Collections.singletonMap(partition, spec)).all()).get(partition).offset()));
        configs();
        cluster(partition);
        accessRules();
        steps.step("delete records", () -> same(get(admin.deleteRecords(
                Collections.singletonMap(partition, RecordsToDelete.beforeOffset(4))).all()) == null, true));
        steps.step("delete offsets of a group", () -> get(admin.deleteConsumerGroupOffsets(
                group, new HashSet<>(Collections.singletonList(new TopicPartition(topic, 1)))).all()));
        steps.step("delete groups", () -> get(admin.deleteConsumerGroups(Collections.singletonList(group)).all()));
        steps.step("delete topics", () -> get(admin.deleteTopics(Arrays.asList(topic, other)).all()));
        admin.close();
    }

    private void configs() {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, other);
        steps.step("describe configs", () -> same(
                get(admin.describeConfigs(Collections.singletonList(resource)).all()).get(resource).get("retention.ms").value(), "-1"));
        steps.step("describe broker configs", () -> {
            String node = get(admin.describeCluster().nodes()).iterator().next().idString();
            ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, node);
            return get(admin.describeConfigs(Collections.singletonList(broker)).all()).get(broker).entries().size();
        });
        steps.step("alter configs step by step", () -> {
            Collection<AlterConfigOp> change = Collections.singletonList(
                    new AlterConfigOp(new ConfigEntry("max.message.bytes", "123456"), AlterConfigOp.OpType.SET));
            return get(admin.incrementalAlterConfigs(Collections.singletonMap(resource, change)).all());
        });
        steps.step("list config resources", () -> get(admin.listConfigResources().all()).size());
    }

    private void cluster(TopicPartition partition) {
        steps.step("create partitions", () ->
                get(admin.createPartitions(Collections.singletonMap(topic, NewPartitions.increaseTo(3))).all()));
        steps.step("elect leaders", () ->
                get(admin.electLeaders(ElectionType.PREFERRED, new HashSet<>(Collections.singletonList(partition))).partitions()).size());
        steps.step("list reassignments", () -> get(admin.listPartitionReassignments().reassignments()).size());
        steps.step("alter reassignments", () -> {
            try {
                return get(admin.alterPartitionReassignments(Collections.singletonMap(partition, Optional.empty())).all());
            } catch (java.util.concurrent.ExecutionException none) {
                return none.getCause().getClass().getSimpleName();
            }
        });
        steps.step("log directories", () -> get(admin.describeLogDirs(Collections.singletonList(
                get(admin.describeCluster().nodes()).iterator().next().id())).allDescriptions()).size());
        steps.step("quotas", () -> {
            ClientQuotaEntity entity = new ClientQuotaEntity(Collections.singletonMap(ClientQuotaEntity.CLIENT_ID, topic));
            ClientQuotaAlteration.Op rate = new ClientQuotaAlteration.Op("producer_byte_rate", 1e6);
            get(admin.alterClientQuotas(Collections.singletonList(
                    new ClientQuotaAlteration(entity, Collections.singletonList(rate)))).all());
            return get(admin.describeClientQuotas(ClientQuotaFilter.all()).entities()).size();
        });
        steps.step("SCRAM users", () -> get(admin.describeUserScramCredentials().all()).size());
        steps.step("producers", () -> get(admin.describeProducers(Collections.singletonList(partition)).all()).size());
        steps.step("list transactions", () -> get(admin.listTransactions().all()).size());
        steps.step("describe transactions", () ->
                get(admin.describeTransactions(Collections.singletonList(topic)).all()).get(topic).state());
        steps.step("quorum", () -> get(admin.describeMetadataQuorum().quorumInfo()).leaderId());
        steps.step("fence producers", () -> get(admin.fenceProducers(Collections.singletonList(topic)).all()));
    }

    private void accessRules() {
        AclBinding rule = new AclBinding(
                new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL),
                new AccessControlEntry("User:nobody", "*", AclOperation.READ, AclPermissionType.ALLOW));
        steps.step("create access rules", () -> get(admin.createAcls(Collections.singletonList(rule)).all()));
        steps.step("describe access rules", () -> get(admin.describeAcls(AclBindingFilter.ANY).values()).size());
        steps.step("delete access rules", () -> get(admin.deleteAcls(Collections.singletonList(rule.toFilter())).all()).size());
    }
}
