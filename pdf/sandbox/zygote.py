"""The warm process that calls are forked from. One thread, a clean environment, everything imported once.

    python -m pdf.sandbox.zygote FD

FD is a socket on which each message is one call, with the socket for its report beside it. At the end of its input,
which is when the process that started it is gone, it ends.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys

from pdf.sandbox.monitor import watch

#: What calls use; importing it once here is what makes them cheap.
WARM = (
    "pdf.chunks",
    "pdf.warm",
    "pdf.verify.pixels",
    "pdf.verify.report",
    "pdf.verify.structure",
)
MESSAGE_BYTES = 65536


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    # Ctrl-C is for the process that started this one; it decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for name in WARM:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is here stays shared with the children
    while True:
        message, fds, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 1)
        if not message:
            return
        with socket.socket(fileno=fds[0]) as report:
            if os.fork() == 0:
                control.close()
                with contextlib.suppress(BaseException):
                    watch(report, json.loads(message))
                os._exit(0)


if __name__ == "__main__":
    main()
