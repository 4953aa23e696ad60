select * from {{ ref('standard_normals') }}
