-- The rows of `fiolat percentiles --by direction` over all hosts, from what each host wrote:
--
--   fiolat histogram --by direction --grid epoch --interval 10s --unit ns --format parquet -o buckets/HOST.parquet LOGS
--
-- "buckets" is a view of the files of all hosts: docs/scale.md has it for DuckDB and for Spark.
--
-- A percentile is in the first bucket at which the running sum of the counts reaches its share of all I/Os, to within
-- 1e-9 of them, and linear inside that bucket. The last bucket has no upper edge: the percentile is that or more.
WITH sums AS (
  SELECT timestamp, scope, direction, lower_ns, max(upper_ns) AS upper_ns, sum(count) AS n
  FROM buckets
  GROUP BY timestamp, scope, direction, lower_ns
), running AS (
  SELECT *,
    sum(n) OVER (PARTITION BY timestamp, scope, direction ORDER BY lower_ns) AS upto,
    sum(n) OVER (PARTITION BY timestamp, scope, direction) AS samples
  FROM sums
), wanted AS (
  SELECT p FROM (VALUES (50.0), (90.0), (95.0), (99.0), (99.9)) AS list(p)
), reached AS (
  SELECT timestamp, scope, direction, samples, p,
    lower_ns + coalesce(upper_ns - lower_ns, 0) * greatest(0, least(1, (samples * p / 100 - (upto - n)) / n)) AS ns
  FROM running CROSS JOIN wanted
  WHERE upto >= samples * p / 100 - 1e-9 * samples
)
SELECT timestamp, scope, direction, max(samples) AS samples,
  min(CASE WHEN p = 50 THEN ns END) AS p50_ns,
  min(CASE WHEN p = 90 THEN ns END) AS p90_ns,
  min(CASE WHEN p = 95 THEN ns END) AS p95_ns,
  min(CASE WHEN p = 99 THEN ns END) AS p99_ns,
  min(CASE WHEN p = 99.9 THEN ns END) AS p99_9_ns
FROM reached
GROUP BY timestamp, scope, direction
ORDER BY timestamp, scope, direction
