-- The worst offenders: for each measure the ten runs with most of it. For ClickHouse.
-- unused heap: storage in segments that was never in use; segments: calls of the kernel for heap.
SELECT measure, host, program, time, figure
FROM (
  SELECT measure, host, program, time, run, assumeNotNull(nullable_figure) AS figure
  FROM fleet
  ARRAY JOIN
    ['peak resident bytes', 'CPU nanoseconds', 'unused heap bytes', 'segments', 'nanoseconds of waits for locks'] AS measure,
    [
      steps_peak_resident_bytes,
      steps_user_ns + steps_system_ns,
      toUInt64(greatest(heap_segment_bytes_peak, heap_used_peak) - heap_used_peak),
      heap_segments_allocated,
      lock_wait_ns
    ] AS nullable_figure
  WHERE nullable_figure > 0
)
ORDER BY measure, figure DESC, run, program
LIMIT 10 BY measure
