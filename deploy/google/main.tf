# Google's side of trainledger: a dataset, the Carbon Footprint export into it, a service account that reads it, and a landing if one is
# named. The billing export has no API: README.md has the three clicks. Roles are the JSON files beside this one; values are in terraform.tfvars.

terraform {
  required_version = ">= 1.5"
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 5.0, < 8.0"
    }
  }
}

variable "project" {
  description = "The project of the dataset, which pays for the queries too."
  type        = string
}

variable "dataset" {
  description = "The dataset that Google exports into; a new one."
  type        = string
}

variable "location" {
  description = "US or EU: only a multi-region gets the month before the billing export was switched on."
  type        = string
}

variable "billing_account" {
  description = "Whose emissions are exported: 0X0X0X-0X0X0X-0X0X0X; several with commas."
  type        = string
}

variable "reader_member" {
  description = "Who acts as the service account: user:..., group:... or serviceAccount:..."
  type        = string
}

variable "bucket" {
  description = "A bucket of telemetry or run records to read as well; empty where there is none."
  type        = string
  default     = ""
}

variable "landing_bucket" {
  description = "A bucket for `landing: gs://...`; empty where the landing is on a disk."
  type        = string
  default     = ""
}

provider "google" {
  project = var.project
}

locals {
  roles = { for name in ["query", "tables", "objects", "landing"] : name => jsondecode(file("${path.module}/${name}-role.json")) }
}

resource "google_project_service" "used" {
  for_each           = toset(["bigquery.googleapis.com", "bigquerydatatransfer.googleapis.com", "bigquerystorage.googleapis.com", "iamcredentials.googleapis.com"])
  service            = each.key
  disable_on_destroy = false
}

resource "google_bigquery_dataset" "exports" {
  dataset_id = var.dataset
  location   = var.location
  depends_on = [google_project_service.used]
}

resource "google_bigquery_data_transfer_config" "carbon" {
  display_name           = "Carbon Footprint for trainledger"
  data_source_id         = "61cede5a-0000-2440-ad42-883d24f8f7b8" # Carbon Footprint; the table is named carbon_footprint
  destination_dataset_id = google_bigquery_dataset.exports.dataset_id
  location               = var.location
  params                 = { billing_accounts = var.billing_account }
}

resource "google_project_iam_custom_role" "this" {
  for_each    = local.roles
  role_id     = "trainledger_${each.key}"
  title       = each.value.title
  description = each.value.description
  permissions = each.value.includedPermissions
}

resource "google_service_account" "reader" {
  account_id   = "trainledger-reader"
  display_name = "Reads the exports of bill and emissions for trainledger"
}

resource "google_project_iam_member" "query" {
  project = var.project
  role    = google_project_iam_custom_role.this["query"].id
  member  = google_service_account.reader.member
}

resource "google_bigquery_dataset_iam_member" "tables" {
  dataset_id = google_bigquery_dataset.exports.dataset_id
  role       = google_project_iam_custom_role.this["tables"].id
  member     = google_service_account.reader.member
}

resource "google_storage_bucket_iam_member" "objects" {
  count  = var.bucket == "" ? 0 : 1
  bucket = var.bucket
  role   = google_project_iam_custom_role.this["objects"].id
  member = google_service_account.reader.member
}

resource "google_storage_bucket" "landing" {
  count                       = var.landing_bucket == "" ? 0 : 1
  name                        = var.landing_bucket
  location                    = var.location
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  versioning {
    enabled = true # what `prune` or a mistake removes can be had again
  }
}

resource "google_storage_bucket_iam_member" "landing" {
  count  = var.landing_bucket == "" ? 0 : 1
  bucket = google_storage_bucket.landing[0].name
  role   = google_project_iam_custom_role.this["landing"].id
  member = var.reader_member
}

resource "google_service_account_iam_member" "acts_as" {
  service_account_id = google_service_account.reader.name
  role               = "roles/iam.serviceAccountTokenCreator"
  member             = var.reader_member
}

output "impersonate" {
  value = google_service_account.reader.email
}
