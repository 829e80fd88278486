"""What goes wrong, when, by a seed: kills of workers, code server and daemon; cut lines, lost answers, throttling;
messages that come twice and in another order."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from botocore.exceptions import BotoCoreError, ClientError

from orchestration.launchers.processes import send
from orchestration.local.halt import run_workers
from resources.store import Store
from tests.e2e.platform import Running
from tests.proxy import Proxy, write

THROTTLED = b'{"__type":"ProvisionedThroughputExceededException","message":"chaos"}'
#: How often each happens, in parts. A kill is what counts.
WEIGHTS = {"worker": 16, "code-server": 1, "daemon": 1, "cut": 2, "lose": 3, "throttle": 2, "again": 2}


class Monkey:
    """Does one thing after the other in a thread of its own, until it has killed often enough or is told to stop."""

    def __init__(self, platform: Running, proxy: Proxy, seed: int, kills: int, events: Callable[[], list[str]]) -> None:
        self.platform, self.proxy, self.kills = platform, proxy, kills
        self.random = random.Random(seed)
        self.events = events
        self.done: Counter[str] = Counter()
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, name="monkey", daemon=True)
        self.problem: Exception | None = None

    @property
    def killed(self) -> int:
        """How many processes were killed."""
        return self.done["worker"] + self.done["code-server"] + self.done["daemon"]

    def stop(self) -> None:
        """No more of it; everything that was killed is started again."""
        self.stopping.set()
        self.thread.join()
        self.proxy.cut.clear()
        self.proxy.lose.clear()
        self.proxy.refuse.clear()

    def _run(self) -> None:
        try:
            while not self.stopping.is_set() and self.killed < self.kills:
                self.stopping.wait(self.random.uniform(0.1, 1.2))
                (name,) = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))
                if getattr(self, "_" + name.replace("-", "_"))():
                    self.done[name] += 1
        except Exception as error:  # noqa: BLE001 told by the one who waits for it
            self.problem = error

    def _worker(self) -> bool:
        workers = sorted(run_workers(), key=lambda ref: ref.pid)
        return bool(workers) and send(self.random.choice(workers), signal.SIGKILL, group=True)

    def _service(self, name: str) -> bool:
        os.killpg(self.platform.supervisor.process(name).pid, signal.SIGKILL)
        time.sleep(self.random.uniform(0, 1))
        self.platform.supervisor.restart(name)
        self.platform.supervisor.wait_ready(name)
        self.stopping.wait(self.random.uniform(1, 4))  # else nothing would ever begin
        return True

    def _code_server(self) -> bool:
        return self._service("code-server")

    def _daemon(self) -> bool:
        return self._service("daemon")

    def _cut(self) -> bool:
        self.proxy.cut.set()
        self.stopping.wait(self.random.uniform(0.2, 2.5))
        self.proxy.cut.clear()
        return True

    def _lose(self) -> bool:
        self.proxy.lose.extend([write] * self.random.randint(1, 3))
        return True

    def _throttle(self) -> bool:
        def any_call(method: str, path: str, target: str) -> bool:
            return target.startswith("DynamoDB")

        self.proxy.refuse.extend([(any_call, 400, THROTTLED)] * self.random.randint(1, 6))
        return True

    def _again(self) -> bool:
        """Old events come once more, the newest first."""
        store: Store = self.platform.look.store
        bodies = self.events()
        chosen = self.random.sample(bodies, min(3, len(bodies)))
        with suppress(ClientError, BotoCoreError):  # the line may be cut just now
            for body in reversed(chosen):
                store.intake.client.send_message(QueueUrl=store.intake.url, MessageBody=body)
            return True
        return False
