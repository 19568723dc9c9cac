"""Cells whose value is missing: errors of formulas, recognised by the texts that spreadsheet programs show.

A CSV file has only the text, as its program has saved it, and a person's value is never exactly such a text. So the
text decides, in a file of any kind. A cell that a workbook marks as broken is given such a text when it becomes CSV.

Sources: Excel's, LibreOffice's and Google Sheets' lists of errors, in the languages in which they save CSV.
"""

from typing import Final

UNKNOWN: Final = "#ERROR!"
"""The text of a cell that is an error without a text that is known."""
NOT_STORED: Final = "#UNCALCULATED!"
"""The text of a formula without a stored value: the program that wrote the workbook has not calculated it."""
_WORDS: Final = """
#N/A #REF! #DIV/0! #VALUE! #NAME? #NUM! #NULL! #SPILL! #CALC! #FIELD! #BLOCKED! #CONNECT! #UNKNOWN! #BUSY! #EXTERNAL!
#PYTHON! #TIMEOUT! #GETTING_DATA #ERROR! #UNCALCULATED! Loading...
#NV #BEZUG! #WERT! #ZAHL! #ÜBERLAUF! #KALK! #FELD! #BLOCKIERT! #VERBINDEN! #UNBEKANNT!
#VALEUR! #NOM? #NOMBRE! #NUL! #PROPAGATION! #CALCUL! #CHAMP!
#N/D #¡VALOR! #¡REF! #¿NOMBRE? #¡NUM! #¡NULO! #¡DIV/0! #¡DESBORDAMIENTO! #¡CALC! #¡CAMPO!
#VALORE! #RIF! #NOME? #NULLO! #ESPANSIONE! #CALCOLO! #CAMPO!
#VALOR! #NÚM! #NULO! #DESPEJAR! #EXCEDENTE!
#N/B #WAARDE! #VERW! #NAAM? #GETAL! #LEEG! #DEEL/0! #OVERLOOP!
#N/D! #ARG! #ADR! #NAZWA? #LICZBA! #ZERO! #ROZLANIE! #OBL!
#HODNOTA! #ODKAZ! #NÁZEV? #ČÍSLO! #NENÍ_K_DISPOZICI #DĚLENÍ_NULOU!
#SAKNAS! #VÄRDEFEL! #REFERENS! #NAMN? #OGILTIGT! #SKÄRNING! #DIVISION/0!
#\N{CYRILLIC CAPITAL LETTER EN}/Д #ЗНАЧ! #ССЫЛКА! #ИМЯ? #ЧИСЛО! #ПУСТО! #ДЕЛ/0! #ПЕРЕНОС! #ВЫЧИС!
"""
"""In English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Czech, Swedish and Russian."""
ERRORS: Final = frozenset(
    (
        *_WORDS.split(),
        *(f"{word}:{number}" for word in ("Err", "Fehler") for number in range(501, 541)),
        *("#" * width for width in range(4, 256)),  # Excel saves these for a date that is wider than its column
    )
)
"""Texts of cells whose value is missing."""


def error_text(shown: str) -> str:
    """Return the text of a cell that its workbook says is an error: the one that is shown, if it is known."""
    text = shown.strip()
    return text if text in ERRORS else UNKNOWN


def why_broken(name: str, cell: str) -> str:
    """Return a sentence about a cell of `ERRORS`."""
    if cell == NOT_STORED:
        advice = "Open the workbook in a spreadsheet program and save it."
        return f"The formula in the column `{name}` has no stored value. {advice}"
    if not cell.strip("#"):
        return f"The column `{name}` has {cell[:4]}: it was too narrow for its value when the file was saved."
    return f"The column `{name}` has the error {cell}."
