-- One options file for the fleet: for each program the settings that hold for most hosts, with the share of hosts that they cover.
-- For ClickHouse. Sizes are the 95th percentile of what is suggested; other values are those that are suggested most often.
-- A host is covered if each size is at least the one suggested for it, and each other value is equal. Risky suggestions are left out.
SELECT program, settings, hosts, hosts_with_suggestion, hosts_covered,
  round(hosts_covered / hosts_with_suggestion, 4) AS share_covered
FROM (
  SELECT program, settings, hosts
  FROM (
    SELECT program, arrayStringConcat(arraySort(groupArray(setting)), ',') AS settings
    FROM (
      SELECT program, option, concat(option, '(', arrayStringConcat(groupArray(sub_option_or_none), ','), ')') AS setting
      FROM (
        -- A sub-option that nobody suggests is left empty, which keeps what is in force.
        SELECT program, option, place,
          if(has(parameters, place + 1), sub_options[indexOf(parameters, place + 1)], '') AS sub_option_or_none
        FROM (
          SELECT program, option, groupArray(parameter) AS parameters, groupArray(sub_option) AS sub_options,
            range(toUInt64(max(parameter))) AS places
          FROM (
            SELECT program, option, parameter,
              multiIf(
                size_count = 0, word,
                size > 0 AND size % 1073741824 = 0, concat(toString(intDiv(size, 1073741824)), 'G'),
                size > 0 AND size % 1048576 = 0, concat(toString(intDiv(size, 1048576)), 'M'),
                size > 0 AND size % 1024 = 0, concat(toString(intDiv(size, 1024)), 'K'),
                toString(size)) AS sub_option
            FROM (
              SELECT program, option, parameter, countIf(is_size) AS size_count,
                arraySort(groupArrayIf(value, is_size))[toUInt32(ceil(0.95 * countIf(is_size)))] AS size,
                topK(1)(word)[1] AS word
              FROM (
                SELECT program, host, option, parameter, max(isNotNull(nullable_value)) AS is_size,
                  max(ifNull(nullable_value, 0)) AS value, max(text) AS word
                FROM fleet
                ARRAY JOIN suggestion_option AS option, suggestion_parameter AS parameter, suggestion_text AS text,
                  suggestion_value AS nullable_value, suggestion_risky AS risky
                WHERE parameter > 0 AND risky = 0
                GROUP BY program, host, option, parameter
              )
              GROUP BY program, option, parameter
            )
          )
          GROUP BY program, option
        )
        ARRAY JOIN places AS place
        ORDER BY program, option, place
      )
      GROUP BY program, option
    )
    GROUP BY program
  )
  ALL INNER JOIN (SELECT program, uniqExact(host) AS hosts FROM fleet GROUP BY program) USING program
)
ALL INNER JOIN (
  SELECT program, count() AS hosts_with_suggestion, sum(is_covered) AS hosts_covered
  FROM (
    SELECT program, host, min(if(size_count = 0, own_word = word, own_value <= size)) AS is_covered
    FROM (
      SELECT program, host, option, parameter, max(ifNull(nullable_value, 0)) AS own_value, max(text) AS own_word
      FROM fleet
      ARRAY JOIN suggestion_option AS option, suggestion_parameter AS parameter, suggestion_text AS text,
        suggestion_value AS nullable_value, suggestion_risky AS risky
      WHERE parameter > 0 AND risky = 0
      GROUP BY program, host, option, parameter
    )
    ALL INNER JOIN (
      SELECT program, option, parameter, countIf(is_size) AS size_count,
        arraySort(groupArrayIf(value, is_size))[toUInt32(ceil(0.95 * countIf(is_size)))] AS size,
        topK(1)(word)[1] AS word
      FROM (
        SELECT program, host, option, parameter, max(isNotNull(nullable_value)) AS is_size,
          max(ifNull(nullable_value, 0)) AS value, max(text) AS word
        FROM fleet
        ARRAY JOIN suggestion_option AS option, suggestion_parameter AS parameter, suggestion_text AS text,
          suggestion_value AS nullable_value, suggestion_risky AS risky
        WHERE parameter > 0 AND risky = 0
        GROUP BY program, host, option, parameter
      )
      GROUP BY program, option, parameter
    ) USING program, option, parameter
    GROUP BY program, host
  )
  GROUP BY program
) USING program
ORDER BY hosts DESC, program
