select
    column_name as "column", data_type as type, is_nullable, comment as meaning,
    table_name as bare_name, column_index as position
from duckdb_columns()
where schema_name in ('marts', 'ops')
