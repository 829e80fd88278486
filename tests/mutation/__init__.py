"""Does a test fail for each condition of the store when that condition is gone? ``python -m tests.mutation``."""
