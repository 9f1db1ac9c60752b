#!/usr/bin/env python3
"""The semantics of docs/alignment.md, slow and obvious: an executable statement to compare with.

usage: reference.py [--interval MS] [--align overlap|inflight] [--record-time end|start] [--no-repair] [--no-restore]
                    [--percentiles 50,90,95,99,99.9] FOLDER
Reads FOLDER/*_clat_hist.*.log* and FOLDER/fio.json (json+), prints the NDJSON of `percentiles --format ndjson --by direction`
(scopes run and direction). Not covered: job_start, stonewall, several groups under group_reporting, job trees, fio 2.
"""
import argparse, glob, json, os, re, sys
from collections import defaultdict

ap = argparse.ArgumentParser()
ap.add_argument("--interval", type=int, default=1000)
ap.add_argument("--align", default="overlap")
ap.add_argument("--record-time", default="end")
ap.add_argument("--no-repair", action="store_true")
ap.add_argument("--no-restore", action="store_true")
ap.add_argument("--percentiles", default="50,90,95,99,99.9")
ap.add_argument("folder")
A = ap.parse_args()
WANT = [float(p) for p in A.percentiles.split(",")]
NAMES = ("read", "write", "trim")
GROUPS, PER_GROUP = 29, 64


def edges(coarseness):
    """Lower and upper edge (ns) of every bucket: groups 0 and 1 have width 1, then it doubles; 2**coarseness neighbours are one."""
    lo, low, width = [], 0, 1
    for g in range(GROUPS):
        for _ in range(PER_GROUP):
            lo.append(low)
            low += width
        if g:
            width *= 2
    lo.append(low)
    step = 1 << coarseness
    return [(lo[i], lo[i + step]) for i in range(0, GROUPS * PER_GROUP, step)]


def parse(path):
    """{direction: [(time_ms, counts)]} in the file's order."""
    by = defaultdict(list)
    for line in open(path):
        v = [int(x) for x in line.split(",")]
        by[v[1]].append((v[0], v[3:]))
    return by


def repair(records):
    """fio --client wrote h(n) = cum(n) - h(n-1); d(n) = h(n) - h(n-2)."""
    out = []
    for n, (t, h) in enumerate(records):
        before = records[n - 2][1] if n >= 2 else [0] * len(h)
        out.append((t, [a - b for a, b in zip(h, before)]))
    return out


def damaged(records, total):
    """Never falls at lag 2 in any bucket, and holds more I/Os than fio counted."""
    never_falls = all(a >= b for n in range(2, len(records)) for a, b in zip(records[n][1], records[n - 2][1]))
    return never_falls and total is not None and sum(sum(h) for _, h in records) > total


def placed(records, h, begin):
    """[(start, end, counts)] by completion time (record-time end).

    fio opens the first window at the first completion B and moves the boundary by exactly h per record: record n closes at the
    first completion after B + (n+1) h. So all its I/Os but the closing one lie in (previous stamp, that boundary], and the closing
    one lies at the stamp. Stamps run late only after a stall or a pause; then that matters.
    """
    B = max(begin, min(t - (n + 1) * h for n, (t, _) in enumerate(records[:32])))
    out, prev = [], B
    for n, (t, counts) in enumerate(records):
        boundary = B + (n + 1) * h
        if boundary <= prev or t <= prev:  # catching up: the very next completion closes the record
            out.append((t - 1, t, counts))
        elif t - boundary < h / 100:
            out.append((prev, t, counts))
        else:  # closed late: nothing completed between the boundary and the stamp
            total, top = sum(counts), max((b for b, c in enumerate(counts) if c), default=None)
            if total:
                if EDGE[top][1] / 1e6 >= t - boundary:  # it was in flight meanwhile: the slowest one
                    last = [float(b == top) for b in range(len(counts))]
                else:
                    last = [c / total for c in counts]
                out.append((prev, boundary, [c - l for c, l in zip(counts, last)]))
                out.append((t - 1, t, last))
        prev = t
    return out


