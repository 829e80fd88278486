"""``api``: the editing API alone, over the embedded AWS, without Dagster. ``make run`` serves it too."""

from __future__ import annotations

import signal
import sys
import time

from api.issuer import prepare
from orchestration.local import services, stack
from orchestration.local.environment import LOCAL_USER, adopt, child_environment
from orchestration.local.halt import stop_leftovers
from orchestration.local.places import Places
from orchestration.local.run import Interrupted, choose_api_port, listen
from orchestration.local.supervise import AlreadyRunning, Lock, Record, Supervisor

PATH = "/api/v1/tag-docs"


def serve(places: Places) -> int:
    """Serve until Ctrl-C. Where a run is up already, say where its API is."""
    try:
        lock = Lock(places.lock)
    except AlreadyRunning:
        at = Record(places.record).facts().get("api")
        print(f"The API is served already: {at}{PATH}" if at else "A run is starting: its API will be there shortly.")
        return 0
    places.make()
    record = Record(places.record)
    for name in stop_leftovers(record, places):
        print(f"stopped {name}, left over from a run that was killed")
    listen()
    supervisor = Supervisor(record, places.logs)
    try:
        aws_port, port = stack.aws_port(places), 0
        environment = child_environment(places, f"http://127.0.0.1:{aws_port}")
        adopt(environment)
        prepare(places.issuer)
        supervisor.start(stack.aws(environment, places, aws_port))
        supervisor.wait_ready("aws")
        stack.provision()
        port = choose_api_port()
        supervisor.start(services.api(environment, port))
        supervisor.wait_ready("api")
        at = f"http://127.0.0.1:{port}"
        supervisor.note(endpoint=environment["AWS_ENDPOINT_URL"], api=at)
        print(f"The API: {at}{PATH}   described by {at}/api/v1/openapi.json", flush=True)
        print(f"A token for {LOCAL_USER} (of a fake issuer): make token   (Ctrl-C ends everything)", flush=True)
        while True:
            supervisor.check()
            time.sleep(1.0)
    except Interrupted:
        listen(signal.SIG_IGN)
        print("stopping …", file=sys.stderr)
    finally:
        listen(signal.SIG_IGN)
        for name in ("api", "aws"):
            supervisor.stop(name)
        record.remove()
        lock.release()
    return 0
