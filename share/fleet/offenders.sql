-- The worst offenders: for each measure the ten runs with most of it. For DuckDB; reads fleet.parquet.
-- unused heap: storage in segments that was never in use; segments: calls of the kernel for heap.
WITH measured AS (
  SELECT host, program, time, run, unnest([
    {'measure': 'peak resident bytes', 'figure': steps_peak_resident_bytes},
    {'measure': 'CPU nanoseconds', 'figure': steps_user_ns + steps_system_ns},
    {'measure': 'unused heap bytes', 'figure': greatest(heap_segment_bytes_peak, heap_used_peak) - heap_used_peak},
    {'measure': 'segments', 'figure': heap_segments_allocated},
    {'measure': 'nanoseconds of waits for locks', 'figure': lock_wait_ns}
  ], recursive := true)
  FROM 'fleet.parquet'
)
SELECT measure, host, program, time, figure
FROM measured
WHERE figure > 0
QUALIFY row_number() OVER (PARTITION BY measure ORDER BY figure DESC, run, program) <= 10
ORDER BY measure, figure DESC, host, program;
