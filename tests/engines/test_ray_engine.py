"""Test the Ray engine on real clusters: a head and two worker nodes on loopback, which tests kill."""

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from engines.ray_nodes import kill_session, processes_of_session, ray_cluster, wait_until
from goldrank.engines import open_engine
from goldrank.engines import ray_cluster as joining
from goldrank.engines.ray_engine import RayEngine
from goldrank.errors import GoldrankError, InputError, MissingExtraError
from vector_servers import free_port

pytestmark = pytest.mark.heavy
pytest.importorskip("ray", reason="the Ray engine needs the package ray")


@pytest.fixture(scope="module", autouse=True)
def _functions_travel_by_value():
    """Pickle functions of this file by value, because the nodes cannot import the files of the tests."""
    from ray import cloudpickle

    modules = sys.modules[__name__], sys.modules[wait_until.__module__]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    yield
    for module in modules:
        cloudpickle.unregister_pickle_by_value(module)


@pytest.fixture(scope="module")
def client(nodes):
    with open_engine(nodes.client_address) as engine:
        yield engine


@pytest.fixture(params=["joined", "client"])
def engine(request):
    return request.getfixturevalue(request.param)


def square(number):
    return number * number


def slow_square(number):
    time.sleep(0.25)
    return number * number


def make_square():
    return square


def make_slow_square():
    """Return a function whose results contain a random number that identifies it."""
    maker = random.SystemRandom().random()

    def work(number):
        time.sleep(0.25)
        return number * number, maker

    return work


def refuse_seven(number):
    if number == 7:
        raise InputError("seven is not wanted", where="numbers.txt:7", remedy="leave it out")
    return number


def make_refusing():
    raise MissingExtraError("the encoder 'x'", "x", "extra-x")


def divide(number):
    return 1 / number


class AwkwardError(Exception):
    def __init__(self, first, second):
        super().__init__(first)
        self.held = threading.Lock()  # which cannot travel


def raise_awkward(number):
    raise AwkwardError(f"cannot do {number}", 2)


def die(number):
    os._exit(number)


def make_dying():
    return die


def wait_unless_first(folder):
    """Return at once in the first task; in others, record the process id and wait to be released."""
    try:
        (folder / "first").touch(exist_ok=False)
    except FileExistsError:
        (folder / f"waiting-{os.getpid()}").touch()
        wait_until((folder / "released").exists, lambda: "a task was not given up")


def make_wait_unless_first():
    return wait_unless_first


def living_processes(folder):
    """Return the running processes of tasks that wait in this folder, without zombies."""
    pids = []
    for path in folder.glob("waiting-*"):
        process = path.name.partition("-")[2]
        with suppress(OSError):
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                pids.append(process)
    return pids


def threads(_):
    import numpy as np
    import threadpoolctl

    np.ones((9, 9)) @ np.ones((9, 9))
    return [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]


def test_results_are_those_of_a_plain_map(engine):
    numbers = list(range(100))
    assert engine.workers == 2
    assert sorted(engine.map(square, numbers, what="squaring", total=100)) == list(map(square, numbers))
    assert sorted(engine.map_with(make_square, numbers[:9], what="squaring", total=9)) == list(map(square, numbers[:9]))
    assert list(engine.map(square, [], what="squaring", total=0)) == []
    assert list(engine.map_with(make_square, [], what="squaring", total=0)) == []


def test_large_functions_tasks_and_results_pass(engine):
    large = bytes(3_000_000)

    def join(part):
        return large[:1_000_000] + part

    results = list(engine.map(join, (bytes([n]) * 1_000_000 for n in range(12)), what="joining", total=12))
    assert sorted(results) == [large[:1_000_000] + bytes([n]) * 1_000_000 for n in range(12)]


def test_a_task_is_drawn_only_when_there_is_room_and_may_hold_what_was_learnt(joined):
    results, ahead = [], []

    def tasks():
        for number in range(60):
            ahead.append(number - len(results))
            yield len(results)

    for result in joined.map(square, tasks(), what="squaring", total=60):
        results.append(result)
    assert max(ahead) < 2 * joined.workers
    assert len(results) == 60
    assert max(results) > 40 * 40


def test_two_jobs_at_once_keep_their_results_apart(joined):
    squares = joined.map(square, range(20), what="squaring", total=20)
    checks = joined.map(refuse_seven, range(100, 120), what="checking", total=20)
    pairs = list(zip(squares, checks, strict=True))
    assert sorted(result for result, _ in pairs) == list(map(square, range(20)))
    assert sorted(result for _, result in pairs) == list(range(100, 120))


