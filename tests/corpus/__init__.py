"""PDFs the project makes for itself, with known structure: for `make run`, for tests, for benchmarks."""
