"""Starting the embedded AWS (`server.py`, in its own environment) and waiting until it answers."""
