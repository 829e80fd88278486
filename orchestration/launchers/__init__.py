"""Run launchers: one for each lane, and the one that routes between them."""
