"""The one partition set: a document. Keys are document ids (UUIDs), never file names.

The set holds the *active window*: documents that are being worked on or were settled a short while ago. Housekeeping
retires keys; a touched document gets its key back. The registry of documents is the store.
"""

from __future__ import annotations

from dagster import DynamicPartitionsDefinition

PARTITION_SET = "document"
documents = DynamicPartitionsDefinition(name=PARTITION_SET)
