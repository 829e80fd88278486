"""Is a version what it claims to be? Four oracles, checks of our own, a verdict, and a report a person can read."""
