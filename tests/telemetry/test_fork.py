"""After a fork: counters start at zero with every series there, nothing is exported twice, setup works again."""

import os
import textwrap

import pytest
from telemetry_rig import run_python

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

CHILD = """
import os, sys, urllib.request

def in_child(work):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            text = work()
        except BaseException as error:
            text = f"failed: {error!r}"
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        text = stream.read()
    os.waitpid(pid, 0)
    return text

def scrape(port):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        return answer.read().decode()

def lines(text, *starts):
    return [line for line in text.splitlines() if line.startswith(starts)]
"""


def run(script: str) -> list[str]:
    """Run a script that may fork; return its lines."""
    return run_python(CHILD + textwrap.dedent(script)).stdout.splitlines()


def test_counters_of_a_child_start_at_zero_with_every_series() -> None:
    found = run(
        """
        from opentelemetry import metrics
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from memotel import runtime
        from memotel.counts import Count
        from memotel.outcomes import Adapter, Provider
        from memotel.telemetry.instruments import declare_client, install

        reader = InMemoryMetricReader()
        metrics.set_meter_provider(MeterProvider([reader]))
        install()
        counts = runtime.current().counts
        declare_client(counts, Provider.REKALL, Adapter.DIRECT)
        counts.add(Count.SEARCHES, "rekall", "direct", "hit", by=3)

        def hits():
            (scope,) = reader.get_metrics_data().resource_metrics[0].scope_metrics
            points = {m.name: m for m in scope.metrics}["memotel.searches"].data.data_points
            return f"{len(points)} {sum(p.value for p in points)}"

        print(hits())
        print(in_child(hits))
        print(hits())
        """
    )
    assert found == ["12 3", "12 0", "12 3"]


def test_histograms_recorded_before_a_fork_are_said_once() -> None:
    found = run(
        """
        import logging
        from opentelemetry import metrics
        from opentelemetry.sdk.metrics import MeterProvider
        from memotel.telemetry.instruments import install

        said = []
        class Keep(logging.Handler):
            def emit(self, record):
                said.append(record.getMessage())
        logging.getLogger("memotel.telemetry").addHandler(Keep())
        metrics.set_meter_provider(MeterProvider())
        instruments = install()
        print(in_child(lambda: str(len(said))))
        instruments.record_http(0.1, {}, None)
        print(in_child(lambda: f"{len(said)} {'post_fork' in said[0]}"))
        print(len(said))
        """
    )
    assert found == ["0", "1 True", "0"]


def test_child_that_calls_setup_again_has_its_own_endpoint_identity_and_histograms() -> None:
    found = run(
        """
        import re
        from memotel import telemetry
        from memotel.telemetry.instruments import install

        handle = telemetry.setup("svc", 0)
        for _ in range(3):
            install().record_recall(0.1, ("rekall", "direct", "hit"), None)

        def identity(text):
            return re.search('service_instance_id="([^"]+)"', text)[1]

        def child():
            again = telemetry.setup("svc", 0)
            install().record_recall(0.1, ("rekall", "direct", "hit"), None)
            text = scrape(again.port)
            counts = lines(text, "memotel_recall_duration_seconds_count")
            names = {again.port != handle.port, identity(text) != parent}
            again.shutdown()
            return f"{counts[0].rpartition(' ')[2]} {len(lines(text, 'target_info'))} {names}"

        parent = identity(scrape(handle.port))
        print(in_child(child))
        text = scrape(handle.port)
        print(lines(text, "memotel_recall_duration_seconds_count")[0].rpartition(" ")[2])
        print(identity(text) == parent)
        handle.shutdown()
        """
    )
    assert found == ["1.0 1 {True}", "3.0", "True"]


def test_child_records_nothing_into_inherited_histograms_until_it_sets_up() -> None:
    found = run(
        """
        from opentelemetry.metrics import NoOpHistogram
        from memotel import telemetry
        from memotel.telemetry.instruments import install

        handle = telemetry.setup("svc", 0)

        def is_idle():
            install().record_recall(0.1, ("rekall", "direct", "hit"), None)
            return isinstance(install()._recall, NoOpHistogram)

        def child():
            before = is_idle()
            again = telemetry.setup("svc", 0)
            after = is_idle()
            again.shutdown()
            return f"{before} {after}"

        print(is_idle())
        print(in_child(child))
        handle.shutdown()
        """
    )
    assert found == ["False", "True False"]


def test_child_closes_the_inherited_listener() -> None:
    found = run(
        """
        import socket, time
        from memotel import telemetry

        handle = telemetry.setup("svc", 0)
        port = handle.port

        def hold():
            # The parent has closed its own listener: the port is free only if the child holds no copy of it.
            os.read(go, 1)
            with socket.socket() as probe:
                return str(probe.connect_ex(("127.0.0.1", port)) != 0)

        go, ready = os.pipe()
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(write, hold().encode())
            os._exit(0)
        handle.shutdown()
        os.write(ready, b"x")
        print(os.read(read, 10).decode())
        os.waitpid(pid, 0)
        """
    )
    assert found == ["True"]


def test_handle_and_targets_file_of_the_parent_survive_a_childs_exit(
    tmp_path: "os.PathLike[str]",
) -> None:
    found = run(
        f"""
        from memotel import telemetry
        path = os.path.join({str(tmp_path)!r}, "targets.json")
        handle = telemetry.setup("svc", 0, targets_file=path)
        pid = os.fork()
        if pid == 0:
            handle.shutdown()
            sys.exit(0)
        os.waitpid(pid, 0)
        print(os.path.exists(path), len(scrape(handle.port)) > 0)
        handle.shutdown()
        print(os.path.exists(path))
        """
    )
    assert found == ["True True", "False"]
