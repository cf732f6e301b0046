"""Backend `simpy`: the readable reference engine."""
