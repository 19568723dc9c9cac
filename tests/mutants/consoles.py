"""Sabotages of the console: who is let in, and what a page may change."""

from typing import Final

from tests.mutants.mutant import Mutant

HANDLER: Final = "functions/console/handler.py"
OPENID: Final = "shared/adapters/sign_in/openid.py"
ISSUER: Final = "shared/adapters/sign_in/issuer.py"
SESSIONS: Final = "shared/web/sessions.py"
CLAIMS: Final = "shared/adapters/sign_in/claims.py"
FIRST: Final = "shared/adapters/dynamo/accounts/first_accounts.py"
_TESTS: Final = "tests/console"
_OPENID: Final = "tests/simulator/test_openid_api.py"

CONSOLES: Final = (
    Mutant(
        "the console lets everybody in",
        9,
        "functions/console/pages/sign_in/access.py",
        "    if not by:\n",
        "    if False:\n",
        f"{_TESTS}/test_sign_in.py::test_only_who_is_allowed_gets_a_session_and_nothing_is_stored_of_others[identity5-False]",
    ),
    Mutant(
        "a token of another sign-in signs in",
        9,
        CLAIMS,
        '{"nonce": purpose.nonce, ',
        "{",
        f"{_OPENID}::test_a_token_that_is_not_for_this_sign_in_signs_nobody_in[another_sign_in_s]",
    ),
    Mutant(
        "a token of another client signs in",
        9,
        CLAIMS,
        '{"essential": True, "value": purpose.client}',
        '{"essential": True}',
        f"{_OPENID}::test_a_token_that_is_not_for_this_sign_in_signs_nobody_in[another_client_s]",
    ),
    Mutant(
        "an unverified address lets a person in",
        9,
        CLAIMS,
        ' if claims.get("email_verified") is True',
        "",
        f"{_OPENID}::test_an_address_counts_only_if_the_issuer_has_verified_it",
    ),
    Mutant(
        "a browser of another issuer brings a code",
        9,
        OPENID,
        "(issuer or found.names_itself) and issuer != self._issuer.address",
        "False",
        f"{_OPENID}::test_a_browser_that_comes_from_another_issuer_takes_no_code_along",
    ),
    Mutant(
        "claims of another person are a person's",
        9,
        OPENID,
        ' or more.get("sub") != proven["sub"]',
        "",
        f"{_OPENID}::test_claims_of_another_person_are_refused",
    ),
    Mutant(
        "a weak key of an issuer signs people in",
        9,
        ISSUER,
        "return None if weak else key",
        "return key",
        f"{_OPENID}::test_a_weak_or_unusable_key_is_none_and_of_many_the_first_are_looked_at",
    ),
    Mutant(
        "a neighbouring domain plants a session",
        9,
        SESSIONS,
        '"__Host-posthaste_session"',
        '"posthaste_session"',
        f"{_TESTS}/test_sign_in.py::test_cookies_are_out_of_reach_of_scripts_other_sites_and_plain_connections",
    ),
    Mutant(
        "a form of another site moves the console",
        9,
        HANDLER,
        'if look.request.method == "POST" and not look.services.sessions',
        "if False and not look.services.sessions",
        f"{_TESTS}/test_security.py::test_a_form_of_another_site_changes_nothing[nonsense]",
    ),
    Mutant(
        "a session of the console never ends",
        9,
        HANDLER,
        "if found is None or not found[0].valid_at(look.services.now, found[1].user):",
        "if found is None:",
        f"{_TESTS}/test_sign_in.py::test_a_session_that_is_over_shows_nothing[expired]",
    ),
    Mutant(
        "a viewer of the console changes things",
        9,
        HANDLER,
        "    if not look.may(screen.scope):\n",
        "    if False:\n",
        f"{_TESTS}/test_security.py::test_a_viewer_changes_nothing",
    ),
    Mutant(
        "members of a suspended account make things at the console",
        9,
        HANDLER,
        "    if account.suspended:\n        _refuse",
        "    if False:\n        _refuse",
        f"{_TESTS}/test_routes.py::test_members_of_a_suspended_account_make_nothing_and_may_end_what_there_is",
    ),
    Mutant(
        "anybody pauses the deployment at the console",
        9,
        HANDLER,
        "    if screen.operators and not visitor.person.user.operator:\n",
        "    if False:\n",
        f"{_TESTS}/test_operators.py::test_who_is_no_operator_finds_none_of_their_pages",
    ),
    Mutant(
        "the console lifts live suppressions for test keys",
        9,
        "functions/console/lists.py",
        "    return namespace(whose, test=keys == KeyKind.TEST)\n",
        "    return whose\n",
        f"{_TESTS}/test_suppressions.py::test_each_list_and_each_kind_of_keys_is_apart",
    ),
    Mutant(
        "a person makes as many accounts as they like",
        9,
        FIRST,
        '"Item": item, "ConditionExpression": "attribute_not_exists(pk)"}}',
        '"Item": item}}',
        "tests/contracts/test_first_accounts.py::test_two_at_once_make_one_account",
    ),
    Mutant(
        "a person's own account sends texts",
        9,
        "shared/engine/intake/opened.py",
        "return test or channel_of(channel).names_sender or of.opened(account, channel)",
        "return True",
        "tests/attacks/test_a_first_account_that_sends_texts.py::test_each_channel_without_senders_is_closed[sms]",
    ),
    Mutant(
        "a first account is not marked as a person's own",
        9,
        FIRST,
        '"created_at": n(made.at), **OWN}',
        '"created_at": n(made.at)}',
        "tests/attacks/test_a_first_account_that_sends_texts.py::test_what_starts_later_asks_again",
    ),
    Mutant(
        "a login that became another's makes them an operator",
        9,
        "shared/adapters/dynamo/people/people.py",
        'ConditionExpression="attribute_not_exists(pk) OR subject = :subject",',
        'ConditionExpression="attribute_not_exists(pk) OR subject <> :subject",',
        f"{_TESTS}/test_sign_in.py::test_a_login_that_became_another_s_gives_neither_entry_nor_the_role[olga]",
    ),
    Mutant(
        "an operator whom the settings no longer name stays one",
        9,
        "functions/console/pages/sign_in/access.py",
        "    operator = user.operator and operators(console).holds(user.operator_by)\n",
        "    operator = user.operator\n",
        f"{_TESTS}/test_sign_in.py::test_an_operator_whom_the_settings_no_longer_name_is_none_with_the_next_page[keepers]",
    ),
    Mutant(
        "the first key is shown for ever",
        9,
        "functions/console/pages/accounts/routes.py",
        " and services.now - made.at < SHOWN_MS",
        "",
        f"{_TESTS}/test_first_account.py::test_pressing_twice_shows_the_same_key_and_later_none",
    ),
    Mutant(
        "a network signs in as often as it likes",
        9,
        "functions/console/limits.py",
        "if self.networks.take(self._digest(network(request.source))) is not None:",
        "if False:",
        f"{_TESTS}/test_sign_in.py::test_a_network_that_tries_too_often_waits_and_others_do_not",
    ),
    Mutant(
        "a campaign is sent as it has become, not as it was confirmed",
        9,
        "functions/console/pages/campaigns/sending.py",
        '    if (upload, look.form.get("version")) != (found.ready, str(found.version)):\n',
        "    if upload != found.ready:\n",
        f"{_TESTS}/test_campaigns.py::test_what_is_sent_is_what_the_summary_has_shown",
    ),
    Mutant(
        "a preview runs scripts",
        9,
        "functions/console/pages/campaigns/previewing.py",
        "form-action 'none'; base-uri 'none'; frame-ancestors 'self'; sandbox\"",
        "form-action 'none'; base-uri 'none'; frame-ancestors 'self'\"",
        f"{_TESTS}/test_previews.py::test_a_preview_may_do_nothing",
    ),
    Mutant(
        "bad rows of a list run in a spreadsheet",
        9,
        "functions/console/pages/campaigns/uploads.py",
        "exports.guard(x.value)",
        "x.value",
        f"{_TESTS}/test_campaigns.py::test_a_list_is_checked_and_its_bad_rows_can_be_downloaded",
    ),
)
