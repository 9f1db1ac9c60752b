#!/usr/bin/env python3
"""Draws percentiles, IOPS and a heat map of a run, from two files that fiolat writes:

fiolat percentiles -o rows.parquet RUN
fiolat histogram -o buckets.parquet RUN
examples/plot.py rows.parquet buckets.parquet plot.png
"""
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rows_file, buckets_file, picture = sys.argv[1:]
rows = pd.read_parquet(rows_file)
rows = rows[rows.scope == "run"]
buckets = pd.read_parquet(buckets_file)
buckets = buckets[buckets.scope == "run"]

seconds = rows.offset_ms / 1000
figure, (latency, rate, heat) = plt.subplots(3, 1, sharex=True, figsize=(9, 8), height_ratios=(3, 1, 3))
for name in [c for c in rows.columns if c[0] == "p" and c[1].isdigit() and c.endswith("_us")]:
    latency.step(seconds, rows[name] / 1000, where="post", label=name[:-3])
latency.set(yscale="log", ylabel="ms", title=rows.run_name.iloc[0])
latency.legend(loc="upper right", ncols=5, fontsize="small")
rate.step(seconds, rows.iops, where="post")
rate.set(ylabel="IOPS", ylim=0)

# A rectangle for each bucket and interval; the last bucket has no upper edge.
edges = np.unique(np.concatenate([buckets.lower_us, buckets.upper_us.dropna()])) / 1000
times = np.append(seconds, seconds.iloc[-1] + rows.interval_ms.iloc[0] / 1000)
density = np.full((len(edges) - 1, len(seconds)), np.nan)
column = np.searchsorted(seconds, buckets.offset_ms / 1000)
for x, low, high, n in zip(column, buckets.lower_us / 1000, buckets.upper_us / 1000, buckets["count"]):
    first, last = np.searchsorted(edges, [low, high])
    density[first:last, x] = n / np.log(high / max(low, 1e-6))
mesh = heat.pcolormesh(times, edges, density, norm="log", cmap="viridis")
heat.set(yscale="log", ylabel="ms", xlabel="s")
figure.colorbar(mesh, ax=[latency, rate, heat], label="I/Os in an interval, per e-fold of latency")
figure.savefig(picture, dpi=100)
