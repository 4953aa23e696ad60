"""The build file: raw views, dbt, gates. From elected deliveries to a build that may be published."""
