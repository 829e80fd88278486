"""The only way a running system opens an untrusted PDF: in a child process that may do little and is thrown away.

A warm *zygote* with a clean environment has imported everything once; each call forks a *monitor* from it, and the
monitor forks the *worker* that runs the function. The worker has no credentials, no network where the system allows
that, limits on memory, CPU, file size and processes, a temporary directory of its own, and a deadline. Whatever
happens to it is a result for the caller, with a code; nothing that it started outlives it.
"""

from pdf.sandbox.client import Limits, Outcome, Sandbox

__all__ = ["Limits", "Outcome", "Sandbox"]
