"""The rules: a length, and phrases by regular expression, each with what to write instead.

They are the rules of the Google developer documentation style guide that a machine can check. They also cover habits
that made this project's own pages hard to read. No rule reads code.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tools.english.prose import Sentence

LONGEST: Final = 25
"""Most words of a sentence."""
SHOWN: Final = 60
"""Most characters of a page's text in a finding."""

_PARTICIPLE: Final = (
    r"(?:\w+ed|begun|bought|built|caught|chosen|cut|done|drawn|driven|found|given|held|hidden|kept|known|left|lost|"
    r"made|met|paid|put|read|run|seen|sent|set|shown|split|spread|stopped|stored|taken|thrown|told|won|written)"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A phrase to avoid.

    Attributes:
        name: As findings and the file of allowed counts have it.
        phrase: Matches the phrase; letter case does not matter.
        instead: What to write.
    """

    name: str
    phrase: re.Pattern[str]
    instead: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A place that breaks a rule."""

    line: int
    rule: str
    text: str


def _rule(name: str, phrase: str, instead: str) -> Rule:
    return Rule(name, re.compile(phrase, re.IGNORECASE), instead)


RULES: Final = (
    # the style guide
    _rule(
        "passive-by",
        rf"\b(?:is|are|was|were|be|been|being|gets?|got) (?:(?:\w+ly|also|always|never|not|only|then) )?"
        rf"{_PARTICIPLE} by (?!default\b|hand\b|then\b|\w+ing\b|\d)",
        "make the agent the subject",
    ),
    _rule("future", r"\b(?:will|won't|shall)\b|'ll\b", "use the present tense"),
    _rule("please", r"\bplease\b", "leave it out"),
    _rule("latin", r"\b(?:e\.g|i\.e|etc|viz|cf|et al|vs)\.|\bvice versa\b|\bper se\b", "write it in English"),
    _rule(
        "easy",
        r"\b(?:simply|easily|just(?! (?:before|after|below|above|now|read|seen|made)\b)|obviously|of course|merely)\b",
        "leave it out",
    ),
    _rule("in-order-to", r"\bin order (?:to|that)\b", "write “to”"),
    _rule("and-or", r"\band/or\b", "write “a, b, or both”"),
    _rule("exclamation", r"\w!(?=\s|$|[\"')])", "end the sentence with a full stop"),
    # clauses as nouns
    _rule("headless-who", r"^(?:what|who) (?=(?:\S+ ){4})(?!.*\?$)", "name the thing: “messages that …”, “if you …”"),
    _rule("whoever", r"\b(?:who|what|which)(?:so)?ever\b", "name the person or the thing"),
    _rule("nobody", r"\b(?:nobody|everybody)\b", "name the person, or write what does not happen"),
    _rule("came-of", r"\b(?:comes?|came|coming|becomes?|became) of\b", "write “results from” or “happened to”"),
    # idioms of another language
    _rule("stands", r"\b(?:stands?|stood|standing)\b(?!-| for\b| by\b| out\b)", "write “is”"),
    _rule(
        "goes",
        r"\b(?:goes|went|gone)(?: with| from| away|[.,;])|\b(?:go|goes|went) on\b",
        "write “is removed” or “continues”",
    ),
    _rule("in-hand", r"\b(?:in|by) (?:(?:the|a|an|its|whose) )?hands? of\b|\bby whatever hand\b", "write “held by”"),
    _rule("by-name", r"\bby name\b", "write “explicitly”, or name the option"),
    _rule("alone", r"\balone\b", "write “only”"),
    _rule("told", r"\b(?:is|are|was|were|be|been) (?:not |also )?told\b", "write “gets” or “is documented in”"),
    _rule("heed", r"\bheed(?:s|ed|ing)?\b", "write “honour” or “apply”"),
    _rule("mend", r"\bmend(?:s|ed|ing)?\b", "write “fix” or “repair”"),
    _rule("parted", r"\bparted by\b", "write “separated by”"),
    _rule(
        "word",
        r"\b(?:providers?'s?|final|later|own|vendors?'s?) words?\b|\bwords? of (?:a |the )?providers?\b",
        "write “event”",
    ),
    _rule("looked", r"\b(?:is|are|was|were|be|been) (?:not |then )?looked (?:at|for|up|after)\b", "write “checks”"),
    _rule(
        "has-it-done",
        r"\b(?:has|have|had) (?:it|them) (?:read|sent|walked|gone|done|made|written|asked)\b",
        "make the last word the verb",
    ),
    _rule("of-it", r"(?<!all )(?<!most )(?<!part )(?<!rest )(?<!some )(?<!none )\bof it\b", "name the thing"),
    _rule("but-for", r"\b(?:but|save) for\b", "write “except”"),
    _rule("is-status", r"\b(?:is|are) (?:a |an )?[45]\d\d\b", "write “returns 409”"),
    _rule("too", r", too\b", "write “also” before the verb"),
    # chains
    _rule("semicolons", r";.*;", "write one rule a sentence, or a list"),
)


def findings(sentence: Sentence) -> Iterator[Finding]:
    """Yield the rules that a sentence breaks."""
    if sentence.words > LONGEST and not sentence.heading:
        yield Finding(sentence.line, "length", f"{sentence.words} words, at most {LONGEST}: {_cut(sentence.shown)}")
    for rule in RULES:
        found = rule.phrase.search(sentence.text)
        if found and not (rule.name == "headless-who" and _names(sentence)):
            shown = sentence.shown[found.start() : found.end()].strip()
            yield Finding(sentence.line, rule.name, f"“{_cut(shown)}”: {rule.instead}")


def _names(sentence: Sentence) -> bool:
    """Tell whether a text only names something: a heading, or a cell that is no sentence."""
    return sentence.heading or (sentence.cell and not sentence.text.endswith("."))


def _cut(text: str) -> str:
    """Return a text's beginning, for a line of a terminal."""
    return text if len(text) <= SHOWN else text[: SHOWN - 1].rstrip() + "…"
