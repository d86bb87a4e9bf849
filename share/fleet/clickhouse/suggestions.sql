-- What is suggested, by program: how many hosts, and the 50th and 95th percentile of each value. For ClickHouse.
SELECT program, rule, option, parameter,
  uniqExact(host) AS hosts,
  arraySort(groupArray(value))[toUInt32(ceil(0.5 * count()))] AS p50,
  arraySort(groupArray(value))[toUInt32(ceil(0.95 * count()))] AS p95,
  max(value) AS most
FROM (
  SELECT program, host, rule, option, parameter, assumeNotNull(nullable_value) AS value
  FROM fleet
  ARRAY JOIN suggestion_rule AS rule, suggestion_option AS option, suggestion_parameter AS parameter,
    suggestion_value AS nullable_value
  WHERE isNotNull(nullable_value)
)
GROUP BY program, rule, option, parameter
ORDER BY hosts DESC, program, rule, option, parameter
