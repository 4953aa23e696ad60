# AWS's side of trainledger: a bucket, the exports of bill and emissions into it, a role that reads it, and a landing if one is named.
# Exports and policies are the JSON files beside this one; values are in terraform.tfvars.

terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.60, < 7.0"
    }
  }
}

variable "account_id" {
  description = "The payer's account: exports and bucket are made in it."
  type        = string
  validation {
    condition     = can(regex("^[0-9]{12}$", var.account_id))
    error_message = "An AWS account has twelve digits."
  }
}

variable "region" {
  description = "Where the buckets are."
  type        = string
}

variable "bucket" {
  description = "The bucket that AWS exports into; a new one."
  type        = string
}

variable "prefix" {
  description = "Folder of the exports in the bucket."
  type        = string
}

variable "reader_principal" {
  description = "ARN of the role or user that trainledger runs as; an account's :root lets that account decide."
  type        = string
}

variable "external_id" {
  description = "What the reader must name when it takes the role: `external_id` of trainledger.yaml."
  type        = string
}

variable "landing_bucket" {
  description = "A bucket for `landing: s3://...`; empty where the landing is on a disk."
  type        = string
  default     = ""
}

provider "aws" {
  region              = var.region
  allowed_account_ids = [var.account_id]
}

provider "aws" {
  alias               = "exports" # Data Exports are made in us-east-1, wherever the bucket is
  region              = "us-east-1"
  allowed_account_ids = [var.account_id]
}

locals {
  values = {
    account_id       = var.account_id
    region           = var.region
    bucket           = var.bucket
    prefix           = var.prefix
    reader_principal = var.reader_principal
    external_id      = var.external_id
    landing_bucket   = var.landing_bucket
  }
  exports = { for name in ["cur", "carbon"] : name => jsondecode(templatefile("${path.module}/${name}-export.json", local.values)) }
  buckets = toset(compact([var.bucket, var.landing_bucket]))
}

resource "aws_s3_bucket" "this" {
  for_each = local.buckets
  bucket   = each.key
}

resource "aws_s3_bucket_public_access_block" "this" {
  for_each                = aws_s3_bucket.this
  bucket                  = each.value.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_versioning" "landing" {
  count  = var.landing_bucket == "" ? 0 : 1
  bucket = aws_s3_bucket.this[var.landing_bucket].id
  versioning_configuration {
    status = "Enabled" # what `prune` or a mistake removes can be had again
  }
}

resource "aws_s3_bucket_policy" "exports" {
  bucket = aws_s3_bucket.this[var.bucket].id
  policy = templatefile("${path.module}/bucket-policy.json", local.values)
}

# settings of a table cannot be changed later: another export under another name, and another source in trainledger.yaml
resource "aws_bcmdataexports_export" "this" {
  for_each   = local.exports
  provider   = aws.exports
  depends_on = [aws_s3_bucket_policy.exports]

  export {
    name        = each.value.Name
    description = each.value.Description
    data_query {
      query_statement      = each.value.DataQuery.QueryStatement
      table_configurations = try(each.value.DataQuery.TableConfigurations, null)
    }
    destination_configurations {
      s3_destination {
        s3_bucket = each.value.DestinationConfigurations.S3Destination.S3Bucket
        s3_prefix = each.value.DestinationConfigurations.S3Destination.S3Prefix
        s3_region = each.value.DestinationConfigurations.S3Destination.S3Region
        s3_output_configurations {
          output_type = each.value.DestinationConfigurations.S3Destination.S3OutputConfigurations.OutputType
          format      = each.value.DestinationConfigurations.S3Destination.S3OutputConfigurations.Format
          compression = each.value.DestinationConfigurations.S3Destination.S3OutputConfigurations.Compression
          overwrite   = each.value.DestinationConfigurations.S3Destination.S3OutputConfigurations.Overwrite
        }
      }
    }
    refresh_cadence {
      frequency = each.value.RefreshCadence.Frequency
    }
  }
}

resource "aws_iam_role" "reader" {
  name               = "trainledger-reader"
  description        = "Reads the exports of bill and emissions for trainledger"
  assume_role_policy = templatefile("${path.module}/trust-policy.json", local.values)
}

resource "aws_iam_role_policy" "exports" {
  name   = "read-exports"
  role   = aws_iam_role.reader.id
  policy = templatefile("${path.module}/reader-policy.json", local.values)
}

# what `location: api` asks, and what doctor lists of Data Exports; without it only these lack
resource "aws_iam_role_policy" "apis" {
  name   = "ask-apis"
  role   = aws_iam_role.reader.id
  policy = templatefile("${path.module}/api-policy.json", local.values)
}

# for the identity that trainledger runs as, which your own code makes: attach both to it
output "assume_policy" {
  value = templatefile("${path.module}/assume-policy.json", local.values)
}

output "landing_policy" {
  value = var.landing_bucket == "" ? null : templatefile("${path.module}/landing-policy.json", local.values)
}

output "role_arn" {
  value = aws_iam_role.reader.arn
}
