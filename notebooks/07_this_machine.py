# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 07 Calibrate and validate on this machine
#
# **Question.** All other notebooks simulate machines that are elsewhere. How far is the simulator
# from the computer in front of you, and how would you know?
#
# This one runs real programs on real cores, for about half a minute in all, and needs Linux. Stop
# what else runs here. If the host is busy all the same, what is measured is worth little; nothing
# fails then, but warnings say so, and they belong to the result.

# %%
import pandas as pd

import simsched

# %% [markdown]
# ## What the programs cost
#
# A task of a program is some computation and some accesses. How long the computation takes is found
# from runs on *one* core. Three programs: heat distribution, a matrix product, and the queens
# problem, which needs no memory.

# %%
one_core = simsched.measure(
    [
        {"name": "heat", "rows": 384, "columns": 512, "leaf_rows": 24, "iterations": 20},
        {"name": "matmul", "tiles": 4},
        {"name": "nqueens", "queens": 11},
    ],
    "cilk_a",
    workers=1,
    repetitions=3,
    output="measurements/one_core",
    overwrite=True,
)
one_core.table().groupby("program")[["makespan_s", "cpu_percent"]].median()

# %% [markdown]
# `cpu_percent` is the share of the time in which the workers had their cores: 100 on an idle host.
#
# ## What the machine costs
#
# `calibrate` measures caches, memory and every step of scheduling, and writes a machine file in
# which each value has its source. `quick=True` takes some seconds on two cores; without it values
# are more accurate. *Spread* is how much longer the middle round took than the best one.

# %%
host = simsched.calibrate("measurements/host.yaml", one_core, quick=True)
host

# %%
host.machine

# %% [markdown]
# ## What to compare with
#
# Other sizes of the programs, on all cores, under two policies that the runtime can imitate:
# `cilk_a` runs a child first and lets others steal the parent, `pfws` the other way round. Sizes
# that the machine was calibrated on would be refused, because a simulator that is shown the answers
# is not being tested.

# %%
all_cores = simsched.measure(
    [
        {"name": "heat", "rows": 512, "columns": 512, "leaf_rows": 32, "iterations": 20},
        {"name": "matmul", "tiles": 5},
        {"name": "nqueens", "queens": 12},
    ],
    ["cilk_a", "pfws"],
    repetitions=3,
    output="measurements/all_cores",
    overwrite=True,
)
validation = simsched.validate(all_cores, host.machine)
table = validation.table()
table.round({"measured_spread_percent": 1, "error_percent": 1})

# %%
shown = table.set_index(table.program + ", " + table.policy)[::-1]
bars = {
    "spread of the measured runs": shown.measured_spread_percent,
    "error of the simulation": shown.error_percent,
}
axes = pd.DataFrame(bars).plot.barh(figsize=(9, 3.5), xlabel="[%]", ylabel="", rot=0)
_ = axes.legend(reverse=True)

# %% [markdown]
# ## Is that good?
#
# An error means nothing without the spread of what was measured, and both mean nothing on a busy
# host. On an idle one, programs that compute come out within a few percent; those that stream
# through memory depend on what caches really do (`docs/validating.md`).

# %%
disturbances = list(dict.fromkeys([*host.warnings, *all_cores.warnings]))
error = table.error_percent.abs().median()
spread = table.measured_spread_percent.median()
print(f"error {error:.1f} % (median of {len(table)} cases), spread of the runs {spread:.1f} %")
if disturbances:
    print("\nDo not rely on these figures:")
    print("\n".join(f"* {text}" for text in disturbances))
else:
    print("Nothing disturbed the measurements.")

# %% [markdown]
# ## Look inside
#
# Each measured run is kept with its task graph and the events of all workers, in the same form as a
# simulated one; `simsched export` writes it for Perfetto, `simsched validate FILE` replays it.

# %%
assert len(table) == 6
assert (table.simulated_s > 0).all()
recording = all_cores.recording(all_cores.runs[0])
recording.workload

# %% [markdown]
# **Answer.** By as much as `error` says, on this computer and now. Keep it with your results: a
# difference between two policies that is smaller than this error is no finding.
#
# ## What to change next
#
# * `quick=False`, more `repetitions`, and nothing else running: how much of the error is left?
# * Other programs: `sor`, `stencil9`, `cholesky`, `merge_sort`, `fft`, `kmeans`, `pagerank`
#   (`docs/measuring.md`).
# * The whole set, a quarter of an hour: `make validate` writes a report into `build/validation`.
# * Traces of other runtimes: `simsched import` (`docs/importing-traces.md`).
#
# ## Sources
#
# `docs/calibrating.md` says how every value is measured, `docs/validating.md` what is compared;
# `docs/validation/README.md` has reports with the machines they were made on.
