"""`python3 manage.py` on a machine that has nothing but Python: with tiny stand-ins for the requirements."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bootstrap.wheels import standins
from tests.processes import ROOT, environment

BASE_PYTHON = getattr(sys, "_base_executable", sys.executable)
PREPARING = "staircase: preparing the environment from requirements.txt (once)"


class Checkout:
    """A folder with manage.py and the stand-ins as its requirements."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "checkout"
        (self.root / "tests" / "costmodel").mkdir(parents=True)
        shutil.copy(ROOT / "manage.py", self.root)
        self.wheels = folder / "wheels"
        self.django, pytest_line = standins(self.wheels)
        (self.root / "requirements.txt").write_text(self.django)
        (self.root / "requirements-dev.txt").write_text(self.django + pytest_line)

    def environment(self, **variables: str) -> dict[str, str]:
        mine = environment(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.wheels), PIP_CONFIG_FILE="/dev/null", **variables)
        return {name: value for name, value in mine.items() if name in variables or not name.startswith("PLANNER_")}

    def command(self, *words: str) -> list[str]:
        return [BASE_PYTHON, str(self.root / "manage.py"), *words]

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = self.command(*words)
        environment = self.environment(**variables)
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    def patched(self, patch: str) -> subprocess.CompletedProcess[str]:
        """Runs it on a Python that was changed first."""
        code = f"import runpy, sys\n{patch}\nrunpy.run_path({str(self.root / 'manage.py')!r}, run_name='__main__')"
        command = [BASE_PYTHON, "-c", code]
        return subprocess.run(command, env=self.environment(), capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout whose environment was made by a first start."""
    checkout = Checkout(tmp_path_factory.mktemp("made"))
    first = checkout.run("check")
    assert first.returncode == 0, first.stderr
    assert first.stderr.splitlines() == [PREPARING]
    return checkout


def test_the_first_start_makes_the_environment_and_goes_on_inside_it(made: Checkout) -> None:
    again = made.run("check", "--x")
    assert again.stderr == ""
    assert again.stdout == f"django in {made.root / '.venv'} ['check', '--x']\n"


def test_a_shell_that_sends_pip_elsewhere_is_not_followed(made: Checkout, tmp_path: Path) -> None:
    (made.root / "requirements.txt").write_text("# changed\n" + made.django)
    again = made.run("check", PIP_USER="1", PIP_TARGET=str(tmp_path / "elsewhere"))
    assert again.returncode == 0, again.stderr
    assert not (tmp_path / "elsewhere").exists()


def test_changed_requirements_are_installed_at_the_next_start(made: Checkout) -> None:
    (made.root / "requirements.txt").write_text("# changed again\n" + made.django)
    assert made.run("check").stderr.splitlines() == [PREPARING]
    assert made.run("check").stderr == ""


def test_an_interrupted_installation_is_made_anew(made: Checkout) -> None:
    (made.root / ".venv" / ".unfinished").touch()
    shutil.rmtree(made.root / ".venv" / "lib")
    again = made.run("check")
    assert again.returncode == 0, again.stderr
    assert "django in" in again.stdout


def test_the_test_command_installs_its_own_requirements_and_runs_the_whole_suite(made: Checkout) -> None:
    first = made.run("test")
    assert first.returncode == 0, first.stderr
    assert (
        first.stdout
        == f"pytest in {made.root / '.venv'} {['-n', '2', '--dist', 'loadfile', '--no-loadscope-reorder']}\n"
    )
    assert "preparing the environment from requirements-dev.txt" in first.stderr


def test_the_test_command_takes_a_room_and_pytests_own_arguments(made: Checkout) -> None:
    room = made.run("test", "costmodel", "-k", "memory")
    assert room.stdout.endswith(f"['{made.root / 'tests' / 'costmodel'}', '-k', 'memory']\n")


def test_a_room_may_be_given_as_the_path_it_has(made: Checkout) -> None:
    assert made.run("test", "tests/costmodel").stdout.endswith(f"['{made.root / 'tests' / 'costmodel'}']\n")


def test_an_unknown_room_is_one_line(made: Checkout) -> None:
    room = made.run("test", "kitchen")
    assert room.returncode == 1
    assert room.stderr.splitlines()[-1] == "staircase: no such room: kitchen; there are costmodel"


def test_two_starts_at_once_make_one_environment(checkout: Checkout) -> None:
    both = [
        subprocess.Popen(
            checkout.command("check"),
            env=checkout.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    outcomes = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert all("django in" in out for out, _ in outcomes)
    said = "".join(err for _, err in outcomes)
    assert said.count(PREPARING) == 1
    assert said.count("another start is preparing the environment") == 1


def test_a_failed_installation_says_so_and_is_tried_again(checkout: Checkout) -> None:
    (checkout.root / "requirements.txt").write_text("django==1.0 --hash=sha256:" + "0" * 64 + "\n")
    failed = checkout.run("check")
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1] == (
        "staircase: pip could not install requirements.txt (its message is above); run the same command again to retry"
    )
    (checkout.root / "requirements.txt").write_text(checkout.django)
    assert checkout.run("check").returncode == 0


@pytest.mark.parametrize("version", ["3, 10, 12", "3, 14, 0", "2, 7, 18"])
def test_an_unsupported_python_is_one_line(checkout: Checkout, version: str) -> None:
    end = checkout.patched(f"sys.version_info = ({version})")
    short = ".".join(version.split(", ")[:2])
    assert (end.returncode, end.stderr) == (1, f"staircase: needs Python 3.11, 3.12 or 3.13; this is {short}\n")
    assert not (checkout.root / ".venv").exists()


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_without_venv_or_pip_names_the_package(checkout: Checkout, module: str) -> None:
    end = checkout.patched(
        "import importlib.util\nreal = importlib.util.find_spec\n"
        f"importlib.util.find_spec = lambda name, *rest: None if name == {module!r} else real(name, *rest)"
    )
    assert end.returncode == 1
    (line,) = end.stderr.splitlines()
    assert f"python3.{sys.version_info[1]}-venv" in line
    assert not (checkout.root / ".venv").exists()


def in_the_way(checkout: Checkout) -> list[str]:
    (checkout.root / ".venv").write_text("a file")
    return []


def read_only_mount(checkout: Checkout) -> list[str]:
    mount = f"mount --bind {checkout.root} {checkout.root} && mount -o remount,bind,ro {checkout.root}"
    prefix = ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("this machine does not let tests mount a folder read-only")
    return prefix


@pytest.mark.parametrize("obstacle", [in_the_way, read_only_mount])
def test_a_folder_that_cannot_be_written_is_one_line(
    checkout: Checkout, obstacle: Callable[[Checkout], list[str]]
) -> None:
    command = [*obstacle(checkout), *checkout.command("check")]
    end = subprocess.run(command, env=checkout.environment(), capture_output=True, text=True, timeout=120, check=False)
    assert end.returncode == 1
    assert end.stderr.splitlines()[-1].startswith("staircase: cannot make the environment in ")
    assert "Traceback" not in end.stderr


def test_an_environment_of_ones_own_is_left_alone(checkout: Checkout) -> None:
    site = checkout.root.parent / "site"
    for wheel in checkout.wheels.iterdir():
        shutil.unpack_archive(wheel, site, "zip")
    own = checkout.run("check", PLANNER_MANAGED_ENV="0", PYTHONPATH=str(site))
    assert own.returncode == 0, own.stderr
    assert "django in" in own.stdout
    assert not (checkout.root / ".venv").exists()
