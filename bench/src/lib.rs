//! Benchmarks side by side with rivals, in one run.
