"""What Dagster loads: the definitions, the launchers of the two lanes, and the console of a local run."""
