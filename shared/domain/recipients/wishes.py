"""The wish in an answer to a message, about later ones: an end, a new beginning, or nothing.

People seldom write the bare keyword. A whole text that is a word of ending counts with punctuation, quotes, emoji, case
and accents of any kind. Clear words also count among polite ones and in a sentence of their own in a short text. A long
text, and one that says anything else, wishes nothing: "stop by at 5" and "don't stop" end no messages.
A beginning needs the bare word. Source: docs/adr/0187.
"""
# ruff: noqa: RUF001 - words of many scripts

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from shared.domain.characters.invisible import without_invisible
from shared.domain.jobs.feedback import ProviderEventKind

MAX_WORDS: Final = 8
"""Words of a text in which a sentence of its own counts; a wish among polite words has as many at most."""
_SENTENCES: Final = re.compile(r"[\n\r.,;:!?…。、،؟！]+")
_APART: Final = re.compile(r"[\W_]+")
_STRETCHED: Final = re.compile(r"sto+p{2,}|sto{2,}p")
_NUMBER: Final = re.compile(r"[0-9]{4,}")


def _plain(text: str) -> str:
    """Return a text in one form: full-width letters narrow, lower case, without accents, its words apart."""
    folded = unicodedata.normalize("NFKD", without_invisible(text).casefold()).replace("'", "").replace("\u2019", "")
    bare = "".join(c for c in folded if unicodedata.category(c) not in ("Mn", "Cf"))
    return _APART.sub(" ", unicodedata.normalize("NFC", bare)).strip()


def _all(*lines: str) -> frozenset[str]:
    return frozenset(_plain(word) for line in lines for word in line.split(","))


_STOP: Final = _all(
    "stop,stopp,stopall,stop all,unsubscribe,unsub,unsubscribed,unsuscribe,unsubcribe,optout,opt out,opt me out",
    "abmelden,abmeldung,abbestellen,abbestellung,stoppen,afmelden,uitschrijven,avmeld,afmeld,avregistrera",
    "frameld,avprenumerera,arrêt,arrêter,arrêtez,désabonner,désabonnement,désabonnez,désinscrire,désinscription",
    "baja,dar de baja,darme de baja,dame de baja,desuscribir,desuscribirme,desuscribirse,descadastrar,parar",
    "disiscrivi,disiscrivimi,cancellami,wypisz,lopeta,leiratkozás,leiratkozom,odhlásit,odhlásiť,dezabonare",
    "стоп,отписаться,отпишите,отписка,відписатися,στοπ,διαγραφή,הסר,הסירו,הסירו אותי,להסרה,إلغاء الاشتراك,إيقاف",
    "退订,退訂,停止,取消订阅,取消訂閱,配信停止,配信解除,ストップ,수신거부,berhenti",
)
"""Words that mean nothing else in an answer: they also count among polite words."""
_STOP_ALONE: Final = _all(
    "cancel,end,quit,revoke,remove,td,alto,cancelar,cancela,detener,pare,para,sair,remover,remova,basta,annulla",
    "avsluta,iptal,ret,dur,zrušit,zrušiť,rezygnuję,رجاء الغاء,إلغاء,الغاء,توقف,解除,거부,중지,huy,annuler,aufhören",
)
"""Words that mean something else beside others: an appointment is cancelled, and a meeting ends."""
_STOP_PHRASES: Final = _all(
    "remove me,take me off,take me off your list,take me off the list,remove me from your list,leave me alone",
    "no more,no more texts,no more messages,no more sms,not interested stop,do not text me,dont text me",
    "do not text,dont text,do not contact me,dont contact me,do not message me,dont message me,do not send me messages",
    "dont send me messages,do not text me again,dont text me again,do not text me anymore,dont text me anymore",
    "dont text me any more,dont contact me again,stop contacting me,stop sending,stop sending me,quit texting me",
    "do not contact,dont contact,delete me,remove my number,delete my number,take my number off,take me off this list",
    "take me off this,remove me from this list,remove me from the list,remove this number,delete this number",
    "nicht mehr kontaktieren,ne plus me contacter,ne me contactez plus,no me contacten,no contactar,non contattarmi",
    "keine sms mehr,keine nachrichten mehr,nicht mehr schreiben,bitte keine sms mehr,bitte nicht mehr schreiben",
    "plus de sms,plus de message,plus de messages,ne plus recevoir,no más mensajes,no más sms,no más,no enviar más",
    "quiero darme de baja,darse de baja,não quero mais,não enviar mais,cancelar inscrição,cancelar suscripción",
    "geen sms meer,geen berichten meer,inga fler sms,ingen flere sms,ei enää viestejä,wypisz mnie,annulla iscrizione",
)
"""Sentences that mean the same; also among polite words."""
_POLITE: Final = _all(
    "please,pls,plz,thanks,thank,you,thx,ok,okay,hi,hello,hey,now,all,it,this,these,that,the,me,us,from,to",
    "text,texts,texting,txt,message,messages,messaging,msg,msgs,sms,sending,send,calling,immediately,already,sir,madam",
    "i,id,want,would,like,wish,need,can,could,how,do,your,list,anymore,forever,just,kindly,everything,notifications",
    "bitte,danke,sofort,mich,jetzt,diese,alle,nachrichten,svp,sil,vous,plaît,merci,moi,me,les,le,por,favor,gracias",
    "ya,los,mensajes,obrigado,obrigada,per,favore,grazie,prego,alstublieft,tack,takk,tak,пожалуйста",
)
"""Words beside which clear words stay what they are."""
_START: Final = _all("start,unstop,resubscribe,opt in,optin,alta,iniciar,démarrer,старт")
"""A beginning needs the bare word, since it is a consent."""


def wish_of(text: str, *, start: Iterable[str] = ()) -> ProviderEventKind:
    """Return what a text wishes: STOPPED, STARTED, or WRITTEN for nothing.

    Args:
        text: as its sender wrote it, of any length.
        start: more words, in lower case, with which the provider begins again.
    """
    said = _spelled(_plain(text).split())
    bare = " ".join(said)
    if bare in _STOP_ALONE or _ends(said):
        return ProviderEventKind.STOPPED
    if bare in _START or bare in start:
        return ProviderEventKind.STARTED
    if len(said) <= MAX_WORDS and any(_ends(_spelled(_plain(part).split())) for part in _SENTENCES.split(text)):
        return ProviderEventKind.STOPPED
    return ProviderEventKind.WRITTEN


def _spelled(words: Sequence[str]) -> Sequence[str]:
    """Return words as they are meant: letters that were written apart as one, a stretched word as itself."""
    if len(words) > 1 and all(len(word) == 1 and word.isalpha() for word in words):
        return ["".join(words)]
    return ["stop" if _STRETCHED.fullmatch(word) else word for word in words]


def _ends(words: Sequence[str]) -> bool:
    """Return whether words are an end, with nothing beside it but polite ones."""
    if not words or len(words) > MAX_WORDS:
        return False
    left = _beside(words)
    if left and (" ".join(left) in _STOP or set(left) <= _STOP):
        return True
    text = f" {' '.join(words)} "
    return any(f" {x} " in text and not _beside(text.replace(f" {x} ", " ", 1).split()) for x in _STOP_PHRASES)


def _beside(words: Iterable[str]) -> list[str]:
    """Return what is left of words without polite ones and numbers to which people are asked to write."""
    return [word for word in words if word not in _POLITE and not _NUMBER.fullmatch(word)]
