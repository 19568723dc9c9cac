"""The digest of a policy that has no template: what happened on top, how often, then a table of events.

All words that digests add to those of policies and events are in this module.
Colours and layout are in classes, so that a line costs few bytes: Gmail cuts a mail at 102 KB. A client that ignores
style sheets shows plain tables.
"""

from typing import Final

# change: the words and looks of a digest without a template
SUBJECT: Final = "{{ batch_key }}: {{ counts }}"
SHORT: Final = "{{ summary }}"
"""The whole text message."""
LINE: Final = '<tr><td class="t">{{ timestamp }}</td><td class="e">{{ event_type }}</td><td>{{ details }}</td></tr>'
LINE_TEXT: Final = "{{ timestamp }}  {{ event_type }}  {{ details }}"
TEXT: Final = """{{ summary }}

{{ types }}

{{ events }}

{{ batch_key }}, {{ period }}
"""
TEXT_LINK: Final = "\nStop these digests: {{ unsubscribe_url }}\n"
LINK: Final = ' &middot; <a href="{{ unsubscribe_url }}">Stop these digests</a>'
FOOTER: Final = "<!-- footer -->"
"""The place of the link."""
HTML: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>{{ summary }}</title>
<style>
:root { color-scheme: light dark; supported-color-schemes: light dark; }
body { background: #f3f4f6; margin: 0; padding: 0; }
.page { background: #f3f4f6; color: #1f2937; padding: 24px 12px; }
.page { font: 15px/1.5 -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
.card { background: #ffffff; border: 1px solid #e5e7eb; border-radius: 10px; margin: 0 auto; max-width: 680px; }
.card { padding: 24px; }
.key { color: #4b5563; font-size: 13px; margin: 0; overflow-wrap: anywhere; }
h1 { font-size: 21px; line-height: 1.3; margin: 4px 0; overflow-wrap: anywhere; }
.when { color: #4b5563; font-size: 13px; margin: 0 0 16px; }
table { border-collapse: collapse; }
td { border-top: 1px solid #e5e7eb; padding: 7px 10px 7px 0; vertical-align: top; overflow-wrap: anywhere; }
.types { margin: 0 0 22px; }
.types td { padding: 3px 12px 3px 0; border: 0; }
.n { font-weight: 700; text-align: right; font-variant-numeric: tabular-nums; }
.events { width: 100%; font-size: 14px; }
.t { color: #4b5563; white-space: nowrap; width: 1%; font-variant-numeric: tabular-nums; }
.e { font-weight: 600; width: 24%; }
.more { color: #4b5563; }
.foot { color: #374151; font-size: 13px; margin: 16px auto 0; max-width: 680px; text-align: center; }
a { color: #1d4ed8; }
@media (max-width: 520px) {
.page { padding: 0; }
.card { border: 0; border-radius: 0; padding: 18px 16px; }
.events td { display: block; border: 0; padding: 0; width: auto; }
.events tr { display: block; border-top: 1px solid #e5e7eb; padding: 9px 0; }
.foot { padding: 0 16px 20px; }
}
@media (prefers-color-scheme: dark) {
body, .page { background: #0f1319; color: #e5e7eb; }
.card { background: #181e27; border-color: #2d3644; }
td, .events tr { border-color: #2d3644; }
.key, .when, .t, .more, .foot { color: #a9b4c2; }
a { color: #8ab4ff; }
}
</style>
</head>
<body>
<div class="page">
<div class="card">
<p class="key">{{ batch_key }}</p>
<h1>{{ summary }}</h1>
<p class="when">{{ period }}</p>
{{ types }}
{{ events }}
</div>
<p class="foot">Events: {{ count }}<!-- footer --></p>
</div>
</body>
</html>
"""
EVENTS_TABLE: Final = ('<table class="events" cellspacing="0" cellpadding="6" width="100%">', "</table>")
MORE: Final = "and {:,} more"
"""Counts events that a message does not list."""
OTHER_TYPES: Final = "of other types"
PERIOD: Final = "{} to {}"
"""Of the first and the last event."""
TYPES_TABLE: Final = ('<table class="types" cellspacing="0" cellpadding="2">', "</table>")
