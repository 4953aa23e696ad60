-- What can be bought: an invented price list in AWS's own vocabulary. A shape is one line of it, all that rules look at.
-- Names follow public usage types; prices are near what is quoted publicly and are no statement about AWS.

create table regions as
select * from (values
    ('us-west-2', 'USW2-', 'USW2', 'US West (Oregon)'), ('us-east-1', '', 'USE1', 'US East (N. Virginia)'), ('eu-west-1',
        'EU-', 'EU', 'EU (Ireland)'),
    ('us-east-2', 'USE2-', 'USE2', 'US East (Ohio)'), ('eu-central-1', 'EUC1-', 'EUC1', 'EU (Frankfurt)'),
    ('ap-southeast-2', 'APS2-', 'APS2', 'Asia Pacific (Sydney)'), ('us-west-1', 'USW1-', 'USW1', 'US West (N. California)'),
    ('ap-northeast-1', 'APN1-', 'APN1', 'Asia Pacific (Tokyo)'), ('ca-central-1', 'CAN1-', 'CAN1', 'Canada (Central)'),
    ('eu-west-2', 'EUW2-', 'EUW2', 'EU (London)'), ('ap-southeast-1', 'APS1-', 'APS1', 'Asia Pacific (Singapore)'),
    ('ap-south-1', 'APS3-', 'APS3', 'Asia Pacific (Mumbai)'), ('eu-north-1', 'EUN1-', 'EUN1', 'EU (Stockholm)'),
    ('sa-east-1', 'SAE1-', 'SAE1', 'South America (Sao Paulo)'), ('eu-west-3', 'EUW3-', 'EUW3', 'EU (Paris)'),
    ('ap-northeast-2', 'APN2-', 'APN2', 'Asia Pacific (Seoul)'), ('me-south-1', 'MES1-', 'MES1', 'Middle East (Bahrain)')
) as t (region_id, prefix, code, place);

create table instance_types as
select families.name || '.' || sizes.name as instance_type, families.kind as instance_family,
    families.rate * sizes.cpus as rate, sizes.cpus
from (values
    ('c5', 'Compute optimized', 0.0425), ('c6i', 'Compute optimized', 0.0425), ('c7g', 'Compute optimized', 0.03625),
    ('m5', 'General purpose', 0.048), ('m6i', 'General purpose', 0.048), ('m7g', 'General purpose', 0.0408),
    ('r5', 'Memory optimized', 0.063), ('r6i', 'Memory optimized', 0.063), ('r7g', 'Memory optimized', 0.05355),
    ('t3', 'General purpose', 0.0208), ('i4i', 'Storage optimized', 0.0858), ('g5', 'GPU instance', 0.2515),
    ('g6', 'GPU instance', 0.2012), ('inf2', 'Machine Learning ASIC Instances', 0.1897)
) as families (name, kind, rate)
cross join (values ('large', 2), ('xlarge', 4), ('2xlarge', 8), ('4xlarge', 16), ('8xlarge', 32), ('12xlarge', 48),
    ('16xlarge', 64), ('24xlarge', 96))
    as sizes (name, cpus);

