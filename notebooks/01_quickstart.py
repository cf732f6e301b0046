# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 01 Quickstart
#
# **Question.** Which task scheduler and which placement of data finish first on Knights Landing, a
# processor with fast and slow memory, by how much, and how far is each run from what the machine
# allows?
#
# Nobody needs to own that machine: every run below is a simulation and takes a second or less.

# %%
import simsched

# %% [markdown]
# ## The machine
#
# Four parts (NUMA domains) of 16 cores. Each has a node of ordinary memory, DRAM, and one of
# high-bandwidth memory, HBM, which is smaller and about four times as fast. Every number of a
# machine has a source: `simsched show machine knl_snc4_flat` prints them.

# %%
machine = simsched.machines.knl_snc4_flat
machine

# %% [markdown]
# ## The program
#
# Heat distribution on a grid of 16 GB: a spawn tree, as in Cilk, whose leaves each update some
# rows from the rows around them, 200 times over. Twenty times are enough to see what happens.

# %%
program = "heat_16gb_coarse[iterations=20]"
simsched.workloads.heat_16gb_coarse(iterations=20)

# %% [markdown]
# ## Three schedulers
#
# `cilk` steals at random and leaves every page on DRAM near the core that touched it first;
# `cilk_h` is the same with all data in HBM; `bats` spreads the data over both kinds of memory and
# moves tasks to their data. This machine, this program and these schedulers are an experiment that
# ships with simsched, so its name is enough. Here every policy runs with three seeds. (`jobs=1`
# keeps these runs in one process; without it, runs use all cores.)

# %%
changes = {"seeds": 3, "workloads": program}
result = simsched.run("quickstart", set=changes, output="results/quickstart", jobs=1)
result

# %% [markdown]
# The first policy is what the others are compared with. The same numbers as a frame, for your own
# arithmetic; units are in the names of the columns (`_s` seconds, `_percent` percent) and `_ci95`
# is half the width of a confidence interval:

# %%
table = result.table().set_index("policy")
table[["makespan_s", "makespan_s_ci95", "hbm_percent", "makespan_over_bound"]]

# %%
axes = result.plot.speedup()
# %% [markdown]
# **Answer.** Using the fast memory at all is what counts: both schedulers that do so are several
# times as fast as `cilk`. The last column says how much is left: no schedule on this machine can be
# faster than its bound (critical path, work, or bytes over the bandwidth of all memory together),
# and `cilk` takes more than ten times that long.

# %%
assert table.makespan_s["cilk"] > 3 * max(table.makespan_s["cilk_h"], table.makespan_s["bats"])
assert table.makespan_over_bound["cilk"] > 10 > 3 > table.makespan_over_bound["bats"] > 1

# %% [markdown]
# ## Why
#
# A waterfall divides the difference between two policies into what workers did with their time.
# From `cilk` to `bats` nearly everything is time that no longer passes waiting for the four DRAM
# nodes; what `bats` pays is idle time, because it sends tasks to where their data are instead of to
# whoever has nothing to do.

# %%
axes = result.plot.waterfall("bats")
# %% [markdown]
# The bandwidth in use says the same. Under `cilk` the DRAM is saturated and the HBM, which could
# give four times as much, is not used at all.

# %%
import matplotlib.pyplot as plt

_, axes = plt.subplots(2, figsize=(9, 7), layout="constrained")
result.plot.bandwidth("cilk", ax=axes[0], iterations=(1, 3))
_ = result.plot.bandwidth("bats", ax=axes[1], iterations=(1, 3))
# %% [markdown]
# ## Every single run
#
# One row per run, with some hundred metrics; `result.iterations` and `result.workers` have a row
# per iteration and per worker, `result.tasks(...)` one per task, `result.events(...)` one per
# event.

# %%
result.runs[["policy", "seed", "makespan_s", "remote_percent", "steals", "idle_percent"]]

# %%
result.tasks("bats", iterations=1).nlargest(5, "duration_s")

# %% [markdown]
# ## What to change next
#
# * Other policies: `simsched.policies.` and the Tab key; `simsched.run(machine, workload, ["cilk",
#   "laws", "bats"])`.
# * Other sizes: `simsched.workloads.heat_small(iterations=100)`, or `"heat_small[iterations=100]"`
#   as a name.
# * Fewer workers than hardware threads: `simsched.run(..., workers=64)`.
# * The same on the command line: `simsched run quickstart`.
#
# Results are in `results/quickstart`; running the cell again takes them from there. The next
# notebook takes `bats` apart.
#
# ## Sources
#
# The machine, the policy and the program are those of H. Zhao et al., *Bandwidth and Locality Aware
# Task-stealing for Manycore Architectures with Bandwidth-Asymmetric Memory*, ACM TACO 15(4), 2018:
# section 9.1 (machine), sections 3 to 8 (BATS), figure 11. What its figures claim and what
# simulations of them give is in `docs/published/index.md`.
