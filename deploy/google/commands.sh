#!/bin/sh
# What main.tf makes, by gcloud and bq, as an owner of the project who may read the billing account's carbon
# (roles/billing.carbonViewer). It stops at the first error; nothing is changed twice.
set -eu
cd "$(dirname "$0")"
reader="trainledger-reader@${project}.iam.gserviceaccount.com"

gcloud services enable --project "${project}" \
  bigquery.googleapis.com bigquerydatatransfer.googleapis.com bigquerystorage.googleapis.com iamcredentials.googleapis.com
bq --project_id="${project}" --location="${location}" mk --dataset "${project}:${dataset}"

# the table is named carbon_footprint; months before the next 15th come by the backfill of README.md
bq --project_id="${project}" --location="${location}" mk --transfer_config --target_dataset="${dataset}" \
  --data_source=61cede5a-0000-2440-ad42-883d24f8f7b8 --display_name="Carbon Footprint for trainledger" \
  --params='{"billing_accounts":"${billing_account}"}'

gcloud iam service-accounts create trainledger-reader --project "${project}"
gcloud iam roles create trainledger_query --project "${project}" --file query-role.json
gcloud iam roles create trainledger_tables --project "${project}" --file tables-role.json
gcloud projects add-iam-policy-binding "${project}" --condition=None \
  --member "serviceAccount:$reader" --role "projects/${project}/roles/trainledger_query"
bq --project_id="${project}" --location="${location}" query --use_legacy_sql=false \
  "grant \`projects/${project}/roles/trainledger_tables\` on schema \`${project}.${dataset}\` to 'serviceAccount:$reader'"
gcloud iam service-accounts add-iam-policy-binding "$reader" --project "${project}" \
  --member "${reader_member}" --role roles/iam.serviceAccountTokenCreator

# the identity that trainledger runs as keeps its landing in a bucket: `landing: gs://...`
if [ -n "${landing_bucket}" ]; then
  gcloud storage buckets create "gs://${landing_bucket}" --project "${project}" --location "${location}" \
    --uniform-bucket-level-access --public-access-prevention
  gcloud storage buckets update "gs://${landing_bucket}" --versioning
  gcloud iam roles create trainledger_landing --project "${project}" --file landing-role.json
  gcloud storage buckets add-iam-policy-binding "gs://${landing_bucket}" \
    --member "${reader_member}" --role "projects/${project}/roles/trainledger_landing"
fi

# a bucket of telemetry or run records to read as well:
# gcloud iam roles create trainledger_objects --project "${project}" --file objects-role.json
# gcloud storage buckets add-iam-policy-binding gs://BUCKET \
#   --member "serviceAccount:$reader" --role "projects/${project}/roles/trainledger_objects"
