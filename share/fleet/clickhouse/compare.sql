-- Hosts under options B against hosts under options A, by program: the ratio B / A of the geometric means, with a 95 % interval.
-- For ClickHouse. A and B are the texts of the column `options`: A is no options, and B those that most hosts have. To compare others,
-- change the two lines with 'A' and 'B' in the innermost query.
-- Each host counts once, by the mean of the logarithms of its runs. The interval is Welch's, with the normal distribution: there is
-- none for fewer than 30 hosts a side, and none if the hosts of each side are all equal. Nobody drew by lot which host has which
-- options: hosts may differ in other ways, too. Where it matters, let `underbar compare` alternate on one host.
SELECT program, measure, hosts_a, hosts_b, round(exp(difference), 4) AS ratio,
  if(least(hosts_a, hosts_b) >= 30 AND half > 1e-9, round(exp(difference - half), 4), NULL) AS low,
  if(least(hosts_a, hosts_b) >= 30 AND half > 1e-9, round(exp(difference + half), 4), NULL) AS high,
  multiIf(
    least(hosts_a, hosts_b) < 30, 'too few hosts',
    half <= 1e-9, 'no spread among hosts',
    difference + half < 0, 'B needs less',
    difference - half > 0, 'B needs more',
    'no difference shown') AS verdict
FROM (
  SELECT program, measure,
    countIf(side = 'A') AS hosts_a, countIf(side = 'B') AS hosts_b,
    avgIf(log_figure, side = 'B') - avgIf(log_figure, side = 'A') AS difference,
    1.959964 * sqrt(varSampStableIf(log_figure, side = 'A') / hosts_a + varSampStableIf(log_figure, side = 'B') / hosts_b) AS half
  FROM (
    SELECT program, measure, side, host, avg(log(assumeNotNull(figure))) AS log_figure
    FROM (
      SELECT program, host, steps_user_ns, steps_system_ns, steps_elapsed_ns, steps_peak_resident_bytes,
        multiIf(
          options = '', 'A',
          options = (SELECT options FROM fleet WHERE options != '' GROUP BY options ORDER BY count() DESC, options LIMIT 1), 'B',
          '') AS side
      FROM fleet
    )
    ARRAY JOIN ['CPU time', 'elapsed time', 'peak resident'] AS measure,
      [steps_user_ns + steps_system_ns, steps_elapsed_ns, steps_peak_resident_bytes] AS figure
    WHERE figure > 0 AND side != ''
    GROUP BY program, measure, side, host
  )
  GROUP BY program, measure
)
WHERE hosts_a > 0 AND hosts_b > 0
ORDER BY program, measure
