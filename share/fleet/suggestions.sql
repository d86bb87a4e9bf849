-- What is suggested, by program: how many hosts, and the 50th and 95th percentile of each value. For DuckDB; reads fleet.parquet.
WITH values_suggested AS (
  SELECT program, host,
    unnest(suggestion_rule) AS rule,
    unnest(suggestion_option) AS option,
    unnest(suggestion_parameter) AS parameter,
    unnest(suggestion_value) AS value
  FROM 'fleet.parquet'
)
SELECT program, rule, option, parameter,
  count(DISTINCT host) AS hosts,
  quantile_disc(value, 0.5) AS p50,
  quantile_disc(value, 0.95) AS p95,
  max(value) AS most
FROM values_suggested
WHERE value IS NOT NULL
GROUP BY program, rule, option, parameter
ORDER BY hosts DESC, program, rule, option, parameter;
