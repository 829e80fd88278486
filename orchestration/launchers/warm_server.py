"""A process that has imported everything once and forks a run worker on request.

A run of three small steps spends 3 s of processor time on imports when its worker is started the ordinary way; a fork
of a process that has imported the code already spends nothing on them. The process has one thread and nothing open
but its socket, so that a fork of it is safe. It never executes a run itself, so it does not grow.

It ends when its standard input ends: its launcher holds the other end. Workers lead sessions of their own and go on.
Where a source file of ours has changed since it was imported, the server starts itself anew before it forks.

A request is one line of JSON, ``{"arguments": …, "log": …}``: the serialized ``ExecuteRunArgs``, and the file for the
worker's output. The answer is the worker's process number as one line.
"""

from __future__ import annotations

import gc
import importlib
import json
import logging
import os
import select
import signal
import socket
import sys
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
logger = logging.getLogger("warm")


def sources(root: Path) -> dict[str, int]:
    """Every imported source file below ``root`` (not its environment), with its time of change in nanoseconds."""
    found: dict[str, int] = {}
    for module in list(sys.modules.values()):
        name = getattr(module, "__file__", None)
        if name and Path(name).is_relative_to(root) and ".venv" not in Path(name).parts:
            found[name] = _changed(name)
    return found


def _changed(name: str) -> int:
    try:
        return Path(name).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def execute(arguments: str, log: str) -> None:
    """In the fork: become the run worker. Does not return."""
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        os.close(nothing)
        from dagster._cli.api import execute_run_command

        assert execute_run_command.callback is not None
        execute_run_command.callback(input_json=arguments, compressed_input_json=None)
        code = 0
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else int(done.code is not None)
    except BaseException:  # noqa: BLE001 the fork must never go on as a second server
        traceback.print_exc()
    finally:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def serve(listener: socket.socket, lifeline: int, root: Path = ROOT) -> bool:
    """Answer requests until ``lifeline`` ends (False) or a source file has changed (True: start anew)."""
    known = sources(root)
    gc.collect()
    gc.freeze()  # what is there now is never collected, so a fork does not copy its pages to count references
    while True:
        ready, _, _ = select.select([listener.fileno(), lifeline], [], [], 1.0)
        _reap()
        if lifeline in ready and not os.read(lifeline, 1):
            return False
        if listener.fileno() not in ready:
            continue
        if any(_changed(name) != when for name, when in known.items()):
            return True  # the request waits in the listener's backlog for the new server
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(5)
            request = json.loads(connection.makefile("rb").readline())
            pid = os.fork()
            if pid == 0:
                listener.close()
                connection.close()
                execute(request["arguments"], request["log"])
            connection.sendall(f"{pid}\n".encode())


def _reap() -> None:
    """Take the exit codes of ended workers, so that none stays a zombie."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def other_threads() -> list[str]:
    """Names of the threads that a fork would cut off in the middle of something.

    Not among them: the thread of Arrow's allocator, which takes its own locks around a fork (pthread_atfork(3)).
    """
    own = os.getpid()
    tasks = [task for task in Path("/proc/self/task").iterdir() if int(task.name) != own]
    names = [(task / "comm").read_text().strip() for task in tasks]
    return [name for name in names if name != "jemalloc_bg_thd"]


def main(path: str, *modules: str) -> None:
    """Import, listen at ``path`` (a Unix socket), serve; start anew in the same process when the code has changed."""
    # Set, not read: numpy's OpenBLAS starts threads as it is imported, and workers of a run share few cores anyway.
    os.putenv("OPENBLAS_NUM_THREADS", "1")
    for name in ("dagster._cli.api", *modules):
        importlib.import_module(name)
    for name in modules:
        definitions = getattr(sys.modules[name], "defs", None)
        if definitions is not None:
            definitions.get_repository_def()
    if others := other_threads():
        raise RuntimeError(f"importing {', '.join(modules)} started {', '.join(others)}: a fork would not be safe")
    if path.startswith("fd:"):
        listener = socket.socket(fileno=int(path.removeprefix("fd:")))
    else:
        Path(path).unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        mask = os.umask(0o177)
        listener.bind(path)
        os.umask(mask)
        listener.listen(64)
    if serve(listener, sys.stdin.fileno()):
        os.set_inheritable(listener.fileno(), True)
        again = [sys.executable, "-m", "orchestration.launchers.warm_server", f"fd:{listener.fileno()}", *modules]
        os.execv(again[0], again)


if __name__ == "__main__":
    main(*sys.argv[1:])