def share(s, e, latency, q0, q1):
    """Share of an I/O's weight in [q0, q1): it completes evenly in (s, e]; `inflight` lays its latency out backwards from there."""
    if A.align == "overlap" or latency < 1e-3:
        return max(0.0, min(e, q1) - max(s, q0)) / (e - s)

    def G(y):  # integral of the share of one life of length `latency`, ending at 0, that lies before y
        return 0.0 if y <= -latency else (y + latency) ** 2 / (2 * latency) if y < 0 else y + latency / 2

    cdf = lambda x: (G(x - s) - G(x - e)) / (e - s)
    return cdf(q1) - cdf(q0)


files = sorted(f for f in glob.glob(os.path.join(A.folder, "*_clat_hist.*.log*")) if re.search(r"\.log(\.[^/]+)?$", f))
logs = {f: parse(f) for f in files}
columns = {len(h) for by in logs.values() for r in by.values() for _, h in r}
coarse = {GROUPS * PER_GROUP >> c: c for c in range(7)}
assert len(columns) == 1 and columns <= set(coarse), f"columns {columns}"
EDGE = edges(coarse[columns.pop()])
COUNT = len(EDGE)
MID = [(a + b) / 2 for a, b in EDGE]

meta, path = None, os.path.join(A.folder, "fio.json")
if os.path.exists(path):
    text = open(path).read()
    meta = json.loads(text[text.index("{"):])
jobs = [j for j in (meta or {}).get("jobs") or (meta or {}).get("client_stats") or [] if j["jobname"] != "All clients"]


def group(job):
    """How many logs an entry of the JSON stands for: with group_reporting one entry stands for all of its numjobs."""
    return len(files) if len(jobs) == 1 else 1 if len(jobs) >= len(files) else int(option(job, "numjobs") or 1)


def job_of(path):
    """The JSON entry of a log, and the number of logs that share it: N-th thread, of that host where the name ends in one."""
    n, host = re.search(r"\.(\d+)\.log(?:\.(.+))?$", path).groups()
    n = int(n)
    for j in jobs:
        if not host or j.get("hostname") == host:
            if n <= group(j):
                return j, group(j)
            n -= group(j)
    return None, 1


def option(job, key):
    return ((job or {}).get("job options") or {}).get(key, (meta or {}).get("global options", {}).get(key))


def bins(job, name):
    """Bucket counts of the whole job from json+: the key is the bucket's middle."""
    out = [0] * COUNT
    for key, n in job.get(name, {}).get("clat_ns", {}).get("bins", {}).items():
        out[next(i for i, (a, b) in enumerate(EDGE) if a <= int(key) < b or i == COUNT - 1)] += n
    return out


