"""The panels that alerts point to. A test holds each to the committed board: same id, same title."""

from dashboards.alerting.rule import Panel

OVERVIEW = "memotel-overview"
WRITES = "memotel-writes"

WRITES_UNACCOUNTED = Panel(OVERVIEW, 4, "Unaccounted for")
KEYS_REJECTED = Panel(OVERVIEW, 6, "Keys rejected")
SWITCHED_OFF = Panel(OVERVIEW, 7, "Switched off")
RECALLS_BY_OUTCOME = Panel(OVERVIEW, 11, "Recalls by outcome")
RECALL_LATENCY = Panel(OVERVIEW, 12, "Recall latency")
HIT_RATIO = Panel(OVERVIEW, 15, "Hit ratio")
WRITES_BY_OUTCOME = Panel(OVERVIEW, 21, "Writes by outcome")
OUTBOX_FILL = Panel(OVERVIEW, 22, "Outbox fill")
OLDEST_WRITE = Panel(OVERVIEW, 23, "Oldest waiting write")
CIRCUIT = Panel(OVERVIEW, 31, "Circuit")
QUOTA = Panel(OVERVIEW, 32, "Quota")
RETRIES = Panel(OVERVIEW, 34, "Retries")
INSTANCES = Panel(OVERVIEW, 41, "Instances")
DISK_FAILS = Panel(WRITES, 27, "Outboxes whose disk fails")
