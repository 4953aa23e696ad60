with windows as (
    /* windows */
    select date '1970-01-01' as window_start, date '9999-12-31' as window_end
    /* end of windows */
)

select window_start, window_end from windows
