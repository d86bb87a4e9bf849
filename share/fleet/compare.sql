-- Hosts under options B against hosts under options A, by program: the ratio B / A of the geometric means, with a 95 % interval.
-- For DuckDB; reads fleet.parquet. A and B are the texts of the column `options`; set them before:
--   SET VARIABLE options_a = ''; SET VARIABLE options_b = 'HUGEPAGES(ON)';
-- Without that, A is no options, and B the options that most hosts have.
-- Each host counts once, by the mean of the logarithms of its runs. The interval is Welch's, with the normal distribution: there is
-- none for fewer than 30 hosts a side, and none if the hosts of each side are all equal. Nobody drew by lot which host has which
-- options: hosts may differ in other ways, too. Where it matters, let `underbar compare` alternate on one host.
WITH sides AS (
  SELECT coalesce(getvariable('options_a'), '') AS a,
    coalesce(getvariable('options_b'), (SELECT mode(options ORDER BY options) FROM 'fleet.parquet' WHERE options <> '')) AS b
),
runs AS (
  SELECT program, host, CASE WHEN options = b THEN 'B' WHEN options = a THEN 'A' END AS side, unnest([
    {'measure': 'CPU time', 'figure': steps_user_ns + steps_system_ns},
    {'measure': 'elapsed time', 'figure': steps_elapsed_ns},
    {'measure': 'peak resident', 'figure': steps_peak_resident_bytes}
  ], recursive := true)
  FROM 'fleet.parquet', sides
),
by_host AS (
  SELECT program, measure, side, host, avg(ln(figure)) AS log_figure
  FROM runs WHERE figure > 0 AND side IS NOT NULL
  GROUP BY program, measure, side, host
),
by_side AS (
  SELECT program, measure, side, count(*) AS hosts, avg(log_figure) AS mean, var_samp(log_figure) AS variance
  FROM by_host GROUP BY program, measure, side
),
compared AS (
  SELECT program, measure, a.hosts AS hosts_a, b.hosts AS hosts_b, b.mean - a.mean AS difference,
    least(a.hosts, b.hosts) >= 30 AS are_enough, 1.959964 * sqrt(a.variance / a.hosts + b.variance / b.hosts) AS half
  FROM by_side a JOIN by_side b USING (program, measure)
  WHERE a.side = 'A' AND b.side = 'B'
)
SELECT program, measure, hosts_a, hosts_b, round(exp(difference), 4) AS ratio,
  CASE WHEN are_enough AND half > 1e-9 THEN round(exp(difference - half), 4) END AS low,
  CASE WHEN are_enough AND half > 1e-9 THEN round(exp(difference + half), 4) END AS high,
  CASE
    WHEN NOT are_enough THEN 'too few hosts'
    WHEN half <= 1e-9 THEN 'no spread among hosts'
    WHEN difference + half < 0 THEN 'B needs less'
    WHEN difference - half > 0 THEN 'B needs more'
    ELSE 'no difference shown'
  END AS verdict
FROM compared
ORDER BY program, measure;
