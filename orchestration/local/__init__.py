"""The console of a local run: ``python -m orchestration.local run|stop``; `make run` calls it.

It starts the embedded AWS and Dagster's three processes, uploads PDFs as any S3 client would, and then only looks:
what happens to a document is the work of sensors and runs.
"""
