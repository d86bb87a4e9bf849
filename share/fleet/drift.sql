-- Drift between versions of underbar, by program: medians, and their ratio to those of the version before, which is the one whose
-- first run was earlier. For DuckDB; reads fleet.parquet. A program whose input changed drifts, too.
WITH by_version AS (
  SELECT program, underbar, min(time) AS first_run, count(DISTINCT host) AS hosts,
    quantile_disc(heap_used_peak, 0.5) AS heap_used_peak,
    quantile_disc(heap_segment_bytes_peak, 0.5) AS heap_segment_bytes_peak,
    quantile_disc(steps_peak_resident_bytes, 0.5) AS peak_resident_bytes,
    quantile_disc(steps_user_ns + steps_system_ns, 0.5) AS cpu_ns
  FROM 'fleet.parquet'
  GROUP BY program, underbar
)
SELECT program, underbar, hosts, heap_used_peak, peak_resident_bytes, cpu_ns,
  round(heap_used_peak / lag(heap_used_peak) OVER before, 3) AS heap_used_ratio,
  round(heap_segment_bytes_peak / lag(heap_segment_bytes_peak) OVER before, 3) AS heap_segments_ratio,
  round(peak_resident_bytes / lag(peak_resident_bytes) OVER before, 3) AS resident_ratio,
  round(cpu_ns / lag(cpu_ns) OVER before, 3) AS cpu_ratio
FROM by_version
WINDOW before AS (PARTITION BY program ORDER BY first_run, underbar)
ORDER BY program, first_run, underbar;
