"""The viewer in a notebook: what a browser asks, asked of a real kernel by the messages of its widget."""

import gzip
import json
import time

import ouzel
import pytest

pytest.importorskip("anywidget")
jupyter_client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")


class Notebook:
    """A kernel and what it says."""

    def __init__(self, client):
        self.client = client

    def said(self, wanted):
        """The next message of the kernel for which ``wanted`` returns something, and that."""
        for _ in range(400):
            message = self.client.get_iopub_msg(timeout=60)
            if message["msg_type"] == "error":
                raise AssertionError("\n".join(message["content"]["traceback"]))
            if (found := wanted(message)) is not None:
                return found
        raise AssertionError("the kernel says other things only")

    def shown(self, code):
        """The display of the last line of ``code``."""
        self.client.execute(code)
        kinds = ("execute_result", "display_data")
        return self.said(lambda m: m["content"]["data"] if m["msg_type"] in kinds else None)

    def send(self, comm, content):
        data = {"method": "custom", "content": content}
        message = self.client.session.msg("comm_msg", {"comm_id": comm, "data": data})
        self.client.shell_channel.send(message)

    def asked(self, comm, number, **request):
        """Status and content of the answer to a request, from all of its parts."""
        self.send(comm, {"view": "a", "id": number, **request})
        parts = []

        def part(message):
            content = message["content"].get("data", {}).get("content", {}) if message["msg_type"] == "comm_msg" else {}
            if (content.get("view"), content.get("id")) != ("a", number):
                return None
            parts.extend(bytes(buffer) for buffer in message["buffers"])
            return content if content["last"] else None

        content = self.said(part)
        body = b"".join(parts)
        return content, gzip.decompress(body) if content["packed"] else body


@pytest.fixture(scope="module")
def notebook():
    manager = jupyter_client.KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield Notebook(client)
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def comm_of(data):
    return data["application/vnd.jupyter.widget-view+json"]["model_id"]


def test_the_page_asks_through_the_kernel(notebook, testdata):
    path = str(testdata / "pmpi-masterio")
    data = notebook.shown(f"import ouzel\nview = ouzel.open({path!r}).filter(ranks='1-2').view()\nview")
    assert "text/plain" in data
    comm = comm_of(data)
    content, body = notebook.asked(comm, 1, path="api/meta")
    meta = json.loads(body)
    assert content["status"] == 200 and meta["name"]
    question = {"question": "profile", "options": {"per": "rank"}}
    content, body = notebook.asked(comm, 2, path="api/ask", body=json.dumps(question))
    rows = json.loads(body)["data"]["rows"]
    expected = ouzel.open(path).filter(ranks="1-2").profile(per="rank")
    assert [row["exclusive_ns"] for row in rows] == expected.to_dict()["exclusive_ns"]
    # The page itself, if this build has one.
    content, body = notebook.asked(comm, 3, path="standalone.html")
    assert content["status"] == 404 or b"<!--ouzel-data-->" in body


def test_only_questions_of_the_viewer_are_passed_on(notebook, testdata):
    data = notebook.shown(f"import ouzel\nother = ouzel.open({str(testdata / 'pmpi-masterio')!r}).view()\nother")
    comm = comm_of(data)
    for number, path in enumerate(["", "../", "index.html", "http://127.0.0.1:1/", "api/meta HTTP/1.1\r\nX: y"], 10):
        content, _ = notebook.asked(comm, number, path=path)
        assert content["status"] == 0 and content["reason"], path
    # What makes no sense is left alone, and the next question is answered.
    for nonsense in [None, 3, {"view": 4}, {"view": "a", "id": "x", "path": "api/meta"}, {"view": "a", "id": 1}]:
        notebook.send(comm, nonsense)
    content, _ = notebook.asked(comm, 20, path="api/meta")
    assert content["status"] == 200


def test_a_closed_view_says_so(notebook, testdata):
    data = notebook.shown(f"import ouzel\nclosed = ouzel.open({str(testdata / 'pmpi-masterio')!r}).view()\nclosed")
    comm = comm_of(data)
    shown = notebook.shown("closed.close()\nclosed")
    assert "application/vnd.jupyter.widget-view+json" not in shown and "closed" in shown["text/plain"]
    content, _ = notebook.asked(comm, 30, path="api/meta")
    assert content["status"] == 0 and "closed" in content["reason"]


def test_a_timeline_is_a_view_with_the_timeline_alone(testdata):
    trace = ouzel.open(testdata / "pmpi-jacobi").filter(ranks="2-3")
    with trace.timeline(interactive=True, messages=True, critical_path=True) as view:
        assert isinstance(view, ouzel.View)
        assert view.widget(height=300).hash == "#view=timeline&messages=true&critical_path=true"
    with trace.timeline(interactive=True, depth=True) as view:
        assert view.widget().hash == "#view=timeline&expanded=2"
    assert isinstance(trace.timeline(), ouzel.Table)


def test_answers_are_as_slow_as_jupyter_allows(monkeypatch):
    from ouzel import _widget

    at, slept = [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: at[0])
    monkeypatch.setattr(time, "sleep", lambda s: (slept.append(s), at.__setitem__(0, at[0] + s)))
    pace = _widget.Pace(burst=1000, per_s=100)
    for _ in range(20):
        pace.wait(100)
    # 1,000 at once, the other 1,000 at 100 a second.
    assert sum(slept) == pytest.approx(10)
    assert pace.wait(0) is None


def test_a_long_answer_comes_in_parts():
    from ouzel import _widget

    sent = []
    asker = _widget.Asker("http://127.0.0.1:1/token/", lambda content, buffers: sent.append((content, buffers)))
    content = bytes(range(256)) * 2500
    asker._send_parts({"view": "a", "id": 1, "status": 200, "packed": False}, content)
    assert b"".join(part for _, [part] in sent) == content
    assert [said["last"] for said, _ in sent] == [False, False, True]
