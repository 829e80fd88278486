"""The editing API: documents, logs, leases, versions and uploads over HTTP. The store decides; this only speaks."""
