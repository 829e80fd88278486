"""The six stages of a document as Dagster assets, one module a stage, and what they share.

A stage is thin: it enters under the document's claim, calls `pdf/` through the sandbox and `resources/` for storage,
and says what it measured. What a PDF is, is known in `pdf/`; which write is allowed, is known in `resources/`.
"""
