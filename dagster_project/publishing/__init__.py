"""What readers get: the published file, its Parquet, its digests."""
