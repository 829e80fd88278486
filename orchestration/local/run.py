"""``run``: start everything, upload, look until every document has settled, show the table."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from api.issuer import prepare
from orchestration.local import services, stack
from orchestration.local.environment import adopt, child_environment
from orchestration.local.halt import halt, stop_leftovers
from orchestration.local.look import Look, shown
from orchestration.local.places import Places
from orchestration.local.screen import Screen
from orchestration.local.supervise import Lock, Record, Supervisor, free_port, port_is_free
from orchestration.local.uploads import Upload, Uploader, find
from orchestration.local.views import DocumentView, Expectation, mistakes, read_expectations
from resources.settings import load_settings

DEFAULT_PORT = 3000
REQUESTS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM)


class Interrupted(BaseException):
    """Ctrl-C, or a polite request to end. No ``Exception``: whoever catches those must not take it for an error."""


class TookTooLong(RuntimeError):
    """Some documents did not settle in the time given."""


class PortTaken(RuntimeError):
    """Something listens on the port that was asked for."""


@dataclass(frozen=True)
class Options:
    """What a person asked for. ``seconds``: after how long without any progress the console gives up waiting."""

    source: Path | None = None
    port: int | None = None
    leave: bool = False
    seconds: float = 900


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    # Raised where Python calls back from elsewhere (a finalizer, a library's callback) it is lost: so it comes again.
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    raise Interrupted


def listen(handler: Callable[[int, FrameType | None], None] | signal.Handlers = _interrupt) -> None:
    """What the requests to end do from now on: raise `Interrupted`, unless told otherwise."""
    for number in REQUESTS:
        signal.signal(number, handler)


def choose_port(wanted: int | None) -> int:
    """The UI's port: the one asked for, else 3000, else any that is free. Raises where the one asked for is taken."""
    if wanted is not None and not port_is_free(wanted):
        raise PortTaken(f"port {wanted} is taken by another program: choose another one with PORT=")
    return wanted or (DEFAULT_PORT if port_is_free(DEFAULT_PORT) else free_port())


def choose_api_port() -> int:
    """The API's port: that of the settings where it is free, else any."""
    wanted = load_settings().api_port
    return wanted if port_is_free(wanted) else free_port()


def start(
    supervisor: Supervisor,
    places: Places,
    say: Callable[[str], None],
    port: int | None,
    between: Callable[[str], str] = lambda endpoint: endpoint,
) -> dict[str, str]:
    """Start and provision the embedded AWS, then Dagster; returns the environment that everything runs in.

    `between` puts something between the embedded AWS and its clients: it gets the one's address, and gives theirs.
    """
    began = time.monotonic()

    def told(text: str) -> None:
        say(f"{text:<58} {time.monotonic() - began:5.1f} s")

    ui_port, code_port = choose_port(port), free_port()
    aws_port = stack.aws_port(places)
    environment = child_environment(places, between(f"http://127.0.0.1:{aws_port}"))
    adopt(environment)
    prepare(places.issuer)
    workspace = services.write_dagster_home(places, code_port)
    supervisor.start(stack.aws(environment, places, aws_port))
    supervisor.start(services.code_server(environment, code_port))
    supervisor.wait_ready("aws")
    told(f"embedded AWS      {environment['AWS_ENDPOINT_URL']}")
    name = stack.provision()
    told(f"provisioned       bucket, tables, queues and key of {name}")
    supervisor.wait_ready("code-server")
    told("definitions       loaded")
    supervisor.start(services.daemon(environment, workspace))
    supervisor.start(services.webserver(environment, workspace, ui_port))
    at = choose_api_port()
    supervisor.start(services.api(environment, at))
    supervisor.note(
        endpoint=environment["AWS_ENDPOINT_URL"], ui=f"http://127.0.0.1:{ui_port}", api=f"http://127.0.0.1:{at}"
    )
    return environment


