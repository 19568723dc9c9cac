"""What answers to messages wish: ends as people write them, beginnings, and all else."""
# ruff: noqa: RUF001 - words of many scripts

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.jobs.feedback import ProviderEventKind
from shared.domain.recipients.wishes import wish_of

ENDS = (
    *(
        "STOP",
        "stop",
        "Stop!",
        "STOP.",
        " stop \n",
        '"STOP"',
        "“Stop”",
        "‘stop’",
        "(stop)",
        "*STOP*",
        "STOP 🛑",
        "🛑 stop 🙏",
    ),
    *("ＳＴＯＰ", "S T O P", "S.T.O.P.", "st\u200bop", "\ufeffSTOP", "STOPP", "stooop", "stoppp!!!", "Stop stop STOP"),
    *("Do not contact", "Please remove my number", "delete me", "TXT STOP", "take me off this list", "no me contacten"),
    *("please stop", "Stop please", "pls stop texting me", "STOP ALL", "stopall", "Stop it.", "Stop now!!", "ok stop"),
    *("Unsubscribe", "unsubscribe me", "please unsubscribe me thanks", "UNSUBSCRIBE.", "opt out", "opt-out", "OptOut"),
    *("I want to opt out", "I want to stop", "how do i unsubscribe?", "Can you stop texting me", "STOP to 12345"),
    *("remove me", "Remove me from your list please", "take me off your list", "Don't text me", "do not contact me"),
    *(
        "no more texts",
        "Leave me alone!",
        "Wrong number. Stop",
        "wrong number, STOP",
        "Stop. Not interested",
        "Stop\nAnn",
    ),
    *("CANCEL", "cancel.", "End", "QUIT", "revoke", "REMOVE", "TD"),
    *("stopp", "Abmelden", "Bitte abmelden", "abbestellen!", "Keine SMS mehr", "STOPP bitte", "Bitte keine SMS mehr!"),
    *("ARRET", "Arrêt", "arrêt svp", "ARRE\u0302T", "désabonner", "me désinscrire s'il vous plaît", "Plus de SMS"),
    *("BAJA", "Baja por favor", "dar de baja", "Quiero darme de baja", "CANCELAR", "¡BAJA!", "no más mensajes", "Alto"),
    *(
        "PARAR",
        "sair",
        "não quero mais",
        "disiscrivimi",
        "cancellami",
        "afmelden",
        "uitschrijven",
        "avsluta",
    ),
    *(
        "СТОП",
        "стоп!",
        "отписаться",
        "στοπ",
        "הסר",
        "إلغاء",
        "退订",
        "退訂",
        "停止",
        "配信停止",
        "ストップ",
        "수신거부",
        "İPTAL",
        "RET",
    ),
)
NOTHING = (
    *("", " ", "?", "👍", "Thanks!", "help", "HELP", "info", "Hilfe", "aide", "ayuda", "no", "nein", "ok", "please"),
    *("do not contact Ann, call me", "delete my appointment", "is this my number", "remove this from my list of today"),
    *("stop by at 5", "Stop by at 5!", "don't stop", "Don’t stop!", "please don't stop", "Dont stop texting me"),
    *("I can't stop laughing", "bus stop", "the bus stop is closed", "non-stop", "full stop", "when does it stop"),
    *(
        "cancel my appointment",
        "Please cancel",
        "can I cancel?",
        "the end",
        "end of the week",
        "quit smoking",
        "weekend",
    ),
    *("Can you stop by tomorrow", "remove the stitches", "Stop the car, I will get out at the next corner over there"),
    *("If you want me to stop, say so before the weekend, because I have to plan", "Please remove the second item"),
    *("Ich kann nicht aufhören", "kann ich den Termin absagen?", "Nicht abmelden", "ne pas arrêter", "para mañana"),
    *("baja presión", "la fiebre baja", "quiero cancelar mi cita", "no cancelar", "to", "12345", "stops", "stopped"),
    *("i will start tomorrow", "when does it start?", "restart", "text me"),
)


@pytest.mark.parametrize("text", ENDS)
def test_an_end_is_heard_as_people_write_it(text: str) -> None:
    assert wish_of(text) is ProviderEventKind.STOPPED


@pytest.mark.parametrize("text", NOTHING)
def test_all_else_wishes_nothing(text: str) -> None:
    assert wish_of(text) is ProviderEventKind.WRITTEN


@pytest.mark.parametrize(
    "text", ["START", "Start!", '"start"', "unstop", "ＳＴＡＲＴ", "start 👍", "opt in", "Démarrer", "ALTA"]
)
def test_a_beginning_needs_the_bare_word(text: str) -> None:
    assert wish_of(text) is ProviderEventKind.STARTED


def test_a_provider_s_own_word_of_beginning_counts_for_it_alone() -> None:
    assert wish_of("Yes.", start=("yes",)) is ProviderEventKind.STARTED
    assert wish_of("yes please", start=("yes",)) is ProviderEventKind.WRITTEN
    assert wish_of("yes") is ProviderEventKind.WRITTEN


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert wish_of(text) in (ProviderEventKind.STOPPED, ProviderEventKind.STARTED, ProviderEventKind.WRITTEN)


@given(st.lists(st.sampled_from(["dont", "not", "at", "by", "five", "my", "order"]), min_size=9, max_size=30))
def test_a_long_text_wishes_nothing(words: list[str]) -> None:
    assert wish_of(" ".join(["stop", *words])) is ProviderEventKind.WRITTEN
