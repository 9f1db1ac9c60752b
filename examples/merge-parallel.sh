#!/bin/bash
# Ingests a run and merges it with GNU parallel, in eight slices, one at a time on each machine:
#
#   bash merge-parallel.sh node1,node2,node3
#
# Without machines it runs here. Change es, run and logs (which has a folder for each host, and is seen by all
# machines), the number of slices, and the flags of ingest. After a failure run the same again.
set -eu
es=http://es:9200 run=R logs=/shared/logs slices=8
hosts=("$logs"/*/)
workers=(parallel --jobs 1 --sshlogin "${1:-:}")
"${workers[@]}" fiolat ingest --es "$es" --run-id "$run" --part '{/}' \
  --start 2026-08-01T12:00:00Z --interval 10s '{}' ::: "${hosts[@]%/}"
"${workers[@]}" fiolat merge --es "$es" --parts ${#hosts[@]} --slice "{}/$slices" "$run" ::: $(seq $slices)
