-- no framework asks for a quarter: what the ledger contributes to the year's lists
{{ disclosed('quarter', 'quarter', "(select * from " ~ ref('dim_datapoints') ~ " where framework = 'contribution')", ref('int_disclosure_figures')) }}
