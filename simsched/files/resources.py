"""Where the YAML files that ship with simsched are."""

from pathlib import Path

DATA_KINDS = ("machines", "workloads", "experiments")


def data_dir(kind: str) -> Path:
    """Return the directory of the shipped files of one kind.

    Parameters
    ----------
    kind : str
        One of `DATA_KINDS`.

    Returns
    -------
    Path
        In a checkout the top-level directory of that name, in an installed
        package the copy that came with it. It exists only if a file of that kind ships.

    Raises
    ------
    ValueError
        If `kind` is not one of `DATA_KINDS`.

    Examples
    --------
    >>> data_dir("machines").name
    'machines'
    """
    if kind not in DATA_KINDS:
        raise ValueError(f"no data of kind {kind!r}; known kinds: {', '.join(DATA_KINDS)}")
    package = Path(__file__).resolve().parent.parent
    installed = package / "_data"
    return (installed if installed.is_dir() else package.parent) / kind