-- family, product code, name, usage type after the region's prefix, operations, unit, product family, rate, group
create table services as
select * from (values
    ('volume', 'AmazonEC2', 'Amazon Elastic Compute Cloud', 'EBS:VolumeUsage.gp3', ['CreateVolume-Gp3'], 'GB-Mo', 'Storage',
        0.08, 'EBS'),
    ('volume', 'AmazonEC2', 'Amazon Elastic Compute Cloud', 'EBS:VolumeUsage.gp2', ['CreateVolume-Gp2'], 'GB-Mo', 'Storage',
        0.1, 'EBS'),
    ('volume', 'AmazonEC2', 'Amazon Elastic Compute Cloud', 'EBS:VolumeUsage.piops', ['CreateVolume-P-IOPS'], 'GB-Mo',
        'Storage', 0.125, 'EBS'),
    ('volume', 'AmazonEC2', 'Amazon Elastic Compute Cloud', 'EBS:VolumeP-IOPS.gp3', ['CreateVolume-Gp3'], 'IOPS-Mo',
        'System Operation', 0.005, 'EBS IOPS'),
    ('volume', 'AmazonEC2', 'Amazon Elastic Compute Cloud', 'EBS:VolumeP-Throughput.gp3', ['CreateVolume-Gp3'], 'GiBps-mo',
        'Provisioned Throughput', 40.96, 'EBS Throughput'),
    ('volume', 'AmazonEC2', 'Amazon Elastic Compute Cloud', 'EBS:SnapshotUsage', ['CreateSnapshot', 'RetrieveSnapshot'],
        'GB-Mo', 'Storage Snapshot', 0.05, 'EBS'),
    ('volume', 'AmazonS3', 'Amazon Simple Storage Service', 'TimedStorage-ByteHrs', ['StandardStorage',
        'IntelligentTieringFAStorage'], 'GB-Mo', 'Storage', 0.023, 'S3'),
    ('volume', 'AmazonS3', 'Amazon Simple Storage Service', 'TimedStorage-SIA-ByteHrs', ['StandardIAStorage',
        'SIASizeOverhead'], 'GB-Mo', 'Storage', 0.0125, 'S3'),
    ('volume', 'AmazonS3', 'Amazon Simple Storage Service', 'TimedStorage-GlacierByteHrs', ['GlacierStorage',
        'GlacierStagingStorage'], 'GB-Mo', 'Storage', 0.0036, 'S3'),
    ('volume', 'AmazonFSx', 'Amazon FSx', 'Storage.SSD.Lustre:200', ['CreateFileSystem:Lustre'], 'GB-Mo', 'Storage', 0.29, 'FSx'),
    ('volume', 'AmazonEFS', 'Amazon Elastic File System', 'TimedStorage-ByteHrs', ['Storage'], 'GB-Mo', 'Storage', 0.3, 'EFS'),
    ('other', 'AmazonS3', 'Amazon Simple Storage Service', 'Requests-Tier1', ['PutObject', 'ListBucket', 'PostObject',
        'CopyObject', 'UploadPart', 'InitiateMultipartUpload', 'CompleteMultipartUpload', 'ListAllMyBuckets',
        'ReadBucketVersioning'], 'Requests', 'API Request', 0.000005, 'S3-API-Tier1'),
    ('other', 'AmazonS3', 'Amazon Simple Storage Service', 'Requests-Tier2', ['GetObject', 'HeadObject', 'HeadBucket',
        'ReadLocation', 'ReadACL', 'ReadObjectTagging', 'ReadBucketPolicy', 'GetObjectForRepl', 'ReadBucketLogging'],
        'Requests', 'API Request', 0.0000004, 'S3-API-Tier2'),
    ('other', 'AmazonS3', 'Amazon Simple Storage Service', 'Requests-GLACIER-Tier1', ['S3-GlacierTransition', 'PutObject'],
        'Requests', 'API Request', 0.00003, 'S3-API-GLACIER-Tier1'),
    ('other', 'AWSLambda', 'AWS Lambda', 'Lambda-GB-Second', ['Invoke'], 'Lambda-GB-Second', 'Serverless', 0.0000166667,
        'AWS-Lambda-Duration'),
    ('other', 'AWSLambda', 'AWS Lambda', 'Request', ['Invoke'], 'Lambda-Requests', 'Serverless', 0.0000002,
        'AWS-Lambda-Requests'),
    ('other', 'AWSQueueService', 'Amazon Simple Queue Service', 'Requests-Tier1', ['SendMessage', 'ReceiveMessage',
        'DeleteMessage', 'GetQueueAttributes', 'ListQueues', 'ChangeMessageVisibility'], 'Requests', 'API Request', 0.0000004,
        'SQS-APIRequest-Tier1'),
    ('other', 'AmazonSNS', 'Amazon Simple Notification Service', 'DeliveryAttempts-SQS', ['Publish'], 'Notifications',
        'Message Delivery', 0.0, 'SNS-Delivery'),
    ('other', 'AmazonSNS', 'Amazon Simple Notification Service', 'Requests-Tier1', ['Publish', 'Subscribe', 'ListTopics',
        'GetTopicAttributes'], 'Requests', 'API Request', 0.0000005, 'SNS-Requests-Tier1'),
    ('other', 'awskms', 'AWS Key Management Service', 'KMS-Requests', ['Decrypt', 'GenerateDataKey', 'Encrypt', 'DescribeKey',
        'ListAliases'], 'Requests', 'API Request', 0.000003, 'KMS-Requests'),
    ('other', 'awskms', 'AWS Key Management Service', 'KMS-Keys', ['Unknown'], 'Keys', 'Encryption Key', 1.0, 'KMS-Keys'),
    ('other', 'AmazonCloudWatch', 'AmazonCloudWatch', 'CW:MetricMonitorUsage', ['MetricStorage:AWS/EC2',
        'MetricStorage:AWS/Logs-EMF', 'MetricStorage:CWAgent', 'MetricStorage'], 'Metrics', 'Metric', 0.3, 'Metric'),
    ('other', 'AmazonCloudWatch', 'AmazonCloudWatch', 'CW:Requests', ['GetMetricData', 'ListMetrics', 'PutMetricData',
        'DescribeAlarms', 'GetMetricStatistics'], 'Requests', 'API Request', 0.00001, 'CW-Requests'),
    ('other', 'AmazonCloudWatch', 'AmazonCloudWatch', 'DataProcessing-Bytes', ['PutLogEvents'], 'GB', 'Data Payload', 0.5,
        'Ingested Logs'),
    ('other', 'AmazonCloudWatch', 'AmazonCloudWatch', 'TimedStorage-ByteHrs', ['HourlyStorageMetering'], 'GB-Mo',
        'Storage Snapshot', 0.03, 'Stored Logs'),
    ('other', 'AmazonCloudWatch', 'AmazonCloudWatch', 'CW:AlarmMonitorUsage', ['Unknown'], 'Alarms', 'Alarm', 0.1, 'Alarm'),
    ('other', 'AWSGlue', 'AWS Glue', 'Catalog-Request', ['GetTable', 'GetPartitions', 'GetDatabases', 'BatchCreatePartition',
        'Request'], 'Request', 'AWS Glue', 0.000001, 'data catalog requests'),
    ('other', 'AWSGlue', 'AWS Glue', 'ETL-DPU-Hour', ['JobRun', 'FlexJobRun'], 'DPU-Hour', 'AWS Glue', 0.44, 'ETL Job run'),
    ('other', 'AmazonDynamoDB', 'Amazon DynamoDB', 'ReadRequestUnits', ['PayPerRequestThroughput'], 'ReadRequestUnits',
        'Amazon DynamoDB PayPerRequest Throughput', 0.000000125, 'DDB-ReadUnits'),
    ('other', 'AmazonDynamoDB', 'Amazon DynamoDB', 'WriteRequestUnits', ['PayPerRequestThroughput'], 'WriteRequestUnits',
        'Amazon DynamoDB PayPerRequest Throughput', 0.000000625, 'DDB-WriteUnits'),
    ('other', 'AWSELB', 'Elastic Load Balancing', 'LoadBalancerUsage', ['LoadBalancing:Application', 'LoadBalancing:Network',
        'LoadBalancing'], 'Hrs', 'Load Balancer-Application', 0.0225, 'ELB:Balancer'),
    ('other', 'AWSELB', 'Elastic Load Balancing', 'LCUUsage', ['LoadBalancing:Application', 'LoadBalancing:Network'],
        'LCU-Hrs', 'Load Balancer-Application', 0.008, 'ELB:Balancer'),
    ('other', 'AmazonVPC', 'Amazon Virtual Private Cloud', 'PublicIPv4:InUseAddress', ['AssociateAddress', 'RunInstances'],
        'Hrs', 'VpcPublicIPv4Address', 0.005, 'Public IPv4'),
    ('other', 'AmazonVPC', 'Amazon Virtual Private Cloud', 'VpcEndpoint-Hours', ['VpcEndpoint'], 'Hrs', 'VpcEndpoint', 0.01,
        'VpcEndpoint'),
    ('other', 'AmazonVPC', 'Amazon Virtual Private Cloud', 'TransitGateway-Hours', ['TransitGatewayVPC', 'TransitGatewayVPN'],
        'hour', 'Transit Gateway', 0.05, 'TransitGateway'),
    ('other', 'AmazonEC2', 'Amazon Elastic Compute Cloud', 'NatGateway-Hours', ['NatGateway'], 'Hrs', 'NAT Gateway', 0.045,
        'NGW:NatGateway'),
    ('other', 'AmazonECR', 'Amazon EC2 Container Registry (ECR)', 'TimedStorage-ByteHrs', ['TimedStorage-ByteHrs'], 'GB-Mo',
        'EC2 Container Registry', 0.1, 'ECR'),
    ('other', 'AmazonECS', 'Amazon Elastic Container Service', 'Fargate-vCPU-Hours:perCPU', ['FargateTask'], 'hours',
        'Compute', 0.04048, 'Fargate'),
    ('other', 'AmazonECS', 'Amazon Elastic Container Service', 'Fargate-GB-Hours', ['FargateTask'], 'hours', 'Compute',
        0.004445, 'Fargate'),
    ('other', 'AmazonEKS', 'Amazon Elastic Container Service for Kubernetes', 'AmazonEKS-Hours:perCluster',
        ['CreateOperation', 'ExtendedSupport'], 'Hours', 'Compute', 0.1, 'EKS'),
    ('other', 'AmazonRDS', 'Amazon Relational Database Service', 'InstanceUsage:db.r6g.large', ['CreateDBInstance:0014',
        'CreateDBInstance:0002', 'CreateDBInstance:0021'], 'Hrs', 'Database Instance', 0.26, 'RDS'),
    ('other', 'AmazonRDS', 'Amazon Relational Database Service', 'RDS:GP3-Storage', ['CreateDBInstance:0014',
        'CreateDBInstance:0021'], 'GB-Mo', 'Database Storage', 0.115, 'RDS'),
    ('other', 'AmazonStates', 'AWS Step Functions', 'StateTransition', ['StateTransition'], 'StateTransitions',
        'AWS Step Functions', 0.000025, 'SFN-StateTransitions'),
    ('other', 'AWSCloudTrail', 'AWS CloudTrail', 'PaidEventsRecorded', ['None', 'InsightsEvents'], 'Events',
        'Management Tools', 0.000002, 'CloudTrail'),
    ('other', 'AWSSystemsManager', 'AWS Systems Manager', 'PS-Param-Requests', ['GetParameter', 'GetParameters',
        'PutParameter'], 'API Requests', 'AWS Systems Manager', 0.0, 'SSM'),
    ('other', 'AWSSecretsManager', 'AWS Secrets Manager', 'AWSSecretsManagerAPIRequest', ['GetSecretValue', 'DescribeSecret',
        'RotateSecret'], 'API Requests', 'Secret', 0.000005, 'Secrets'),
    ('other', 'AmazonGuardDuty', 'Amazon GuardDuty', 'PaidVPCFlowLogsAnalyzed', ['PaidVPCFlowLogsAnalyzed'], 'GB',
        'Amazon GuardDuty', 1.0, 'GuardDuty'),
    ('other', 'AWSSecurityHub', 'AWS Security Hub', 'PaidComplianceCheck', ['PaidComplianceCheck', 'OtherProducts'], 'Checks',
        'AWS Security Hub', 0.001, 'Hub'),
    ('other', 'AmazonSageMaker', 'Amazon SageMaker', 'Notebk:ml.t3.medium', ['RunInstance'], 'Hrs', 'ML Instance', 0.05,
        'SageMaker')
) as t (family, product_code, product_name, usage_name, operations, unit, product_family, rate, group_name);

