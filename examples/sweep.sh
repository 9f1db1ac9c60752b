#!/bin/sh
# A sweep of queue depths, each three times, a directory for each run:
#
#   sh sweep.sh sweep && fiolat curve --at 'read p99 < 1ms' sweep
set -eu
out=${1:?usage: sweep.sh DIR}
for run in 1 2 3; do
  for depth in 1 2 4 8 16 32 64; do
    dir=$out/depth$depth/run$run
    mkdir -p "$dir"
    (cd "$dir" && fio --name=sweep --rw=randread --bs=4k --size=1g --direct=1 --ioengine=libaio --iodepth="$depth" \
      --runtime=30 --time_based --filename="${TMPDIR:-/tmp}/fiolat-example.data" \
      --write_hist_log=sweep --log_hist_msec=1000 --output-format=json+ --output=fio.json)
  done
done
