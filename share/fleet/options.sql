-- One options file for the fleet: for each program the settings that hold for most hosts, with the share of hosts that they cover.
-- For DuckDB; reads fleet.parquet. Sizes are the 95th percentile of what is suggested; other values are those that are suggested
-- most often. A host is covered if each size is at least the one suggested for it, and each other value is equal.
-- Risky suggestions are left out. A file: SELECT '[' || program || ']' || chr(10) || settings, for programs with plain names.
WITH each_value AS (
  SELECT program, host,
    unnest(suggestion_option) AS option,
    unnest(suggestion_parameter) AS parameter,
    unnest(suggestion_text) AS word,
    unnest(suggestion_value) AS value,
    unnest(suggestion_risky) AS risky
  FROM 'fleet.parquet'
),
-- Of several runs of a host the largest value counts.
by_host AS (
  SELECT program, host, option, parameter, max(value) AS value, max(word) AS word
  FROM each_value
  WHERE parameter > 0 AND risky = 0
  GROUP BY program, host, option, parameter
),
chosen AS (
  SELECT program, option, parameter, quantile_disc(value, 0.95) AS size, mode(word ORDER BY word) AS word
  FROM by_host
  GROUP BY program, option, parameter
),
written AS (
  SELECT program, option, parameter, size, word,
    CASE
      WHEN size IS NULL THEN word
      WHEN size > 0 AND size % 1073741824 = 0 THEN size // 1073741824 || 'G'
      WHEN size > 0 AND size % 1048576 = 0 THEN size // 1048576 || 'M'
      WHEN size > 0 AND size % 1024 = 0 THEN size // 1024 || 'K'
      ELSE size::VARCHAR
    END AS sub_option
  FROM chosen
),
-- A sub-option that nobody suggests is left empty, which keeps what is in force.
places AS (
  SELECT program, option, unnest(range(1, max(parameter)::BIGINT + 1)) AS parameter FROM written GROUP BY program, option
),
settings AS (
  SELECT program, option || '(' || string_agg(coalesce(sub_option, ''), ',' ORDER BY parameter) || ')' AS setting
  FROM places LEFT JOIN written USING (program, option, parameter)
  GROUP BY program, option
),
coverage AS (
  SELECT b.program, b.host, bool_and(CASE WHEN c.size IS NULL THEN b.word = c.word ELSE b.value <= c.size END) AS is_covered
  FROM by_host b JOIN chosen c USING (program, option, parameter)
  GROUP BY b.program, b.host
),
hosts AS (SELECT program, count(DISTINCT host) AS hosts FROM 'fleet.parquet' GROUP BY program)
SELECT s.program, string_agg(s.setting, ',' ORDER BY s.setting) AS settings,
  any_value(h.hosts) AS hosts,
  any_value(c.advised) AS hosts_with_suggestion,
  any_value(c.covered) AS hosts_covered,
  round(any_value(c.covered / c.advised), 4) AS share_covered
FROM settings s
JOIN hosts h USING (program)
JOIN (SELECT program, count(*) AS advised, count(*) FILTER (is_covered) AS covered FROM coverage GROUP BY program) c USING (program)
GROUP BY s.program
ORDER BY hosts DESC, s.program;
