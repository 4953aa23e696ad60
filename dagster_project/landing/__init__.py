"""Landing: deliveries in, immutable generations out. Knows neither election nor dbt."""
