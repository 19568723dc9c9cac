"""Sabotages of the reading of uploaded lists: what is lost, doubled or sent to the wrong ones if a rule is left out."""

from typing import Final

from tests.mutants.mutant import Mutant

FILES: Final = "shared/adapters/s3/files.py"
INGEST: Final = "shared/engine/lists/ingest.py"
STORE: Final = "shared/adapters/dynamo/campaigns/uploads.py"
UPLOADING: Final = "shared/engine/lists/uploading.py"
READING: Final = "shared/domain/lists/ingest.py"
TESTS: Final = "tests/engine/test_ingest.py"

LISTS: Final = (
    Mutant(
        "a list of junk is read to its end",
        3,
        INGEST,
        "if counts.rows >= JUNK and not counts.accepted:",
        "if False:",
        f"{TESTS}::test_a_list_whose_first_rows_are_all_junk_is_read_no_further",
    ),
    Mutant(
        "a list with many bad rows is read no further",
        3,
        INGEST,
        "if counts.rows >= JUNK and not counts.accepted:",
        "if counts.rows >= JUNK:",
        f"{TESTS}::test_a_list_with_valid_rows_among_its_first_is_read_to_its_end",
    ),
    Mutant(
        "a list that was withdrawn is sent",
        4,
        UPLOADING,
        "if self._uploads.end(upload, ended, current, freed, event=event):",
        "if self._uploads.end(upload, upload.changed(), current, freed.changed(0, ready=upload.id), event=event):",
        "tests/api/test_campaigns.py::test_a_campaign_whose_list_was_withdrawn_sends_nothing_and_can_be_deleted",
    ),
    Mutant(
        "a late reader makes a ledger anew that is worked on",
        1,
        STORE,
        '"attribute_not_exists(pk) OR #fence < :fence"',
        '"attribute_not_exists(pk) OR #fence < :fence OR attribute_exists(pk)"',
        "tests/contracts/test_uploads.py::test_a_ledger_that_is_worked_on_is_safe_from_a_late_ingest[dynamo]",
    ),
    Mutant(
        "one ledger of a later lease holds the others up",
        3,
        STORE,
        'if code != "ConditionalCheckFailed"]\n',
        "if not lost.codes]\n",
        "tests/contracts/test_uploads.py"
        "::test_of_ledgers_stored_together_those_of_a_later_lease_stay_and_hold_no_other_up[dynamo]",
    ),
    Mutant(
        "a checkpoint is saved before what it counts",
        3,
        INGEST,
        "        uploads = self._parts.uploads\n        uploads.store(held",
        "        uploads = self._parts.uploads\n"
        "        held = self.held = held.changed(checkpoint=step.checkpoint)\n"
        "        uploads.save(replace(held, version=held.version - 1), held)\n"
        "        uploads.store(held",
        f"{TESTS}::test_killed_at_any_call_it_makes_the_same[True-after]",
    ),
    Mutant(
        "whatever file stands in the place is read",
        3,
        FILES,
        """IfMatch=f'"{etag}"', """,
        "",
        "tests/contracts/test_uploads.py::test_a_file_that_changed_or_went_is_not_read_on[s3]",
    ),
    Mutant(
        "whatever file stands in the place is taken",
        10,
        UPLOADING,
        "            if wanted and facts.etag != wanted:\n",
        "            if wanted and not facts.etag:\n",
        "tests/engine/test_uploading.py::test_what_is_refused_leaves_all_as_it_was",
    ),
    Mutant(
        "duplicates are found within a block alone",
        3,
        READING,
        "repeated = self._seen.add(marks)",
        "repeated = Seen().add(marks)",
        "tests/domain/test_ingest.py::test_problems_are_bounded_and_all_counted",
    ),
    Mutant(
        "a list that is gone on with has forgotten its recipients",
        3,
        READING,
        "seen.add(piece[: (wanted - len(seen)) * WIDTH])",
        "seen.add(bytes(i % 251 for i in range(len(piece)))[: (wanted - len(seen)) * WIDTH])",
        f"{TESTS}::test_out_of_time_again_and_again_it_makes_the_same[1]",
    ),
    Mutant(
        "who is left out is counted for the last step alone",
        3,
        INGEST,
        "skipped = Counter(held.skipped or {}) + self._skips.taken()",
        "skipped = self._skips.taken()",
        "tests/engine/test_ingest_skips.py::test_unsendable_recipients_are_skipped_with_their_first_reason",
    ),
    Mutant(
        "a dead reader's lease never runs out",
        3,
        INGEST,
        "        if found.until > now * 1000:\n",
        "        if found.until:\n",
        f"{TESTS}::test_the_second_of_two_waits_until_the_lease_is_over",
    ),
    Mutant(
        "a dead reader's list is never read again",
        3,
        UPLOADING,
        "found.until <= self.clock.now() * 1000",
        "not found.owner",
        f"{TESTS}::test_the_second_of_two_waits_until_the_lease_is_over",
    ),
    Mutant(
        "two lists of a campaign are read at once",
        7,
        UPLOADING,
        "    if campaign.uploading:\n",
        "    if campaign.uploading == campaign.id:\n",
        "tests/engine/test_uploading.py::test_a_second_list_is_refused_while_one_is_read",
    ),
    Mutant(
        "a list that is gone on with has forgotten its separator",
        3,
        "shared/domain/lists/rows.py",
        "lines_until, self.separator, row.blanks)",
        'lines_until, ",", row.blanks)',
        "tests/domain/test_list_header.py::test_a_list_is_the_same_with_any_separator_in_any_blocks_and_from_any_row",
    ),
    Mutant(
        "a column of addresses of another name is no value",
        10,
        READING,
        "return header if header[self._at] == RECIPIENT else (*header, ADDRESS)",
        "return header",
        "tests/domain/test_list_header.py::test_a_column_of_another_name_is_a_value_too",
    ),
    Mutant(
        "a workbook's error is sent as a person's name",
        10,
        "shared/domain/workbooks/xlsx.py",
        "return error_text(text)",
        'return ""',
        "tests/engine/test_broken_cells.py::test_a_cell_without_its_value_makes_its_row_invalid",
    ),
    Mutant(
        "a row with an error in a cell is sent",
        10,
        "shared/domain/lists/csv_rows.py",
        "if cell in ERRORS and (usable(name) or i == self.recipient):",
        "if cell in ERRORS and i == self.recipient:",
        "tests/engine/test_broken_cells.py::test_errors_are_found_among_many_rows_as_in_few",
    ),
    Mutant(
        "of two columns that are written alike one is taken",
        10,
        "shared/domain/lists/header.py",
        "return tuple(new if counts[new] == 1 else name ",
        "return tuple(new if counts[new] else name ",
        "tests/domain/test_list_header.py"
        "::test_of_two_columns_written_alike_the_exact_one_serves_its_placeholder_and_else_none",
    ),
    Mutant(
        "short rows of a wide list fill the memory",
        10,
        "shared/domain/lists/csv_rows.py",
        "if len(held) * len(self._header) >= MAX_HELD:",
        "if len(held) >= MAX_HELD:",
        "tests/domain/test_csv_rows.py::test_rows_of_a_byte_take_little_memory_however_many_columns_there_are",
    ),
    Mutant(
        "of two columns of recipients the first is taken",
        10,
        "shared/domain/lists/header.py",
        "    if len(found) == 1:\n",
        "    if found:\n",
        "tests/domain/test_list_header.py::test_two_columns_of_recipients_are_a_question",
    ),
    Mutant(
        "a list in another encoding is read by a guess",
        10,
        "cli/lists/sources.py",
        "    if ask is None:\n",
        "    if not ask:\n        return found.encoding\n    if ask is None:\n",
        "tests/cli/lists/test_sources.py::test_where_no_one_can_be_asked_the_encoding_must_be_given",
    ),
    Mutant(
        "a workbook is unpacked whatever its size",
        10,
        "shared/domain/workbooks/table.py",
        "        check(archive)\n",
        "        archive.namelist()\n",
        "tests/cli/lists/test_sheets.py::test_a_zip_bomb_is_refused_before_it_is_unpacked",
    ),
    Mutant(
        "the people on a hidden sheet of an open document get the campaign",
        10,
        "shared/domain/workbooks/ods.py",
        "fits = self._hidden or not self.styles.hide(",
        "fits = True or not self.styles.hide(",
        "tests/domain/test_workbooks.py::test_a_hidden_sheet_of_an_open_document_is_not_the_first[own style]",
    ),
    Mutant(
        "a workbook's tag that does not end is held in memory",
        10,
        "shared/domain/workbooks/parsing.py",
        "if fed - parser.CurrentByteIndex > MAX_TOKEN:",
        "if fed - parser.CurrentByteIndex > MAX_TOKEN * 40:",
        "tests/domain/test_workbooks.py::test_a_tag_that_does_not_end_is_not_held_in_memory",
    ),
    Mutant(
        "an invocation that has lost its lease replaces the CSV that another one reads",
        10,
        "shared/engine/lists/converting.py",
        'f"{upload.blob}.csv/{owner}"',
        'f"{upload.blob}"',
        "tests/engine/test_ingest_workbooks.py::test_a_workbook_becomes_the_list_that_it_shows",
    ),
    Mutant(
        "a bad row holds its whole block up",
        6,
        "shared/domain/lists/csv_rows.py",
        "    except (UnicodeDecodeError, csv.Error):\n        return None\n\n\ndef _cells",
        "    except csv.Error:\n        return None\n    except UnicodeDecodeError:\n"
        "        return [line.decode(errors='replace').split(',') for line in raws]\n\n\ndef _cells",
        "tests/engine/test_ingest_files.py::test_bad_rows_are_listed_one_by_one_and_block_no_others[\\r\\n]",
    ),
    Mutant(
        "a mobile number without its plus is a fixed line of a stranger",
        10,
        "shared/domain/recipients/phones.py",
        'else Phone(f"+{digits}")',
        "else Phone(here)",
        "tests/domain/test_phone_readings.py::test_a_number_is_read_as_it_is_meant[DE-4915123456789-+4915123456789]",
    ),
    Mutant(
        "people whose last cells are left out get nothing",
        10,
        "shared/domain/lists/csv_rows.py",
        """    return cells + [""] * (columns - len(cells))\n""",
        "    return cells\n",
        "tests/domain/test_csv_rows.py::test_cells_are_what_a_spreadsheet_means",
    ),
)
