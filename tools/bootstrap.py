"""Bring .venv and the compiled kernel up to date; `make run` and `make test` begin here.

Arguments are the extras of pyproject.toml that are needed beside what simsched itself needs.

Every step can be repeated. Each leaves a stamp, written last, with a fingerprint of what
went into it: a step that was interrupted has no stamp and is done again, and a step whose
stamp fits is skipped, so that nothing here needs the network once everything is installed.

The package is made importable by a `.pth` file that names this checkout, and the extension
is copied into the source tree. A new module is importable at once and importing never starts a
compiler, however many processes import at the same time.
"""

import base64
import concurrent.futures
import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
BUILD = ROOT / "build" / "inplace"


def main(extras: list[str]) -> None:
    """Run the three steps under a lock, so that two `make` at once do not collide."""
    check_host()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    with locked(ROOT / "build" / "bootstrap.lock"):
        with dependencies(project, extras):
            build_extension(project)
        install_package(project)


def check_host() -> None:
    """Stop with advice if something is missing that pip cannot bring."""
    if shutil.which(os.environ.get("CC", "cc").split()[0]) is None:
        sys.exit(
            "simsched needs a C11 compiler and found none.\n"
            "Install one (Debian, Ubuntu: apt install gcc libc6-dev; Fedora: dnf install gcc; "
            "macOS: xcode-select --install) or name it in CC."
        )
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if missing:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        sys.exit(
            f"{sys.executable} lacks the standard module {missing[0]!r}, needed for .venv.\n"
            f"Install it (Debian, Ubuntu: apt install python{version}-venv) "
            "or name another Python: make PYTHON=..."
        )


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock; the system drops it if this process dies."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def fingerprint(*parts: object) -> str:
    """Return a hash of what a step depends on."""
    return hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).hexdigest()