create table pool as
-- machines: on demand, Spot, reserved and under a Savings Plan, on three platforms
select
    'box' as family, 'AmazonEC2' as product_code, 'Amazon Elastic Compute Cloud' as product_name, purchase.name as purchase,
    regions.prefix || purchase.usage || ':' || types.instance_type as usage_type,
    'RunInstances' || platforms.suffix || case purchase.name when 'spot' then ':SV001' else '' end as operation,
    'Hrs' as unit, 'Compute Instance' as product_family, 'AmazonEC2' as service_code, regions.region_id, regions.place,
    types.instance_type, types.instance_family, types.rate * platforms.factor as rate, 'EC2' as group_name, 0 as tier,
    '' as to_region, types.instance_type || ' ' || platforms.name || ' ' || purchase.words as what
from instance_types as types
cross join regions
cross join (values ('on_demand', 'BoxUsage', 'Instance Hour'), ('spot', 'SpotUsage', 'Spot Instance-hour'), ('plan',
    'BoxUsage', 'Instance Hour'),
    ('reserved', 'BoxUsage', 'reserved instance applied')) as purchase (name, usage, words)
cross join (values ('', 'On Demand Linux', 1.0), (':0002', 'On Demand Windows', 1.9), (':0010', 'On Demand RHEL', 1.3))
    as platforms (suffix, name, factor)
