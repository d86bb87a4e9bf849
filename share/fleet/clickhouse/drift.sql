-- Drift between versions of underbar, by program: medians, and their ratio to those of the version before, which is the one whose
-- first run was earlier. For ClickHouse. A program whose input changed drifts, too.
SELECT program, underbar, hosts, heap_used_peak, peak_resident_bytes, cpu_ns,
  if(heap_used_before > 0, round(heap_used_peak / heap_used_before, 3), NULL) AS heap_used_ratio,
  if(segments_before > 0, round(heap_segment_bytes_peak / segments_before, 3), NULL) AS heap_segments_ratio,
  if(resident_before > 0, round(peak_resident_bytes / resident_before, 3), NULL) AS resident_ratio,
  if(cpu_before > 0, round(cpu_ns / cpu_before, 3), NULL) AS cpu_ratio
FROM (
  SELECT program,
    groupArray(underbar) AS versions,
    groupArray(hosts) AS all_hosts,
    groupArray(used) AS all_used,
    groupArray(segments) AS all_segments,
    groupArray(resident) AS all_resident,
    groupArray(cpu) AS all_cpu
  FROM (
    SELECT program, underbar, min(time) AS first_run, uniqExact(host) AS hosts,
      arraySort(groupArray(ifNull(heap_used_peak, 0)))[toUInt32(ceil(0.5 * count()))] AS used,
      arraySort(groupArray(ifNull(heap_segment_bytes_peak, 0)))[toUInt32(ceil(0.5 * count()))] AS segments,
      arraySort(groupArray(ifNull(steps_peak_resident_bytes, 0)))[toUInt32(ceil(0.5 * count()))] AS resident,
      arraySort(groupArray(ifNull(steps_user_ns + steps_system_ns, 0)))[toUInt32(ceil(0.5 * count()))] AS cpu
    FROM fleet
    GROUP BY program, underbar
    ORDER BY program, first_run, underbar
  )
  GROUP BY program
)
ARRAY JOIN versions AS underbar, all_hosts AS hosts, all_used AS heap_used_peak, all_segments AS heap_segment_bytes_peak,
  all_resident AS peak_resident_bytes, all_cpu AS cpu_ns,
  arrayPushFront(arrayPopBack(all_used), toUInt64(0)) AS heap_used_before,
  arrayPushFront(arrayPopBack(all_segments), toUInt64(0)) AS segments_before,
  arrayPushFront(arrayPopBack(all_resident), toUInt64(0)) AS resident_before,
  arrayPushFront(arrayPopBack(all_cpu), toUInt64(0)) AS cpu_before,
  arrayEnumerate(versions) AS place
ORDER BY program, place
