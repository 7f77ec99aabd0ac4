"""Every group of the rules file. Rules of one group run in order; groups run side by side, each at its own interval."""

from dashboards.alerting import burn
from dashboards.alerting.account_alerts import ACCOUNT_ALERTS
from dashboards.alerting.process_alerts import PROCESS_ALERTS
from dashboards.alerting.recall_alerts import RECALL_ALERTS, RECORDS
from dashboards.alerting.rule import Alert, Group
from dashboards.alerting.write_alerts import WRITE_ALERTS

ALERTS: tuple[Alert, ...] = (
    *burn.alerts(),
    *RECALL_ALERTS,
    *WRITE_ALERTS,
    *ACCOUNT_ALERTS,
    *PROCESS_ALERTS,
)

GROUPS: tuple[Group, ...] = (
    *burn.recording_groups(),
    Group("memotel-recall-hits", "1m", RECORDS),
    Group("memotel-slo-alerts", "30s", burn.alerts()),
    Group(
        "memotel-alerts", "30s", (*RECALL_ALERTS, *WRITE_ALERTS, *ACCOUNT_ALERTS, *PROCESS_ALERTS)
    ),
)
