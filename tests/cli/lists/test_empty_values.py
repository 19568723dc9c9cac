"""Values that rows of a list lack, as the commands print them before they ask."""

import pytest

from cli.lists.listing import show_problems
from tests.cli.scripts import listed


def test_values_that_rows_lack_are_printed_with_their_rows(capsys: pytest.CaptureFixture[str]) -> None:
    lacking = [
        {"variable": "name", "rows": 1, "first_rows": [4]},
        {"variable": "city", "rows": 1200, "first_rows": list(range(2, 12))},
    ]
    show_problems(listed("ready", rows=1300, accepted=1300, empty_values=lacking).body)
    rows = "rows 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …"
    assert capsys.readouterr().out.splitlines()[1:] == [
        "1 row has no name, so it is left empty: row 4",
        f"1,200 rows have no city, so it is left empty: {rows}",
    ]


def test_numbers_that_take_no_texts_are_printed_with_their_rows(capsys: pytest.CaptureFixture[str]) -> None:
    for rows, said in ((1, "1 row has"), (0, "")):
        show_problems(listed("ready", rows=4, accepted=4, landlines={"rows": rows, "first_rows": [2][:rows]}).body)
        wanted = [f"{said} a landline or toll-free number, which most texts do not reach: row 2"] if said else []
        assert capsys.readouterr().out.splitlines()[1:] == wanted


def test_the_price_of_a_list_is_printed_before_it_is_sent(capsys: pytest.CaptureFixture[str]) -> None:
    show_problems(listed("ready", rows=4, accepted=4, price=1234.5).body)
    assert capsys.readouterr().out.splitlines()[1:] == ["price: about 1,234.5, by the operators' prices"]


@pytest.mark.parametrize("found", [{"empty_values": []}, {"empty_values": None}, {}])
def test_nothing_is_printed_where_nothing_is_known(
    found: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    body = listed("ready", rows=1, accepted=1).body
    show_problems({name: value for name, value in body.items() if name != "empty_values"} | found)
    assert "empty" not in capsys.readouterr().out
