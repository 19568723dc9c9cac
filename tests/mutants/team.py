"""Sabotages of team keys, their guests, and proofs of domains."""

from typing import Final

from tests.mutants.mutant import Mutant

ATTACKS: Final = "tests/attacks/test_a_team_key_at_strangers.py"
ENGINE: Final = "tests/engine/test_guests.py"
STORES: Final = "tests/contracts/test_guests.py"

IDENTITIES: Final = "tests/api/test_sender_identities.py"
PROVEN: Final = "tests/engine/test_proven.py"

TEAM: Final = (
    Mutant(
        "a claim grants its domain",
        9,
        "shared/engine/intake/proven.py",
        "holds = proves(self._dns().texts(record_name(domain)), account)",
        "holds = self._dns().texts(record_name(domain)) is not None",
        f"{PROVEN}::test_a_claim_alone_grants_nothing",
    ),
    Mutant(
        "a record of another account grants the domain",
        9,
        "shared/domain/senders.py",
        "return any(text.strip() == record_value(account) for text in texts)",
        'return any(text.startswith("posthaste-account=") for text in texts)',
        f"{PROVEN}::test_only_a_record_that_names_the_account_grants_it[posthaste-account=acc_000000000002]",
    ),
    Mutant(
        "a domain that is not proven is shown with what a provider says",
        9,
        "functions/api/account/senders.py",
        "[] if pending else call.services.identities()",
        "call.services.identities()",
        f"{IDENTITIES}::test_a_domain_that_is_not_proven_is_made_known_to_no_provider",
    ),
    Mutant(
        "a domain that somebody else makes known meanwhile counts as made here",
        9,
        "shared/engine/intake/identities.py",
        "if created:",
        "if created is not None:",
        "tests/engine/test_identities.py::test_what_somebody_else_made_known_is_not_noted_as_ours",
    ),
    Mutant(
        "a domain that somebody changed at a provider counts as removed",
        9,
        "shared/providers/ses/identities.py",
        'raise IdentityChanged(", ".join(changes))',
        "return",
        "tests/providers/test_ses_identities.py::test_an_identity_that_somebody_changed_is_never_removed[tags]",
    ),
    Mutant(
        "a domain that an account uses is removed at its provider",
        9,
        "cli/senders/identities.py",
        "    if used:",
        "    if used is None:",
        "tests/cli/test_identities.py::test_a_domain_that_an_account_uses_stays[claim]",
    ),
    Mutant(
        "a proof is believed for ever",
        9,
        "shared/engine/intake/proven.py",
        "if found is not None and now < found + FRESH:",
        "if found is not None:",
        f"{PROVEN}::test_a_record_that_is_removed_ends_the_right_in_minutes",
    ),
    Mutant(
        "what an account gave up makes room for further domains at a provider",
        9,
        "shared/engine/intake/identities.py",
        "if not self._made().reserve(made):",
        "if not self._made().reserve(made) and made.account == made.domain:",
        "tests/attacks/test_an_account_that_fills_a_quota.py"
        "::test_an_account_has_a_bounded_number_of_domains_made_known_with_those_it_gave_up",
    ),
    Mutant(
        "a claim trusts what was accepted for a team key",
        13,
        "shared/engine/suppression/suppressed.py",
        "if is_team(job.account):",
        "if is_team(job.id):",
        f"{ENGINE}::test_only_guests_are_sent_to_whatever_was_accepted",
    ),
    Mutant(
        "copies of a team key's message go to anybody",
        13,
        "shared/engine/suppression/suppressed.py",
        "for part in (content, own) for x in",
        "for part in (own,) for x in",
        f"{ENGINE}::test_a_message_with_a_copy_to_a_stranger_is_not_sent[r1@example.com-cc]",
    ),
    Mutant(
        "a team key's list is read like any other",
        13,
        "shared/engine/suppression/unwanted.py",
        "if is_team(self._namespace):",
        "if not self._namespace:",
        f"{ENGINE}::test_every_recipient_of_a_team_list_is_looked_up",
    ),
    Mutant(
        "the store knows no strangers",
        13,
        "shared/adapters/dynamo/recipients/guests.py",
        "if not addresses or not is_team(namespace):",
        "if addresses:",
        f"{STORES}::test_all_but_guests_are_kept_from_team_keys[dynamo]",
    ),
    Mutant(
        "a team key chooses its own guests",
        13,
        "functions/api/recipients/guests.py",
        "account, address = _account(call, KeyKind.LIVE), address_of(call)\n    added",
        "account, address = _account(call, *KeyKind), address_of(call)\n    added",
        f"{ATTACKS}::test_a_team_key_does_not_change_the_guest_list",
    ),
    Mutant(
        "a team key is a live one",
        13,
        "shared/adapters/dynamo/accounts/api_keys.py",
        "whose = team_space(account) if kind is KeyKind.TEAM else account",
        "whose = account",
        f"{ATTACKS}::test_a_campaign_s_list_and_its_test_reach_guests_only",
    ),
    Mutant(
        "a pause of the account misses its team keys",
        13,
        "shared/adapters/dynamo/keys.py",
        'return key(account_pk(owner(account_id)), "CONTROL")',
        'return key(account_pk(account_id), "CONTROL")',
        f"{STORES}::test_a_pause_of_the_account_holds_what_its_team_keys_made[dynamo]",
    ),
    Mutant(
        "leases do not hear of a guest who is removed",
        13,
        "shared/adapters/dynamo/recipients/guests.py",
        "watermarks.suppressing(self._db, self._table, team_space(account), now)",
        "watermarks.suppressing(self._db, self._table, account, now)",
        f"{STORES}::test_leases_look_again_before_a_guest_is_gone",
    ),
)
