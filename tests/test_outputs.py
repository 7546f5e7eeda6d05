"""Files that people name for output: what is not a regular file is written to, never replaced."""

import os
import subprocess
import sys
import tempfile
import threading

import pytest
from curves import stored

from jaxids import cli, outputs


@pytest.fixture
def results(tmp_path):
    """Results of two curves, and their CSV as it should be."""
    folder = stored(tmp_path / "out", [("UCB", {}, {}, [1.0, 2.0]), ("TS", {}, {}, [3.0, 4.0])], trials=2)
    assert cli.main(["export", str(folder), "--csv", str(tmp_path / "expected.csv")]) == 0
    return folder, (tmp_path / "expected.csv").read_text()


def test_a_pipe_is_written_to(results, tmp_path):
    folder, expected = results
    os.mkfifo(tmp_path / "pipe")
    received = []
    reader = threading.Thread(target=lambda: received.append((tmp_path / "pipe").read_text()))
    reader.start()
    assert cli.main(["export", str(folder), "--csv", str(tmp_path / "pipe")]) == 0
    reader.join(timeout=10)
    assert received == [expected]
    assert (tmp_path / "pipe").is_fifo()


def test_a_link_stays_and_what_it_leads_to_is_replaced(results, tmp_path):
    folder, expected = results
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "real.csv").write_text("old")
    for link in ("link", "dangling", "twice"):
        (tmp_path / link).symlink_to({"link": "deep/real.csv", "dangling": "deep/new.csv", "twice": "link"}[link])
        assert cli.main(["export", str(folder), "--csv", str(tmp_path / link)]) == 0
        assert (tmp_path / link).is_symlink()
        assert (tmp_path / link).read_text() == expected
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["new.csv", "real.csv"]


def test_a_device_stays_a_device(results, tmp_path):
    """Its name is that of a link, so that a fault replaces the link and no device."""
    (tmp_path / "null").symlink_to(os.devnull)
    for _ in range(2):
        assert cli.main(["export", str(results[0]), "--csv", str(tmp_path / "null")]) == 0
    assert (tmp_path / "null").is_char_device()


def test_a_dash_is_standard_output(results, capsys):
    folder, expected = results
    assert cli.main(["export", str(folder), "--csv", "-"]) == 0
    assert capsys.readouterr().out == expected
    assert cli.main(["export", str(folder)]) == 0
    assert capsys.readouterr().out == expected


def test_dev_stdout_is_appended_to_where_standard_output_is(results, tmp_path):
    folder, expected = results
    (tmp_path / "log").write_text("before\n")
    command = f"{sys.executable} -m jaxids export {folder} --csv /dev/stdout >> {tmp_path / 'log'}"
    assert subprocess.run(["bash", "-c", command], check=False).returncode == 0
    assert (tmp_path / "log").read_text() == "before\n" + expected


def test_what_is_open_already_is_appended_to(tmp_path):
    (tmp_path / "log").write_text("before\n")
    (tmp_path / "err").symlink_to("/dev/stderr")
    paths = ["/dev/stderr", str(tmp_path / "err")]
    code = f"from jaxids import outputs; [outputs.write(outputs.named(path), path) for path in {paths}]"
    command = f'cd {tmp_path} && {sys.executable} -c "{code}" 2>> {tmp_path / "log"}'
    assert subprocess.run(["bash", "-c", command], check=False).returncode == 0
    assert (tmp_path / "log").read_text() == f"before\n/dev/stderr{tmp_path}/err"


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no such folder")
def test_a_regular_file_below_dev_is_replaced(results):
    folder, expected = results
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        for _ in range(2):
            assert cli.main(["export", str(folder), "--csv", f"{place}/x.csv"]) == 0
        with open(f"{place}/x.csv") as file:
            assert file.read() == expected


def test_a_file_called_dash_can_be_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outputs.write(outputs.named("./-"), "text")
    assert (tmp_path / "-").read_text() == "text"


@pytest.mark.parametrize("name", ["folder", "loop", "nowhere/x.csv", ""])
def test_what_cannot_be_written_is_said_before_any_work(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ValueError, match=r"got .*; it takes a file in a folder that exists"):
        outputs.named(str(tmp_path / name))
