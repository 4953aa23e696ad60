-- Cloud regions with their names in bills and carbon files, and the grid they stand on.
select * from {{ ref('regions') }}
