"""Files that are written: never over what is read, over others with ``force=True``, whole or not at all."""

import errno
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import textwrap

import ouzel
import pytest


@pytest.fixture
def copied(testdata, tmp_path):
    """A trace that may be destroyed."""
    return shutil.copytree(testdata / "pmpi-jacobi", tmp_path / "run")


@pytest.fixture
def table(copied):
    return ouzel.open(copied).time_profile(10)


def names(folder):
    return sorted(os.listdir(folder))


def test_a_file_is_replaced_with_force_only(table, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    picture = out / "picture.svg"
    picture.write_text("precious")
    with pytest.raises(FileExistsError, match="force=True"):
        table.save_picture(picture)
    assert picture.read_text() == "precious"
    picture.chmod(0o600)
    table.save_picture(picture, force=True)
    assert picture.read_text().startswith("<svg")
    assert stat.S_IMODE(picture.stat().st_mode) == 0o600
    assert names(out) == ["picture.svg"]


def test_no_input_is_replaced_even_with_force(table, copied, tmp_path, testdata):
    events = copied / "traces" / "1.evt"
    content = events.read_bytes()
    hard, soft = tmp_path / "hard.svg", tmp_path / "soft.png"
    os.link(events, hard)
    soft.symlink_to(copied / "traces.otf2")
    inside = copied / "traces" / "new.svg"
    for path in (hard, soft, inside):
        for force in (False, True):
            with pytest.raises(ValueError, match="part of the input"):
                table.save_picture(path, force=force)
    assert events.read_bytes() == content and hard.read_bytes() == content and not inside.exists()
    # Whatever else this process has opened counts, too.
    other = shutil.copytree(testdata / "pmpi-masterio", tmp_path / "other")
    ouzel.open(other)
    os.link(other / "traces.def", tmp_path / "other.svg")
    with pytest.raises(ValueError, match="part of the input"):
        table.save_picture(tmp_path / "other.svg", force=True)
    # Beside the trace is free.
    table.save_picture(copied / "picture.svg")


def test_what_is_no_regular_file_is_not_replaced(table, tmp_path):
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(OSError, match="is a directory"):
        table.save_picture(tmp_path / "folder.svg", force=True)
    (tmp_path / "dangling.svg").symlink_to(tmp_path / "nothing")
    with pytest.raises(OSError, match="symbolic link"):
        table.save_picture(tmp_path / "dangling.svg", force=True)
    with pytest.raises(FileNotFoundError, match="absent"):
        table.save_picture(tmp_path / "absent" / "picture.svg")
    with pytest.raises(ouzel.OuzelError, match="svg"):
        table.save_picture(tmp_path / "picture.pdf")
    assert not (tmp_path / "nothing").exists()


def test_a_full_disk_leaves_the_old_file(table, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "old.svg").write_text("precious")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python ignores the signal that would come with it.
    assert signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))
    try:
        with pytest.raises(OSError, match="old.svg") as raised:
            table.save_picture(out / "old.svg", force=True)
        with pytest.raises(OSError, match="new.svg"):
            table.save_picture(out / "new.svg")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert raised.value.errno in (None, errno.EFBIG)
    assert names(out) == ["old.svg"] and (out / "old.svg").read_text() == "precious"


def test_the_command_line_of_a_cluster_keeps_to_the_same_rules(copied, tmp_path):
    """Refused before anything is asked of a scheduler, which is not there."""
    out = tmp_path / "answer.json"
    out.write_text("precious")

    def asked(*arguments, code=1):
        program = textwrap.dedent(
            """
            import sys
            from ouzel import cluster
            sys.exit(cluster.main(sys.argv[1:]))
            """
        )
        command = [sys.executable, "-c", program, "flat_profile", copied, "--scheduler", "tcp://127.0.0.1:1", *arguments]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
        assert done.returncode == code and done.stdout == "", done
        return done.stderr

    assert "error: unrecognized arguments" in asked("--no-such-option", code=64)
    assert "add --force" in asked("--output", out)
    events = copied / "traces" / "1.evt"
    content = events.read_bytes()
    assert "part of the input" in asked("--output", events, "--force")
    assert out.read_text() == "precious" and events.read_bytes() == content


def test_the_page_about_a_run_is_a_file(copied, tmp_path):
    trace = ouzel.open(copied)
    page = tmp_path / "page.html"
    trace.save_report(page)
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>") and str(copied) in text
    assert trace.report()["headline"]["text"] in text
    with pytest.raises(FileExistsError, match="force=True"):
        trace.save_report(page)
    trace.filter(ranks="0-1").save_report(page, force=True)
    assert "--ranks 0-1" in page.read_text()
    with pytest.raises(ValueError, match="part of the input"):
        trace.save_report(copied / "traces.otf2", force=True)
