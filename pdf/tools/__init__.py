"""Programs outside of Python, found on the PATH, probed for their version, run with limits."""
