"""Speed and memory of the engines on workloads with known answers; see docs/performance.md."""
