"""File formats by name, suffix and content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from simsched.files.errors import SimschedError
from simsched.files.json_members import json_data
from simsched.names.extensions import blamed, check_returned
from simsched.names.parameters import checked
from simsched.names.registry import Entry, Function


@dataclass(frozen=True)
class Format(Entry[Function]):
    """A file format: the keyword-only parameters of its function are its options."""

    #: endings of file names in lower case, dots included; several formats may share one
    suffixes: tuple[str, ...] = ()
    #: says from what the registry's reader looks at whether it may have this format
    recognises: Callable[[Any], bool] | None = None

    def has_suffix(self, path: Path) -> bool:
        """Return whether a file is called like one of this format."""
        return path.name.lower().endswith(self.suffixes)

    def fits(self, path: Path, seen: object) -> bool:
        """Return whether what was seen of a file may have this format."""
        if self.recognises is None:
            return False
        with blamed(f"{path}: importer {self.name}", self.recognises):
            return self.recognises(seen)

    def checked(self, path: Path, options: Mapping[str, object]) -> dict[str, object]:
        """Return options as the function takes them; text stands for what its annotation says."""
        return checked(f"{path}: format {self.name}", self.parameters, options, option=True)

    def read(
        self,
        path: Path,
        options: Mapping[str, object],
        why: str | None,
        errors: tuple[type[SimschedError], ...],
        *kinds: type,
    ) -> Any:
        """Return what the function makes of a file, which is of one of `kinds`.

        `why` and `errors` are as for :func:`taken_for`; another exception is an ExtensionError.
        """
        given, what = self.checked(path, options), f"{path}: importer {self.name}"
        with taken_for(self.name, why, *errors), blamed(what, self.function):
            found = self.function(path, **given)
        check_returned(what, self.function, found, *kinds)
        return found


AnyFormat = TypeVar("AnyFormat", bound=Format[Any])


def only_fitting(
    path: Path,
    seen: object,
    candidates: Iterable[AnyFormat],
    *,
    accepted: Iterable[str],
    error: type[SimschedError],
) -> AnyFormat:
    """Return the format that fits what was seen of a file; `error` if none fits, or several do.

    `seen` is what `recognises` of the candidates takes, `accepted` the formats that can be given
    explicitly, for the message.
    """
    fitting = [candidate for candidate in candidates if candidate.fits(path, seen)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting and path.name.lower().endswith((".json", ".json.gz")):
        json_data(path, error)  # what is wrong with it says more
    names = ", ".join(candidate.name for candidate in fitting)
    found = f"contents that fit {names}" if fitting else "contents of no known format"
    raise error(f"{path}: found {found}; accepted with an explicit format: {', '.join(accepted)}")


@contextmanager
def taken_for(name: str, why: str | None, *errors: type[SimschedError]) -> Iterator[None]:
    """Let what a reader says of a file name the format that the file was taken for.

    `why` is what has told the format, "contents" or "ending", None where the user has named it.
    Other messages than those of `errors` are not about what is in the file.
    """
    try:
        yield
    except errors as found:
        if why is None:
            raise
        raise type(found)(f"{found} (taken for {name} by its {why})") from found