def test_an_error_of_goldrank_comes_out_as_itself(joined):
    with pytest.raises(InputError) as caught:
        list(joined.map(refuse_seven, range(20), what="checking", total=20))
    assert str(caught.value) == "numbers.txt:7: seven is not wanted; leave it out"
    assert (caught.value.where, caught.value.remedy) == ("numbers.txt:7", "leave it out")
    with pytest.raises(MissingExtraError, match=r"^the encoder 'x' needs x, .*goldrank\[extra-x\]'$"):
        list(joined.map_with(make_refusing, range(3), what="checking", total=3))
    assert sorted(joined.map(square, range(3), what="squaring", total=3)) == [0, 1, 4]


def test_any_other_error_is_said_in_one_sentence_with_its_cause(joined):
    with pytest.raises(GoldrankError) as caught:
        list(joined.map(divide, range(3), what="dividing", total=3))
    assert str(caught.value) == "dividing failed in a worker (ZeroDivisionError: division by zero)"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert "in divide" in str(caught.value.__cause__.__cause__)
    with pytest.raises(GoldrankError, match=r"^trying failed in a worker \(AwkwardError: cannot do 1\)$"):
        list(joined.map(raise_awkward, [1], what="trying", total=1))


@pytest.mark.parametrize("way", ["map", "map_with"])
def test_a_part_that_kills_its_worker_is_given_up_after_the_retries(nodes, way):
    work = {"map": die, "map_with": make_dying}[way]
    with (
        RayEngine(nodes.address, nodes.address, retries=1) as engine,
        pytest.raises(GoldrankError, match=r"^dying: a part could not be done \(the worker died"),
    ):
        list(getattr(engine, way)(work, [3], what="dying", total=1))


@pytest.mark.parametrize(("through", "way"), [("joined", "map"), ("joined", "map_with"), ("client", "map_with")])
def test_what_is_abandoned_is_given_up(request, through, way, tmp_path):
    engine = request.getfixturevalue(through)
    work = {"map": wait_unless_first, "map_with": make_wait_unless_first}[way]
    results = getattr(engine, way)(work, [tmp_path] * 20, what="waiting", total=20)
    try:
        assert next(results) is None
        wait_until(lambda: living_processes(tmp_path), lambda: "no task waits")
        results.close()
        wait_until(lambda: not living_processes(tmp_path), lambda: f"{living_processes(tmp_path)} were not given up")
        assert sorted(engine.map(square, range(9), what="squaring", total=9)) == list(map(square, range(9)))
        assert living_processes(tmp_path) == []
    finally:
        (tmp_path / "released").touch()


@pytest.mark.parametrize("way", ["map", "map_with"])
def test_nodes_killed_three_times_cost_no_result_and_double_none(nodes, joined, way):
    chance = random.Random(f"killed while in {way}")
    kills = sorted(chance.sample(range(2, 44), 3))
    if way == "map":
        stream = joined.map(slow_square, range(54), what="squaring", total=54)
    else:
        stream = joined.map_with(make_slow_square, range(54), what="squaring", total=54)
    results = []
    for result in stream:
        results.append(result)
        while kills and len(results) > kills[0]:
            kills.pop(0)
            time.sleep(chance.random() / 4)
            nodes.kill_a_worker(chance.choice)
    assert not kills
    if way == "map_with":
        results, makers = zip(*results, strict=True)
        # The function is made once for many tasks: by the two first workers and by their replacements.
        assert 2 <= len(set(makers)) <= 8
    assert sorted(results) == list(map(square, range(54)))


SCRIPT = """
import signal, sys, time
from goldrank.engines import open_engine
from goldrank.errors import GoldrankError

# A shell ignores SIGINT in what it starts in the background, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

def work(number):
    time.sleep(0.2)
    return number

def make():
    return work

try:
    with open_engine(sys.argv[1]) as engine:
        given = {"map": work, "map_with": make}[sys.argv[2]]
        for made in getattr(engine, sys.argv[2])(given, range(100000), what="working", total=100000):
            print(made, flush=True)
except GoldrankError as error:
    print(f"goldrank: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
"""


def start_script(folder: Path, spec: str, way: str) -> subprocess.Popen:
    """Start a process that works endlessly, and return it after its first result."""
    script = folder / f"{way}.py"
    script.write_text(SCRIPT.replace("100000", "400" if way == "map_with" else "100000"))
    process = subprocess.Popen(
        [sys.executable, script, spec, way], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    )
    assert process.stdout.readline().strip().isdigit(), process.communicate(timeout=300)[1]
    return process


