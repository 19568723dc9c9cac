"""Sabotages of the relay: what it confirmed survives a power cut, and what has ended is not sent again."""

from typing import Final

from tests.mutants.mutant import Mutant

_SPOOL: Final = "cli/relay/spool.py"
_CUT: Final = "tests/cli/relay/test_cut_short.py::test_a_power_cut_after_any_step_loses_and_doubles_nothing"

_REPEATS: Final = "tests/cli/relay/test_repeats.py"
_STRANGERS: Final = "tests/attacks/test_strangers_at_the_relay.py"

RELAY: Final = (
    Mutant(
        "a mail is confirmed before its commit is durable",
        3,
        _SPOOL,
        "        self._disk.sync_folder(self._data)\n        return queued",
        "        return queued",
        f"{_CUT}[nothing]",
    ),
    Mutant(
        "a mail is committed before its links are durable",
        3,
        _SPOOL,
        "            self._disk.sync_folder(self._queue)\n            self._disk.rename(draft",
        "            self._disk.rename(draft",
        f"{_CUT}[nothing]",
    ),
    Mutant(
        "a mail that was sent is in flight again after a power cut",
        1,
        _SPOOL,
        "            if old.parent != new.parent:\n                self._disk.sync_folder(old.parent)\n",
        "",
        f"{_CUT}[some]",
    ),
    Mutant(
        "a mail starts by an outdated schedule",
        1,
        _SPOOL,
        'return f"{schedule.at:015d}.{schedule.attempts}.{mail}.{n}"',
        'return f"{0:015d}.{0}.{mail}.{n}"',
        "tests/contracts/test_mail_queue.py::test_a_rescheduled_mail_starts_only_by_its_new_schedule[folder]",
    ),
    Mutant(
        "a mail that a program repeats has another key",
        1,
        "cli/relay/mail.py",
        "json.dumps([sender, to])",
        "json.dumps([sender, to, list(recipients)])",
        "tests/cli/relay/test_mail_api.py::test_the_same_envelope_and_content_have_the_same_key",
    ),
    Mutant(
        "the same alert again is taken for a repetition",
        3,
        "cli/relay/repeats.py",
        "                _remember(self._rounds, key, secrets.token_hex(16))\n",
        "                pass\n",
        f"{_REPEATS}::test_an_alert_that_is_sent_again_is_another_one",
    ),
    Mutant(
        "a mail whose answer was lost is sent again",
        1,
        "cli/relay/repeats.py",
        '            added = self._rounds.get(mail.key, "")\n',
        "            added = secrets.token_hex(16)\n",
        f"{_REPEATS}::test_a_mail_whose_answer_was_lost_is_one_however_often_it_is_repeated",
    ),
    Mutant(
        "an alert after a restart is taken for a repetition",
        3,
        "cli/relay/repeats.py",
        "    return taken and made_at(answer.says) < mail.new_since\n",
        "    return taken and not mail.new_since\n",
        f"{_REPEATS}::test_a_relay_that_is_started_anew_takes_a_late_alert_as_another_one_and_a_repetition_as_one",
    ),
    Mutant(
        "who wants no notification is notified",
        3,
        "cli/relay/mail.py",
        '    groups += [("", rest)] if sender else []\n',
        "    groups += [(sender, rest)] if sender else []\n",
        "tests/cli/relay/test_real_api.py::test_who_wants_no_notification_gets_the_mail_with_a_null_return_path",
    ),
    Mutant(
        "a mail that the API refuses after it was held is removed",
        3,
        "cli/relay/delivering.py",
        "                self._give_up(mail, found, judged)\n",
        "                self._is_final(judged, mail)\n",
        "tests/cli/relay/test_held.py::test_a_refused_mail_is_kept_for_the_operator[answer0]",
    ),
    Mutant(
        "a mail that never has an answer holds up the others",
        3,
        "cli/relay/outage.py",
        "            if queued.mail not in self._tried:\n                return queued\n",
        "            return queued\n",
        "tests/cli/relay/test_at_once.py::test_two_mails_without_an_answer_do_not_hold_up_the_third",
    ),
    Mutant(
        "a wrong API key bounces mail",
        3,
        "cli/relay/api.py",
        "        if status in (400, 422) and code:",
        "        if 400 <= status < 500 and code:",
        "tests/cli/relay/test_mail_api.py::test_each_answer_has_its_fate[401-unauthorized-PostFate.UNREADY]",
    ),
    Mutant(
        "a stranger takes a place for a mail before its login",
        10,
        "cli/relay/smtp/session.py",
        '        if await self.check_helo_needed() or await self.check_auth_needed("DATA"):\n            return\n',
        "        await self._room.mails.acquire()\n"
        '        if await self.check_helo_needed() or await self.check_auth_needed("DATA"):\n            return\n',
        f"{_STRANGERS}::test_a_mail_passes_beside_as_many_strangers_as_places_that_read_nothing",
    ),
    Mutant(
        "strangers keep the sessions of a relay",
        10,
        "cli/relay/smtp/guests.py",
        "elif strangers and (len(self._strangers)",
        "elif not strangers and (len(self._strangers)",
        f"{_STRANGERS}::test_a_mail_passes_beside_two_hundred_strangers[200]",
    ),
    Mutant(
        "a stranger that talks has no deadline",
        10,
        "cli/relay/smtp/session.py",
        "        if self._is_stranger():\n            seconds",
        "        if not self._room:\n            seconds",
        f"{_STRANGERS}::test_a_stranger_that_is_busy_has_no_more_time_than_an_idle_one",
    ),
    Mutant(
        "a stranger that is evicted stays connected",
        10,
        "cli/relay/smtp/guests.py",
        "        oldest.drop()\n",
        "",
        f"{_STRANGERS}::test_a_stranger_that_is_evicted_is_disconnected",
    ),
    Mutant(
        "a stranger has the relay answer for ever",
        10,
        "cli/relay/smtp/session.py",
        "        if self._lines > MOST_LINES:\n            self.drop()",
        "        if self._lines < 0:\n            self.drop()",
        f"{_STRANGERS}::test_a_stranger_that_only_talks_is_dropped",
    ),
    Mutant(
        "a network guesses the relay's password for ever",
        10,
        "cli/relay/smtp/guests.py",
        "self._count(network)[0] >= MOST_FAILURES",
        "self._count(network)[0] > MOST_FAILURES * 9",
        f"{_STRANGERS}::test_guesses_are_printed_and_end_while_others_log_in",
    ),
    Mutant(
        "the relay changes the sender of a mail that has a domain",
        8,
        "cli/relay/rewriting.py",
        "is None or not lacks_domain(address):",
        "is None:",
        "tests/cli/relay/test_session.py::test_another_from_field_stays[From: a@b.example]",
    ),
)
