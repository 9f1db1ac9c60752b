"""Sends *.ndjson files, each an action line and a document in turn, with the Elasticsearch client's own
helpers.parallel_bulk and its defaults. Documents go through as the text they are: parsing and writing them again would
take Python most of the time. Ends when searches find them."""

import json
import sys

from elasticsearch import Elasticsearch, helpers


def pairs(names):
    for name in names:
        with open(name, encoding="utf-8") as lines:
            for action in lines:
                yield json.loads(action), next(lines).rstrip("\n")


client = Elasticsearch(sys.argv[1], request_timeout=120)
sent = 0
# Without an exception each result is a success.
for ok, result in helpers.parallel_bulk(client, pairs(sys.argv[2:]), expand_action_callback=lambda pair: pair):
    sent += ok
client.indices.refresh(index="fio-*")
print(sent)
