#!/bin/sh
# What main.tf makes, by the AWS CLI, as an administrator of the payer's account. It stops at the first error; nothing is changed twice.
set -eu
cd "$(dirname "$0")"
export AWS_DEFAULT_REGION="${region}"

aws s3 mb "s3://${bucket}"
aws s3api put-public-access-block --bucket "${bucket}" --public-access-block-configuration \
  BlockPublicAcls=true,IgnorePublicAcls=true,BlockPublicPolicy=true,RestrictPublicBuckets=true
aws s3api put-bucket-policy --bucket "${bucket}" --policy file://bucket-policy.json

# exports are made in us-east-1, wherever the bucket is
aws bcm-data-exports create-export --region us-east-1 --export file://cur-export.json
aws bcm-data-exports create-export --region us-east-1 --export file://carbon-export.json

aws iam create-role --role-name trainledger-reader --assume-role-policy-document file://trust-policy.json
aws iam put-role-policy --role-name trainledger-reader --policy-name read-exports --policy-document file://reader-policy.json
aws iam put-role-policy --role-name trainledger-reader --policy-name ask-apis --policy-document file://api-policy.json

# the identity that trainledger runs as needs assume-policy.json, and landing-policy.json for `landing: s3://...`
if [ -n "${landing_bucket}" ]; then
  aws s3 mb "s3://${landing_bucket}"
  aws s3api put-public-access-block --bucket "${landing_bucket}" --public-access-block-configuration \
    BlockPublicAcls=true,IgnorePublicAcls=true,BlockPublicPolicy=true,RestrictPublicBuckets=true
  aws s3api put-bucket-versioning --bucket "${landing_bucket}" --versioning-configuration Status=Enabled
fi
