"""Everything about AWS: settings, clients, documents, work, objects, queues, keys, ledger."""
