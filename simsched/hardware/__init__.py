"""Runs on real hardware: a task runtime, programs for it, measurements, calibration."""
