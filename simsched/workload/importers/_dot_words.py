"""The words of the DOT language, one after the other."""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

from simsched.files.errors import GraphError, shown

_NAME = r"[A-Za-z_\x80-\U0010ffff][A-Za-z_0-9\x80-\U0010ffff]*+"
_NUMBER = r"-?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?+)(?![A-Za-z_0-9.\x80-\U0010ffff])"
_COMMENT = r"//[^\n]*+|/\*(?s:.*?)\*/|(?:(?<=\n)|\A)\#[^\n]*+"
_QUOTED = r'"[^"\\]*+(?:\\(?s:.)[^"\\]*+)*+"'
KEYWORDS = frozenset({"strict", "graph", "digraph", "node", "edge", "subgraph"})
TOKEN = re.compile(
    rf"""(?P<space>[ \t\r\n\f\v]++|{_COMMENT})
      | (?P<quoted>{_QUOTED})
      | (?P<edge>->|--)
      | (?P<number>{_NUMBER})
      | (?P<undelimited>-?\.?[0-9](?:[eE][+-]?[0-9]|[A-Za-z_0-9.\x80-\U0010ffff])*+)
      | (?P<name>{_NAME})
      | (?P<mark>[{{}}\[\];,=:+])
    """,
    re.VERBOSE,
)
ESCAPED = re.compile(r'\\(\r?\n|["\\])')
_BRACKET = re.compile("[<>]")

_BLANKS = r"[ \t\r\n\f\v]*+"
_KEYWORD = rf"(?i:{'|'.join(sorted(KEYWORDS))})(?![A-Za-z_0-9\x80-\U0010ffff])"
_PLAIN = rf"(?!(?=[degnsDEGNS]){_KEYWORD})(?:{_NAME}|{_NUMBER})"
_END = rf'(?:"([^"\\]*+)"|({_PLAIN}))'
_PAIR = rf"(?:{_QUOTED}|{_PLAIN}){_BLANKS}={_BLANKS}(?:{_QUOTED}|{_PLAIN})"
#: A node, or an edge between two, without ports: most files consist of nothing else. What stands
#: behind it does not go on with it. Groups: the ends, in quotation marks and without any, and what
#: is in brackets.
SIMPLE = re.compile(
    rf"(?:[ \t\r\n\f\v]++|{_COMMENT})*+{_END}(?:{_BLANKS}->{_BLANKS}{_END})?+"
    rf"(?:{_BLANKS}\[({_BLANKS}(?:{_PAIR}{_BLANKS}[,;]?+{_BLANKS})*+)\])?+"
    rf"(?:{_BLANKS};|(?!{_BLANKS}[-\[:,+=/\#]))"
)
#: Key and value of an attribute in such brackets.
PAIR = re.compile(
    rf'(?:"((?:[^"\\]|\\(?s:.))*+)"|({_PLAIN})){_BLANKS}={_BLANKS}'
    rf'(?:"((?:[^"\\]|\\(?s:.))*+)"|({_PLAIN}))'
)


class Word(NamedTuple):
    """One word of a DOT file."""

    kind: str
    #: Its text, of a string without quotation marks, of a keyword in lower case.
    text: str
    begin: int


class Words:
    """Reads a text from front to back, the last word being one of kind "end"."""

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source = text, source
        self._place = 0  # behind the words that are looked at already
        self._ahead: deque[Word] = deque()

    @property
    def place(self) -> int:
        """Where the next word, or what is before it, begins."""
        return self._ahead[0].begin if self._ahead else self._place

    def go_on(self, place: int) -> None:
        """Read on from a place."""
        self._ahead.clear()
        self._place = place

    def peek(self, ahead: int = 0) -> Word:
        """Return a coming word."""
        while len(self._ahead) <= ahead:
            self._ahead.append(self._next())
        return self._ahead[ahead]

    def take(self) -> Word:
        """Read a word."""
        word = self.peek()
        if word.kind != "end":
            self._ahead.popleft()
        return word

    def accept(self, kind: str, text: str) -> bool:
        """Read a word if it comes next."""
        if self.peek()[:2] != (kind, text):
            return False
        self.take()
        return True

    def expect(self, mark: str) -> None:
        """Read a mark that has to be there."""
        if not self.accept("mark", mark):
            raise self.error(mark)

    def error(self, accepted: str) -> GraphError:
        """Return the error for the coming word."""
        word = self.peek()
        found = "the end of the file" if word.kind == "end" else shown(word.text)
        return self._error(word.begin, f"found {found}, accepted {accepted}")

    def _error(self, place: int, message: str) -> GraphError:
        line = self.text.count("\n", 0, place) + 1
        return GraphError(f"{self.source}:{line}: {message}")

    def _next(self) -> Word:
        """Return the word behind those that are looked at."""
        text = self.text
        while self._place < len(text):
            begin = self._place
            if text[begin] == "<":
                self._place = self._html_end(begin)
                return Word("id", text[begin : self._place], begin)
            match = TOKEN.match(text, begin)
            if match is None:
                found = shown(text[begin : begin + 20].splitlines()[0])
                what = "a string that does not end" if text[begin] == '"' else found
                raise self._error(begin, f"found {what}, accepted DOT")
            if match.lastgroup == "undelimited":
                raise self._error(
                    begin,
                    f"found {shown(match.group())}, accepted a number of digits and one point, "
                    "which in DOT has no exponent; anything else in quotation marks",
                )
            self._place = match.end()
            if match.lastgroup != "space":
                return _word(match)
        return Word("end", "", len(text))

    def _html_end(self, begin: int) -> int:
        """Return where an HTML string ends."""
        depth = 0
        for match in _BRACKET.finditer(self.text, begin):
            depth += 1 if match[0] == "<" else -1
            if depth == 0:
                return match.end()
        raise self._error(begin, "found an HTML string that does not end, accepted DOT")


def unescaped(text: str) -> str:
    """Return what is in quotation marks; an end of line that is escaped stands for nothing."""
    return ESCAPED.sub(lambda found: found[1].strip("\r\n"), text) if "\\" in text else text


def _word(match: re.Match[str]) -> Word:
    kind, text, begin = str(match.lastgroup), match.group(), match.start()
    if kind == "quoted":
        return Word("id", unescaped(text[1:-1]), begin)
    if kind == "name" and text.lower() in KEYWORDS:
        return Word("keyword", text.lower(), begin)
    return Word("id" if kind in ("name", "number") else kind, text, begin)
