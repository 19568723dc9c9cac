"""Which voice of Amazon Polly says a call.

Sources (docs.aws.amazon.com): apireference_smsvoicev2/API_SendVoiceMessage (`VoiceId`), polly/latest/dg (voices by
language). A test holds the names to botocore's service model.
"""

from collections.abc import Mapping
from typing import Final

from shared.domain.content.content import Speech

BY_LANGUAGE: Final[Mapping[str, tuple[str, ...]]] = {
    "cmn-CN": ("ZHIYU",),
    "da-DK": ("NAJA", "MADS"),
    "de-DE": ("VICKI", "MARLENE", "HANS"),
    "en-AU": ("NICOLE", "RUSSELL"),
    "en-GB": ("AMY", "EMMA", "BRIAN"),
    "en-GB-WLS": ("GERAINT",),
    "en-IN": ("RAVEENA",),
    "en-US": ("JOANNA", "MATTHEW", "IVY", "JOEY", "JUSTIN", "KENDRA", "KIMBERLY", "SALLI"),
    "es-ES": ("LUCIA", "CONCHITA", "ENRIQUE"),
    "es-MX": ("MIA",),
    "es-US": ("LUPE", "PENELOPE", "MIGUEL"),
    "fr-CA": ("CHANTAL",),
    "fr-FR": ("LEA", "CELINE", "MATHIEU"),
    "is-IS": ("DORA", "KARL"),
    "it-IT": ("BIANCA", "CARLA", "GIORGIO"),
    "ja-JP": ("MIZUKI", "TAKUMI"),
    "ko-KR": ("SEOYEON",),
    "nb-NO": ("LIV",),
    "nl-NL": ("LOTTE", "RUBEN"),
    "pl-PL": ("EWA", "MAJA", "JACEK", "JAN"),
    "pt-BR": ("CAMILA", "VITORIA", "RICARDO"),
    "pt-PT": ("INES", "CRISTIANO"),
    "ro-RO": ("CARMEN",),
    "ru-RU": ("TATYANA", "MAXIM"),
    "sv-SE": ("ASTRID",),
    "tr-TR": ("FILIZ",),
    "arb": ("ZEINA",),
    "cy-GB": ("GWYNETH",),
}
"""Language → its voices, the one that speaks it by default first."""
ALIASES: Final[Mapping[str, str]] = {"zh": "cmn", "no": "nb", "ar": "arb"}
"""Languages that others write differently."""
NAMES: Final = frozenset(name for names in BY_LANGUAGE.values() for name in names)
DEFAULT: Final = "JOANNA"


def voice_of(speech: Speech) -> str | None:
    """Return the name of a voice; None if there is none for the language.

    A voice of Polly that the content names (`Nicole`, `Polly.Nicole`) is taken; any other name is another provider's,
    and the language decides.
    """
    wanted = speech.voice.rpartition(".")[2].upper()
    if wanted in NAMES:
        return wanted
    if not speech.language:
        return DEFAULT
    language, _, region = speech.language.partition("-")
    language = ALIASES.get(language.lower(), language.lower())
    exact = f"{language}-{region.upper()}" if region else language
    best = exact if exact in BY_LANGUAGE else _nearest(language)
    return BY_LANGUAGE[best][0] if best else None


def _nearest(language: str) -> str:
    """Return a tag of a language without its region, or an empty string."""
    near = [x for x in BY_LANGUAGE if x.partition("-")[0] == language]
    return "en-US" if "en-US" in near else next(iter(near), "")
