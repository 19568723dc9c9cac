"""Sabotages of the rules by which endpoints of webhooks are made and changed."""

from typing import Final

from tests.mutants.mutant import Mutant

_SERVICE: Final = "shared/engine/hooks/service.py"
_ENDPOINT: Final = "shared/domain/hooks/endpoint.py"
_ENABLED: Final = "tests/engine/hooks/test_enabled.py::test_each_process_hands_events_on_once_an_endpoint_is_enabled"
_TESTS: Final = "tests/engine/hooks/test_service.py"

ENDPOINTS: Final = (
    Mutant(
        "endpoints of other accounts are found",
        9,
        _SERVICE,
        "return found if found is not None and found.namespace == namespace else None",
        "return found",
        f"{_TESTS}::test_an_endpoint_is_found_in_its_own_namespace_only",
    ),
    Mutant(
        "the URL of a chat is shown to each key that reads",
        9,
        "shared/web/hooks/views.py",
        "if not x.url or x.format is HookFormat.STANDARD:",
        "if True:",
        "tests/api/test_hooks.py::test_a_chat_s_url_is_not_shown",
    ),
    Mutant(
        "a new endpoint gets events before it has answered its test event",
        12,
        _SERVICE,
        "made = replace(self._with(bare, draft), proven=listener)",
        "made = replace(self._with(bare, draft), proven=True)",
        f"{_TESTS}::test_a_new_endpoint_is_asked_first",
    ),
    Mutant(
        "an endpoint is enabled although processes remember that its account has none",
        12,
        _ENDPOINT,
        "return max(now + SEEN_MS, listed + LISTED_MS)",
        "return now + SEEN_MS",
        f"{_ENABLED}[none]",
    ),
    Mutant(
        "an endpoint is enabled although processes remember that it has not answered",
        12,
        _ENDPOINT,
        "return max(now + SEEN_MS, listed + LISTED_MS)",
        "return max(now, listed + LISTED_MS)",
        f"{_ENABLED}[an old one]",
    ),
    Mutant(
        "an endpoint that begins to take batches is left to the other pace by both",
        12,
        _ENDPOINT,
        "return self.batch == later or now < self.batch_at + BOTH_PACES_MS",
        "return self.batch == later",
        "tests/engine/hooks/test_pace.py::test_processes_that_know_an_endpoint_as_it_was_leave_nothing_out[later-True]",
    ),
    Mutant(
        "an endpoint is shown as enabled before all processes know it",
        12,
        "shared/web/hooks/views.py",
        '"state": x.state_at(now_ms),',
        '"state": x.state,',
        "tests/api/test_hooks.py::test_a_listener_s_deliveries_are_fetched_until_they_are_done",
    ),
    Mutant(
        "a new URL of an endpoint needs no test event",
        12,
        _SERVICE,
        "proven=old.proven and (url == old.url),",
        "proven=old.proven,",
        f"{_TESTS}::test_a_new_url_is_asked_first",
    ),
    Mutant(
        "a URL that is corrected while the endpoint is proving waits for the next repeat",
        12,
        "shared/engine/hooks/checks.py",
        " or new.url != old.url)",
        ")",
        "tests/engine/hooks/test_trials.py::test_a_url_that_is_corrected_before_it_has_answered_is_asked_at_once",
    ),
    Mutant(
        "a retried delivery waits for the next minute",
        12,
        _SERVICE,
        "if not endpoint.listening and work.needs_hint(now):",
        "if work.apart:",
        f"{_TESTS}::test_a_retry_tries_from_the_beginning_under_the_same_name",
    ),
    Mutant(
        "a delivery that a listening command could not forward counts as taken",
        12,
        "cli/hooks/listening.py",
        "return Forwarded(0, self._since(began))",
        "return Forwarded(HTTPStatus.NO_CONTENT, self._since(began))",
        "tests/cli/test_hooks.py::test_a_program_that_fails_is_reported[answer0-0-no answer]",
    ),
)
