select * from {{ ref('article_figures') }}
