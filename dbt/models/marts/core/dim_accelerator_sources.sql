-- Every published value of every source about an accelerator, also where sources disagree.
select * from {{ ref('accelerator_sources') }}
