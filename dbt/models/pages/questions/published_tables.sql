select schema_name || '.' || table_name as table, comment as meaning, table_name as bare_name
from duckdb_tables()
where schema_name in ('marts', 'ops')
union all
select schema_name || '.' || view_name as table, comment as meaning, view_name as bare_name
from duckdb_views()
where schema_name = 'marts'