def requirements(project: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return what the build of a checkout asks for, and what the package does.

    A wheel is built with a NumPy that makes it fit older ones too; a checkout is built with the
    NumPy it runs with.
    """
    needs: list[str] = project["project"]["dependencies"]
    build = [need for need in project["build-system"]["requires"] if not need.startswith("numpy")]
    return [*build, *(need for need in needs if need.startswith("numpy"))], needs


@contextlib.contextmanager
def dependencies(project: dict[str, Any], extras: list[str]) -> Iterator[None]:
    """Create `.venv` if it is missing or broken and install into it what is not there yet.

    What the build needs is there when the body begins; the rest is installed beside the body.
    """
    build, needs = requirements(project)
    optional: dict[str, list[str]] = project["project"]["optional-dependencies"]
    sets = {"simsched": [*build, *needs], **{name: optional[name] for name in extras}}
    wanted = {
        VENV / f"{name}.stamp": fingerprint(*needs, sys.version_info[:2], VENV)
        for name, needs in sets.items()
    }
    missing = {stamp: text for stamp, text in wanted.items() if not stamp_fits(stamp, text)}
    if not missing and runs(PYTHON, "-c", "pass"):
        yield
        return
    for stamp in missing:
        stamp.unlink(missing_ok=True)
    if not venv_is_sound():
        announce("creating .venv")
        call(sys.executable, "-m", "venv", "--clear", VENV)
        missing = wanted
    announce("installing dependencies into .venv")
    install(*build)
    # All of them, so that what is there already does not contradict what is new.
    with beside(install, *(need for needs in sets.values() for need in needs)):
        yield
    if extras:  # who only wants to run something imports a fifth of it, which is compiled then
        announce("compiling them")
        runs(PYTHON, "-m", "compileall", "-qq", "-j", "0", "-x", "/tests/", VENV / "lib")
    for stamp, text in missing.items():
        stamp.write_text(text, encoding="utf-8")


def install(*needs: str) -> None:
    """Install into `.venv` with uv, a tenth of pip's time, or with pip where uv does not succeed.

    Uv has no wheel for some platforms and does not read how pip is told of an index.
    """
    pip = (PYTHON, "-m", "pip", "install", "--quiet")
    uv = (VENV / "bin" / "uv", "pip", "install", "--quiet", "--python", PYTHON)
    if not (runs(*pip, "--only-binary=:all:", "uv") and runs(*uv, *needs)):
        call(*pip, "--no-compile", *needs)


@contextlib.contextmanager
def beside(function: Callable[..., None], *arguments: str) -> Iterator[None]:
    """Call a function while the body runs; what stops it stops the program after the body."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(function, *arguments)
        yield
        future.result()


def venv_is_sound() -> bool:
    """Tell whether `.venv` works, fits this Python, and holds no half-installed package."""
    probe = ROOT / "tools" / "check_installed.py"
    version = ".".join(str(part) for part in sys.version_info[:2])
    return runs(PYTHON, "-m", "pip", "--version") and runs(PYTHON, probe, version)


def build_extension(project: dict[str, Any]) -> None:
    """Configure once, compile what changed, and copy the extension beside its sources.

    A build that fails in an old build directory is tried again in a new one, because the old
    one may be what an interruption left.
    """
    stamp = BUILD / "configured.stamp"
    options = os.environ.get("SIMSCHED_MESON_ARGS", "").split()
    needs, _ = requirements(project)
    wanted = fingerprint(*needs, sys.version_info, ROOT, os.environ.get("CC"), *options)
    listing, found = BUILD / "listing.stamp", fingerprint(*programs())
    meson = (PYTHON, "-m", "mesonbuild.mesonmain", "setup", *options, BUILD, ROOT)
    ninja = (PYTHON, "-m", "ninja", "-C", BUILD, "all")
    fits = stamp_fits(stamp, wanted)
    if fits and not stamp_fits(listing, found):
        fits = runs(*meson, "--reconfigure")
    if not (fits and runs(*ninja)):
        announce("building the C kernel")
        shutil.rmtree(BUILD, ignore_errors=True)
        call(*meson, quiet=True)
        call(*ninja, quiet=True)
        stamp.write_text(wanted, encoding="utf-8")
    listing.write_text(found, encoding="utf-8")
    plan = json.loads((BUILD / "meson-info" / "intro-install_plan.json").read_text("utf-8"))
    for built, entry in plan["targets"].items():
        copy_if_newer(Path(built), ROOT / entry["destination"].removeprefix("{py_platlib}/"))


def programs() -> list[Path]:
    """Return the C files that the build finds by looking: what Meson does not see come and go."""
    return sorted((ROOT / "simsched" / "hardware" / "native" / "programs").glob("*.c"))


def copy_if_newer(source: Path, target: Path) -> None:
    """Replace `target` in one step, so that a process importing it sees the old or the new."""
    if target.exists() and target.stat().st_mtime_ns == source.stat().st_mtime_ns:
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copy2(source, temporary)
    temporary.replace(target)


def install_package(project: dict[str, Any]) -> None:
    """Install metadata, the `simsched` command and the path of this checkout into `.venv`."""
    stamp = VENV / "package.stamp"
    wanted = fingerprint(json.dumps(project["project"]), ROOT)
    if stamp_fits(stamp, wanted) and (VENV / "bin" / "simsched").exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        wheel = write_path_wheel(project["project"], Path(folder))
        options = ["--quiet", "--no-index", "--no-deps", "--force-reinstall"]
        call(PYTHON, "-m", "pip", "install", *options, wheel)
    stamp.write_text(wanted, encoding="utf-8")


def write_path_wheel(table: dict[str, Any], folder: Path) -> Path:
    """Write a wheel that holds no code, only metadata and a `.pth` file naming this checkout."""
    name, version = table["name"], table["version"]
    info = f"{name}-{version}.dist-info"
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in table["dependencies"]]
    groups = {"console_scripts": table.get("scripts", {}), **table.get("entry-points", {})}
    entry_points = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{key} = {value}" for key, value in entries.items()))
    ]
    members = {
        f"{name}_checkout.pth": f"{ROOT}\n",
        f"{info}/METADATA": "\n".join(metadata) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "\n".join(entry_points) + "\n",
    }
    record = [
        f"{path},sha256={digest(text)},{len(text.encode())}" for path, text in members.items()
    ]
    members[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in members.items():
            archive.writestr(path, text)
    return wheel


def digest(text: str) -> str:
    """Return the hash of one member as a wheel's RECORD spells it."""
    raw = hashlib.sha256(text.encode()).digest()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def stamp_fits(stamp: Path, wanted: str) -> bool:
    """Tell whether a step was finished with the same inputs."""
    return stamp.exists() and stamp.read_text(encoding="utf-8") == wanted


def runs(*command: object) -> bool:
    """Tell whether a command exists and succeeds."""
    try:
        return execute(command, quiet=True).returncode == 0
    except OSError:
        return False


def call(*command: object, quiet: bool = False) -> None:
    """Run a command and stop if it fails; a quiet one shows its output only then."""
    done = execute(command, quiet=quiet)
    if done.returncode != 0:
        print(done.stdout or "", end="")
        sys.exit(f"failed ({done.returncode}): {' '.join(str(part) for part in command)}")


def execute(command: tuple[object, ...], *, quiet: bool) -> subprocess.CompletedProcess[str]:
    """Run a command in the checkout with the tools of `.venv` first on the path."""
    return subprocess.run(
        [str(part) for part in command],
        env={**os.environ, "PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"},
        cwd=ROOT,
        check=False,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
        text=True,
    )


def announce(text: str) -> None:
    """Say what takes time."""
    print(f"simsched: {text}", flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("simsched: interrupted; start it again to go on")