def test_a_lost_head_is_said_and_the_process_ends_as_usual(tmp_path):
    with ray_cluster(head_cpus=2, workers=0) as cluster:
        processes = {
            cluster.address: start_script(tmp_path, cluster.address, "map"),
            cluster.client_address: start_script(tmp_path, cluster.client_address, "map_with"),
        }
        cluster.head.kill()
        messages = {address: process.communicate(timeout=300)[1] for address, process in processes.items()}
    for address, process in processes.items():
        assert messages[address] == (
            f"goldrank: the head node of the Ray cluster at {address.removeprefix('ray://')} is gone; "
            "start it again and run the same command: what is done is kept\n"
        )
        assert process.returncode == 1


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_cluster_of_our_own_ends_with_its_process(tmp_path, end):
    process = start_script(tmp_path, "ray:1", "map")
    (driver,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    session = int(driver)
    try:
        assert len(processes_of_session(session)) > 3
        process.send_signal(end)
        process.communicate(timeout=300)
        wait_until(lambda: not processes_of_session(session), lambda: processes_of_session(session))
    finally:
        kill_session(session)


def test_a_cluster_of_our_own_works_with_one_thread_each_and_leaves_nothing(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{free_port()}")
    # The path of the test's folder is too long for sockets.
    with tempfile.TemporaryDirectory(prefix="gr-") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        with open_engine("ray:1") as engine:
            assert list(Path(folder).glob("goldrank-*/session_latest"))
            assert (engine.name, engine.workers) == ("ray:1", 1)
            (pools,) = engine.map(threads, [0], what="counting", total=1)
            assert pools
            assert set(pools) == {1}
        assert list(Path(folder).iterdir()) == []
    with pytest.raises(GoldrankError, match="the engine ray:1 is closed"):
        list(engine.map(square, range(3), what="squaring", total=3))


def test_workers_of_a_cluster_that_was_there_use_one_thread_each(engine):
    (pools,) = engine.map(threads, [0], what="counting", total=1)
    assert set(pools) == {1}


def visible_gpus(_):
    return os.environ.get("CUDA_VISIBLE_DEVICES", "all"), os.getpid()


def make_visible_gpus():
    return visible_gpus


def test_workers_that_use_a_gpu_are_given_one_each_where_there_are_some(nodes, joined):
    nodes.add_worker("--num-gpus=1")
    nodes.workers[-1].wait()
    options = {"what": "looking", "total": 6}
    try:
        accelerated = list(joined.map_with(make_visible_gpus, range(6), accelerated=True, **options))
        usual = list(joined.map_with(make_visible_gpus, range(6), **options))
    finally:
        nodes.workers.pop().kill()
    assert {devices for devices, _ in accelerated} == {"0"}
    assert len({process for _, process in accelerated}) == 1
    assert "0" not in {devices for devices, _ in usual}


def test_auto_finds_the_cluster_of_this_machine(nodes, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    with open_engine("auto") as engine:
        assert sorted(engine.map(square, range(5), what="squaring", total=5)) == list(map(square, range(5)))


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_where_nothing_is_or_something_else_is_refused(scheme, monkeypatch):
    port = free_port()
    with pytest.raises(InputError, match=rf"^no Ray cluster answers at 127.0.0.1:{port}; start one"):
        open_engine(f"{scheme}127.0.0.1:{port}")
    monkeypatch.setattr(joining, "_JOIN_TIMEOUT", 4.0)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        with pytest.raises(InputError, match=rf"^the Ray cluster at 127.0.0.1:{port} could not be joined"):
            open_engine(f"{scheme}127.0.0.1:{port}")


def test_a_head_that_has_no_cpus_or_fails_to_serve_a_client_is_refused(monkeypatch):
    # The time that the head waits for the process that it starts for a client.
    monkeypatch.setenv("RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S", "0")
    monkeypatch.setenv("RAY_CLIENT_RECONNECT_GRACE_PERIOD", "1")
    with ray_cluster(head_cpus=0, workers=0) as cluster:
        with pytest.raises(InputError, match="has no CPU to work with; join"):
            open_engine(cluster.address)
        with pytest.raises(InputError, match=r"could not be joined .*RuntimeError: Proxy failed to Connect"):
            open_engine(cluster.client_address)
        # The client asked again before it gave up.
        (log,) = cluster.home.glob("*/session_latest/logs/ray_client_server.err")
        assert log.read_text().count("New data connection from client") == 3


@pytest.mark.parametrize(
    "spec",
    ["", "spark", "ray:", "ray:0", "ray:-1", "ray://", "ray://host", "host", "host:0", "host:70000", "me@host:1"],
)
def test_a_spec_that_names_no_engine_is_refused(spec):
    with pytest.raises(InputError, match=r"^there is no engine '.*'; write local, ray, "):
        open_engine(spec)


def test_without_ray_the_message_says_what_to_install(monkeypatch):
    assert open_engine("local") is None
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"^the engine 'ray:4' needs ray, .*pip install 'goldrank\[ray\]'$"):
        open_engine("ray:4")
