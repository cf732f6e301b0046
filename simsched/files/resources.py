"""Where the YAML files that ship with simsched are."""

from pathlib import Path

DATA_KINDS = ("machines", "workloads", "experiments")


def data_dir(kind: str) -> Path:
    """Return the directory of the shipped files of one kind, which exists only if there are some.

    In a checkout it is the top-level directory of that name, in an installed package the copy that
    came with it.
    """
    if kind not in DATA_KINDS:
        raise ValueError(f"no data of kind {kind!r}; known kinds: {', '.join(DATA_KINDS)}")
    package = Path(__file__).resolve().parent.parent
    installed = package / "_data"
    return (installed if installed.is_dir() else package.parent) / kind


def shipped(kind: str, folder: str = "") -> dict[str, Path]:
    """Return the shipped files of one kind, or of a folder among them, by name."""
    return dict(sorted((path.stem, path) for path in (data_dir(kind) / folder).glob("*.yaml")))