starts, pieces, bounds = {}, [], defaultdict(lambda: [float("inf"), 0.0])
owed, ends = {}, {}  # per JSON entry and direction: what fio counted and no log holds; where the entry's logs end
for f, by in logs.items():
    job, members = job_of(f)
    absolute = min((t for r in by.values() for t, _ in r), default=0) > 1e11
    seconds = lambda key: float(re.match(r"[\d.]+", str(option(job, key) or 0)).group()) * 1000
    delay = 0 if absolute else seconds("startdelay") + seconds("ramp_time")
    h = int(option(job, "log_hist_msec") or 0)
    first = None
    for d, name in enumerate(NAMES):  # a direction may have I/Os and no record: they are all in the tail
        records = by.get(d, [])
        if not records and not (job and job.get(name, {}).get("clat_ns", {}).get("N")):
            continue
        stats = job[name].get("clat_ns", {}) if job else {}
        if not A.no_repair and damaged(records, stats.get("N")):
            records = repair(records)
        gaps = sorted(b[0] - a[0] for a, b in zip(records[:32], records[1:32]))
        step = h or (gaps[len(gaps) // 2] if gaps else records[0][0] if records else 1000)
        begin = float("-inf") if absolute else 0
        if not records:
            spans = []
        elif A.record_time == "end":
            spans = placed(records, step, begin)
        else:
            same = {}
            for t, c in records:  # equal stamps are one record
                same[t] = [a + b for a, b in zip(same[t], c)] if t in same else c
            ts = list(same)
            spans = [(t, ts[i + 1] if i + 1 < len(ts) else t + step, same[t]) for i, t in enumerate(ts)]
        first = min(1e18 if first is None else first, (spans[0][0] if spans else 1e18) if absolute else 0)
        if not A.no_restore and any(stats.get("bins", {}).values()):
            key = id(job), name
            owed.setdefault(key, (job, members, bins(job, name), []))[3].append((f, records, delay, absolute))
        if stats.get("N"):
            for scope in (name, "all"):
                bounds[scope][0] = min(bounds[scope][0], stats["min"])
                bounds[scope][1] = max(bounds[scope][1], stats["max"])
        for s, e, c in spans:
            if e > s and any(c):
                pieces.append((f, name, s + delay, e + delay, c))
    starts[f] = (first or 0) + delay

for (_, name), (job, members, counted, its) in owed.items():
    left = [n - sum(c[b] for _, records, _, _ in its for _, c in records) for b, n in enumerate(counted)]
    assert min(left) >= 0, f"{name}: logs and JSON don't belong together"
    last = [(r[-1][0] if r else starts[f] - delay if absolute else 0) for f, r, delay, absolute in its]
    f, _, delay, absolute = its[0]
    end = max((starts[f] - delay if absolute else 0) + job[name]["runtime"], max(last) + 1)
    if any(left):
        pieces.append((f, name, min(last) + delay, end + delay, left))

zero = min(starts.values())
acc, who = defaultdict(lambda: [0.0] * COUNT), defaultdict(set)
for f, name, s, e, h in pieces:
    s, e = s - zero, e - zero
    for b, c in enumerate(h):
        if not c:
            continue
        lat = MID[b] / 1e6
        first = max(0, int((s - (lat if A.align == "inflight" else 0)) // A.interval))
        for q in range(first, int(e // A.interval) + 1):
            q0 = q * A.interval if q > 0 else float("-inf") if A.align == "inflight" else 0
            if q == 0 and A.align == "inflight":
                q0 = s - lat - 1
            w = share(s, e, lat, q0, (q + 1) * A.interval)
            if w > 1e-12:
                acc[q, name][b] += c * w
                acc[q, "all"][b] += c * w
                who[q, name].add(f), who[q, "all"].add(f)


def percentile(h, n, p):
    if p <= 0:
        return EDGE[next(b for b, c in enumerate(h) if c)][0]
    if p >= 100:
        top = max(b for b, c in enumerate(h) if c)
        return EDGE[top][0 if top == COUNT - 1 else 1]
    want, cum = n * p / 100, 0.0
    for b, c in enumerate(h):
        if c and cum + c >= want - 1e-9 * n:
            a, z = EDGE[b]
            if b == COUNT - 1:
                return a  # the last bucket has no upper edge: "at least"
            return a + max(0.0, min(1.0, (want - cum) / c)) * (z - a)
        cum += c


for q in range(max(q for q, _ in acc) + 1):
    for name in ("all",) + tuple(n for n in NAMES if any(k[1] == n for k in acc)):
        h = acc.get((q, name), [0.0] * COUNT)
        n = sum(h)
        row = {"offset_ms": q * A.interval, "scope": "run" if name == "all" else "direction", "direction": name, "kind": "clat", "samples": n, "logs": len(who[q, name])}
        lo, hi = bounds[name] if bounds[name][1] else (0, float("inf"))
        clamp = lambda v: min(max(v, lo), hi)
        if n > 1e-9:
            mean = sum(c * m for c, m in zip(h, MID)) / n
            row.update(min=clamp(percentile(h, n, 0)), max=clamp(percentile(h, n, 100)), mean=mean,
                       stddev=(sum(c * (m - mean) ** 2 for c, m in zip(h, MID)) / n) ** 0.5,
                       percentiles={f"{p:g}": clamp(percentile(h, n, p)) for p in WANT})
        else:
            row.update(min=None, max=None, mean=None, stddev=None, percentiles={f"{p:g}": None for p in WANT})
        print(json.dumps(row))
