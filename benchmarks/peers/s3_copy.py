"""Upload a folder to a bucket, or download all of it in parallel: `python s3_copy.py up|down BUCKET FOLDER`."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3

THREADS = 8


def upload(bucket: str, folder: Path) -> None:
    client = boto3.client("s3")
    client.create_bucket(Bucket=bucket)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):  # data/ before metadata/, as a provider writes
        client.upload_file(str(path), bucket, path.relative_to(folder).as_posix())


def download(bucket: str, folder: Path) -> None:
    client = boto3.client("s3")
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda key: client.download_file(bucket, key, str(folder / key.replace("/", "~"))), keys))


if __name__ == "__main__":
    what, bucket, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    (upload if what == "up" else download)(bucket, folder)
