"""Limits of AWS that a template can exceed, each with its source."""

from typing import Final

TEMPLATE_RESOURCES: Final = 500
"""Resources of one stack: "AWS CloudFormation quotas", Resources."""
ALARM_METRICS: Final = 10
"""Metrics of one alarm's expression: "CloudWatch service quotas", metric math."""
WIDGET_ALARMS: Final = 100
"""Alarms of one alarm widget: "Dashboard body structure and syntax", alarms, 1 to 100 ARNs."""