union all
select
    services.family, product_code, product_name, 'on_demand', regions.prefix || usage_name, operation, unit, product_family,
        product_code,
    regions.region_id, regions.place, case when usage_name like '%:%.%.%' then split_part(usage_name, ':', 2) end, null,
    rate * tiers.factor, group_name, tiers.tier, '', tiers.words || group_name
from services
cross join regions
cross join unnest(services.operations) as operations (operation)
cross join (values (0, 1.0, 'for '), (1, 0.0, 'under the monthly free tier of '), (2, 0.9,
    'for the next volume of ')) as tiers (tier, factor, words)
union all
-- transfer: in and out, between zones, between regions, of whatever service the bytes leave
select
    'transfer', products.code, 'AWS Data Transfer', 'on_demand',
    case ways.name when 'pair' then here.code || '-' || there.code || '-AWS' || ways.usage else here.prefix || ways.usage end,
    ways.operation, 'GB', 'Data Transfer', 'AWSDataTransfer', here.region_id, here.place, null, null, ways.rate, ways.words, 0,
    case ways.name when 'pair' then there.region_id else '' end, ways.words
from regions as here
cross join (values ('in', 'DataTransfer-In-Bytes', 'RunInstances', 0.0, 'data transfer in per month'),
    ('in', 'DataTransfer-In-Bytes', 'LoadBalancing', 0.0, 'data transfer in per month'),
    ('in', 'DataTransfer-In-Bytes', 'PublicIP-In', 0.0, 'data transfer in per month'),
    ('out', 'DataTransfer-Out-Bytes', 'RunInstances', 0.085, 'next 40 TB / month data transfer out'),
    ('out', 'DataTransfer-Out-Bytes', 'LoadBalancing', 0.09, 'first 10 TB / month data transfer out'),
    ('out', 'DataTransfer-Regional-Bytes', 'InterZone-In', 0.01, 'regional data transfer - in/out/between EC2 AZs'),
    ('out', 'DataTransfer-Regional-Bytes', 'InterZone-Out', 0.01, 'regional data transfer - in/out/between EC2 AZs'),
    ('out', 'DataTransfer-Regional-Bytes', 'VPCPeering-In', 0.01, 'regional data transfer under VPC peering'),
    ('pair', '-In-Bytes', 'InterRegion-In', 0.0, 'data transfer in from another region'),
    ('pair', '-Out-Bytes', 'InterRegion-Out', 0.02, 'data transfer out to another region'),
    ('pair', '-Out-Bytes', 'PutObjectForRepl', 0.02, 'data transfer out for replication'),
    ('pair', '-Out-Bytes', 'GetObject', 0.02, 'data transfer out on reads')) as ways (name, usage, operation, rate, words)
inner join regions as there on ways.name = 'pair' and there.region_id <> here.region_id or ways.name <> 'pair'
    and there.region_id = here.region_id
cross join (values ('AmazonEC2'), ('AmazonS3'), ('AWSELB'), ('AmazonVPC'), ('AmazonECR'), ('AmazonRDS')) as products (code);

-- as many of them as a bill of this size shows, in a drawn order within their family; a fifth of what moves and counts is free
create table shapes as
with drawn as (
    select *, md5(concat_ws('|', product_code, usage_type, operation, tier, purchase)) as code from pool
),
ordered as (
    select *, row_number() over (partition by family order by hash(getvariable('seed') || code), code) as nth from drawn
)
select * replace (case when family in ('transfer', 'other') and hash(code) % 5 = 0 then 0 else rate end as rate)
from ordered
where nth <= getvariable('shapes') * case family when 'box' then 0.25 when 'volume' then 0.07 when 'transfer' then 0.33 else 0.35 end;