def watch(
    look: Look, files: Sequence[Upload], supervisor: Supervisor, screen: Screen, patience: float
) -> list[DocumentView]:
    """Show progress until every document has settled. Raises ``TookTooLong`` after ``patience`` s without any."""
    last: object = None
    moved = time.monotonic()
    while True:
        supervisor.check()
        views = look.at(files)
        screen.update(views)
        now = [(view.document_id, view.status, view.stage) for view in views]
        if now != last:
            last, moved = now, time.monotonic()
        if all(view.settled for view in views):
            return views
        if time.monotonic() - moved > patience:
            waiting = ", ".join(f"{view.name} ({view.stage})" for view in views if not view.settled)
            raise TookTooLong(f"nothing has moved for {patience:g} s: {waiting}. The logs are in {supervisor.logs}.")
        time.sleep(1.0)


def finish(
    views: Sequence[DocumentView], expected: Mapping[str, Expectation] | None, look: Look, screen: Screen
) -> bool:
    """Fetch what was published, show the table, and say what did not end as it should. True where all did."""
    screen.update(views)
    screen.say("")
    screen.table(views)
    screen.say("")
    fetched = list(look.fetch(views))
    if fetched:
        screen.say(f"published files and reports, copied from s3://{look.bucket} to {shown(look.results)}:")
    for text in fetched:
        screen.say(text)
    screen.say("")
    wrong = mistakes(views, expected)
    for text in wrong:
        screen.say(f"NOT AS IT SHOULD BE: {text}")
    counts = {status: sum(view.status == status for view in views) for status in {view.status for view in views}}
    screen.say(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    return not wrong


def upload(look: Look, files: Sequence[Upload], places: Places, screen: Screen) -> list[Upload]:
    """Upload what is not there yet, and say so."""
    uploader = Uploader(look.s3, look.bucket, places.uploads, look.published, time.time)
    uploaded = uploader.upload_all(files)
    fresh = sum(file.fresh for file in uploaded)
    known = f"; {len(uploaded) - fresh} are known from an earlier run" if fresh < len(uploaded) else ""
    screen.say(f"uploaded {fresh} files to s3://{look.bucket}/incoming/{known}")
    return uploaded


def run(options: Options, places: Places) -> int:
    """The whole of ``make run``. Returns the exit code: 0 where every document ended as it should."""
    screen = Screen(sys.stdout, live=sys.stdout.isatty())
    lock = Lock(places.lock)
    places.make()
    record = Record(places.record)
    for name in stop_leftovers(record, places):
        screen.say(f"stopped {name}, left over from a run that was killed")
    listen()
    supervisor = Supervisor(record, places.logs)
    good = False
    try:
        if options.source is None:
            for text in stack.make_samples(places):
                screen.say(text)
        source = options.source or places.samples
        files = find(source)
        start(supervisor, places, screen.say, options.port)
        look = Look.connect(places)
        uploaded = upload(look, files, places, screen)
        began = time.monotonic()
        views = watch(look, uploaded, supervisor, screen, options.seconds)
        took = time.monotonic() - began
        good = finish(views, read_expectations(source), look, screen)
        fresh = sum(file.fresh for file in uploaded)
        if fresh:
            screen.say(f"{fresh} documents in {took:.0f} s: {fresh / took * 60:.1f} a minute")
        supervisor.wait_ready("webserver")
        if not options.leave:
            screen.say(f"The editing API: {supervisor.facts['api']}/api/v1/tag-docs   (make token: a token for it)")
            screen.say(f"Dagster's UI: {supervisor.facts['ui']}   (Ctrl-C, or make stop, ends everything)")
            while True:
                supervisor.check()
                time.sleep(1.0)
    except Interrupted:
        listen(signal.SIG_IGN)
        screen.say("stopping …")
    finally:
        listen(signal.SIG_IGN)
        for text in halt(supervisor, places):
            screen.say(text)
        record.remove()
        lock.release()
    return 0 if good else 1
