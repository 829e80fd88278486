"""The store on the embedded AWS with a clock that the test moves, as in the store's own tests."""

from tests.resources.conftest import clock, store

__all__ = ["clock", "store"]
