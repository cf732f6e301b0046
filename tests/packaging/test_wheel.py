"""From a clone to a source archive, to a wheel, to an empty environment without a compiler."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import textwrap
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

ROOT = Path(__file__).resolve().parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def succeed(*words: object, **options: object) -> str:
    command = [str(word) for word in words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with the files as they are now, committed or not."""
    if not (ROOT / ".git").exists():
        pytest.skip("source archives are made from a clone")
    git = ["git", "-c", "user.name=tests", "-c", "user.email=tests@localhost"]
    words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    folder = tmp_path_factory.mktemp("clone")
    for name in filter(None, succeed(*git, *words, cwd=ROOT).split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    succeed(*git, "init", "--quiet", cwd=folder)
    succeed(*git, "add", "--all", cwd=folder)
    succeed(*git, "commit", "--quiet", "--message", "all", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def archive(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    succeed(sys.executable, "-m", "build", "--sdist", "--outdir", folder, clone)
    return folder / f"simsched-{VERSION}.tar.gz"


@pytest.fixture(scope="module")
def wheel(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel that pip builds from the source archive."""
    return build_wheel(archive, tmp_path_factory.mktemp("wheel"))


def build_wheel(source: Path, folder: Path) -> Path:
    succeed(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, source)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return variables under which programs see one environment with the wheel, and no other."""
    folder = tmp_path_factory.mktemp("environment")
    succeed(sys.executable, "-m", "venv", folder)
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    variables |= {"PATH": str(folder / "bin"), "CC": "no-compiler", "PIP_ONLY_BINARY": ":all:"}
    assert all(shutil.which(name, path=variables["PATH"]) is None for name in ("cc", "gcc", "ld"))
    succeed(folder / "bin" / "pip", "install", wheel, env=variables)
    return variables


def test_archive_is_the_clone(clone: Path, archive: Path) -> None:
    with tarfile.open(archive) as opened:
        members = [Path(member.name) for member in opened.getmembers() if member.isfile()]
    names = {Path(*name.parts[1:]).as_posix() for name in members}
    tracked = set(succeed("git", "ls-files", cwd=clone).split("\n")) - {""}
    assert names == tracked | {"PKG-INFO"}


def test_wheels_from_archive_and_tree_hold_the_same(
    clone: Path, wheel: Path, tmp_path: Path
) -> None:
    other = build_wheel(clone, tmp_path)
    assert other.name == wheel.name
    assert contents(other) == contents(wheel)


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the members but for what two builds of the same sources may differ in."""
    with zipfile.ZipFile(wheel) as opened:
        names = [name for name in opened.namelist() if not name.endswith((".so", "/RECORD"))]
        return {name: opened.read(name) for name in names}


HEADER = "simsched/policy/include/simsched_hooks.h"  # for compiled hooks of users


def test_wheel_holds_data_and_extensions_but_no_sources(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
    for kind in ("machines", "workloads", "experiments"):
        files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob(f"{kind}/**/*.yaml")}
        shipped = {f"simsched/_data/{name}" for name in files}
        assert shipped
        assert shipped <= set(names)
    compiled = {name.split(".")[0] for name in names if name.endswith(".so")}
    parts = {"engine/native/_kernel", "hardware/native/_runtime", "policy/parts/native/_schedule"}
    assert compiled == {f"simsched/{part}" for part in parts}
    assert "simsched/py.typed" in names
    sources = (".c", ".h", ".pyx", ".pxd", ".pxi", ".pyc", ".build")
    assert [name for name in names if name.endswith(sources)] == [HEADER]
    assert {name.split("/")[0] for name in names} == {"simsched", f"simsched-{VERSION}.dist-info"}


def test_requirements_agree(installed: dict[str, str]) -> None:
    assert "No broken requirements" in succeed(bin_of(installed, "pip"), "check", env=installed)


def bin_of(variables: dict[str, str], name: str) -> Path:
    return Path(variables["PATH"]) / name


@pytest.mark.parametrize("kind", ["machines", "workloads", "experiments", "policies", "claims"])
def test_lists_are_those_of_the_checkout(
    installed: dict[str, str], tmp_path: Path, kind: str
) -> None:
    words = ["list", kind, "--json"]
    here = succeed(sys.executable, "-m", "simsched", *words, cwd=ROOT)
    there = succeed(bin_of(installed, "simsched"), *words, cwd=tmp_path, env=installed)
    assert json.loads(there) == json.loads(here)


def test_quickstart(installed: dict[str, str], tmp_path: Path) -> None:
    simsched = bin_of(installed, "simsched")
    options = {"cwd": tmp_path, "env": installed}
    assert succeed(simsched, "--version", **options) == f"simsched {VERSION}\n"
    shown = succeed(simsched, "run", "quickstart", "--quiet", "--set", "seeds=1", **options)
    assert "bats" in shown
    assert (tmp_path / "results" / "quickstart" / "runs.parquet").exists()


def test_every_shipped_experiment_is_correct(installed: dict[str, str], tmp_path: Path) -> None:
    program = """
        from pathlib import Path
        import simsched
        from simsched.experiment.study import Study
        from simsched.files.resources import data_dir
        from simsched.files.yaml_reader import read_document

        package = Path(simsched.__file__).parent
        assert data_dir("machines").is_relative_to(package), data_dir("machines")
        for name in simsched.list_experiments():
            Study.from_yaml(read_document(data_dir("experiments") / f"{name}.yaml"))
    """
    run_program(installed, tmp_path, program)


def run_program(variables: dict[str, str], folder: Path, program: str) -> None:
    python = bin_of(variables, "python")
    succeed(python, "-I", "-c", textwrap.dedent(program), cwd=folder, env=variables)


def test_python_interface(installed: dict[str, str], tmp_path: Path) -> None:
    program = """
        import simsched

        machine = simsched.load_machine("knl_snc4_flat")
        heat = simsched.make_workload("heat_small")
        bats = simsched.make_policy("bats")
        native, simpy = (
            simsched.simulate(machine, heat, bats, backend=backend).makespan_s
            for backend in ("native", "simpy")
        )
        assert native == simpy > 0, (native, simpy)
        assert len(simsched.run("quickstart", set={"seeds": 1}).runs) == 3
    """
    run_program(installed, tmp_path, program)


def test_policies_of_users_are_found(installed: dict[str, str], tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "adding-a-policy.md").read_text()
    (tmp_path / "near_stealing.py").write_text(guide.split("```python\n")[1].split("```")[0])
    shown = succeed(
        bin_of(installed, "simsched"), "show", "policy", "./near_stealing.py",
        cwd=tmp_path, env=installed,
    )  # fmt: skip
    assert "Random work stealing" in shown
