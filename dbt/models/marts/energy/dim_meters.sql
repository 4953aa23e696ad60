select
    source_kind,
    meter,
    cast(error_low_share as double) as error_low_share,
    cast(error_high_share as double) as error_high_share,
    source,
    confidence
from {{ ref('meters') }}
